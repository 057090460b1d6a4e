package im.rialto.client

import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.advanceTimeBy
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runCurrent
import kotlinx.coroutines.test.runTest
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertNull

@OptIn(ExperimentalCoroutinesApi::class)
class OutboxTest {
    private class Line(val test: TestScope, val store: Store) {
        var open = false
        val frames = mutableListOf<List<Send>>()
        val stored = mutableListOf<Pair<Long, Long>>()
        val outbox = Outbox(
            OutboxDeps(
                scope = test.backgroundScope, store = store, counter = "count", now = { test.currentTime }, onChange = {},
                transmit = { sends -> open.also { if (it) frames += sends } },
                onStored = { item, at -> stored += item.clientSeq to at.seq },
            ),
        )

        val sends get() = frames.flatten()
        val numbers get() = sends.map { it.clientSeq }

        fun connect(clientSeq: Long = 0) {
            open = true
            frames.clear()
            outbox.opened(clientSeq)
            outbox.synced()
        }

        fun disconnect() {
            open = false
            outbox.closed()
        }

        suspend fun send(text: String, conversation: String = ROOM) = outbox.enqueue(conversation, Content.text(text))

        suspend fun receipt(clientSeq: Long, seq: Long = clientSeq, conversation: String = ROOM) = outbox.receipt(Receipt(conversation, clientSeq, "ID", seq, 1, 1))

        suspend fun refuse(clientSeq: Long, reason: String, retryMs: Long = 0) = outbox.receipt(Receipt(ROOM, clientSeq, error = ErrorBody("unavailable", reason, "no", retryMs)))

        fun pass(ms: Long) {
            test.advanceTimeBy(ms)
            test.runCurrent()
        }
    }

    private fun line(test: suspend Line.() -> Unit) = runTest { Line(this, MemoryStorage().open("user")).test() }

    @Test
    fun `what is sent without a connection goes out in order when there is one, and once more after each reconnect until its receipt`() = line {
        repeat(3) { send("message $it") }
        assertEquals(emptyList(), numbers)
        connect()
        assertEquals(listOf(1L, 2L, 3L), numbers)
        receipt(1)
        disconnect()
        connect()
        assertEquals(listOf(2L, 3L), numbers)
        receipt(3)
        receipt(2)
        disconnect()
        connect()
        assertEquals(emptyList(), numbers)
        assertEquals(listOf(1L to 1L, 3L to 3L, 2L to 2L), stored)
        assertEquals(emptyList(), store.list(Table.OUTBOX))
    }

    @Test
    fun `it survives a restart, and counts on above what the server has`() = line {
        send("one")
        send("two")
        val after = Line(test, store)
        after.outbox.load()
        after.connect(clientSeq = 40)
        assertEquals(listOf(1L to "one", 2L to "two"), after.sends.map { it.clientSeq to it.content.text })
        assertEquals(41, after.send("three").clientSeq)
    }

    @Test
    fun `a refusal for good is kept, and a retry by hand gets a number of its own`() = line {
        connect()
        send("one")
        send("two")
        refuse(1, "muted")
        assertEquals("muted", outbox.find(1)!!.failed!!.reason)
        pass(60_000)
        assertEquals(listOf(1L, 2L, 2L, 2L, 2L), numbers)
        outbox.retry(1)
        assertEquals(listOf(2L, 3L), outbox.list(ROOM).map { it.clientSeq })
        assertEquals(3, numbers.last())
        refuse(3, "muted")
        outbox.discard(3)
        assertEquals(listOf(2L), outbox.list(ROOM).map { it.clientSeq })
        val after = Line(test, store).also { it.outbox.load() }
        assertEquals(listOf(2L), after.outbox.list(ROOM).map { it.clientSeq })
    }

    @Test
    fun `a refusal for now holds back what comes after in that conversation only`() = line {
        connect()
        send("one")
        refuse(1, "busy", retryMs = 3_000)
        send("two")
        send("other", conversation = "8")
        assertEquals(listOf(1L, 3L), numbers)
        pass(2_999)
        assertEquals(listOf(1L, 3L), numbers)
        pass(1)
        assertEquals(listOf(1L, 3L, 1L, 2L), numbers)
    }

    @Test
    fun `a send without a receipt is repeated on the same connection after 20 seconds, with its number`() = line {
        connect()
        send("one")
        pass(19_999)
        assertEquals(listOf(1L), numbers)
        pass(1)
        assertEquals(listOf(1L, 1L), numbers)
    }

    @Test
    fun `a message that the server holds is not repeated on that connection, and goes again on the next`() = line {
        connect()
        send("one")
        outbox.accepted(1)
        pass(34 * 60_000)
        assertEquals(listOf(1L), numbers)
        disconnect()
        connect()
        assertEquals(listOf(1L), numbers)
        pass(20_000)
        assertEquals(listOf(1L, 1L), numbers)
    }

    @Test
    fun `what goes right behind the message before it on one connection names none`() = line {
        send("one")
        send("two")
        connect()
        assertEquals(listOf(0L, 0L), sends.map { it.prevClientSeq })
        disconnect()
        connect()
        assertEquals(listOf(0L, 0L), sends.map { it.prevClientSeq })
    }

    @Test
    fun `a repeat names the message before it, but none that was refused for good`() = line {
        connect()
        send("one")
        send("two")
        send("three")
        refuse(2, "muted")
        refuse(3, "busy", retryMs = 1_000)
        pass(1_000)
        assertEquals(3L to 1L, sends.last().let { it.clientSeq to it.prevClientSeq })
    }

    @Test
    fun `what the server lacks goes again at once, and what it held behind that follows`() = line {
        connect()
        repeat(3) { send("message $it") }
        receipt(1)
        refuse(3, "missing_previous", retryMs = 100)
        assertEquals(listOf(1L, 2L, 3L, 2L), numbers)
        pass(500)
        assertEquals(listOf(1L, 2L, 3L, 2L, 3L), numbers)
    }

    @Test
    fun `a number that was used for another message is replaced`() = line {
        connect()
        send("one")
        refuse(1, "id_reuse")
        assertEquals(listOf(1L, 2L), numbers)
        assertNull(outbox.find(1))
    }

    @Test
    fun `frames have at most 50 sends, and about 128,000 bytes`() = line {
        repeat(60) { send("short") }
        send("x".repeat(100_000))
        send("x".repeat(100_000))
        connect()
        assertEquals(listOf(50, 11, 1), frames.map { it.size })
        assertEquals((1L..62L).toList(), numbers)
    }

    @Test
    fun `a receipt of another conversation is not one of this message`() = line {
        connect()
        send("one")
        receipt(1, conversation = "8")
        assertEquals(emptyList(), stored)
    }

    private fun answer(text: String, to: Long) = Content.text(text).with("replyTo", buildJsonObject { put("seq", to) })

    @Test
    fun `until the stream is known, what names a message by its seq waits, and what follows it in that conversation`() = line {
        send("one")
        outbox.enqueue(ROOM, updateOf("recall", 5))
        send("two")
        outbox.enqueue("8", answer("an answer", 5))
        send("other", conversation = "9")
        open = true
        outbox.opened(0)
        assertEquals(listOf(1L, 5L), numbers)
        outbox.synced()
        assertEquals(listOf(1L, 5L, 2L, 3L, 4L), numbers)
        disconnect()
        open = true
        frames.clear()
        outbox.opened(0)
        assertEquals(listOf(1L, 5L), numbers)
    }

    @Test
    fun `changes of lost messages are given up, answers to them go without the reference, and all else stays`() = line {
        outbox.enqueue(ROOM, updateOf("edit", 3))
        outbox.enqueue(ROOM, updateOf("recall", 6))
        outbox.enqueue(ROOM, answer("to the second", 2))
        outbox.enqueue(ROOM, answer("to the sixth", 6))
        outbox.enqueue("8", updateOf("pin", 1))
        open = true
        outbox.opened(0)
        assertEquals(listOf(Reference(ROOM, 3), Reference(ROOM, 6), Reference(ROOM, 2), Reference(ROOM, 6), Reference("8", 1)), outbox.references())
        outbox.dropLost { conversation, seq -> conversation == ROOM && seq <= 3 }
        val kept = listOf(1L to 3L, 3L to 2L, 4L to 0L)
        assertEquals(kept, outbox.list(ROOM).map { it.clientSeq to maxOf(it.content.target, it.content.repliesTo) })
        assertEquals(emptyList(), outbox.list("8"))
        val after = Line(test, store).also { it.outbox.load() }
        assertEquals(kept, after.outbox.list(ROOM).map { it.clientSeq to maxOf(it.content.target, it.content.repliesTo) })
    }

    @Test
    fun `an answer that the server may have keeps its reference - with another content, its number would be that of another message`() = line {
        connect()
        outbox.enqueue(ROOM, answer("sent", 6))
        outbox.dropLost { _, _ -> false }
        assertEquals(listOf(6L), outbox.list(ROOM).map { it.content.repliesTo })
        disconnect()
        outbox.opened(clientSeq = 1)
        outbox.dropLost { _, _ -> false }
        assertEquals(listOf(6L), outbox.list(ROOM).map { it.content.repliesTo })
        outbox.opened(clientSeq = 0)
        outbox.dropLost { _, _ -> false }
        assertEquals(listOf(0L), outbox.list(ROOM).map { it.content.repliesTo })
    }
}
