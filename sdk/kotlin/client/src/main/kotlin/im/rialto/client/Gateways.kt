package im.rialto.client

/** The time between a discovery that failed and the next one. */
private const val askAgainMs = 5_000L

/** How long an answer is used at most, whatever it says. */
private const val longestLifetimeMs = 3_600_000L

/** A gateway that failed is tried last for this time. */
private const val failureMs = 60_000L
private const val mostGateways = 16

/**
 * Says where to connect: to the gateways of the last discovery, best first, and to the deployment's own address if there are none, or all
 * fail. The list outlives discoveries that fail.
 *
 * @param find asks the deployment; `null`: sockets go to the deployment's own address
 */
internal class Gateways(private val url: String, private val region: String, private val now: () -> Long, private val find: (suspend (FindGatewaysRequest) -> FindGatewaysResponse)?) {
    private val own = "ws" + url.removePrefix("http") + "/v1/socket"
    private var list = emptyList<String>()
    private var askAtMs = Long.MIN_VALUE

    /** When addresses failed last. */
    private val failed = mutableMapOf<String, Long>()
    private var current = own
    private var previous = ""

    /** The address for the next try. */
    suspend fun next(): String {
        if (find != null && now() >= askAtMs) discover(find)
        val all = if (own in list) list else list + own
        current = all.minBy { failed[it] ?: Long.MIN_VALUE }
        return current
    }

    /** The last address led to a node, which is preferred from now on. */
    fun opened(node: String) {
        previous = node
        failed.remove(current)
        if (current in list) list = listOf(current) + (list - current)
    }

    /** The last address did not lead to a connection, or its node stops. */
    fun failed() {
        failed[current] = now()
    }

    private suspend fun discover(find: suspend (FindGatewaysRequest) -> FindGatewaysResponse) {
        try {
            val answer = find(FindGatewaysRequest(region, previous))
            list = answer.gateways.map { it.ws }.filter(::accepts).distinct().take(mostGateways)
            askAtMs = now() + minOf(answer.ttlMs, longestLifetimeMs)
            failed.values.removeAll { now() - it > failureMs }
        } catch (_: RialtoError) {
            askAtMs = now() + askAgainMs // the last list is used
        }
    }

    /** Where the deployment's address has TLS, tokens do not go elsewhere without. */
    private fun accepts(address: String) = address.startsWith("wss://") || (address.startsWith("ws://") && url.startsWith("http://"))
}
