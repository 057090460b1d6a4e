package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

/** At most this many sends, and about this many bytes, in one frame: far below what the server takes. */
private const val frameSends = 50
private const val frameBytes = 128_000

/** A send without receipt for this long on an open connection is repeated. That is harmless. */
private const val receiptTimeoutMs = 20_000L

/** A message that the server holds is answered after half an hour at the latest, unless the connection ends. */
private const val heldTimeoutMs = 35 * 60_000L
private const val shortestWaitMs = 50L

/** Where the server stored a message. */
internal data class StoredAs(val id: String, val seq: Long, val timeMs: Long, val counted: Long)

internal class OutboxDeps(
    val scope: CoroutineScope,
    val store: Store,
    /** The name of the device's counter in the store. */
    val counter: String,
    /** Puts sends on the open connection; false where there is none. */
    val transmit: (List<Send>) -> Boolean,
    val now: () -> Long,
    val onChange: () -> Unit,
    /** The server has it; the outbox does not any more. */
    val onStored: (OutgoingMessage, StoredAs) -> Unit,
)

/**
 * The send queue. A message gets its number, is stored on the device, is sent, and stays until a receipt says that the server stored it.
 * After each reconnect all that are left go again, in order. The number makes repeats harmless.
 *
 * It is used on the client's dispatcher only.
 */
internal class Outbox(private val deps: OutboxDeps) {
    private var items = listOf<OutgoingMessage>()

    /** When each was last put on the present connection. */
    private val sentAt = mutableMapOf<Long, Long>()

    /** Not before this time: the server asked to wait. */
    private val heldUntil = mutableMapOf<Long, Long>()

    /** By conversation, the number of the message that was sent last on the present connection. */
    private val lastSent = mutableMapOf<String, Long>()

    /** Numbers up to here are used, as far as the server knows. */
    private var floor = 0L

    /** The highest number that the server had when the last connection began. Before the first, it may have all. */
    private var storedUpTo = Long.MAX_VALUE

    /** The numbers that were sent since then. */
    private val sent = mutableSetOf<Long>()

    /** The stream is here up to its end: the seqs that messages name are those that the server means. */
    private var whole = false

    /** Keeps the order in which sends were asked for, while numbers are drawn and stored. */
    private val numbering = Mutex()
    private var timer: Job? = null

    suspend fun load() {
        items = deps.store.values(Table.OUTBOX, OutgoingMessage.serializer())
    }

    fun list(conversation: String): List<OutgoingMessage> = items.filter { it.conversation == conversation }

    fun find(clientSeq: Long): OutgoingMessage? = items.firstOrNull { it.clientSeq == clientSeq }

    /** Returns once the message is kept on the device. */
    suspend fun enqueue(conversation: String, content: Content): OutgoingMessage = numbering.withLock {
        val item = OutgoingMessage(conversation, deps.store.count(deps.counter, floor), content, deps.now())
        deps.store.write(listOf(put(item)))
        items = items + item
        deps.onChange()
        pump()
        item
    }

    /** A connection is open. [clientSeq] is the highest number that the server has of this device. */
    fun opened(clientSeq: Long) {
        floor = maxOf(floor, clientSeq)
        storedUpTo = clientSeq
        sent.clear()
        sentAt.clear()
        lastSent.clear()
        heldUntil.clear()
        whole = false
        pump()
    }

    /** The stream is here up to its end: what names messages by their seqs may go. */
    fun synced() {
        if (whole) return
        whole = true
        pump()
    }

    /** The messages that waiting ones name by their seqs. */
    fun references(): List<Reference> = items.filter { it.names > 0 }.map { Reference(it.conversation, it.names) }

    /**
     * After a reset, gives up changes of messages that the server has lost. Answers to such messages go without the reference. One that the
     * server may have stays as it is: the server would take a change for another message with the same number.
     */
    suspend fun dropLost(isSame: IsSame) {
        while (true) { // others come, and receipts, while the store writes
            val item = items.firstOrNull { it.names > 0 && !isSame(it.conversation, it.names) && (it.content.target > 0 || !maybeStored(it)) } ?: return
            if (item.content.target > 0) drop(item.clientSeq) else replace(item, item.copy(content = item.content.without("replyTo")))
        }
    }

    /** Whether the server may have a message whose receipt did not come. */
    private fun maybeStored(item: OutgoingMessage) = item.failed == null && (item.clientSeq <= storedUpTo || item.clientSeq in sent)

    fun closed() {
        sentAt.clear()
        lastSent.clear()
        timer?.cancel()
    }

    /** Those that may go now, in order: never one before an earlier one of its conversation that has to wait. */
    private fun due(): List<OutgoingMessage> {
        val now = deps.now()
        val waiting = mutableSetOf<String>()
        return items.filter { item ->
            if (item.failed != null || item.conversation in waiting) return@filter false
            if ((heldUntil[item.clientSeq] ?: 0) > now || (!whole && item.names > 0)) {
                waiting += item.conversation
                return@filter false
            }
            sentAt[item.clientSeq]?.let { now - it >= receiptTimeoutMs } ?: true
        }
    }

    fun pump() {
        var due = due()
        val before = predecessors()
        while (due.isNotEmpty()) {
            val batch = firstFrame(due)
            val sends = batch.map { item ->
                // The server keeps the order of one connection. It has to check a predecessor only if that was sent in another way, or not just before.
                val previous = before[item.clientSeq] ?: 0
                val follows = (lastSent[item.conversation] ?: 0) == previous
                lastSent[item.conversation] = item.clientSeq
                Send(item.conversation, item.clientSeq, item.content, if (follows) 0 else previous)
            }
            if (!deps.transmit(sends)) {
                lastSent.clear()
                return
            }
            val now = deps.now()
            for (item in batch) {
                sentAt[item.clientSeq] = now
                sent += item.clientSeq
            }
            due = due.drop(batch.size)
        }
        arm()
    }

    private fun firstFrame(due: List<OutgoingMessage>): List<OutgoingMessage> {
        var bytes = 0
        val fit = due.take(frameSends).takeWhile { item ->
            bytes += item.content.fields.toString().length
            bytes <= frameBytes
        }
        return fit.ifEmpty { due.take(1) }
    }

    /** For each message, the number of the one before it in its conversation. Messages that were refused for good are skipped. */
    private fun predecessors(): Map<Long, Long> {
        val last = mutableMapOf<String, Long>()
        return buildMap {
            for (item in items) {
                if (item.failed != null) continue
                last[item.conversation]?.let { put(item.clientSeq, it) }
                last[item.conversation] = item.clientSeq
            }
        }
    }

    /** Plans the next repeat. */
    private fun arm() {
        timer?.cancel()
        val now = deps.now()
        val waits = items.filter { it.failed == null }.map { item ->
            val held = heldUntil[item.clientSeq] ?: 0
            (if (held > now) held else (sentAt[item.clientSeq] ?: now) + receiptTimeoutMs) - now
        }
        val wait = waits.minOrNull() ?: return
        timer = deps.scope.launch {
            delay(maxOf(shortestWaitMs, wait))
            pump()
        }
    }

    /** The server holds the message, and tries by itself: it goes again only on another connection. */
    fun accepted(clientSeq: Long) {
        if (find(clientSeq) != null) sentAt[clientSeq] = deps.now() + heldTimeoutMs - receiptTimeoutMs
    }

    suspend fun receipt(r: Receipt) {
        val item = find(r.clientSeq)?.takeIf { it.conversation == r.conversation } ?: return
        if (r.error == null) stored(item, StoredAs(r.id, r.seq, r.timeMs, r.counted)) else refused(item, r.error)
    }

    private suspend fun refused(item: OutgoingMessage, error: ErrorBody) {
        sentAt.remove(item.clientSeq)
        when {
            error.retryMs > 0 || error.code == "unauthenticated" -> {
                heldUntil[item.clientSeq] = deps.now() + maxOf(error.retryMs, 500)
                if (error.reason == "missing_previous") repeatBefore(item) else arm()
            }
            error.reason == "id_reuse" -> renumber(item)
            else -> replace(item, item.copy(failed = Refusal(error.code, error.reason, error.message)))
        }
    }

    /** The server lacks a message before this one: all of those are sent again, at once. */
    private fun repeatBefore(item: OutgoingMessage) {
        for (i in items) if (i.conversation == item.conversation && i.clientSeq < item.clientSeq) sentAt.remove(i.clientSeq)
        pump()
    }

    /** The server has the message: a receipt came, or the message itself in the stream. */
    suspend fun stored(item: OutgoingMessage, at: StoredAs) {
        take(item.clientSeq)
        deps.onStored(item, at)
        deps.onChange()
        deps.store.write(listOf(Op.Delete(Table.OUTBOX, numberKey(item.clientSeq))))
    }

    /** Sends a refused message again, as a new one. */
    suspend fun retry(clientSeq: Long) {
        find(clientSeq)?.takeIf { it.failed != null }?.let { renumber(it) }
    }

    /** Gives up a refused message. One that may be stored already cannot be taken back. */
    suspend fun discard(clientSeq: Long) {
        if (find(clientSeq)?.failed != null) drop(clientSeq)
    }

    private suspend fun drop(clientSeq: Long) {
        take(clientSeq)
        deps.onChange()
        deps.store.write(listOf(Op.Delete(Table.OUTBOX, numberKey(clientSeq))))
    }

    private suspend fun renumber(item: OutgoingMessage) = numbering.withLock {
        if (find(item.clientSeq) == null) return@withLock
        replace(item, item.copy(clientSeq = deps.store.count(deps.counter, floor), failed = null))
        pump()
    }

    private suspend fun replace(item: OutgoingMessage, by: OutgoingMessage) {
        take(item.clientSeq)
        items = (items + by).sortedBy { it.clientSeq }
        deps.onChange()
        deps.store.write(if (by.clientSeq == item.clientSeq) listOf(put(by)) else listOf(Op.Delete(Table.OUTBOX, numberKey(item.clientSeq)), put(by)))
    }

    private fun take(clientSeq: Long) {
        items = items.filter { it.clientSeq != clientSeq }
        sent.remove(clientSeq)
        sentAt.remove(clientSeq)
        heldUntil.remove(clientSeq)
    }

    private fun put(item: OutgoingMessage) = Op.put(Table.OUTBOX, numberKey(item.clientSeq), OutgoingMessage.serializer(), item)
}

/** The seq of the message that this one changes or answers; 0: it names none by a seq. */
private val OutgoingMessage.names: Long get() = if (content.target > 0) content.target else content.repliesTo
