package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async

private const val pageMessages = 50
private const val mostInPage = 200

/** A hole of at most so many messages below the loaded end is filled. Above a larger one, the end is loaded anew. */
private const val largestHole = 400

/** Loads and holds the messages of conversations: each that is open is a window that reaches the end. */
internal class History(
    private val scope: CoroutineScope,
    private val data: LocalData,
    private val store: Store,
    private val api: ChatApi,
    private val options: ClientOptions,
    private val onChange: () -> Unit,
) {
    private val logs = mutableMapOf<String, MessageLog>()
    private val opened = mutableSetOf<String>()
    private val filling = mutableMapOf<String, Deferred<Unit>>()

    /** Rises with each reset: an answer that was asked for before it is not taken. */
    private var generation = 0

    private fun log(conversation: String) = logs.getOrPut(conversation) { MessageLog() }

    fun isOpen(conversation: String) = conversation in opened

    /** The loaded messages of a conversation; none where it was not opened. */
    fun loaded(conversation: String): List<Message> = logs[conversation]?.messages ?: emptyList()

    /** Loads the end of a conversation, first from the device, and keeps it whole from then on. */
    suspend fun open(conversation: String) {
        if (opened.add(conversation)) {
            val of = generation
            data.written()
            val stored = stored(conversation, "${conversation}0")
            if (of == generation) show(conversation, unexpired(conversation, stored)) // after a reset, others may have their seqs
        }
        fill(conversation).await()
    }

    /** Begins a window with what the device has, the newest first. What lies below a hole comes from the server. */
    private fun show(conversation: String, stored: List<Message>) {
        val log = log(conversation)
        var next = 0L
        for (m in stored) {
            if (next != 0L && m.seq != next) break
            log.extend(m.seq)
            log.add(m)
            next = m.seq - 1
        }
        onChange()
    }

    private suspend fun stored(conversation: String, until: String): List<Message> =
        store.list(Table.MESSAGES, "$conversation/", until, reverse = true, limit = pageMessages).map { json.decodeFromString(Message.serializer(), it) }

    /** Of stored messages, the newest first, those that have not expired. What has goes from the device, with all before it. */
    private fun unexpired(conversation: String, stored: List<Message>): List<Message> {
        val c = data.view(conversation)
        val cut = if (c.keptSeconds == 0L) Long.MIN_VALUE else options.now() - c.keptSeconds * 1_000
        val old = stored.indexOfFirst { it.timeMs < cut || it.seq < c.joinSeq }
        if (old < 0) return stored
        data.keep(listOf(Op.DeleteRange(Table.MESSAGES, "$conversation/", messageKey(conversation, stored[old].seq + 1))))
        return stored.take(old)
    }

    /** Adds a new message to a window. [fillsHoles]: fetches what is missing before it. */
    fun add(m: Message, fillsHoles: Boolean) {
        if (m.conversation !in opened) return
        log(m.conversation).add(m)
        if (fillsHoles) fill(m.conversation)
    }

    /** Changes a loaded message; false where it is not loaded. */
    fun change(conversation: String, seq: Long, ops: MutableList<Op>, by: (Message) -> Message): Boolean {
        val log = logs[conversation] ?: return false
        val changed = by(log[seq] ?: return false)
        log.replace(changed)
        data.putMessage(changed, ops)
        return true
    }

    /** The conversation has grown, by messages that are not here. */
    fun grown(conversation: String) {
        if (conversation in opened) fill(conversation)
    }

    /** The conversations were read anew: what is loaded may have holes, and goes. */
    fun reset() {
        generation++
        logs.values.forEach { it.clear() }
    }

    /** Drops what is loaded of one conversation. */
    fun forget(conversation: String) {
        logs.remove(conversation)
        opened.remove(conversation)
    }

    fun fillOpened() = opened.forEach { fill(it) }

    /** Fetches what is missing between the loaded end and the conversation's. Several requests share one fetch. */
    private fun fill(conversation: String): Deferred<Unit> = filling.getOrPut(conversation) {
        scope.async {
            try {
                do {
                    val of = generation
                    fillNow(conversation, of)
                } while (of != generation)
            } catch (e: RialtoError) {
                if (!e.isOffline) options.onProblem("the history could not be read", e) // offline: the next connection asks again
            } finally {
                filling.remove(conversation)
            }
        }
    }

    private suspend fun fillNow(conversation: String, of: Int) {
        val log = log(conversation)
        // A message may come while the end is read, whose answer may then be older.
        var asked = -1L
        while (true) {
            val lastSeq = data.view(conversation).lastSeq
            if (asked >= lastSeq || (log.last > 0 && lastSeq - log.last <= largestHole)) break
            asked = lastSeq
            log.clear()
            val page = api.history(HistoryRequest(conversation, limit = pageMessages))
            if (of != generation) return
            take(conversation, page.messages)
            if (page.messages.isEmpty()) log.extend(lastSeq + 1) // nothing is there yet: the log is whole from the next message on
        }
        while (true) {
            val hole = log.hole(data.view(conversation).lastSeq) ?: return
            val page = api.history(HistoryRequest(conversation, after = hole.first - 1, limit = mostInPage))
            if (of != generation) return
            take(conversation, page.messages)
            val reached = maxOf(page.messages.lastOrNull()?.seq ?: 0, page.unreadable.lastOrNull() ?: 0)
            log.void(hole.first, if (page.more && reached > 0) minOf(hole.last, reached) else hole.last)
        }
    }

    /** Loads older messages, from the device where it has them; false when there are none. */
    suspend fun older(conversation: String): Boolean {
        val log = log(conversation)
        val first = maxOf(1, data.view(conversation).joinSeq)
        if (log.from == 0L || log.from <= first) return false
        val of = generation
        val kept = keptBefore(conversation, log.from)
        if (of != generation) return true
        if (kept.isNotEmpty()) {
            take(conversation, kept)
            return log.from > first
        }
        val page = api.history(HistoryRequest(conversation, before = log.from, limit = pageMessages))
        if (of != generation) return true
        take(conversation, page.messages)
        return page.more
    }

    /** What the device has right before a seq, without a hole, in rising order. */
    private suspend fun keptBefore(conversation: String, seq: Long): List<Message> {
        data.written()
        val kept = unexpired(conversation, stored(conversation, messageKey(conversation, seq)))
        val hole = kept.withIndex().indexOfFirst { (i, m) -> m.seq != seq - 1 - i }
        return (if (hole < 0) kept else kept.take(hole)).reversed()
    }

    private fun take(conversation: String, messages: List<Message>) {
        val log = log(conversation)
        val ops = mutableListOf<Op>()
        messages.firstOrNull()?.let { log.extend(if (log.from == 0L) it.seq else minOf(it.seq, log.from)) }
        for (m in messages) {
            if (!log.add(m)) log.replace(m) // the answer has its present state
            data.putMessage(m, ops)
        }
        data.keep(ops)
    }

    /** Forgets a message that the user deleted, and returns it if it was loaded. */
    fun remove(conversation: String, seq: Long, ops: MutableList<Op>): Message? {
        val was = logs[conversation]?.get(seq)
        logs[conversation]?.remove(seq)
        ops += Op.Delete(Table.MESSAGES, messageKey(conversation, seq))
        return was
    }

    /** Forgets the messages below a seq, which one may not read any more. */
    fun dropBelow(conversation: String, seq: Long, ops: MutableList<Op>) {
        logs[conversation]?.dropBelow(seq)
        ops += Op.DeleteRange(Table.MESSAGES, "$conversation/", messageKey(conversation, seq))
    }
}
