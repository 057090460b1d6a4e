package im.rialto.client

import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlin.test.Test
import kotlin.test.assertEquals

/** The server's operator restores a backup: messages that this device has are lost, and their seqs are those of others. */
class RestoredTest {
    private suspend fun FakeServer.withSix(storage: Storage = MemoryStorage()): Client = loggedIn(storage).also { client ->
        for (i in 1..6) write("old $i", if (i % 3 == 0) ME else BOB)
        client.conversation(ROOM).first { it?.lastSeq == 6L }
        client.open(ROOM)
    }

    private suspend fun FakeServer.goOffline(client: Client) {
        reachable = false
        cut()
        client.connection.first { it != ConnectionState.ONLINE }
        frames.clear()
    }

    /** The server comes back with the first three messages, and others with the numbers of those that it has lost. */
    private fun FakeServer.restore() {
        logs.getValue(ROOM).subList(3, 6).clear()
        ids = "NEW"
        epoch = 2
        stream.clear()
        stream += Event(epoch, 100)
        trimmed = 100
        pushes = false
        for (i in 4..6) write("new $i", if (i == 6) ME else BOB)
        pushes = true
        reachable = true
    }

    /** What a user does without a connection, who knows six messages of which the third and the sixth are their own. */
    private suspend fun actOffline(client: Client) {
        client.sendText(ROOM, "plain")
        client.recall(ROOM, 6)
        client.react(ROOM, 2, "👍")
        client.react(ROOM, 6, "👍")
        client.edit(ROOM, 3, "edited")
        client.sendText(ROOM, "an answer to the second", replyTo = 2)
        client.sendText(ROOM, "an answer to the sixth", replyTo = 6)
        client.read(ROOM, 6)
        client.configure(ROOM, ConversationSettings(draft = "half a sentence"))
    }

    private fun FakeServer.arrived() = logs.getValue(ROOM).drop(6).map { m -> listOf(m.content.kind, m.text, m.content.target, m.content.repliesTo) }

    private fun FakeServer.readMarks() = frames.flatMap { it.marks }.map { it.readSeq }.filter { it > 0 }

    @Test
    fun `what waits for messages that the server has lost is given up, and all else arrives once`() = waiting(reopened = false)

    @Test
    fun `what waits for messages that the server has lost is given up also after a new start`() = waiting(reopened = true)

    private fun waiting(reopened: Boolean) = fake {
        val storage = MemoryStorage()
        var client = withSix(storage)
        goOffline(client)
        actOffline(client)
        if (reopened) client.close()
        restore()
        if (reopened) {
            client = client(storage)
            client.start()
        }
        client.connection.first { it == ConnectionState.ONLINE }
        client.conversation(ROOM).first { it != null && it.lastSeq >= 11 }
        until { conversations.getValue(ROOM).state?.draft == "half a sentence" }
        delay(60_000)
        val expected = listOf(
            listOf<Any?>("text", "plain", 0L, 0L),
            listOf<Any?>("reaction", "", 2L, 0L),
            listOf<Any?>("edit", "", 3L, 0L),
            listOf<Any?>("text", "an answer to the second", 0L, 2L),
            listOf<Any?>("text", "an answer to the sixth", 0L, 0L),
        )
        assertEquals(expected, arrived())
        assertEquals(emptyList(), client.outgoing(ROOM).first())
        assertEquals(emptyList(), readMarks().filter { it <= 6 })
        assertEquals("half a sentence", client.conversation(ROOM).first()!!.draft)
        client.open(ROOM)
        while (client.older(ROOM)) {
            // to the first message
        }
        val shown = client.messages(ROOM).first().filter { it.isShown() }.texts()
        assertEquals(listOf("old 1", "old 2", "edited", "new 4", "new 5", "new 6", "plain", "an answer to the second", "an answer to the sixth"), shown)
    }

    @Test
    fun `what was read of messages that the server has lost is not told of those that have their numbers`() = fake {
        val client = loggedIn()
        for (i in 1..6) write("old $i")
        client.conversation(ROOM).first { it?.lastSeq == 6L }
        goOffline(client)
        client.read(ROOM, 6)
        restore()
        client.connection.first { it == ConnectionState.ONLINE }
        client.catchingUp.first { !it }
        write("new 7")
        until { frames.any { f -> f.marks.any { it.deliveredSeq == 7L } } }
        assertEquals(emptyList(), readMarks())
    }

    @Test
    fun `what was read without a connection is told after a reset, where the message is the same`() = fake {
        val client = loggedIn()
        for (i in 1..3) write("old $i")
        client.conversation(ROOM).first { it?.lastSeq == 3L }
        goOffline(client)
        client.read(ROOM, 3)
        logs.getValue(ROOM).addAll(List(3) { Message(ROOM, 4L + it, "LOST-$it", BOB) })
        restore()
        until { 3L in readMarks() }
        assertEquals(listOf(3L), readMarks())
    }

    @Test
    fun `a cursor waits until the stream is here, also where a push of a large group comes first`() = fake {
        conversations["8"] = ConversationAnswer("8", ConversationKind.GROUP, "large", large = true)
        logs["8"] = mutableListOf()
        val client = withSix()
        goOffline(client)
        client.read(ROOM, 6)
        restore()
        late = { if (it == "Sync") 5_000 else 0 }
        client.connection.first { it == ConnectionState.ONLINE }
        push(Event(message = store("8", Content.text("in the large group"), BOB)))
        delay(4_000)
        assertEquals(emptyList(), frames.flatMap { it.marks })
        client.catchingUp.first { !it }
        delay(10_000)
        assertEquals(emptyList(), readMarks())
    }

    @Test
    fun `what waits is kept while the server is too busy to say which messages it still has`() = fake {
        val storage = MemoryStorage()
        withSix(storage).let { client ->
            goOffline(client)
            client.react(ROOM, 2, "👍")
            client.edit(ROOM, 3, "edited")
            client.close()
        }
        restore()
        calls.clear()
        val codes = ArrayDeque(listOf("resource_exhausted", "internal"))
        refuseCall = { if (it == "GetMessages") codes.removeFirstOrNull()?.let { code -> ErrorBody(code, "busy", "busy") } else null }
        client(storage).start()
        until { arrived().size == 2 }
        assertEquals(3, calls.count { it == "GetMessages" })
        assertEquals(listOf("reaction", "edit"), arrived().map { it.first() })
    }

    @Test
    fun `an answer of messages that comes in parts is read to its end`() = fake {
        val storage = MemoryStorage()
        withSix(storage).let { client ->
            goOffline(client)
            client.react(ROOM, 1, "👍")
            client.react(ROOM, 2, "👍")
            client.edit(ROOM, 3, "edited")
            client.close()
        }
        restore()
        perAnswer = 1
        client(storage).start()
        until { arrived().size == 3 }
        assertEquals(listOf(1L, 2L, 3L), arrived().map { it[2] })
    }
}
