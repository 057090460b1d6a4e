package im.rialto.client

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.serialization.Serializable
import kotlinx.serialization.builtins.serializer
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/**
 * Who is logged in on this device, and with which tokens. As secret as a password.
 *
 * @property handle under which the device's number is kept for the next login
 * @property expiresMs when the access token ends, in milliseconds since 1970
 */
@Serializable
data class Login(
    val user: String,
    val device: String,
    val session: String,
    val handle: String,
    val accessToken: String,
    val expiresMs: Long,
    val refreshToken: String,
)

private const val account = "rialto.account.v1.AccountService"
private const val loginKey = "login"

/** An access token is renewed this long before it ends. */
private const val renewBeforeMs = 60_000L

/** Owns the tokens. A refresh token is good once, so one refresh runs at a time. It is used on the client's dispatcher only. */
internal class Auth(private val url: String, private val calls: Calls, private val store: Store, private val info: ClientInfo, private val now: () -> Long, private val onEnded: () -> Unit) {
    private val refreshing = Mutex()
    var current: Login? = null
        private set

    suspend fun load(): Login? {
        current = store.value(Table.META, loginKey, Login.serializer())
        return current
    }

    suspend fun register(handle: String, password: String, displayName: String): Login =
        keep(handle, ask("Register", mapOf("handle" to text(handle), "password" to text(password), "displayName" to text(displayName), "client" to client("0", ""))))

    suspend fun logIn(handle: String, password: String): Login =
        enter(handle, ask("Login", mapOf("handle" to text(handle), "password" to text(password), "client" to known(handle))))

    suspend fun requestCode(handle: String) {
        calls.call(url, "$account/RequestCode", JsonObject.serializer(), JsonObject(mapOf("handle" to text(handle))), Empty.serializer(), null)
    }

    suspend fun logInWithCode(handle: String, code: String): Login =
        enter(handle, ask("LoginWithCode", mapOf("handle" to text(handle), "code" to text(code), "client" to known(handle))))

    suspend fun logInWithSecondFactor(handle: String, challenge: String, code: String): Login =
        keep(handle, ask("LoginWithSecondFactor", mapOf("challenge" to text(challenge), "code" to text(code), "client" to known(handle))))

    /** Takes over a session that came from elsewhere. */
    suspend fun adopt(session: String): Login = keep("", json.decodeFromString(SessionAnswer.serializer(), session))

    private suspend fun ask(method: String, fields: Map<String, kotlinx.serialization.json.JsonElement>): SessionAnswer =
        calls.call(url, "$account/$method", JsonObject.serializer(), JsonObject(fields), SessionAnswer.serializer(), null)

    private suspend fun enter(handle: String, s: SessionAnswer): Login {
        s.secondFactor?.let { throw SecondFactorNeeded(it.challenge, it.expiresMs) }
        return keep(handle, s)
    }

    /** Says that this device had a session of the user before, where it had. */
    private suspend fun known(handle: String): JsonObject =
        client(store.value(Table.META, deviceName(handle), String.serializer()) ?: "0", store.value(Table.META, deviceKeyName(handle), String.serializer()) ?: "")

    private fun client(device: String, deviceKey: String) =
        JsonObject(mapOf("name" to text(info.name), "type" to text(info.type), "device" to text(device), "deviceKey" to text(deviceKey)))

    private suspend fun keep(handle: String, s: SessionAnswer): Login {
        val login = Login(s.user, s.device, s.session, handle, s.accessToken, s.expiresMs, s.refreshToken)
        write(login, s.deviceKey)
        return login
    }

    private suspend fun write(login: Login, deviceKey: String) {
        val ops = mutableListOf<Op>(Op.put(Table.META, loginKey, Login.serializer(), login), Op.put(Table.META, deviceName(login.handle), String.serializer(), login.device))
        if (deviceKey.isNotEmpty()) ops += Op.put(Table.META, deviceKeyName(login.handle), String.serializer(), deviceKey)
        store.write(ops)
        current = login
    }

    /** An access token that is still good for a while, as far as the clocks agree. */
    suspend fun token(): String {
        val login = current ?: throw signedOut()
        return if (login.expiresMs - now() > renewBeforeMs) login.accessToken else refresh(login.accessToken)
    }

    /** Renews the login, unless that was done since [stale] was its access token. Returns the new access token. */
    suspend fun refresh(stale: String): String = withContext(NonCancellable) { refreshing.withLock { renew(stale) } }

    /** It is not cancelled half-way: then the refresh token is used up, and its successor lost. */
    private suspend fun renew(stale: String): String {
        val login = current ?: throw signedOut()
        if (login.accessToken != stale) return login.accessToken
        return try {
            val renewed = exchange(login.refreshToken)
            if (current !== login) throw signedOut() // logged out meanwhile
            keep(login.handle, renewed).accessToken
        } catch (e: RialtoError) {
            if (current === login && (e.code == "unauthenticated" || e.code == "permission_denied")) {
                forget()
                onEnded()
            }
            throw e
        }
    }

    /** An answer that got lost has used the token up. The server gives it again for a few seconds, so it is asked again at once. */
    private suspend fun exchange(refreshToken: String): SessionAnswer {
        val fields = mapOf("refreshToken" to text(refreshToken))
        return try {
            ask("Refresh", fields)
        } catch (e: RialtoError) {
            if (!e.isOffline) throw e
            ask("Refresh", fields)
        }
    }

    /** Drops the login here. The device's number and key stay, for the next login. */
    suspend fun forget() {
        current = null
        store.write(listOf(Op.Delete(Table.META, loginKey)))
    }

    private fun text(s: String) = JsonPrimitive(s)
    private fun deviceName(handle: String) = "device/$handle"
    private fun deviceKeyName(handle: String) = "device_key/$handle"
}
