import Foundation

private let tokenKey = "push"

/// What a push notification says. It is a hint: read the message when the user opens it.
public struct PushHint: Hashable, Sendable {
    /// The receiver.
    public let user: String
    public let conversation: String
    /// Of the newest message.
    public let seq: Int64
    /// The unread messages.
    public let badge: Int64
    /// Who wrote; empty unless the user has set `showText`, as `body`.
    public let title: String
    public let body: String
    /// Of a thread, the conversation that it belongs to; "0" for others.
    public let parent: String
    public let root: Int64

    /// Reads what a notification of APNs carries, such as `UNNotificationContent.userInfo`. `nil`: it is not one of Rialto.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let rialto = userInfo["rialto"] else { return nil }
        guard JSONSerialization.isValidJSONObject(["rialto": rialto]), let data = try? JSONSerialization.data(withJSONObject: ["rialto": rialto]) else { return nil }
        guard let fields = try? JSONDecoder().decode(JSONObject.self, from: data).object("rialto") else { return nil }
        self.init(fields)
    }

    /// Reads a payload: the JSON of other providers.
    public init?(json: String) {
        guard let fields = try? JSON.decode(JSONObject.self, json) else { return nil }
        self.init(fields)
    }

    private init?(_ fields: JSONObject) {
        func id(_ name: String) -> String { fields.string(name).isEmpty ? String(fields.integer(name)) : fields.string(name) }
        user = id("user")
        conversation = id("conversation")
        seq = fields.integer("seq")
        badge = fields.integer("badge")
        title = fields.string("title")
        body = fields.string("body")
        parent = id("parent")
        root = fields.integer("root")
        if conversation == "0" { return nil }
    }
}

struct PushToken: Hashable, Codable, Sendable {
    /// The provider's number in the contract.
    let provider: Int
    let token: String
    /// The session that has registered it; empty: none yet.
    var session = ""
}

/// Registers the device's push token: once for each session, again after a new token, and later where the server cannot be reached.
@RialtoActor
final class Push {
    private typealias Service = PushV1.PushService

    private let login: Login
    private let store: any Store
    private let api: ChatAPI

    init(login: Login, store: any Store, api: ChatAPI) {
        self.login = login
        self.store = store
        self.api = api
    }

    func providers() async throws -> Set<PushProvider> { Set(try await api.call(Service.getPushProviders, PushV1.GetPushProvidersRequest()).providers) }

    /// Keeps the token, and registers it. Fails only where the server refuses.
    func register(_ provider: PushProvider, _ token: String) async throws {
        try await store.write([.put(.meta, tokenKey, PushToken(provider: provider.number, token: token))])
        try await flush()
    }

    /// Registers a kept token that this session has not registered yet.
    func flush() async throws {
        guard let kept = try await store.value(.meta, tokenKey, PushToken.self), kept.session != login.session else { return }
        do {
            _ = try await api.call(Service.registerPush, PushV1.RegisterPushRequest(provider: PushProvider(number: kept.provider), token: kept.token))
        } catch let error as RialtoError {
            if error.isOffline { return } // the next connection registers it
            if try await isKept(kept) { try await store.write([.delete(.meta, key: tokenKey)]) }
            throw error
        }
        var registered = kept
        registered.session = login.session
        if try await isKept(kept) { try await store.write([.put(.meta, tokenKey, registered)]) }
    }

    /// Ends the registration of this session.
    func unregister() async throws {
        try await store.write([.delete(.meta, key: tokenKey)])
        let all = try await api.call(Service.listPushSubscriptions, PushV1.ListPushSubscriptionsRequest()).subscriptions
        for s in all where s.current { _ = try await api.call(Service.removePushSubscription, PushV1.RemovePushSubscriptionRequest(id: s.id)) }
    }

    /// Whether the token was not replaced meanwhile.
    private func isKept(_ token: PushToken) async throws -> Bool { try await store.value(.meta, tokenKey, PushToken.self) == token }
}

extension Client {
    /// What the server can push through.
    public func pushProviders() async throws -> Set<PushProvider> { try await inSession { try await $0.push.providers() } }

    /// Has this device pushed what comes while no device of the user is connected and active, until the session ends. Call it at each start of the
    /// app, after each login, and when the system gives a new token. Where the server cannot be reached, the next connection registers the token.
    /// It throws where the server refuses.
    ///
    /// - Parameter apnsToken: as given to `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`
    public func registerPush(apnsToken: Data) async throws { try await registerPush(.apns, token: apnsToken.map { String(format: "%02x", $0) }.joined()) }

    /// As `registerPush(apnsToken:)`, for another provider.
    ///
    /// - Parameter token: what the provider gave the device: at most 1,024 bytes
    public func registerPush(_ provider: PushProvider, token: String) async throws { try await inSession { try await $0.push.register(provider, token) } }

    /// Has this device pushed nothing more.
    public func unregisterPush() async throws { try await inSession { try await $0.push.unregister() } }
}
