package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.launch

/** The server gives so many messages at once by their seqs. */
internal const val mostAsked = 200

/** A message that something of this device names by its seq. */
internal data class Reference(val conversation: String, val seq: Long)

/** Whether the server still has the message that this device knows under a seq. */
internal typealias IsSame = (conversation: String, seq: Long) -> Boolean

/**
 * The newest message up to a seq by which that can be recognized: at the end of a conversation, what follows the last message is not kept as one.
 */
internal fun Conversation.recognizable(seq: Long): Long {
    val last = lastMessage?.seq ?: 0
    return if (last in 1..<seq) last else seq
}

/**
 * What was done here, waits for the server, and names messages by their seqs. A server that was restored from a backup may have given these seqs to
 * other messages. So it waits on each connection until the stream is here up to its end, and after a reset it is compared with the server first.
 */
internal class Waiting(
    private val scope: CoroutineScope,
    private val data: LocalData,
    private val store: Store,
    private val api: ChatApi,
    private val history: History,
    private val conversations: Conversations,
    private val outbox: Outbox,
    private val marks: Marks,
) {
    /** The stream is known up to its end since the last connection began: the seqs that are known here are those that the server means. */
    var whole = false
        private set

    /** A connection is open. [clientSeq] is the highest number that the server has of this device. */
    fun opened(clientSeq: Long) {
        whole = false
        outbox.opened(clientSeq)
    }

    /** The stream is here up to its end. */
    fun synced() {
        if (whole) return
        whole = true
        outbox.synced()
        marks.flush()
        scope.launch { conversations.flush() }
    }

    /**
     * After a reset, finds out which of the messages that are named the server still has. It is asked before this device drops its copy. Up to a
     * message with the id that is known here, a conversation is the same.
     */
    suspend fun compare(): IsSame {
        data.written()
        val read = data.conversations.values.filter { it.readPending }.map { Reference(it.id, it.recognizable(it.readSeq)) }
        val named = (outbox.references() + read).filter { it.seq > 0 }.groupBy({ it.conversation }, { it.seq })
        val ends = named.mapValues { (conversation, seqs) -> lastSame(conversation, knownIds(conversation, seqs.toSet())) }
        return { conversation, seq -> seq <= (ends[conversation] ?: 0) }
    }

    /** Gives up what concerns messages that the server has lost. Cursors of those that it still has come with the lists. */
    suspend fun giveUp(isSame: IsSame) {
        outbox.dropLost(isSame)
        marks.forget()
        conversations.forgetDeleted()
    }

    private suspend fun lastSame(conversation: String, known: Map<Long, String>): Long {
        for (asked in known.keys.sortedDescending().chunked(mostAsked)) {
            val same = present(conversation, asked).filter { known[it.seq] == it.id }
            if (same.isNotEmpty()) return same.maxOf { it.seq }
        }
        return 0
    }

    /** The ids of those of the messages that this device has. */
    private suspend fun knownIds(conversation: String, seqs: Set<Long>): Map<Long, String> {
        val loaded = (history.loaded(conversation) + listOfNotNull(data.view(conversation).lastMessage)).associateBy { it.seq }
        return buildMap {
            for (seq in seqs) (loaded[seq] ?: store.value(Table.MESSAGES, messageKey(conversation, seq), Message.serializer()))?.let { put(seq, it.id) }
        }
    }

    /** What the server has at these seqs; nothing of a conversation that it refuses. Another error is thrown: it may have them, and the sync begins again later. */
    private suspend fun present(conversation: String, seqs: List<Long>): List<Message> = try {
        api.messages(conversation, seqs)
    } catch (e: RialtoError) {
        if (!e.isRefusal) throw e
        emptyList()
    }
}
