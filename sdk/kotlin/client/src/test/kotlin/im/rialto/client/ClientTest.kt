package im.rialto.client

import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** The stream, the outbox and the login of a whole client, with a server that loses, repeats and disorders. */
class ClientTest {
    private suspend fun Client.shown() = messages(ROOM).first().texts()

    private suspend fun Client.showing(vararg texts: String) = messages(ROOM).first { it.texts() == texts.toList() }

    @Test
    fun `a lost receipt - the message goes again after the reconnect, and is there once`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        receipts = false
        pushes = false
        client.sendText(ROOM, "hello")
        until { numbers.size == 1 }
        receipts = true
        cut()
        client.showing("hello")
        client.outgoing(ROOM).first { it.isEmpty() }
        assertEquals(listOf("hello"), logs.getValue(ROOM).texts())
    }

    @Test
    fun `one's own message is shown once, whether its push or its receipt comes first`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        receipts = false // the push alone
        client.sendText(ROOM, "one")
        client.showing("one")
        client.outgoing(ROOM).first { it.isEmpty() }
        receipts = true
        pushes = false // the receipt alone
        client.sendText(ROOM, "two")
        client.showing("one", "two")
        pushes = true
        write("three")
        client.showing("one", "two", "three")
    }

    @Test
    fun `a push that was lost shows as a gap with the next, and is fetched`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        write("one")
        pushes = false
        repeat(5) { write("lost $it") }
        pushes = true
        calls.clear()
        write("last")
        client.showing("one", "lost 0", "lost 1", "lost 2", "lost 3", "lost 4", "last")
        assertTrue("Sync" in calls)
        client.catchingUp.first { !it }
        calls.clear()
        write("next")
        client.showing("one", "lost 0", "lost 1", "lost 2", "lost 3", "lost 4", "last", "next")
        assertEquals(emptyList(), calls)
    }

    @Test
    fun `pushes out of order and repeated - each message once, in order`() = fake {
        val client = loggedIn()
        val came = mutableListOf<String>()
        coroutineScope {
            val collecting = launch { client.incoming.collect { came += it.text } }
            client.open(ROOM)
            yield()
            pushes = false
            val (a, b, c) = listOf("a", "b", "c").map { write(it) }
            push(b)
            push(a)
            push(c)
            push(b)
            client.showing("a", "b", "c")
            client.catchingUp.first { !it }
            pushes = true
            write("d")
            client.showing("a", "b", "c", "d")
            delay(1)
            collecting.cancel()
        }
        assertEquals(listOf("a", "b", "c", "d"), came)
    }

    @Test
    fun `an event that was there before changes nothing`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        val first = write("one")
        write("two")
        client.showing("one", "two")
        calls.clear()
        push(first)
        delay(5_000)
        assertEquals(listOf("one", "two"), client.shown())
        assertEquals(emptyList(), calls)
    }

    @Test
    fun `a sync that the server refuses for now is asked again while the connection lives`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        var refusals = 2
        refuseCall = { if (it == "Sync" && refusals-- > 0) ErrorBody("unavailable", "busy", "busy", 1_000) else null }
        pushes = false
        write("lost")
        pushes = true
        write("last")
        client.showing("lost", "last")
        assertEquals(1, handshakes)
    }

    @Test
    fun `a stream in a later epoch is synced, and goes on there`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        write("one")
        client.showing("one")
        epoch = 2
        pushes = false
        write("two")
        pushes = true
        write("three")
        client.showing("one", "two", "three")
        calls.clear()
        write("four")
        client.showing("one", "two", "three", "four")
        assertEquals(emptyList(), calls)
    }

    @Test
    fun `what was sent while the device was away is there, and told once`() = fake {
        val storage = MemoryStorage()
        loggedIn(storage).apply {
            open(ROOM)
            write("one")
            showing("one")
            close()
        }
        repeat(7) { write("away $it") }
        val back = client(storage)
        coroutineScope {
            val came = async { back.incoming.toListOf(7) }
            yield()
            assertTrue(back.start())
            back.conversation(ROOM).first { it?.lastSeq == 8L }
            assertEquals(List(7) { "away $it" }, came.await().texts())
        }
        assertEquals(8, back.badge.first())
    }

    private suspend fun Flow<Message>.toListOf(n: Int): List<Message> {
        val list = mutableListOf<Message>()
        first { list += it; list.size == n }
        return list
    }

    @Test
    fun `reset - the lists are read anew, what is no more is gone, and what waits to be sent stays`() = fake {
        val storage = MemoryStorage()
        logs["8"] = mutableListOf()
        conversations["8"] = ConversationAnswer("8", ConversationKind.GROUP, "gone")
        loggedIn(storage).apply {
            open(ROOM)
            write("one")
            write("other", conversation = "8")
            showing("one")
            conversation("8").first { it?.lastSeq == 1L }
            reachable = false
            cut()
            connection.first { it != ConnectionState.ONLINE }
            sendText(ROOM, "waits")
            close()
        }
        // A backup was restored: the server has lost a message, and gives its number to another.
        logs.getValue(ROOM).clear()
        logs.remove("8")
        conversations.remove("8")
        stream.clear()
        epoch = 5
        pushes = false
        repeat(4) { write("anew $it") }
        pushes = true
        trimmed = 4
        reachable = true
        val back = client(storage)
        back.start()
        back.open(ROOM)
        back.messages(ROOM).first { it.lastOrNull()?.text == "waits" }
        while (back.older(ROOM)) {
            // to the first message
        }
        assertEquals(listOf("anew 0", "anew 1", "anew 2", "anew 3", "waits"), back.shown())
        assertEquals(listOf(ROOM), back.conversations.first { it.size == 1 }.map { it.id })
        back.outgoing(ROOM).first { it.isEmpty() }
    }

    /** A backup was restored, which has other messages, and all devices connect anew. */
    private fun FakeServer.restored(name: String, messages: Int) {
        logs.getValue(ROOM).clear()
        stream.clear()
        epoch += 4
        pushes = false
        repeat(messages) { write("$name $it") }
        pushes = true
        trimmed = messages.toLong()
        cut()
    }

    @Test
    fun `reset while the server's answer of a log is on its way - it is not taken`() = fake {
        repeat(60) { store(ROOM, Content.text("old $it"), BOB) }
        val client = loggedIn()
        suspend fun restoredDuring(name: String, messages: Int, asks: suspend () -> Unit) = coroutineScope {
            var asked = 0
            late = { if (it == "History" && asked++ == 0) 1_000 else 0 }
            val asking = launch { asks() }
            delay(500)
            restored(name, messages)
            asking.join()
            client.showing(*Array(50) { "$name ${messages - 50 + it}" })
        }
        restoredDuring("anew", 60) { client.open(ROOM) }
        restoredDuring("again", 112) { client.older(ROOM) }
    }

    /** Answers reads of a log a second later. */
    private class SlowStorage : Storage {
        private val storage = MemoryStorage()

        override suspend fun open(name: String): Store {
            val store = storage.open(name)
            return object : Store by store {
                override suspend fun list(table: Table, from: String, until: String, reverse: Boolean, limit: Int): List<String> =
                    store.list(table, from, until, reverse, limit).also { if (table == Table.MESSAGES) delay(1_000) }
            }
        }
    }

    @Test
    fun `reset while the device reads a log that is opened - of that log nothing is shown`() = fake {
        val storage = SlowStorage()
        loggedIn(storage).apply {
            open(ROOM)
            repeat(3) { write("old $it") }
            showing("old 0", "old 1", "old 2")
            close()
        }
        restored("anew", 52)
        reachable = false
        val back = client(storage)
        back.start()
        coroutineScope {
            val opening = launch { back.open(ROOM) }
            delay(500)
            reachable = true
            opening.join()
        }
        assertEquals(List(50) { "anew ${it + 2}" }, back.shown())
    }

    @Test
    fun `what was loaded once is there without a server, and older messages, too`() = fake {
        val storage = MemoryStorage()
        repeat(120) { store(ROOM, Content.text("message $it"), BOB) }
        loggedIn(storage).apply {
            open(ROOM)
            while (older(ROOM)) {
                // to the first message
            }
            close()
        }
        reachable = false
        val back = client(storage)
        assertTrue(back.start())
        back.open(ROOM)
        assertEquals(List(50) { "message ${it + 70}" }, back.shown())
        assertTrue(back.older(ROOM))
        assertTrue(!back.older(ROOM))
        assertEquals(List(120) { "message $it" }, back.shown())
        assertEquals("room", back.conversation(ROOM).first()!!.title)
    }

    @Test
    fun `settings and read cursors that are set offline show at once, and are told when there is a connection`() = fake {
        val client = loggedIn()
        repeat(3) { write("message $it") }
        client.conversation(ROOM).first { it?.lastSeq == 3L }
        reachable = false
        cut()
        client.connection.first { it == ConnectionState.OFFLINE }
        client.configure(ROOM, ConversationSettings(pinned = true, draft = "later"))
        client.read(ROOM, 3)
        val shown = client.conversation(ROOM).first()!!
        assertEquals(listOf<Any>(true, "later", 0L), listOf(shown.pinned, shown.draft, shown.unread))
        reachable = true
        until { conversations.getValue(ROOM).state?.draft == "later" }
        until { frames.any { f -> f.marks.any { it.conversation == ROOM && it.readSeq == 3L } } }
        assertEquals(true, conversations.getValue(ROOM).state!!.pinned)
        client.conversation(ROOM).first { it!!.pinned && it.pending.isEmpty }
    }

    @Test
    fun `read marks go out together, and again after a connection that died with them`() = fake {
        val client = loggedIn()
        repeat(3) { write("message $it") }
        client.conversation(ROOM).first { it?.lastSeq == 3L }
        frames.clear()
        (1L..3L).forEach { client.read(ROOM, it) }
        until { frames.any { it.marks.isNotEmpty() } }
        delay(3_000)
        assertEquals(3, frames.flatMap { it.marks }.maxOf { it.readSeq })
        frames.clear()
        cut()
        until { frames.any { f -> f.marks.any { it.readSeq == 3L } } }
    }

    @Test
    fun `the stream is acknowledged once it is stored`() = fake {
        val client = loggedIn()
        write("one")
        client.conversation(ROOM).first { it?.lastSeq == 1L }
        until { frames.any { it.ack == StreamPosition(1, 1) } }
    }

    @Test
    fun `a hint that names a large group - its messages are pulled where it is shown, without a sync`() = fake {
        conversations[ROOM] = conversations.getValue(ROOM).copy(large = true)
        store(ROOM, Content.text("one"), BOB)
        val client = loggedIn()
        client.open(ROOM)
        client.showing("one")
        client.catchingUp.first { !it }
        calls.clear()
        repeat(3) { store(ROOM, Content.text("more $it"), BOB) }
        tell(ServerFrame(hint = Hint(listOf(LargeTail(ROOM, 4)))))
        client.showing("one", "more 0", "more 1", "more 2")
        assertTrue("Sync" !in calls)
    }

    @Test
    fun `a refused message stays, says why, holds nothing back, and gets a new number when tried again`() = fake {
        val client = loggedIn()
        client.open(ROOM)
        refuseSend = { if (it.content.text == "bad") ErrorBody("permission_denied", "muted", "you are muted") else null }
        client.sendText(ROOM, "bad")
        client.sendText(ROOM, "good")
        client.showing("good")
        val failed = client.outgoing(ROOM).first { it.size == 1 && it[0].failed != null }.single()
        assertEquals("muted", failed.failed!!.reason)
        refuseSend = { null }
        client.retry(failed)
        client.showing("good", "bad")
        assertEquals(listOf(1L, 2L, 3L), numbers)
    }

    // --- the login ---

    @Test
    fun `an access token that ended is renewed once, for all calls that met it`() = fake {
        val client = loggedIn()
        expire()
        coroutineScope { repeat(5) { launch { client.call("rialto.chat.v1.ChatService/ListFolders") } } }
        assertEquals(1, refreshes)
        cut()
        client.connection.first { it == ConnectionState.OFFLINE }
        client.connection.first { it == ConnectionState.ONLINE }
        assertEquals(1, refreshes)
    }

    @Test
    fun `a handshake that is refused with 401 has the token renewed`() = fake {
        val client = loggedIn()
        expire()
        cut()
        client.connection.first { it == ConnectionState.OFFLINE }
        client.connection.first { it == ConnectionState.ONLINE }
        assertEquals(1, refreshes)
        assertEquals(3, handshakes)
    }

    @Test
    fun `a refresh whose answer got lost is asked again`() = fake {
        val client = loggedIn()
        expire()
        var lost = 1
        refuseCall = { if (it == "Refresh" && lost-- > 0) ErrorBody("unavailable", "", "", 1_000) else null }
        client.call("rialto.chat.v1.ChatService/ListFolders")
        assertEquals(1, refreshes)
    }

    @Test
    fun `a session that ended elsewhere ends here, and nothing asks on`() = fake {
        val storage = MemoryStorage()
        val client = loggedIn(storage)
        coroutineScope {
            val reason = async { client.ended.first() }
            yield()
            expire()
            refuseCall = { if (it == "Refresh") ErrorBody("unauthenticated", "bad_refresh_token", "") else null }
            assertFailsWith<RialtoError> { client.call("rialto.chat.v1.ChatService/ListFolders") }
            assertEquals("logged_out", reason.await())
        }
        assertEquals(ConnectionState.SIGNED_OUT, client.connection.value)
        calls.clear()
        delay(600_000)
        assertEquals(emptyList(), calls)
        assertEquals(false, client(storage).start())
    }

    @Test
    fun `told to stay away because the session ended, it does`() = fake {
        val client = loggedIn()
        coroutineScope {
            val reason = async { client.ended.first() }
            yield()
            bye(4102, "replaced")
            assertEquals("replaced", reason.await())
        }
        delay(600_000)
        assertEquals(1, handshakes)
        assertNull(client.login())
        assertEquals("logged_out", assertFailsWith<RialtoError> { client.sendText(ROOM, "?") }.reason)
    }

    @Test
    fun `a socket that the server forbids costs the socket and not the login`() = fake {
        val client = loggedIn()
        bye(4103, "too big")
        client.connection.first { it == ConnectionState.OFFLINE }
        delay(600_000)
        assertEquals(1, handshakes)
        assertEquals(ME, client.login()!!.user)
        client.reconnect()
        client.connection.first { it == ConnectionState.ONLINE }
    }

    @Test
    fun `after logging out nothing is kept but the count, and the next login counts on`() = fake {
        val storage = MemoryStorage()
        val client = loggedIn(storage)
        client.open(ROOM)
        client.sendText(ROOM, "one")
        client.outgoing(ROOM).first { it.isEmpty() }
        client.logOut()
        assertEquals(ConnectionState.SIGNED_OUT, client.connection.value)
        assertTrue("Logout" in calls)
        val store = storage.open("rialto-$ME")
        for (table in Table.entries.filter { it != Table.META }) assertEquals(emptyList(), store.list(table))
        assertEquals(listOf("1"), store.list(Table.META))
        client.logIn("me", "a good password")
        assertEquals(listOf("0" to "", "33" to "key"), logins.map { it.string("device") to it.string("deviceKey") })
        client.open(ROOM)
        client.sendText(ROOM, "two")
        client.showing("one", "two")
        assertEquals(listOf(1L, 2L), numbers)
    }

    @Test
    fun `a login that fails leaves nothing`() = fake {
        val client = client()
        refuseCall = { if (it == "Login") ErrorBody("unauthenticated", "bad_login", "wrong") else null }
        assertEquals("bad_login", assertFailsWith<RialtoError> { client.logIn("me", "wrong") }.reason)
        assertEquals(ConnectionState.SIGNED_OUT, client.connection.value)
    }

    // --- push ---

    @Test
    fun `a push token that could not be told is registered by the next connection, once`() = fake {
        val client = loggedIn()
        client.registerPush(PushProvider.FCM, "token-1")
        client.registerPush(PushProvider.FCM, "token-1")
        assertEquals("token-1", tokens.last())
        reachable = false
        cut()
        client.registerPush(PushProvider.FCM, "token-2")
        val before = tokens.size
        reachable = true
        until { tokens.size > before }
        assertEquals("token-2", tokens.last())
        cut()
        client.connection.first { it == ConnectionState.OFFLINE }
        client.connection.first { it == ConnectionState.ONLINE }
        delay(1_000)
        assertEquals(before + 1, tokens.size)
    }

    @Test
    fun `a push token that the server refuses is forgotten, and the caller told`() = fake {
        val client = loggedIn()
        refuseCall = { if (it == "RegisterPush") ErrorBody("invalid_argument", "no_provider", "not set up") else null }
        assertEquals("no_provider", assertFailsWith<RialtoError> { client.registerPush(PushProvider.FCM, "token") }.reason)
        refuseCall = { null }
        cut()
        client.connection.first { it == ConnectionState.OFFLINE }
        client.connection.first { it == ConnectionState.ONLINE }
        delay(1_000)
        assertEquals(emptyList(), tokens)
    }
}
