package im.rialto.client

import kotlinx.serialization.Serializable

/** What a refused user is told of a ban. */
@Serializable
data class Ban(
    /** When it ends, in milliseconds since 1970; 0: never. */
    val endsMs: Long = 0,
    /** By a moderator; may be empty. */
    val explanation: String = "",
    /** With this token the user may appeal, for an hour; empty: the user may not. */
    val appealToken: String = "",
)

/**
 * Every error that the server answers, and those of the way there.
 *
 * @property code as in Connect, such as `permission_denied`
 * @property reason a stable word for programs, such as `not_friends`; empty where there is none
 * @property retryMs above 0: the same request may succeed after so many milliseconds
 * @property ban with the reasons `account_banned` and `address_banned` only
 */
open class RialtoError(
    val code: String,
    message: String,
    val reason: String = "",
    val retryMs: Long = 0,
    val ban: Ban? = null,
) : Exception(message) {
    /** Whether the server was not reached, or its answer was lost: whether the request took effect is not known. */
    val isOffline: Boolean get() = code == "unavailable"

    /** Whether the user may not read what was asked for. Another error, as of too many calls, may pass. */
    internal val isRefusal: Boolean get() = code == "not_found" || code == "permission_denied"
}

/**
 * The first factor of a login was right, and the account needs a second one: complete the login with [Client.logInWithSecondFactor].
 *
 * @property challenge as secret as a password
 * @property expiresMs when the challenge ends, in milliseconds since 1970, by the server's clock
 */
class SecondFactorNeeded(val challenge: String, val expiresMs: Long) :
    RialtoError("unauthenticated", "this account needs a second factor", "second_factor_needed")

internal fun signedOut() = RialtoError("unauthenticated", "not logged in", "logged_out")
