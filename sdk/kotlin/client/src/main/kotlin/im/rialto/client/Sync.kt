package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

private const val syncLimit = 1_000
private const val retrySyncMs = 2_000L

/** Follows the user's stream: pushes in order, and pages from the server where one is missing and after each reconnect. */
internal class Sync(
    private val scope: CoroutineScope,
    private val data: LocalData,
    private val events: Events,
    private val history: History,
    private val conversations: Conversations,
    private val waiting: Waiting,
    private val api: ChatApi,
    private val options: ClientOptions,
    private val onChange: () -> Unit,
) {
    private var running: Job? = null

    /** The newest pushed event that arrived during a sync and was left to it. */
    private var missed: StreamPosition? = null

    /** A sync was requested during another one, whose page may be older than the request. */
    private var again = false

    /** Whether a sync is running, or one that failed is to be repeated. */
    val catchingUp: Boolean get() = running?.isActive == true

    /** Catches up after a reconnect, when the newest event of the stream is at [tail]. */
    fun reconnected(tail: StreamPosition) {
        // The stream does not have all messages of large groups.
        if (data.position != tail || data.conversations.values.any { it.large }) sync(tail.takeIf { it.epoch > 0 }) else waiting.synced()
    }

    /** Takes pushed events. One that does not follow what is here is left to a sync. */
    fun pushed(pushed: List<Event>) {
        val ops = mutableListOf<Op>()
        for (e in pushed) {
            val at = StreamPosition(e.epoch, e.seq)
            if (e.seq == 0L) { // a message of a large group: its place is that in the conversation
                e.message?.let { events.apply(it, ops, live = true) }
            } else if (catchingUp) {
                miss(at)
            } else when (orderOf(data.position, at, e.prev)) {
                EventOrder.OLD -> {}
                EventOrder.GAP -> {
                    miss(at)
                    sync()
                }
                EventOrder.NEXT -> {
                    events.apply(e, ops, live = true)
                    data.position = at
                }
            }
        }
        if (ops.isNotEmpty() || pushed.isNotEmpty()) data.keep(ops)
    }

    private fun miss(at: StreamPosition) {
        if (missed?.let(at::isAfter) != false) missed = at
    }

    /**
     * Catches up with the server. A call during a sync shares it, and it then reads one page more: its page may be older than the event that
     * caused the call. A new device reads the lists first, and goes on from [tail].
     */
    fun sync(tail: StreamPosition? = null) {
        again = true
        if (catchingUp) return
        running = scope.launch {
            while (true) {
                try {
                    pages(tail)
                    break
                } catch (e: RialtoError) {
                    // Also where the server could not be reached: the connection may live on while calls fail, and nothing else would ask.
                    if (e.code == "unauthenticated") break
                    delay(maxOf(retrySyncMs, e.retryMs))
                }
            }
        }.also { job -> job.invokeOnCompletion { onChange() } }
    }

    private suspend fun pages(tail: StreamPosition?) {
        // What comes after the lists is news also to a new device; a stream read from its start is not.
        val live = data.position != null || tail != null
        if (data.position == null && tail != null) rebuild(tail, drop = false)
        while (true) {
            again = false
            if (page(live).more) continue
            val left = missed
            missed = null
            if (again) continue
            if (left == null || data.position?.let { !left.isAfter(it) } == true) return waiting.synced()
        }
    }

    /** Reads and applies a page. */
    private suspend fun page(live: Boolean): SyncResponse {
        val page = api.sync(SyncRequest(data.position ?: StreamPosition(), syncLimit))
        if (page.reset) {
            rebuild(page.next, drop = true)
            return page
        }
        val ops = mutableListOf<Op>()
        for (e in page.events) events.apply(e, ops, live)
        data.position = page.next
        data.keep(ops)
        if (!page.more) page.large.forEach { reached(it) }
        return page
    }

    /** The stream is not whole from where we are: read the lists, and go on from [next]. */
    private suspend fun rebuild(next: StreamPosition, drop: Boolean) {
        val answers = api.conversations()
        val relations = api.relations()
        val isSame = if (drop) waiting.compare().also { waiting.giveUp(it) } else null
        val ops = mutableListOf<Op>(Op.Clear(Table.CONVERSATIONS), Op.Clear(Table.RELATIONS))
        if (drop) {
            ops += Op.Clear(Table.MESSAGES)
            history.reset()
        }
        data.relations.clear()
        for (r in relations) data.putRelation(r, ops)
        val known = data.conversations.toMap()
        data.conversations.clear()
        for (c in answers) data.put(merged(if (isSame == null) known[c.id] else unconfirmedPart(known[c.id], c.id, isSame), c), ops)
        data.position = next
        data.keep(ops)
        history.fillOpened()
    }

    /** How far a large group has come, by the last page of a sync. */
    private suspend fun reached(l: LargeTail) {
        if (l.lastSeq > data.view(l.conversation).lastSeq) conversations.refetch(l.conversation)
        history.grown(l.conversation)
    }

    /** A hint: a large group has more messages than are pushed. One that is shown is read, others are brought up to date some time later. */
    fun grown(l: LargeTail) {
        if (l.conversation !in data.conversations || l.lastSeq <= data.view(l.conversation).lastSeq) return
        if (history.isOpen(l.conversation)) conversations.want(l.conversation) else conversations.wantSometime(l.conversation)
    }
}
