package im.rialto.client

import kotlinx.coroutines.runBlocking
import kotlin.test.Test
import kotlin.test.assertEquals

class GatewaysTest {
    private val asked = mutableListOf<FindGatewaysRequest>()
    private var answer: () -> FindGatewaysResponse = { FindGatewaysResponse(listOf(Gateway("ws://a"), Gateway("ws://b")), ttlMs = 60_000) }
    private var now = 0L

    private fun gateways(url: String = "http://own", discover: Boolean = true): Gateways {
        val find: suspend (FindGatewaysRequest) -> FindGatewaysResponse = { r ->
            asked += r
            answer()
        }
        return Gateways(url, "eu", { now }, find.takeIf { discover })
    }

    @Test
    fun `a client returns to its gateway without asking, until the answer is too old`() = runBlocking {
        val g = gateways()
        assertEquals("ws://a", g.next())
        g.failed()
        assertEquals("ws://b", g.next())
        g.opened("node-b")
        now = 59_999
        assertEquals("ws://b", g.next())
        assertEquals(1, asked.size)
        now = 60_000
        g.next()
        assertEquals(listOf(FindGatewaysRequest("eu", ""), FindGatewaysRequest("eu", "node-b")), asked)
    }

    @Test
    fun `gateways that fail are tried last, after the deployment's own address, in turn`() = runBlocking {
        val g = gateways()
        val tried = List(5) {
            now++
            g.next().also { g.failed() }
        }
        assertEquals(listOf("ws://a", "ws://b", "ws://own/v1/socket", "ws://a", "ws://b"), tried)
    }

    @Test
    fun `the list outlives a discovery that fails, which is repeated after 5 seconds`() = runBlocking {
        val g = gateways()
        g.next()
        answer = { throw RialtoError("unavailable", "away") }
        now = 60_000
        assertEquals("ws://a", g.next())
        now = 64_999
        g.next()
        assertEquals(2, asked.size)
        now = 65_000
        g.next()
        assertEquals(3, asked.size)
    }

    @Test
    fun `where the deployment has TLS, tokens go to no gateway without`() = runBlocking {
        answer = { FindGatewaysResponse(listOf(Gateway("ws://a"), Gateway("wss://b")), ttlMs = 60_000) }
        val g = gateways("https://own")
        assertEquals("wss://b", g.next())
        g.failed()
        assertEquals("wss://own/v1/socket", g.next())
    }

    @Test
    fun `a client that is not told to discover does not ask`() = runBlocking {
        assertEquals("ws://own/v1/socket", gateways(discover = false).next())
        assertEquals(emptyList(), asked)
    }
}
