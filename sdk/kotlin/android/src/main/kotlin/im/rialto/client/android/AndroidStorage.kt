package im.rialto.client.android

import android.content.Context
import android.database.sqlite.SQLiteDatabase
import im.rialto.client.SqlDatabase
import im.rialto.client.SqlStorage
import im.rialto.client.Storage

/** Keeps what the device has in databases of the app, named `rialto….db`. Leave them out of the app's backups: they have the tokens of the login. */
fun androidStorage(context: Context): Storage {
    val app = context.applicationContext
    return SqlStorage { name -> AndroidDatabase(app.openOrCreateDatabase("$name.db", Context.MODE_PRIVATE, null)) }
}

private class AndroidDatabase(private val db: SQLiteDatabase) : SqlDatabase {
    init {
        // Newer versions of Android use a write-ahead log by default, and then do not sync each transaction.
        db.disableWriteAheadLogging()
        db.execSQL("PRAGMA synchronous=FULL")
    }

    override fun execute(sql: String, vararg args: Any) = db.execSQL(sql, args)

    override fun query(sql: String, vararg args: Any): List<String> {
        val rows = db.rawQuery(sql, Array(args.size) { args[it].toString() })
        try {
            return buildList { while (rows.moveToNext()) add(rows.getString(0)) }
        } finally {
            rows.close()
        }
    }

    override fun <T> transaction(work: () -> T): T {
        db.beginTransaction()
        try {
            return work().also { db.setTransactionSuccessful() }
        } finally {
            db.endTransaction()
        }
    }

    override fun close() = db.close()
}
