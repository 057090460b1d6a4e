package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

/** Events that name the same conversation within this time cause one call. */
private const val fetchAfterMs = 20L

/** Within this time, at random, what grows without being shown is fetched. */
private const val sometimeMs = 60_000L

/** When what could not be told is told again. */
private const val retryMs = 2_000L

/** Fetches conversations, and changes the user's own part of them: read cursors and settings. */
internal class Conversations(
    private val scope: CoroutineScope,
    private val me: String,
    private val data: LocalData,
    private val api: ChatApi,
    private val marks: Marks,
    private val history: History,
    private val options: ClientOptions,
) {
    private val fetching = mutableSetOf<String>()
    private val fetchingSometime = mutableSetOf<String>()
    private val deletedMessages = mutableSetOf<String>()
    private var retrying: Job? = null

    /** Takes an answer that describes a conversation. */
    fun take(answer: ConversationAnswer): Conversation {
        val ops = mutableListOf<Op>()
        data.put(merged(data.conversations[answer.id], answer), ops)
        data.keep(ops)
        return data.view(answer.id)
    }

    suspend fun refetch(id: String) {
        val ops = mutableListOf<Op>()
        try {
            val answer = api.conversation(id)
            data.put(merged(data.conversations[id], answer), ops) // what is here may have changed meanwhile
        } catch (e: RialtoError) {
            if (e.isOffline) throw e
            // The user may not read it any more, and nothing is known of it that could be shown.
            if (data.view(id).kind == ConversationKind.UNSPECIFIED && e.isRefusal) drop(id, ops)
        }
        data.keep(ops)
    }

    /** Fetches a conversation soon. */
    fun want(id: String) = fetchIn(fetchAfterMs, id, fetching)

    /** Fetches those of which only the stream has told: the fetch failed, or the program ended before. */
    fun wantUnknown() = data.conversations.values.filter { it.kind == ConversationKind.UNSPECIFIED }.forEach { want(it.id) }

    /** Fetches a conversation some time later: many devices are told at once that it has grown. */
    fun wantSometime(id: String) = fetchIn((options.random() * sometimeMs).toLong(), id, fetchingSometime)

    private fun fetchIn(ms: Long, id: String, waiting: MutableSet<String>) {
        if (!waiting.add(id)) return
        scope.launch {
            delay(ms)
            waiting.remove(id)
            try {
                refetch(id)
            } catch (_: RialtoError) {
                return@launch // offline: the next sync's events ask again, or the list does
            }
            history.grown(id)
        }
    }

    /** Drops a conversation that the user no longer follows, and its messages. */
    fun drop(id: String, ops: MutableList<Op>) {
        data.drop(id, ops)
        history.forget(id)
    }

    /** Drops the threads of a conversation that the user is not in any more. */
    fun dropThreads(parent: String, ops: MutableList<Op>) = data.conversations.values.filter { it.parent == parent }.forEach { drop(it.id, ops) }

    /** Moves the read cursor. It never goes back. */
    fun read(conversation: String, seq: Long) {
        val c = data.view(conversation)
        val to = minOf(seq, c.lastSeq)
        if (to <= c.readSeq) return
        val at = if (to == c.lastSeq) c.lastCounted else history.loaded(conversation).firstOrNull { it.seq == to }?.counted ?: c.readCounted
        val ops = mutableListOf<Op>()
        data.put(
            c.copy(
                readSeq = to, readCounted = maxOf(c.readCounted, at), recalled = c.recalledAfter(to), mentions = c.mentions.filter { it > to }, readPending = true,
                markedUnread = false, pending = c.pending.copy(markedUnread = null), // reading clears it, on the server, too
            ),
            ops,
        )
        marks.read(conversation, to)
        data.keep(ops)
    }

    /** What the user deleted on another device. */
    fun deleted(d: Deletion, ops: MutableList<Op>) {
        if (d.seqs.isNotEmpty()) return messagesDeleted(d, ops)
        val c = data.view(d.conversation).without(d)
        data.put(c, ops)
        history.dropBelow(d.conversation, c.joinSeq, ops)
    }

    private fun messagesDeleted(d: Deletion, ops: MutableList<Op>) {
        val before = data.view(d.conversation)
        var c = before
        for (seq in d.seqs) {
            if (!deletedMessages.add(messageKey(c.id, seq))) continue // it is known: nothing is counted twice
            val was = history.remove(c.id, seq, ops) ?: c.lastMessage?.takeIf { it.seq == seq }
            c = c.withoutMessage(seq, was?.sender == me, history.loaded(c.id).lastOrNull { it.isShown() })
        }
        data.put(c, ops)
        if (c.lastMessage == null && before.lastMessage != null) want(c.id) // what the list shows now is not loaded
    }

    /** After a reset: the keys may be those of other messages. */
    fun forgetDeleted() = deletedMessages.clear()

    /** Whether the user deleted a message, as far as this device can know without asking. */
    fun isDeleted(conversation: String, seq: Long) = messageKey(conversation, seq) in deletedMessages

    /** Sets at once here, and tells the server as soon as that is possible. */
    suspend fun configure(conversation: String, s: ConversationSettings) {
        val c = data.view(conversation)
        val ops = mutableListOf<Op>()
        val pending = c.pending.copy(
            pinned = s.pinned ?: c.pending.pinned, muted = s.muted ?: c.pending.muted, archived = s.archived ?: c.pending.archived,
            draft = s.draft ?: c.pending.draft, markedUnread = s.markedUnread ?: c.pending.markedUnread,
        )
        data.put(
            c.copy(
                pinned = s.pinned ?: c.pinned, muted = s.muted ?: c.muted, archived = s.archived ?: c.archived,
                draft = s.draft ?: c.draft, markedUnread = s.markedUnread ?: c.markedUnread, pending = pending,
            ),
            ops,
        )
        data.keep(ops)
        tellSettings(conversation)
    }

    private suspend fun tellSettings(id: String) {
        val told = data.view(id).pending
        val ops = mutableListOf<Op>()
        try {
            val state = api.configure(ConfigureRequest(id, told.pinned, told.muted, told.archived, told.draft, told.markedUnread))
            val c = data.view(id)
            data.put(merged(c.copy(pending = c.pending.without(told)), state), ops)
            data.keep(ops)
        } catch (e: RialtoError) {
            if (e.isOffline) return retry()
            data.put(data.view(id).copy(pending = ConversationSettings()), ops)
            data.keep(ops)
            throw e
        }
    }

    /** Tells again soon: the connection may live on while calls fail, and nothing else would. */
    private fun retry() {
        retrying?.cancel()
        retrying = scope.launch {
            delay(retryMs)
            flush()
        }
    }

    /** Tells what was set, or read, without a connection. Cursors wait in [marks] until the stream is here up to its end. */
    suspend fun flush() {
        for (c in data.conversations.values.toList()) {
            try {
                if (!c.pending.isEmpty) tellSettings(c.id)
            } catch (e: RialtoError) {
                options.onProblem("the server refused settings of a conversation", e)
            }
            if (c.readPending) marks.read(c.id, c.readSeq)
        }
    }
}

/** What was set since [told]. */
private fun ConversationSettings.without(told: ConversationSettings) = ConversationSettings(
    pinned = pinned.takeIf { it != told.pinned },
    muted = muted.takeIf { it != told.muted },
    archived = archived.takeIf { it != told.archived },
    draft = draft.takeIf { it != told.draft },
    markedUnread = markedUnread.takeIf { it != told.markedUnread },
)
