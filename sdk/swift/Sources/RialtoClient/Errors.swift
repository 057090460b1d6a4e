import Foundation

/// Every error that the server answers, and those of the way there.
public struct RialtoError: Error, Hashable, Sendable {
    /// As in Connect, such as `permission_denied`.
    public let code: String
    public let message: String
    /// A stable word for programs, such as `not_friends`; empty where there is none.
    public let reason: String
    /// Above 0: the same request may succeed after so many milliseconds.
    public let retryMs: Int64
    /// With the reasons `account_banned` and `address_banned` only.
    public let ban: GatewayV1.BanNotice?

    public init(_ code: String, _ message: String, reason: String = "", retryMs: Int64 = 0, ban: GatewayV1.BanNotice? = nil) {
        self.code = code
        self.message = message
        self.reason = reason
        self.retryMs = retryMs
        self.ban = ban
    }

    init(_ e: GatewayV1.Error) { self.init(e.code, e.message, reason: e.reason, retryMs: Int64(e.retryMs), ban: e.ban) }

    /// Whether the server was not reached, or its answer was lost: whether the request took effect is not known.
    public var isOffline: Bool { code == "unavailable" }

    /// Whether the user may not read what was asked for. Another error, as of too many calls, may pass.
    var isRefusal: Bool { code == "not_found" || code == "permission_denied" }

    static let signedOut = RialtoError("unauthenticated", "not logged in", reason: "logged_out")
}

extension RialtoError: LocalizedError {
    public var errorDescription: String? { message }
}

/// The first factor of a login was right, and the account needs a second one: complete the login with `logInWithSecondFactor`.
public struct SecondFactorNeeded: Error, Hashable, Sendable {
    /// As secret as a password.
    public let challenge: String
    /// When the challenge ends, in milliseconds since 1970, by the server's clock.
    public let expiresMs: Int64
}
