package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch

private const val positionKey = "position"

/**
 * The device's copy of conversations, relations and the stream's position, in memory and in the store. The parts of the replica change it:
 * each change goes into memory at once, and with [keep] into the store.
 *
 * @param onStored the stream is stored up to this position
 */
internal class LocalData(
    private val scope: CoroutineScope,
    private val store: Store,
    private val onChange: () -> Unit,
    private val onStored: (StreamPosition) -> Unit,
    private val onProblem: (String, Throwable) -> Unit,
) {
    val conversations = mutableMapOf<String, Conversation>()
    val relations = mutableMapOf<String, Relation>()
    var position: StreamPosition? = null

    /** What waits for the write that is under way. */
    private var waiting = mutableListOf<Op>()
    private var writing: Job? = null

    /** A write failed: the position in the store stays below what is missing there. */
    private var broken = false

    suspend fun load() {
        position = store.value(Table.META, positionKey, StreamPosition.serializer())
        store.values(Table.CONVERSATIONS, Conversation.serializer()).associateByTo(conversations) { it.id }
        store.values(Table.RELATIONS, Relation.serializer()).associateByTo(relations) { it.user }
    }

    /** Returns when all changes so far are stored. */
    suspend fun written() {
        writing?.join()
    }

    /** A conversation as far as it is known. */
    fun view(id: String): Conversation = conversations[id] ?: Conversation(id)

    fun put(c: Conversation, ops: MutableList<Op>) {
        conversations[c.id] = c
        ops += Op.put(Table.CONVERSATIONS, c.id, Conversation.serializer(), c)
    }

    /** Forgets a conversation and its messages. */
    fun drop(id: String, ops: MutableList<Op>) {
        conversations.remove(id)
        ops += Op.Delete(Table.CONVERSATIONS, id)
        ops += Op.DeleteRange(Table.MESSAGES, "$id/", "${id}0")
    }

    fun putRelation(r: Relation, ops: MutableList<Op>) {
        relations[r.user] = r
        ops += Op.put(Table.RELATIONS, r.user, Relation.serializer(), r)
    }

    fun putMessage(m: Message, ops: MutableList<Op>) {
        ops += Op.put(Table.MESSAGES, messageKey(m.conversation, m.seq), Message.serializer(), m)
    }

    /**
     * Stores changes together with the position that they lead to, so that a crash repeats events and never skips one. A burst of events is
     * stored in a few transactions.
     */
    fun keep(ops: List<Op>) {
        onChange()
        if (broken) return
        waiting += ops
        position?.let { waiting += Op.put(Table.META, positionKey, StreamPosition.serializer(), it) }
        if (writing?.isActive != true) writing = scope.launch { writeWaiting() }
    }

    private suspend fun writeWaiting() {
        while (waiting.isNotEmpty() && !broken) {
            val ops = waiting
            val at = position
            waiting = mutableListOf()
            try {
                store.write(ops)
            } catch (e: Exception) {
                // Later writes would store a position above what this one had. What is missing comes again after the next start.
                broken = true
                onProblem("the device could not store", e)
                return
            }
            if (at != null) onStored(at)
        }
    }
}
