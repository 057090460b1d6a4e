package im.rialto.client

import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.test.StandardTestDispatcher
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import java.io.IOException
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

internal const val ME = "11"
internal const val BOB = "22"
internal const val ROOM = "7"

/** A wait of a client then has a millisecond or a few, in which a test sees that it is offline. */
internal const val LITTLE = 0.002

/**
 * Runs a test in virtual time, with a server of its own. What it waits for comes within half an hour of that time. The clients are closed also
 * where the test fails: one that lives on plans its next ping for ever, and the test's clock never comes to rest.
 */
internal fun fake(test: suspend FakeServer.() -> Unit) = runTest(timeout = 55.seconds) {
    val server = FakeServer(this)
    try {
        withTimeout(30.minutes) { server.test() }
    } finally {
        withContext(NonCancellable) { server.clients.forEach { it.close() } }
    }
}

/** A server for one user on one device, in the test's process and time, which loses, repeats and disorders as a test asks. */
@OptIn(ExperimentalCoroutinesApi::class)
internal class FakeServer(private val scope: TestScope) : Transport {
    /** What is stored, by conversation: the seq is the place. */
    val logs = mutableMapOf(ROOM to mutableListOf<Message>())
    val stream = mutableListOf<Event>()

    /** What ids of messages begin with. */
    var ids = "ID"
    val conversations = mutableMapOf(ROOM to ConversationAnswer(ROOM, ConversationKind.GROUP, "room"))

    /** Every number that came in, repeats included, with the predecessor that it named. */
    val numbers = mutableListOf<Long>()
    val frames = mutableListOf<ClientFrame>()
    val calls = mutableListOf<String>()
    val logins = mutableListOf<JsonObject>()
    val tokens = mutableListOf<String>()
    var epoch = 1L

    /** Positions below this are not whole any more. */
    var trimmed = 0L
    var refreshes = 0
    var handshakes = 0

    /** What the next handshakes get in place of an answer: a status of HTTP, or 0 for none at all. */
    val refusals = ArrayDeque<Int>()
    var pushes = true

    /** Answers pings. */
    var answers = true
    var reachable = true
    var receipts = true
    var refuseSend: (Send) -> ErrorBody? = { null }
    var refuseCall: (String) -> ErrorBody? = { null }

    /** So many messages are in an answer of those that are asked for by their seqs. */
    var perAnswer = 200

    /** For how many milliseconds the answer of a call is on its way. */
    var late: (String) -> Long = { 0 }
    val clients = mutableListOf<Client>()
    private val stored = mutableMapOf<Pair<String, Long>, Message>()
    private val sockets = mutableListOf<FakeSocket>()
    private var access = 0

    fun now() = 1_000_000 + scope.currentTime

    fun client(storage: Storage = MemoryStorage(), random: Double = LITTLE): Client {
        val options = ClientOptions("http://server", storage, transport = this)
        options.now = ::now
        options.random = { random }
        options.dispatcher = StandardTestDispatcher(scope.testScheduler)
        return Client(options).also { clients += it }
    }

    suspend fun loggedIn(storage: Storage = MemoryStorage(), random: Double = LITTLE): Client {
        val client = client(storage, random)
        client.logIn("me", "a good password")
        client.connection.first { it == ConnectionState.ONLINE }
        client.catchingUp.first { !it }
        return client
    }

    /** Waits in virtual time until the server has seen what is wanted. */
    suspend fun until(wanted: () -> Boolean) {
        while (!wanted()) delay(1)
    }

    // --- what happens on the server's side ---

    /** Somebody writes: the event is stored, and pushed unless pushes are off. */
    fun write(text: String, sender: String = BOB, conversation: String = ROOM): Event = append(store(conversation, Content.text(text), sender))

    fun store(conversation: String, content: Content, sender: String, device: String = "0", clientSeq: Long = 0): Message {
        val log = logs.getValue(conversation)
        val n = log.size + 1L
        return Message(conversation, n, "$ids-$n", sender, device, clientSeq, timeMs = n, counted = n, content = content).also {
            if (content.kind == "edit") log.indexOfFirst { m -> m.seq == content.target }.takeIf { at -> at >= 0 }?.let { at -> log[at] = log[at].updated(it, ME) }
            log += it
        }
    }

    fun append(m: Message): Event = append(Event(message = m))

    fun append(e: Event): Event {
        val prev = stream.lastOrNull()?.seq ?: 0
        val event = e.copy(epoch = epoch, seq = prev + 1, prev = prev)
        stream += event
        if (pushes) push(event)
        return event
    }

    fun push(vararg events: Event) = tell(ServerFrame(events = events.toList()))

    fun tell(frame: ServerFrame) = sockets.forEach { it.tell(frame) }

    /** Breaks all connections. */
    fun cut() = sockets.toList().forEach { it.end { failed("broken", 0, 0) } }

    fun bye(code: Int, reason: String, retryMs: Long = 0) {
        tell(ServerFrame(bye = Bye(code, reason, retryMs)))
        sockets.toList().forEach { it.end { closed(code, reason) } }
    }

    // --- calls ---

    override suspend fun post(url: String, headers: Map<String, String>, body: String, timeoutMs: Long): HttpAnswer {
        if (!reachable) throw IOException("not reachable")
        val name = url.substringAfterLast('/')
        calls += name
        refuseCall(name)?.let { return refused(it) }
        val request = json.parseToJsonElement(body).jsonObject
        val open = name in setOf("Login", "Register", "Refresh", "LoginWithSecondFactor")
        if (!open && headers["Authorization"] != "Bearer access-$access") return refused(ErrorBody("unauthenticated", "bad_token"))
        return HttpAnswer(200, answer(name, request)).also { delay(late(name)) }
    }

    private fun refused(e: ErrorBody): HttpAnswer {
        val debug = json.encodeToJsonElement(ErrorBody.serializer(), e)
        val body = buildJsonObject {
            put("code", e.code)
            put("message", e.message)
            put("details", buildJsonArray { add(buildJsonObject { put("type", "rialto.gateway.v1.Error"); put("debug", debug) }) })
        }
        return HttpAnswer(400, body.toString())
    }

    private fun answer(name: String, r: JsonObject): String = when (name) {
        "Login", "Register" -> {
            logins += r["client"]!!.jsonObject
            session()
        }
        "Refresh" -> {
            refreshes++
            access++
            session()
        }
        "Sync" -> json.encodeToString(SyncResponse.serializer(), sync(r["after"]?.jsonObject?.let { json.decodeFromJsonElement(StreamPosition.serializer(), it) } ?: StreamPosition()))
        "History" -> json.encodeToString(HistoryResponse.serializer(), history(json.decodeFromJsonElement(HistoryRequest.serializer(), r)))
        "GetMessages" -> {
            val asked = json.decodeFromJsonElement(GetMessagesRequest.serializer(), r)
            val found = logs.getValue(asked.conversation).filter { it.seq in asked.seqs }
            json.encodeToString(GetMessagesResponse.serializer(), GetMessagesResponse(found.take(perAnswer), found.size > perAnswer))
        }
        "ListConversations" -> json.encodeToString(ConversationsPage.serializer(), ConversationsPage(conversations.keys.map(::describe)))
        "GetConversation" -> json.encodeToString(ConversationAnswer.serializer(), describe(r["conversation"]!!.jsonPrimitive.content))
        "Configure" -> configure(json.decodeFromJsonElement(ConfigureRequest.serializer(), r))
        "RegisterPush" -> "{}".also { tokens += r["token"]!!.jsonPrimitive.content }
        else -> "{}"
    }

    /** Makes the present access token useless. */
    fun expire() {
        access++
    }

    private fun session() = json.encodeToString(SessionAnswer.serializer(), SessionAnswer(ME, "33", "44", "access-$access", now() + 900_000, "refresh", "key"))

    private fun sync(after: StreamPosition): SyncResponse {
        val tail = tail()
        if (after.seq < trimmed) return SyncResponse(next = tail, reset = true)
        return SyncResponse(stream.filter { it.seq > after.seq }.take(3), StreamPosition(epoch, minOf(tail.seq, after.seq + 3)), more = tail.seq > after.seq + 3)
    }

    private fun tail() = StreamPosition(epoch, stream.lastOrNull()?.seq ?: 0)

    private fun history(r: HistoryRequest): HistoryResponse {
        val log = logs.getValue(r.conversation)
        if (r.after > 0) return log.filter { it.seq > r.after }.let { HistoryResponse(it.take(r.limit), it.size > r.limit) }
        return log.filter { r.before == 0L || it.seq < r.before }.let { HistoryResponse(it.takeLast(r.limit), it.size > r.limit) }
    }

    private fun describe(id: String): ConversationAnswer {
        val last = logs[id]?.lastOrNull()
        val c = conversations.getValue(id)
        val read = c.state?.readCounted ?: 0
        return c.copy(lastSeq = last?.seq ?: 0, lastMessage = last, unread = (last?.counted ?: 0) - read)
    }

    private fun configure(r: ConfigureRequest): String {
        val was = conversations.getValue(r.conversation).state ?: ConversationState(r.conversation)
        val state = was.copy(
            pinned = r.pinned ?: was.pinned, muted = r.muted ?: was.muted, archived = r.archived ?: was.archived,
            draft = r.draft ?: was.draft, markedUnread = r.markedUnread ?: was.markedUnread,
        )
        conversations[r.conversation] = conversations.getValue(r.conversation).copy(state = state)
        return json.encodeToString(ConversationState.serializer(), state)
    }

    // --- the socket ---

    override fun open(url: String, headers: Map<String, String>, subprotocol: String, listener: WebSocketListener): WebSocketConnection {
        handshakes++
        val socket = FakeSocket(listener)
        val refusal = refusals.removeFirstOrNull()
        when {
            !reachable -> listener.failed("not reachable", 0, 0)
            refusal == 0 -> {}
            refusal != null -> listener.failed("refused", refusal, 0)
            headers["Authorization"] != "Bearer access-$access" -> listener.failed("refused", 401, 0)
            else -> {
                sockets += socket
                socket.tell(ServerFrame(hello = Hello(ME, "33", tail(), stored.keys.maxOfOrNull { it.second } ?: 0, now(), heartbeatMs = 5_000, node = "node-1")))
            }
        }
        return socket
    }

    private inner class FakeSocket(private val listener: WebSocketListener) : WebSocketConnection {
        fun tell(frame: ServerFrame) = listener.message(json.encodeToString(ServerFrame.serializer(), frame))

        fun end(how: WebSocketListener.() -> Unit) {
            if (sockets.remove(this)) listener.how()
        }

        override fun send(text: String): Boolean {
            if (this !in sockets) return false
            val frame = json.decodeFromString(ClientFrame.serializer(), text)
            frames += frame
            frame.sends.forEach(::take)
            if (frame.ping != null && answers) tell(ServerFrame(pong = Pong(now())))
            return true
        }

        private fun take(s: Send) {
            numbers += s.clientSeq
            val error = refuseSend(s)
            val m = if (error != null) null else stored[s.conversation to s.clientSeq] ?: store(s.conversation, s.content, ME, "33", s.clientSeq).also {
                stored[s.conversation to s.clientSeq] = it
                append(it)
            }
            if (receipts) tell(ServerFrame(receipts = listOf(Receipt(s.conversation, s.clientSeq, m?.id ?: "", m?.seq ?: 0, m?.timeMs ?: 0, m?.counted ?: 0, error))))
        }

        override fun abandon() {
            sockets.remove(this)
        }
    }
}

internal fun List<Message>.texts(): List<String> = map { it.text }

