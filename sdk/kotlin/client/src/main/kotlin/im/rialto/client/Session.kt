package im.rialto.client

import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlin.coroutines.CoroutineContext

/** What a [Session] needs of the client. */
internal class SessionDeps(
    val options: ClientOptions,
    /** The client's dispatcher, on which everything of a session happens. */
    val context: CoroutineContext,
    val login: Login,
    val store: Store,
    val caller: ChatApi.Caller,
    val onChange: () -> Unit,
    val onMessage: (Message) -> Unit,
)

/** What a client has while somebody is logged in: the copy of their data, and what waits to be sent. */
internal class Session(private val deps: SessionDeps) {
    val options = deps.options
    val login = deps.login
    val scope = CoroutineScope(deps.context + SupervisorJob() + CoroutineExceptionHandler { _, e -> options.onProblem("work in the background failed", e) })
    lateinit var connection: Connection

    val marks: Marks = Marks(scope, options.now) { marks, ack -> waiting.whole && connection.send(ClientFrame(marks = marks, ack = ack)) }
    val people = People(scope, deps.onChange)
    val data = LocalData(scope, deps.store, deps.onChange, marks::acknowledge, options.onProblem)
    private val api = ChatApi(deps.caller)
    val history = History(scope, data, deps.store, api, options, deps.onChange)
    val conversations = Conversations(scope, login.user, data, api, marks, history, options)
    val events = Events(login.user, data, history, conversations, marks, EventListeners(::received, ::ownStored))
    val outbox = Outbox(
        OutboxDeps(
            scope = scope,
            store = deps.store,
            counter = counterKey(login.device),
            transmit = { connection.send(ClientFrame(sends = it)) },
            now = options.now,
            onChange = deps.onChange,
            onStored = { item, at -> events.sent(item, at, login.device) },
        ),
    )
    val waiting = Waiting(scope, data, deps.store, api, history, conversations, outbox, marks)
    val sync = Sync(scope, data, events, history, conversations, waiting, api, options, deps.onChange)
    val push = Push(login, deps.store, deps.caller)

    suspend fun load() {
        data.load()
        outbox.load()
    }

    /** Ends all that would go on by itself. Returns when what was taken is stored, and nothing is written any more. */
    suspend fun stop() {
        connection.stop()
        data.written()
        scope.coroutineContext.job.cancelAndJoin()
    }

    private fun received(m: Message) {
        people.wrote(m)
        deps.onMessage(m)
    }

    /** One of ours came back in the stream: the outbox need not wait for its receipt. */
    private fun ownStored(m: Message) {
        if (m.device != login.device || m.clientSeq == 0L) return
        val item = outbox.find(m.clientSeq) ?: return
        if (item.conversation == m.conversation) scope.launch { outbox.stored(item, StoredAs(m.id, m.seq, m.timeMs, m.counted)) }
    }
}

/** The store's key of a device's count of messages. */
internal fun counterKey(device: String) = "client_seq/$device"
