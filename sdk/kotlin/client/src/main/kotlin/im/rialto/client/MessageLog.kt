package im.rialto.client

import java.util.TreeMap

/**
 * The loaded end of one conversation: all messages from [from] on, in order, each once. Since seqs have no gap, what is missing shows by
 * itself. What the server says is not to be had is noted as void.
 */
internal class MessageLog {
    private val bySeq = TreeMap<Long, Message>()
    private val voids = mutableSetOf<Long>()
    private var sorted: List<Message>? = null

    /** The lowest seq of the window; 0 while nothing is loaded. */
    var from = 0L
        private set

    val last: Long get() = if (bySeq.isEmpty()) 0 else bySeq.lastKey()

    /** The messages in order: the same list for as long as nothing changes. */
    val messages: List<Message> get() = sorted ?: bySeq.values.toList().also { sorted = it }

    operator fun get(seq: Long): Message? = bySeq[seq]

    /** Adds a message; false where it is there already, or lies before the window. */
    fun add(m: Message): Boolean {
        if (from == 0L) from = m.seq
        if (m.seq < from || m.seq in bySeq) return false
        bySeq[m.seq] = m
        sorted = null
        return true
    }

    /** Takes the newer state of a message that is there. */
    fun replace(m: Message) {
        if (m.seq !in bySeq) return
        bySeq[m.seq] = m
        sorted = null
    }

    /** Takes a message out, which is not to be had any more. */
    fun remove(seq: Long) {
        if (bySeq.remove(seq) == null) return
        voids += seq
        sorted = null
    }

    /** Lets the window begin at seq. */
    fun extend(seq: Long) {
        if (from == 0L || seq < from) from = seq
    }

    /** Drops what lies below a seq: the window begins there at the earliest. */
    fun dropBelow(seq: Long) {
        if (from == 0L || from >= seq) return
        from = seq
        bySeq.headMap(seq).clear()
        voids.removeAll { it < seq }
        sorted = null
    }

    /** Notes that there is nothing to be had from first to last, but for what is here. */
    fun void(first: Long, last: Long) {
        for (seq in first..last) if (seq !in bySeq) voids += seq
    }

    /** The first run of seqs that are missing between the beginning of the window and [upTo]. */
    fun hole(upTo: Long): LongRange? {
        if (from == 0L) return null
        val first = (from..upTo).firstOrNull(::missing) ?: return null
        var last = first
        while (last < upTo && missing(last + 1)) last++
        return first..last
    }

    private fun missing(seq: Long) = seq !in bySeq && seq !in voids

    fun clear() {
        bySeq.clear()
        voids.clear()
        sorted = null
        from = 0
    }
}
