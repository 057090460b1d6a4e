// Made from rialto/push/v1/push.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.push.v1.
public enum PushV1 {}

extension PushV1 {
    /// PushService: push notifications, which the server sends to devices that are not connected, through the push services of browsers and phones.
    ///
    /// A device registers a subscription, which belongs to its session and ends with it. Its user is pushed new messages of direct conversations and small
    /// groups, and mentions in large ones, while no device of the user is connected and active. What the user has read by then, or what is muted, recalled or from a
    /// blocked user, is not pushed. A newer message of a conversation replaces an older one that was not pushed yet.
    public enum PushService {
        /// GetPushProviders gives what a device needs to know before it registers.
        public static let getPushProviders = RialtoContract.Call<PushV1.GetPushProvidersRequest, PushV1.PushProviders>("rialto.push.v1.PushService/GetPushProviders")
        /// RegisterPush makes the caller's session receive push notifications. It replaces the session's former subscription, and takes the token away from any other
        /// session that has it. A retry is harmless.
        public static let registerPush = RialtoContract.Call<PushV1.RegisterPushRequest, PushV1.PushSubscription>("rialto.push.v1.PushService/RegisterPush")
        /// ListPushSubscriptions gives the subscriptions of all sessions of the caller.
        public static let listPushSubscriptions = RialtoContract.Call<PushV1.ListPushSubscriptionsRequest, PushV1.ListPushSubscriptionsResponse>("rialto.push.v1.PushService/ListPushSubscriptions")
        /// RemovePushSubscription ends a subscription of the caller. One that does not exist any more is no error.
        public static let removePushSubscription = RialtoContract.Call<PushV1.RemovePushSubscriptionRequest, PushV1.RemovePushSubscriptionResponse>("rialto.push.v1.PushService/RemovePushSubscription")
        /// GetPushSettings gives what the caller wants to be pushed, on all devices.
        public static let getPushSettings = RialtoContract.Call<PushV1.GetPushSettingsRequest, PushV1.PushSettings>("rialto.push.v1.PushService/GetPushSettings")
        /// SetPushSettings replaces the settings.
        public static let setPushSettings = RialtoContract.Call<PushV1.PushSettings, PushV1.PushSettings>("rialto.push.v1.PushService/SetPushSettings")
    }

    /// PushAdminService: calls of the operator's servers, with an API key.
    public enum PushAdminService {
        /// ListPushAttempts gives what became of the latest push notifications of a user, the newest first: the latest 200 of each subscription, for 7 days.
        public static let listPushAttempts = RialtoContract.Call<PushV1.ListPushAttemptsRequest, PushV1.ListPushAttemptsResponse>("rialto.push.v1.PushAdminService/ListPushAttempts")
    }

    public struct GetPushProvidersRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct PushProviders: ProtoMessage {
        /// Providers that the server is set up for.
        public var providers: [PushV1.PushProvider]
        /// VapidPublicKey is the applicationServerKey that a browser subscribes with: an uncompressed point of P-256.
        public var vapidPublicKey: Foundation.Data

        public init(providers: [PushV1.PushProvider] = [], vapidPublicKey: Foundation.Data = Foundation.Data()) {
            self.providers = providers
            self.vapidPublicKey = vapidPublicKey
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            providers = try fields.list("providers", EnumCoder<PushV1.PushProvider>.self)
            vapidPublicKey = try fields.value("vapidPublicKey", BytesCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("providers", providers, EnumCoder<PushV1.PushProvider>.self)
            try fields.value("vapidPublicKey", vapidPublicKey, BytesCoder.self)
        }

    }

    public struct RegisterPushRequest: ProtoMessage {
        public var provider: PushV1.PushProvider
        /// Token of the device at its provider, at most 1,024 bytes: the endpoint of a Web Push subscription, an https URL; else what the provider gave the device.
        public var token: String
        /// P256dh is the public key of a Web Push subscription, 65 bytes; absent for other providers.
        public var p256Dh: Foundation.Data
        /// Auth is the authentication secret of a Web Push subscription, 16 bytes; absent for other providers.
        public var auth: Foundation.Data

        public init(provider: PushV1.PushProvider = .unspecified, token: String = "", p256Dh: Foundation.Data = Foundation.Data(), auth: Foundation.Data = Foundation.Data()) {
            self.provider = provider
            self.token = token
            self.p256Dh = p256Dh
            self.auth = auth
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            provider = try fields.value("provider", EnumCoder<PushV1.PushProvider>.self)
            token = try fields.value("token", TextCoder.self)
            p256Dh = try fields.value("p256dh", BytesCoder.self)
            auth = try fields.value("auth", BytesCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("provider", provider, EnumCoder<PushV1.PushProvider>.self)
            try fields.value("token", token, TextCoder.self)
            try fields.value("p256dh", p256Dh, BytesCoder.self)
            try fields.value("auth", auth, BytesCoder.self)
        }

    }

    public struct PushSubscription: ProtoMessage {
        public var id: String
        /// Session that it belongs to.
        public var session: String
        public var provider: PushV1.PushProvider
        /// CreatedMs is when it was registered, milliseconds since 1970.
        public var createdMs: Int64
        /// Current: it is that of the calling session.
        public var current: Bool

        public init(id: String = "0", session: String = "0", provider: PushV1.PushProvider = .unspecified, createdMs: Int64 = 0, current: Bool = false) {
            self.id = id
            self.session = session
            self.provider = provider
            self.createdMs = createdMs
            self.current = current
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            session = try fields.value("session", IDCoder.self)
            provider = try fields.value("provider", EnumCoder<PushV1.PushProvider>.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            current = try fields.value("current", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("session", session, IDCoder.self)
            try fields.value("provider", provider, EnumCoder<PushV1.PushProvider>.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("current", current, BoolCoder.self)
        }

    }

    public struct ListPushSubscriptionsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListPushSubscriptionsResponse: ProtoMessage {
        /// Subscriptions, at most 20, the oldest first.
        public var subscriptions: [PushV1.PushSubscription]

        public init(subscriptions: [PushV1.PushSubscription] = []) {
            self.subscriptions = subscriptions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            subscriptions = try fields.list("subscriptions", MessageCoder<PushV1.PushSubscription>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("subscriptions", subscriptions, MessageCoder<PushV1.PushSubscription>.self)
        }

    }

    public struct RemovePushSubscriptionRequest: ProtoMessage {
        public var id: String

        public init(id: String = "0") {
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct RemovePushSubscriptionResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetPushSettingsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct PushSettings: ProtoMessage {
        /// ShowText: push notifications have the sender's name and the beginning of the message. Otherwise they only say that there is one.
        public var showText: Bool
        /// PausedUntilMs: nothing is pushed before, milliseconds since 1970; 0: it is not paused.
        public var pausedUntilMs: Int64
        /// QuietHours in which nothing is pushed; absent: none.
        public var quietHours: PushV1.QuietHours?

        public init(showText: Bool = false, pausedUntilMs: Int64 = 0, quietHours: PushV1.QuietHours? = nil) {
            self.showText = showText
            self.pausedUntilMs = pausedUntilMs
            self.quietHours = quietHours
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            showText = try fields.value("showText", BoolCoder.self)
            pausedUntilMs = try fields.value("pausedUntilMs", Int64Coder.self)
            quietHours = try fields.optional("quietHours", MessageCoder<PushV1.QuietHours>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("showText", showText, BoolCoder.self)
            try fields.value("pausedUntilMs", pausedUntilMs, Int64Coder.self)
            try fields.optional("quietHours", quietHours, MessageCoder<PushV1.QuietHours>.self)
        }

    }

    /// QuietHours are the same each day. From and to are minutes after midnight, 0 to 1,439; if from is above to, they include midnight.
    public struct QuietHours: ProtoMessage {
        public var from: Int
        public var to: Int
        /// TimeZone of the user, as Europe/Zurich.
        public var timeZone: String

        public init(from: Int = 0, to: Int = 0, timeZone: String = "") {
            self.from = from
            self.to = to
            self.timeZone = timeZone
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            from = try fields.value("from", IntCoder.self)
            to = try fields.value("to", IntCoder.self)
            timeZone = try fields.value("timeZone", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("from", from, IntCoder.self)
            try fields.value("to", to, IntCoder.self)
            try fields.value("timeZone", timeZone, TextCoder.self)
        }

    }

    public struct ListPushAttemptsRequest: ProtoMessage {
        public var user: String
        /// Before is the next of the previous page; 0: the newest attempts.
        public var before: String
        /// Limit of the attempts, at most 100; 0 is 50.
        public var limit: Int

        public init(user: String = "0", before: String = "0", limit: Int = 0) {
            self.user = user
            self.before = before
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            before = try fields.value("before", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("before", before, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListPushAttemptsResponse: ProtoMessage {
        public var attempts: [PushV1.PushAttempt]
        /// Next is the before of the next page; 0: there is none.
        public var next: String

        public init(attempts: [PushV1.PushAttempt] = [], next: String = "0") {
            self.attempts = attempts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            attempts = try fields.list("attempts", MessageCoder<PushV1.PushAttempt>.self)
            next = try fields.value("next", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("attempts", attempts, MessageCoder<PushV1.PushAttempt>.self)
            try fields.value("next", next, IDCoder.self)
        }

    }

    public struct PushAttempt: ProtoMessage {
        public var id: String
        public var subscription: String
        public var provider: PushV1.PushProvider
        public var conversation: String
        /// Seq of the message in the conversation.
        public var seq: String
        /// TimeMs is when it ended, milliseconds since 1970.
        public var timeMs: Int64
        public var result: PushV1.PushResult
        /// Status of the HTTP answer; 0: there was none.
        public var status: Int
        /// Detail says why, at most 200 bytes. It has no text of messages, and no tokens.
        public var detail: String

        public init(id: String = "0", subscription: String = "0", provider: PushV1.PushProvider = .unspecified, conversation: String = "0", seq: String = "0", timeMs: Int64 = 0, result: PushV1.PushResult = .unspecified, status: Int = 0, detail: String = "") {
            self.id = id
            self.subscription = subscription
            self.provider = provider
            self.conversation = conversation
            self.seq = seq
            self.timeMs = timeMs
            self.result = result
            self.status = status
            self.detail = detail
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            subscription = try fields.value("subscription", IDCoder.self)
            provider = try fields.value("provider", EnumCoder<PushV1.PushProvider>.self)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            result = try fields.value("result", EnumCoder<PushV1.PushResult>.self)
            status = try fields.value("status", IntCoder.self)
            detail = try fields.value("detail", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("subscription", subscription, IDCoder.self)
            try fields.value("provider", provider, EnumCoder<PushV1.PushProvider>.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("result", result, EnumCoder<PushV1.PushResult>.self)
            try fields.value("status", status, IntCoder.self)
            try fields.value("detail", detail, TextCoder.self)
        }

    }

    /// PushProvider is through what a device is reached.
    public enum PushProvider: ProtoEnum {
        case unspecified
        /// A browser's push service, by Web Push (RFC 8030, 8291 and 8292).
        case webPush
        /// The operator's own server, by a signed webhook.
        case webhook
        /// Firebase Cloud Messaging.
        case fcm
        /// Apple Push Notification service.
        case apns
        /// Push Kit of Huawei; the token is that of HMS.
        case huawei
        /// Mi Push of Xiaomi; the token is the registration id (regId).
        case xiaomi
        /// Getui; the token is the client id (CID).
        case getui
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<PushProvider>] = [
            ProtoEnumValue("PUSH_PROVIDER_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("PUSH_PROVIDER_WEB_PUSH", 1, .webPush),
            ProtoEnumValue("PUSH_PROVIDER_WEBHOOK", 2, .webhook),
            ProtoEnumValue("PUSH_PROVIDER_FCM", 3, .fcm),
            ProtoEnumValue("PUSH_PROVIDER_APNS", 4, .apns),
            ProtoEnumValue("PUSH_PROVIDER_HUAWEI", 5, .huawei),
            ProtoEnumValue("PUSH_PROVIDER_XIAOMI", 6, .xiaomi),
            ProtoEnumValue("PUSH_PROVIDER_GETUI", 7, .getui),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// PushResult is what became of an attempt.
    public enum PushResult: ProtoEnum {
        case unspecified
        /// The provider accepted it.
        case sent
        /// It failed, and is tried again.
        case retry
        /// It failed, and is given up.
        case failed
        /// The provider does not know the device any more. The subscription was removed.
        case gone
        /// The message had been read, or was not to be pushed for another reason, which the detail says.
        case dropped
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<PushResult>] = [
            ProtoEnumValue("PUSH_RESULT_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("PUSH_RESULT_SENT", 1, .sent),
            ProtoEnumValue("PUSH_RESULT_RETRY", 2, .retry),
            ProtoEnumValue("PUSH_RESULT_FAILED", 3, .failed),
            ProtoEnumValue("PUSH_RESULT_GONE", 4, .gone),
            ProtoEnumValue("PUSH_RESULT_DROPPED", 5, .dropped),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
