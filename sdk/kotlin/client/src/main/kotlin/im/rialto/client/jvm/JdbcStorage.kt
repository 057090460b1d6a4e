package im.rialto.client.jvm

import im.rialto.client.SqlDatabase
import im.rialto.client.SqlStorage
import im.rialto.client.Storage
import java.nio.file.Files
import java.nio.file.Path
import java.sql.Connection
import java.sql.DriverManager
import java.sql.PreparedStatement

/**
 * Keeps what the device has in SQLite files in a folder, which is made if it does not exist. It has the tokens of the login: others must not
 * read it. The program needs `org.xerial:sqlite-jdbc` on its class path.
 */
fun jdbcStorage(folder: Path): Storage = SqlStorage { name -> connectJdbc(folder, name) }

internal fun connectJdbc(folder: Path, name: String): SqlDatabase {
    Files.createDirectories(folder)
    return JdbcDatabase(DriverManager.getConnection("jdbc:sqlite:${folder.resolve("$name.db")}"))
}

private class JdbcDatabase(private val connection: Connection) : SqlDatabase {
    init {
        query("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        query("PRAGMA busy_timeout=10000")
    }

    override fun execute(sql: String, vararg args: Any) {
        prepare(sql, args).use { it.execute() }
    }

    override fun query(sql: String, vararg args: Any): List<String> = prepare(sql, args).use { statement ->
        statement.executeQuery().use { rows -> buildList { while (rows.next()) add(rows.getString(1)) } }
    }

    private fun prepare(sql: String, args: Array<out Any>): PreparedStatement {
        val statement = connection.prepareStatement(sql)
        args.forEachIndexed { i, value -> statement.setObject(i + 1, value) }
        return statement
    }

    override fun <T> transaction(work: () -> T): T {
        execute("BEGIN IMMEDIATE")
        try {
            val result = work()
            execute("COMMIT")
            return result
        } catch (e: Throwable) {
            runCatching { execute("ROLLBACK") } // SQLite may have rolled back by itself
            throw e
        }
    }

    override fun close() = connection.close()
}
