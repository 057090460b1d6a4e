// Made from rialto/presence/v1/presence.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.presence.v1.
public enum PresenceV1 {}

extension PresenceV1 {
    /// PresenceService tells who is online. Users set their availability, custom status and visibility in the account's settings.
    public enum PresenceService {
        /// GetPresence of at most 200 users, in the order asked for. Those whom the caller may not see are offline.
        public static let getPresence = RialtoContract.Call<PresenceV1.GetPresenceRequest, PresenceV1.GetPresenceResponse>("rialto.presence.v1.PresenceService/GetPresence")
        /// ListDevices gives the caller's own devices that are connected, on any node.
        public static let listDevices = RialtoContract.Call<PresenceV1.ListDevicesRequest, PresenceV1.ListDevicesResponse>("rialto.presence.v1.PresenceService/ListDevices")
    }

    public struct Presence: ProtoMessage {
        public var user: String
        public var status: PresenceV1.Status
        /// LastActiveMs is when any device was last active; 0 when not known.
        public var lastActiveMs: Int64
        /// Custom is the custom status. Offline users have one too. It ends at until_ms.
        public var custom: PresenceV1.CustomStatus?

        public init(user: String = "0", status: PresenceV1.Status = .unspecified, lastActiveMs: Int64 = 0, custom: PresenceV1.CustomStatus? = nil) {
            self.user = user
            self.status = status
            self.lastActiveMs = lastActiveMs
            self.custom = custom
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            status = try fields.value("status", EnumCoder<PresenceV1.Status>.self)
            lastActiveMs = try fields.value("lastActiveMs", Int64Coder.self)
            custom = try fields.optional("custom", MessageCoder<PresenceV1.CustomStatus>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("status", status, EnumCoder<PresenceV1.Status>.self)
            try fields.value("lastActiveMs", lastActiveMs, Int64Coder.self)
            try fields.optional("custom", custom, MessageCoder<PresenceV1.CustomStatus>.self)
        }

    }

    /// CustomStatus is an emoji, a text, or both.
    public struct CustomStatus: ProtoMessage {
        /// Emoji: at most one.
        public var emoji: String
        /// Text of at most 100 characters.
        public var text: String
        /// UntilMs is when the status ends; 0: when the user changes it.
        public var untilMs: Int64

        public init(emoji: String = "", text: String = "", untilMs: Int64 = 0) {
            self.emoji = emoji
            self.text = text
            self.untilMs = untilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            emoji = try fields.value("emoji", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
            untilMs = try fields.value("untilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("emoji", emoji, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("untilMs", untilMs, Int64Coder.self)
        }

    }

    public struct GetPresenceRequest: ProtoMessage {
        public var users: [String]

        public init(users: [String] = []) {
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct GetPresenceResponse: ProtoMessage {
        public var presences: [PresenceV1.Presence]

        public init(presences: [PresenceV1.Presence] = []) {
            self.presences = presences
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            presences = try fields.list("presences", MessageCoder<PresenceV1.Presence>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("presences", presences, MessageCoder<PresenceV1.Presence>.self)
        }

    }

    public struct ListDevicesRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListDevicesResponse: ProtoMessage {
        public var devices: [PresenceV1.DevicePresence]

        public init(devices: [PresenceV1.DevicePresence] = []) {
            self.devices = devices
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            devices = try fields.list("devices", MessageCoder<PresenceV1.DevicePresence>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("devices", devices, MessageCoder<PresenceV1.DevicePresence>.self)
        }

    }

    /// DevicePresence is the presence of one of the caller's own sessions.
    public struct DevicePresence: ProtoMessage {
        /// Session as in ListSessions, which has the device's name.
        public var session: String
        public var activity: PresenceV1.Activity
        /// LastActiveMs is the time of the last frame before the device was away.
        public var lastActiveMs: Int64

        public init(session: String = "0", activity: PresenceV1.Activity = .unspecified, lastActiveMs: Int64 = 0) {
            self.session = session
            self.activity = activity
            self.lastActiveMs = lastActiveMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            session = try fields.value("session", IDCoder.self)
            activity = try fields.value("activity", EnumCoder<PresenceV1.Activity>.self)
            lastActiveMs = try fields.value("lastActiveMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("session", session, IDCoder.self)
            try fields.value("activity", activity, EnumCoder<PresenceV1.Activity>.self)
            try fields.value("lastActiveMs", lastActiveMs, Int64Coder.self)
        }

    }

    public enum Status: ProtoEnum {
        case unspecified
        case offline
        case online
        /// STATUS_AWAY: connected, but all devices are idle or in the background.
        case away
        /// STATUS_DO_NOT_DISTURB: connected, and does not want to be disturbed.
        case doNotDisturb
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Status>] = [
            ProtoEnumValue("STATUS_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("STATUS_OFFLINE", 1, .offline),
            ProtoEnumValue("STATUS_ONLINE", 2, .online),
            ProtoEnumValue("STATUS_AWAY", 3, .away),
            ProtoEnumValue("STATUS_DO_NOT_DISTURB", 4, .doNotDisturb),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// Availability is what a user chose, for all devices.
    public enum Availability: ProtoEnum {
        /// As the devices say: online, or away.
        case unspecified
        /// AVAILABILITY_DO_NOT_DISTURB: others see it, and the user's own clients do not notify.
        case doNotDisturb
        /// AVAILABILITY_INVISIBLE: others see the user offline, without a time or a custom status, and do not see the user typing.
        case invisible
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Availability>] = [
            ProtoEnumValue("AVAILABILITY_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("AVAILABILITY_DO_NOT_DISTURB", 1, .doNotDisturb),
            ProtoEnumValue("AVAILABILITY_INVISIBLE", 2, .invisible),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// Activity of a device, as it says itself.
    public enum Activity: ProtoEnum {
        case unspecified
        case active
        /// ACTIVITY_AWAY: idle, or in the background.
        case away
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Activity>] = [
            ProtoEnumValue("ACTIVITY_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ACTIVITY_ACTIVE", 1, .active),
            ProtoEnumValue("ACTIVITY_AWAY", 2, .away),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
