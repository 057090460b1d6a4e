package im.rialto.client

import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue

/** The connection: heartbeats, silence, and coming back. Times are those of the test's clock. */
class SocketTest {
    @Test
    fun `a server that takes a try to connect and stays silent is given up after 10 seconds, and tried again`() = fake {
        refusals += 0
        val begun = now()
        loggedIn()
        assertEquals(2, handshakes)
        assertEquals(10_001, now() - begun)
    }

    @Test
    fun `it sends pings each 5 seconds, and stays with a server that answers`() = fake {
        loggedIn()
        delay(61_000)
        assertEquals(12, frames.count { it.ping != null })
        assertEquals(1, handshakes)
    }

    @Test
    fun `a server that answers no ping is left 10 seconds after it, though the connection stays open`() = fake {
        val client = loggedIn()
        val begun = now()
        answers = false
        client.connection.first { it == ConnectionState.OFFLINE }
        assertEquals(14_998, now() - begun)
        client.connection.first { it == ConnectionState.ONLINE }
        assertEquals(2, handshakes)
    }

    @Test
    fun `sending does not hide that nothing comes back`() = fake {
        val client = loggedIn()
        val begun = now()
        answers = false
        receipts = false
        pushes = false
        while (handshakes == 1) { // between two connections it is offline for a millisecond
            client.sendText(ROOM, "is anybody there?")
            delay(500)
        }
        assertTrue(now() - begun <= 21_000, "${now() - begun} ms")
    }

    @Test
    fun `waits double from half a second up to 30 seconds, at random`() = fake {
        val client = loggedIn(random = 0.5)
        reachable = false
        cut()
        val waits = mutableListOf<Long>()
        repeat(9) {
            waits += client.retryAtMs.first { it > now() } - now()
            delay(waits.last())
        }
        assertEquals(listOf(250L, 500L, 1_000L, 2_000L, 4_000L, 8_000L, 15_000L, 15_000L, 15_000L), waits)
    }

    @Test
    fun `it does not come back before the time that the server asked for, unless it is told to`() = fake {
        val client = loggedIn()
        val begun = now()
        bye(4000, "stopping", retryMs = 7_000)
        client.connection.first { it == ConnectionState.OFFLINE }
        client.connection.first { it == ConnectionState.ONLINE }
        assertEquals(7_001, now() - begun)
        bye(4000, "stopping", retryMs = 3_600_000)
        client.connection.first { it == ConnectionState.OFFLINE }
        assertTrue(client.retryAtMs.value >= now() + 3_600_000)
        client.reconnect()
        client.connection.first { it == ConnectionState.ONLINE }
        assertEquals(7_001, now() - begun)
    }

    @Test
    fun `told to look, it leaves a connection that does not answer after 3 seconds`() = fake {
        val client = loggedIn()
        answers = false
        val begun = now()
        client.reconnect()
        client.connection.first { it == ConnectionState.OFFLINE }
        assertEquals(3_000, now() - begun)
    }

    @Test
    fun `this device is away on each connection until it is not`() = fake {
        val client = loggedIn()
        client.setAway(true)
        until { frames.any { it.activity == "ACTIVITY_AWAY" } }
        frames.clear()
        cut()
        until { frames.any { it.activity == "ACTIVITY_AWAY" } }
        client.setAway(false)
        until { frames.any { it.activity == "ACTIVITY_ACTIVE" } }
    }

    @Test
    fun `typing is shown for 4 seconds, and presence while there is a connection`() = fake {
        val client = loggedIn()
        client.watch(setOf(BOB))
        until { frames.any { it.watch == Watch(listOf(BOB)) } }
        tell(ServerFrame(presences = listOf(Presence(BOB, Status.ONLINE, 5)), typing = TypingNotice(ROOM, BOB)))
        client.typing(ROOM).first { it == setOf(BOB) }
        assertEquals(Status.ONLINE, client.presence(BOB).first()!!.status)
        val begun = now()
        client.typing(ROOM).first { it.isEmpty() }
        assertEquals(4_000, now() - begun)
        frames.clear()
        cut()
        client.presence(BOB).first { it == null }
        until { frames.any { it.watch == Watch(listOf(BOB)) } }
    }
}
