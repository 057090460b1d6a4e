import Foundation

/// Who is logged in on this device, and with which tokens. As secret as a password.
public struct Login: Hashable, Sendable, Codable {
    public let user: String
    public let device: String
    public let session: String
    /// Under which the device's number is kept for the next login.
    public let handle: String
    public let accessToken: String
    /// When the access token ends, in milliseconds since 1970.
    public let expiresMs: Int64
    public let refreshToken: String
}

private let loginKey = "login"

/// An access token is renewed this long before it ends.
private let renewBeforeMs: Int64 = 60_000

/// Owns the tokens. A refresh token is good once, so one refresh runs at a time.
@RialtoActor
final class Auth {
    private typealias Service = AccountV1.AccountService

    private let url: String
    private let calls: Calls
    private let store: any Store
    private let info: ClientInfo
    private let now: @Sendable () -> Int64
    private let onEnded: @RialtoActor () -> Void
    private let refreshing = Turns()
    private(set) var current: Login?

    init(url: String, calls: Calls, store: any Store, info: ClientInfo, now: @escaping @Sendable () -> Int64, onEnded: @escaping @RialtoActor () -> Void) {
        self.url = url
        self.calls = calls
        self.store = store
        self.info = info
        self.now = now
        self.onEnded = onEnded
    }

    func load() async throws -> Login? {
        current = try await store.value(.meta, loginKey, Login.self)
        return current
    }

    func register(_ handle: String, _ password: String, _ displayName: String) async throws -> Login {
        let client = AccountV1.Client(name: info.name, type: info.type)
        return try await keep(handle, calls.call(url, Service.register, AccountV1.RegisterRequest(handle: handle, password: password, displayName: displayName, client: client)))
    }

    func logIn(_ handle: String, _ password: String) async throws -> Login {
        try await enter(handle, calls.call(url, Service.login, AccountV1.LoginRequest(handle: handle, password: password, client: known(handle))))
    }

    func requestCode(_ handle: String) async throws {
        _ = try await calls.call(url, Service.requestCode, AccountV1.RequestCodeRequest(handle: handle))
    }

    func logInWithCode(_ handle: String, _ code: String) async throws -> Login {
        try await enter(handle, calls.call(url, Service.loginWithCode, AccountV1.LoginWithCodeRequest(handle: handle, code: code, client: known(handle))))
    }

    func logInWithSecondFactor(_ handle: String, _ challenge: String, _ code: String) async throws -> Login {
        let request = AccountV1.LoginWithSecondFactorRequest(challenge: challenge, code: code, client: try await known(handle))
        return try await keep(handle, calls.call(url, Service.loginWithSecondFactor, request))
    }

    /// Takes over a session that came from elsewhere.
    func adopt(_ session: String) async throws -> Login { try await keep("", JSON.decode(AccountV1.Session.self, session)) }

    private func enter(_ handle: String, _ s: AccountV1.Session) async throws -> Login {
        if let needed = s.secondFactor { throw SecondFactorNeeded(challenge: needed.challenge, expiresMs: needed.expiresMs) }
        return try await keep(handle, s)
    }

    /// Says that this device had a session of the user before, where it had.
    private func known(_ handle: String) async throws -> AccountV1.Client {
        let device = try await store.get(.meta, deviceName(handle)) ?? "0"
        return AccountV1.Client(name: info.name, type: info.type, device: device, deviceKey: try await store.get(.meta, deviceKeyName(handle)) ?? "")
    }

    private func keep(_ handle: String, _ s: AccountV1.Session) async throws -> Login {
        let login = Login(user: s.user, device: s.device, session: s.session, handle: handle, accessToken: s.accessToken, expiresMs: s.expiresMs, refreshToken: s.refreshToken)
        var ops = [try Op.put(.meta, loginKey, login), .put(.meta, key: deviceName(handle), value: login.device)]
        if !s.deviceKey.isEmpty { ops.append(.put(.meta, key: deviceKeyName(handle), value: s.deviceKey)) }
        try await store.write(ops)
        current = login
        return login
    }

    /// An access token that is still good for a while, as far as the clocks agree.
    func token() async throws -> String {
        guard let login = current else { throw RialtoError.signedOut }
        return login.expiresMs - now() > renewBeforeMs ? login.accessToken : try await refresh(login.accessToken)
    }

    /// Renews the login, unless that was done since `stale` was its access token. Returns the new access token.
    ///
    /// It is not cancelled half-way: then the refresh token is used up, and its successor lost.
    func refresh(_ stale: String) async throws -> String {
        try await Task { @RialtoActor in try await refreshing.run { try await self.renew(stale) } }.value
    }

    private func renew(_ stale: String) async throws -> String {
        guard let login = current else { throw RialtoError.signedOut }
        if login.accessToken != stale { return login.accessToken }
        do {
            let renewed = try await exchange(login.refreshToken)
            if current != login { throw RialtoError.signedOut } // logged out meanwhile
            return try await keep(login.handle, renewed).accessToken
        } catch let error as RialtoError {
            if current == login && (error.code == "unauthenticated" || error.code == "permission_denied") {
                try await forget()
                onEnded()
            }
            throw error
        }
    }

    /// An answer that got lost has used the token up. The server gives it again for a few seconds, so it is asked again at once.
    private func exchange(_ refreshToken: String) async throws -> AccountV1.Session {
        let request = AccountV1.RefreshRequest(refreshToken: refreshToken)
        do {
            return try await calls.call(url, Service.refresh, request)
        } catch let error as RialtoError where error.isOffline {
            return try await calls.call(url, Service.refresh, request)
        }
    }

    /// Drops the login here. The device's number and key stay, for the next login.
    func forget() async throws {
        current = nil
        try await store.write([.delete(.meta, key: loginKey)])
    }

    private func deviceName(_ handle: String) -> String { "device/\(handle)" }
    private func deviceKeyName(_ handle: String) -> String { "device_key/\(handle)" }
}
