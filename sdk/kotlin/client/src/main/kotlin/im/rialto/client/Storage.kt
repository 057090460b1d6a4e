package im.rialto.client

import kotlinx.serialization.KSerializer

/**
 * Opens the stores of a device by name: one for the session, and one for each user who logs in. [MemoryStorage] forgets with the process.
 * [SqlStorage] keeps everything in SQLite: on the JVM by `im.rialto.client.jvm.jdbcStorage`, on Android by the adapter in `sdk/kotlin/android`.
 *
 * A store belongs to one [Client] at a time.
 */
interface Storage {
    suspend fun open(name: String): Store
}

/**
 * What the client keeps on the device: tables of texts under text keys. A write is all or nothing, and is durable when it returns: the client
 * tells its user that a message is kept, and the server how far it has stored the stream.
 *
 * The functions may be called from any thread, and several at once. A failure is an exception.
 */
interface Store {
    suspend fun get(table: Table, key: String): String?

    /** The values of keys with from <= key < until, in rising order of keys, or in falling order if [reverse]. Empty bounds are none. */
    suspend fun list(table: Table, from: String = "", until: String = "", reverse: Boolean = false, limit: Int = Int.MAX_VALUE): List<String>

    /** Executes the operations in order, all or none. */
    suspend fun write(ops: List<Op>)

    /** Counts up: stores max(stored, [floor]) + 1 under the key in [Table.META], durably, and returns it. No number is given twice. */
    suspend fun count(key: String, floor: Long): Long

    /** Removes everything but the keys [keep] of [Table.META], all or nothing. */
    suspend fun clear(keep: List<String>)

    suspend fun close()
}

enum class Table { META, CONVERSATIONS, MESSAGES, OUTBOX, RELATIONS }

/** A change in a store. */
sealed interface Op {
    val table: Table

    data class Put(override val table: Table, val key: String, val value: String) : Op

    data class Delete(override val table: Table, val key: String) : Op

    /** Deletes the keys with from <= key < until. */
    data class DeleteRange(override val table: Table, val from: String, val until: String) : Op

    data class Clear(override val table: Table) : Op

    companion object {
        internal fun <T> put(table: Table, key: String, type: KSerializer<T>, value: T) = Put(table, key, json.encodeToString(type, value))
    }
}

internal suspend fun <T> Store.value(table: Table, key: String, type: KSerializer<T>): T? = get(table, key)?.let { json.decodeFromString(type, it) }

internal suspend fun <T> Store.values(table: Table, type: KSerializer<T>): List<T> = list(table).map { json.decodeFromString(type, it) }

/** Numbers as keys whose order is that of the numbers. */
internal fun numberKey(n: Long): String = n.toString().padStart(19, '0')

/** The key of a message: in the order of seqs within a conversation. */
internal fun messageKey(conversation: String, seq: Long): String = "$conversation/${numberKey(seq)}"
