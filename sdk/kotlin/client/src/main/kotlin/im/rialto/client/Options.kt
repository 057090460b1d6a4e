package im.rialto.client

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlin.random.Random

/** What the client knows of its way to the server. */
enum class ConnectionState {
    SIGNED_OUT,

    /** The first try. */
    CONNECTING,
    ONLINE,

    /** The last try failed, and another one is planned. */
    OFFLINE,
}

/**
 * What the list of sessions shows of this device.
 *
 * @property type for the device policy: `phone`, `tablet`, `desktop`, `terminal`, `server` or `other`
 */
data class ClientInfo(val name: String = "Kotlin SDK", val type: String = "other")

/**
 * What a [Client] is made with.
 *
 * @property url the address of the deployment, such as `https://chat.example.com`
 * @property storage what the device keeps: in memory unless given, see [Storage]
 * @property discover asks the deployment which of its nodes to connect to, and fails over among them. Calls still go to [url]
 * @property region that this client is in, one of the operator's, for [discover]; that of the node that answers unless set
 * @property openTimeoutMs how long a try to connect may take to the server's first word, in milliseconds
 * @property transport HTTP and WebSocket: OkHttp unless given
 * @property onProblem is told of what failed in the background and is tried again, for logs. It is called on the client's thread, and must return soon
 */
class ClientOptions(
    url: String,
    val storage: Storage = MemoryStorage(),
    val info: ClientInfo = ClientInfo(),
    val discover: Boolean = false,
    val region: String = "",
    val openTimeoutMs: Long = 10_000,
    val transport: Transport = OkHttpTransport(),
    val onProblem: (String, Throwable) -> Unit = { _, _ -> },
) {
    val url: String = url.trimEnd('/')

    /** The clock, in milliseconds since 1970. */
    internal var now: () -> Long = System::currentTimeMillis

    /** A number from 0 to 1. */
    internal var random: () -> Double = Random::nextDouble
    internal var dispatcher: CoroutineDispatcher = Dispatchers.Default
}
