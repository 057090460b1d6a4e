package im.rialto.client

import kotlinx.coroutines.Job
import kotlinx.coroutines.launch

/** Close codes with which the server forbids this socket, while the login is still good. */
private val socketRefused = setOf(4100, 4103)

/** Keeps the socket open, and gives its frames to those whom they concern. It is used on the client's dispatcher only. */
internal class Connection(private val session: Session, gateways: Gateways, token: suspend (renew: Boolean) -> String, private val listener: Listener) {
    interface Listener {
        fun state(state: ConnectionState, retryAtMs: Long)

        /** The server said to stay away, because the session ended. */
        fun ended(reason: String)
    }

    private val options = session.options
    private var running: Job? = null
    private var activity: String? = null
    private val socket = Socket(
        SocketDeps(
            options = options,
            gateways = gateways,
            token = token,
            resumes = { session.data.position != null },
            onFrame = ::take,
            onLost = { waitMs ->
                closed()
                listener.state(ConnectionState.OFFLINE, options.now() + waitMs)
            },
        ),
    )

    fun start() {
        if (running?.isActive == true) return
        listener.state(ConnectionState.CONNECTING, 0)
        running = session.scope.launch {
            val end = socket.run()
            closed()
            if (end.code in socketRefused) {
                options.onProblem("the server forbids the connection", RialtoError("failed_precondition", end.reason, "socket_refused"))
                listener.state(ConnectionState.OFFLINE, 0)
            } else {
                listener.ended(end.reason)
            }
        }
    }

    fun stop() {
        running?.cancel()
        closed()
    }

    /** Tries to connect at once if the next try is planned for later, and probes a connection that is open. */
    fun wake() {
        if (running?.isActive == true) socket.wake() else start()
    }

    fun send(frame: ClientFrame): Boolean = socket.send(frame)

    /** Tells whether this device is in use, now and on later connections. */
    fun setAway(away: Boolean) {
        activity = if (away) "ACTIVITY_AWAY" else "ACTIVITY_ACTIVE"
        send(ClientFrame(activity = activity))
    }

    private fun closed() {
        session.outbox.closed()
        session.marks.closed()
        session.people.forget()
    }

    private fun take(f: ServerFrame) {
        f.hello?.let(::greeted)
        for (a in f.accepted) session.outbox.accepted(a.clientSeq)
        if (f.receipts.isNotEmpty()) session.scope.launch { f.receipts.forEach { session.outbox.receipt(it) } }
        if (f.events.isNotEmpty()) session.sync.pushed(f.events)
        f.hint?.let { hint -> if (hint.conversations.isEmpty()) session.sync.sync() else hint.conversations.forEach(session.sync::grown) }
        f.threads.forEach(session.events::threadChanged)
        f.typing?.let(session.people::typed)
        session.people.take(f.presences)
        f.error?.let { options.onProblem("the server refused a frame", it.toError()) }
    }

    /** The socket is open: what waited for it goes, and what was missed is fetched. */
    private fun greeted(hello: Hello) {
        listener.state(ConnectionState.ONLINE, 0)
        session.waiting.opened(hello.clientSeq)
        activity?.let { send(ClientFrame(activity = it)) }
        if (session.people.watched.isNotEmpty()) send(ClientFrame(watch = Watch(session.people.watched)))
        session.sync.reconnected(hello.tail)
        session.conversations.wantUnknown()
        session.history.fillOpened()
        session.scope.launch { session.push.flush() }
    }
}
