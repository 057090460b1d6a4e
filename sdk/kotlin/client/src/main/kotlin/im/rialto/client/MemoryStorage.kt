package im.rialto.client

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import java.util.TreeMap

/** Keeps everything in memory, for tests and for programs that need nothing after their end. A second client on it finds what the first one kept. */
class MemoryStorage : Storage {
    private val lock = Mutex()
    private val stores = mutableMapOf<String, Store>()

    override suspend fun open(name: String): Store = lock.withLock { stores.getOrPut(name) { MemoryStore() } }
}

private class MemoryStore : Store {
    private val lock = Mutex()
    private val data = Table.entries.associateWith { TreeMap<String, String>() }

    private fun of(table: Table) = data.getValue(table)

    override suspend fun get(table: Table, key: String): String? = lock.withLock { of(table)[key] }

    override suspend fun list(table: Table, from: String, until: String, reverse: Boolean, limit: Int): List<String> = lock.withLock {
        val rows = if (until.isEmpty()) of(table).tailMap(from, true) else of(table).subMap(from, true, until, false)
        (if (reverse) rows.descendingMap() else rows).values.take(limit)
    }

    override suspend fun write(ops: List<Op>) = lock.withLock {
        for (op in ops) {
            when (op) {
                is Op.Put -> of(op.table)[op.key] = op.value
                is Op.Delete -> of(op.table).remove(op.key)
                is Op.DeleteRange -> of(op.table).subMap(op.from, true, op.until, false).clear()
                is Op.Clear -> of(op.table).clear()
            }
        }
    }

    override suspend fun count(key: String, floor: Long): Long = lock.withLock {
        val next = maxOf(of(Table.META)[key]?.toLong() ?: 0, floor) + 1
        of(Table.META)[key] = next.toString()
        next
    }

    override suspend fun clear(keep: List<String>) = lock.withLock {
        val kept = of(Table.META).filterKeys { it in keep }
        data.values.forEach { it.clear() }
        of(Table.META).putAll(kept)
    }

    override suspend fun close() {}
}
