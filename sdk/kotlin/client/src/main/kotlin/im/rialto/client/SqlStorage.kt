package im.rialto.client

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext

/**
 * A connection to an SQLite database (3.8.2 or newer), as [SqlStorage] uses it: by one thread at a time. This is all that differs between the
 * JVM and Android. A committed transaction must survive a power failure (`PRAGMA synchronous=FULL` in WAL mode).
 */
interface SqlDatabase {
    /** Executes a statement that returns no rows. Arguments are texts and [Long]s, for the question marks in order. */
    fun execute(sql: String, vararg args: Any)

    /** Returns the first column of the rows, as texts. */
    fun query(sql: String, vararg args: Any): List<String>

    /** Executes [work] in a transaction that takes the write lock at its beginning, and rolls back what it did if it throws. */
    fun <T> transaction(work: () -> T): T

    fun close()
}

/**
 * Keeps what the device has in SQLite, a database for each name.
 *
 * @param connect opens or creates the database of a name. Names have letters, digits and hyphens
 */
class SqlStorage(private val connect: (name: String) -> SqlDatabase) : Storage {
    override suspend fun open(name: String): Store = withContext(Dispatchers.IO) {
        val db = connect(name)
        db.execute("CREATE TABLE IF NOT EXISTS entries (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID")
        SqlStore(db)
    }
}

private class SqlStore(private val db: SqlDatabase) : Store {
    /** Guards the connection, which one thread uses at a time. */
    private val lock = Mutex()

    private suspend fun <T> use(work: () -> T): T = lock.withLock { withContext(Dispatchers.IO) { work() } }

    override suspend fun get(table: Table, key: String): String? = use { db.query("SELECT value FROM entries WHERE kind = ? AND key = ?", table.name, key).firstOrNull() }

    override suspend fun list(table: Table, from: String, until: String, reverse: Boolean, limit: Int): List<String> = use {
        val order = if (reverse) "DESC" else "ASC"
        if (until.isEmpty()) {
            db.query("SELECT value FROM entries WHERE kind = ? AND key >= ? ORDER BY key $order LIMIT ?", table.name, from, limit.toLong())
        } else {
            db.query("SELECT value FROM entries WHERE kind = ? AND key >= ? AND key < ? ORDER BY key $order LIMIT ?", table.name, from, until, limit.toLong())
        }
    }

    override suspend fun write(ops: List<Op>) = use { db.transaction { ops.forEach(::execute) } }

    private fun execute(op: Op) = when (op) {
        is Op.Put -> db.execute("INSERT OR REPLACE INTO entries (kind, key, value) VALUES (?, ?, ?)", op.table.name, op.key, op.value)
        is Op.Delete -> db.execute("DELETE FROM entries WHERE kind = ? AND key = ?", op.table.name, op.key)
        is Op.DeleteRange -> db.execute("DELETE FROM entries WHERE kind = ? AND key >= ? AND key < ?", op.table.name, op.from, op.until)
        is Op.Clear -> db.execute("DELETE FROM entries WHERE kind = ?", op.table.name)
    }

    override suspend fun count(key: String, floor: Long): Long = use {
        db.transaction {
            val stored = db.query("SELECT value FROM entries WHERE kind = ? AND key = ?", Table.META.name, key).firstOrNull()?.toLong() ?: 0
            val next = maxOf(stored, floor) + 1
            execute(Op.Put(Table.META, key, next.toString()))
            next
        }
    }

    override suspend fun clear(keep: List<String>) = use {
        db.transaction {
            val kept = keep.mapNotNull { key -> db.query("SELECT value FROM entries WHERE kind = ? AND key = ?", Table.META.name, key).firstOrNull()?.let { Op.Put(Table.META, key, it) } }
            db.execute("DELETE FROM entries")
            kept.forEach(::execute)
        }
    }

    override suspend fun close() = use { db.close() }
}
