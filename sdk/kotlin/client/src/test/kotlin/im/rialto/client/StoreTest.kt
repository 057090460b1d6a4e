package im.rialto.client

import im.rialto.client.jvm.jdbcStorage
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import java.nio.file.Path
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFails
import kotlin.test.assertNull

/** What every implementation of [Storage] must do. */
abstract class StoreSuite {
    abstract fun storage(): Storage

    private fun store(test: suspend Store.() -> Unit) = runBlocking {
        val store = storage().open("user-1")
        store.test()
        store.close()
    }

    private fun put(key: String, value: String = key, table: Table = Table.MESSAGES) = Op.Put(table, key, value)

    @Test
    fun `values are listed in the order of keys, from and until`() = store {
        write(listOf(put("7/03"), put("7/01"), put("7/02"), put("8/01"), put("70/01")))
        assertEquals(listOf("7/01", "7/02", "7/03"), list(Table.MESSAGES, "7/", "70"))
        assertEquals(listOf("7/03", "7/02"), list(Table.MESSAGES, "7/", "70", reverse = true, limit = 2))
        assertEquals(listOf("7/01"), list(Table.MESSAGES, "7/", "7/02"))
        assertEquals(listOf("7/03", "70/01", "8/01"), list(Table.MESSAGES, "7/03"))
        assertEquals(emptyList(), list(Table.OUTBOX))
    }

    @Test
    fun `a write replaces and deletes, in order`() = store {
        write(listOf(put("a", "1"), put("b"), put("c"), put("d"), put("a", table = Table.OUTBOX)))
        write(listOf(put("a", "2"), Op.Delete(Table.MESSAGES, "b"), Op.DeleteRange(Table.MESSAGES, "c", "d"), put("b", "again")))
        assertEquals(listOf("2", "again", "d"), list(Table.MESSAGES))
        write(listOf(Op.Clear(Table.MESSAGES)))
        assertEquals(emptyList(), list(Table.MESSAGES))
        assertEquals("a", get(Table.OUTBOX, "a"))
        assertNull(get(Table.OUTBOX, "b"))
    }

    @Test
    fun `texts come back as they were`() = store {
        val text = "你好 👋🏽 ' \" \\ \n" + "x".repeat(200_000)
        write(listOf(put("key '", text)))
        assertEquals(text, get(Table.MESSAGES, "key '"))
    }

    @Test
    fun `no number is given twice, and none below the floor`() = store {
        assertEquals(1, count("n", 0))
        assertEquals(11, count("n", 10))
        assertEquals(12, count("n", 3))
        assertEquals(1, count("other", 0))
        runBlocking { assertEquals((13L..32L).toList(), List(20) { async { count("n", 0) } }.awaitAll().sorted()) }
    }

    @Test
    fun `clear keeps the counters that it names`() = store {
        count("n", 4)
        write(listOf(put("login", table = Table.META), put("m")))
        clear(listOf("n", "none"))
        assertEquals(emptyList(), list(Table.MESSAGES))
        assertNull(get(Table.META, "login"))
        assertEquals(6, count("n", 0))
    }

    @Test
    fun `stores of other names are others`() = runBlocking {
        val storage = storage()
        val (one, two) = listOf(storage.open("one"), storage.open("two"))
        one.write(listOf(put("a")))
        assertNull(two.get(Table.MESSAGES, "a"))
        one.close()
        two.close()
    }
}

class MemoryStoreTest : StoreSuite() {
    override fun storage() = MemoryStorage()
}

class JdbcStoreTest : StoreSuite() {
    @TempDir
    lateinit var folder: Path

    override fun storage() = jdbcStorage(folder.resolve("new"))

    @Test
    fun `what was written is there after a restart`(): Unit = runBlocking {
        storage().open("user").apply {
            write(listOf(Op.Put(Table.OUTBOX, "1", "one")))
            count("n", 0)
            close()
        }
        storage().open("user").apply {
            assertEquals("one", get(Table.OUTBOX, "1"))
            assertEquals(2, count("n", 0))
            close()
        }
    }

    @Test
    fun `a write that fails changes nothing`() = runBlocking {
        val broken = SqlStorage { BrokenDatabase() }.open("user")
        broken.write(listOf(Op.Put(Table.OUTBOX, "1", "one")))
        assertFails { broken.write(listOf(Op.Put(Table.OUTBOX, "1", "two"), Op.Put(Table.OUTBOX, "2", REFUSED))) }
        assertEquals(listOf("one"), broken.list(Table.OUTBOX))
        broken.close()
    }

    /** A database that refuses one value. */
    private inner class BrokenDatabase(private val db: SqlDatabase = im.rialto.client.jvm.connectJdbc(folder, "broken")) : SqlDatabase by db {
        override fun execute(sql: String, vararg args: Any) {
            check(REFUSED !in args) { "refused" }
            db.execute(sql, *args)
        }
    }

    private companion object {
        const val REFUSED = "refused"
    }
}
