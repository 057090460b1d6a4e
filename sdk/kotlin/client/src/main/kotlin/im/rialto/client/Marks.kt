package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

/** Marks sent this long before a connection ended are sent again: a dead connection is noticed sooner than that. */
private const val resendWindowMs = 60_000L
private const val everyMs = 1_000L

/**
 * Collects moves of cursors and the acknowledgement of the stream, and sends them together, at most once a second. Cursors only grow, so
 * only the latest is sent.
 *
 * @param transmit sends marks on the open connection; false where there is none, or the stream is not here up to its end
 */
internal class Marks(private val scope: CoroutineScope, private val now: () -> Long, private val transmit: (List<Mark>, StreamPosition?) -> Boolean) {
    private val pending = mutableMapOf<String, Mark>()

    /** Marks sent lately on the present connection, which may end before the server reads them. */
    private var sent = listOf<Pair<Long, List<Mark>>>()
    private var ack: StreamPosition? = null
    private var lastMs = Long.MIN_VALUE / 2
    private var timer: Job? = null

    fun delivered(conversation: String, seq: Long) {
        add(Mark(conversation, deliveredSeq = seq))
        arm()
    }

    fun read(conversation: String, seq: Long) {
        add(Mark(conversation, readSeq = seq))
        arm()
    }

    fun acknowledge(position: StreamPosition) {
        ack = position
        arm()
    }

    private fun add(m: Mark) {
        val was = pending[m.conversation] ?: Mark(m.conversation)
        pending[m.conversation] = Mark(m.conversation, maxOf(was.deliveredSeq, m.deliveredSeq), maxOf(was.readSeq, m.readSeq))
    }

    private fun arm() {
        if (timer?.isActive == true) return
        timer = scope.launch {
            delay(maxOf(0, lastMs + everyMs - now()))
            timer = null
            flush()
        }
    }

    /** Sends the pending marks. They stay pending where there is no connection. */
    fun flush() {
        if (pending.isEmpty() && ack == null) return
        val marks = pending.values.toList()
        if (!transmit(marks, ack)) return
        lastMs = now()
        sent = sent.filter { lastMs - it.first < resendWindowMs }.plusElement(lastMs to marks)
        pending.clear()
        ack = null
    }

    /** The server may have lost messages, and given their seqs to others: cursors that were not told, or lately, may be beyond what was read. */
    fun forget() {
        pending.clear()
        sent = emptyList()
    }

    /** The connection ended: marks sent shortly before go again on the next one. Cursors only grow, so that is harmless. */
    fun closed() {
        for ((atMs, marks) in sent) if (now() - atMs < resendWindowMs) marks.forEach(::add)
        sent = emptyList()
    }
}
