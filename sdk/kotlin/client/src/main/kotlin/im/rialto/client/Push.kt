package im.rialto.client

import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

private const val service = "rialto.push.v1.PushService"
private const val tokenKey = "push"

/** Through what a device is reached while it is not connected. */
@Serializable(with = PushProviderSerializer::class)
enum class PushProvider {
    /** One of a later version. */
    UNSPECIFIED,
    WEB_PUSH,
    WEBHOOK,

    /** Firebase Cloud Messaging. */
    FCM,
    APNS,

    /** Push Kit of Huawei; the token is that of HMS. */
    HUAWEI,

    /** Mi Push of Xiaomi; the token is the registration id. */
    XIAOMI,

    /** Getui; the token is the client id. */
    GETUI,
}

internal object PushProviderSerializer : ProtocolEnum<PushProvider>(PushProvider.entries, "PUSH_PROVIDER_")

/**
 * What a push notification says. It is a hint: read the message when the user opens it.
 *
 * @property user the receiver
 * @property seq of the newest message
 * @property badge the unread messages
 * @property title who wrote; empty unless the user has set `showText`, as [body]
 * @property parent of a thread, the conversation that it belongs to; "0" for others
 */
@Serializable
data class PushHint(
    val user: String = "0",
    val conversation: String = "0",
    val seq: Long = 0,
    val badge: Long = 0,
    val title: String = "",
    val body: String = "",
    val parent: String = "0",
    val root: Long = 0,
) {
    companion object {
        /** Reads a payload: the JSON of Xiaomi and Getui, or the fields of FCM and Huawei as a JSON object. `null`: it is not one of Rialto. */
        fun parse(payload: String): PushHint? = try {
            json.decodeFromString(serializer(), payload).takeIf { it.conversation != "0" }
        } catch (_: SerializationException) {
            null
        }

        /** Reads the fields of a message, such as `RemoteMessage.data` of FCM. */
        fun of(data: Map<String, String>): PushHint? = parse(JsonObject(data.mapValues { JsonPrimitive(it.value) }).toString())
    }
}

@Serializable
internal data class PushToken(
    val provider: PushProvider,
    val token: String,
    /** The session that has registered it; empty: none yet. */
    val session: String = "",
)

@Serializable
private data class RegisterPushRequest(val provider: PushProvider, val token: String)

@Serializable
private data class PushProviders(val providers: List<PushProvider> = emptyList())

@Serializable
private data class PushSubscription(val id: String = "0", val current: Boolean = false)

@Serializable
private data class PushSubscriptions(val subscriptions: List<PushSubscription> = emptyList())

/** Registers the device's push token: once for each session, again after a new token, and later where the server cannot be reached. */
internal class Push(private val login: Login, private val store: Store, private val caller: ChatApi.Caller) {
    suspend fun providers(): Set<PushProvider> =
        caller.call("$service/GetPushProviders", Empty.serializer(), Empty, PushProviders.serializer()).providers.toSet()

    /** Keeps the token, and registers it. Fails only where the server refuses. */
    suspend fun register(provider: PushProvider, token: String) {
        store.write(listOf(Op.put(Table.META, tokenKey, PushToken.serializer(), PushToken(provider, token))))
        flush()
    }

    /** Registers a kept token that this session has not registered yet. */
    suspend fun flush() {
        val kept = store.value(Table.META, tokenKey, PushToken.serializer()) ?: return
        if (kept.session == login.session) return
        val op = try {
            caller.call("$service/RegisterPush", RegisterPushRequest.serializer(), RegisterPushRequest(kept.provider, kept.token), JsonObject.serializer())
            Op.put(Table.META, tokenKey, PushToken.serializer(), kept.copy(session = login.session))
        } catch (e: RialtoError) {
            if (e.isOffline) return // the next connection registers it
            forget(kept)
            throw e
        }
        if (isKept(kept)) store.write(listOf(op))
    }

    /** Ends the registration of this session. */
    suspend fun unregister() {
        store.write(listOf(Op.Delete(Table.META, tokenKey)))
        val all = caller.call("$service/ListPushSubscriptions", Empty.serializer(), Empty, PushSubscriptions.serializer()).subscriptions
        for (s in all.filter { it.current }) {
            caller.call("$service/RemovePushSubscription", JsonObject.serializer(), JsonObject(mapOf("id" to JsonPrimitive(s.id))), JsonObject.serializer())
        }
    }

    private suspend fun forget(token: PushToken) {
        if (isKept(token)) store.write(listOf(Op.Delete(Table.META, tokenKey)))
    }

    /** Whether the token was not replaced meanwhile. */
    private suspend fun isKept(token: PushToken) = store.value(Table.META, tokenKey, PushToken.serializer()) == token
}

/** What the server can push through. */
suspend fun Client.pushProviders(): Set<PushProvider> = inSession { push.providers() }

/**
 * Has this device pushed what comes while no device of the user is connected and active, until the session ends. Call it at each start of the
 * app, after each login, and when the provider gives a new token. Where the server cannot be reached, the next connection registers the token.
 *
 * @param token what the provider gave the device, such as the registration token of FCM: at most 1,024 bytes
 * @throws RialtoError where the server refuses
 */
suspend fun Client.registerPush(provider: PushProvider, token: String) = inSession { push.register(provider, token) }

/** Has this device pushed nothing more. */
suspend fun Client.unregisterPush() = inSession { push.unregister() }
