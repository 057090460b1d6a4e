import Foundation

#if canImport(SQLite3)
import SQLite3
#else
import CSQLite
#endif

/// Keeps what the device has in SQLite files in a folder, which is made if it does not exist. It has the tokens of the login: others must not
/// read it. On iOS, the files are readable once the device was unlocked after its start.
public struct SQLiteStorage: Storage {
    private let folder: URL

    public init(folder: URL) { self.folder = folder }

    public func open(_ name: String) async throws -> any Store {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try SQLiteStore(path: folder.appendingPathComponent("\(name).db").path)
    }
}

/// What SQLite said.
public struct SQLiteError: Error, Hashable, Sendable {
    public let code: Int32
    public let message: String
}

actor SQLiteStore: Store {
    private enum Value {
        case text(String)
        case integer(Int64)
    }

    /// Closed with the last use of the store.
    private final class Connection {
        var handle: OpaquePointer?
        deinit { sqlite3_close_v2(handle) }
    }

    private let connection = Connection()

    init(path: String) throws {
        let code = sqlite3_open_v2(path, &connection.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, message: "\(path) cannot be opened") }
        sqlite3_busy_timeout(connection.handle, 10_000)
        _ = try Self.query(connection, "PRAGMA journal_mode=WAL")
        _ = try Self.query(connection, "PRAGMA synchronous=FULL") // a committed transaction survives a power failure
        _ = try Self.query(connection, "CREATE TABLE IF NOT EXISTS entries (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID")
    }

    func get(_ table: Table, _ key: String) throws -> String? {
        try query("SELECT value FROM entries WHERE kind = ? AND key = ?", .text(table.rawValue), .text(key)).first
    }

    func list(_ table: Table, from: String, until: String, reverse: Bool, limit: Int) throws -> [String] {
        let kind = Value.text(table.rawValue)
        let most = Value.integer(Int64(limit))
        switch (until.isEmpty, reverse) {
        case (true, false): return try query("SELECT value FROM entries WHERE kind = ? AND key >= ? ORDER BY key LIMIT ?", kind, .text(from), most)
        case (true, true): return try query("SELECT value FROM entries WHERE kind = ? AND key >= ? ORDER BY key DESC LIMIT ?", kind, .text(from), most)
        case (false, false): return try query("SELECT value FROM entries WHERE kind = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?", kind, .text(from), .text(until), most)
        case (false, true): return try query("SELECT value FROM entries WHERE kind = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?", kind, .text(from), .text(until), most)
        }
    }

    func write(_ ops: [Op]) throws {
        try transaction { for op in ops { try execute(op) } }
    }

    func count(_ key: String, floor: Int64) throws -> Int64 {
        try transaction {
            let next = max(try get(.meta, key).flatMap { Int64($0) } ?? 0, floor) + 1
            try execute(.put(.meta, key: key, value: String(next)))
            return next
        }
    }

    func clear(keeping: [String]) throws {
        try transaction {
            let kept = try keeping.compactMap { key in try get(.meta, key).map { Op.put(.meta, key: key, value: $0) } }
            _ = try query("DELETE FROM entries")
            for op in kept { try execute(op) }
        }
    }

    func close() throws {
        let code = sqlite3_close_v2(connection.handle)
        connection.handle = nil
        guard code == SQLITE_OK else { throw SQLiteError(code: code, message: "the database cannot be closed") }
    }

    private func execute(_ op: Op) throws {
        switch op {
        case .put(let table, let key, let value):
            _ = try query("INSERT OR REPLACE INTO entries (kind, key, value) VALUES (?, ?, ?)", .text(table.rawValue), .text(key), .text(value))
        case .delete(let table, let key):
            _ = try query("DELETE FROM entries WHERE kind = ? AND key = ?", .text(table.rawValue), .text(key))
        case .deleteRange(let table, let from, let until):
            _ = try query("DELETE FROM entries WHERE kind = ? AND key >= ? AND key < ?", .text(table.rawValue), .text(from), .text(until))
        case .clear(let table):
            _ = try query("DELETE FROM entries WHERE kind = ?", .text(table.rawValue))
        }
    }

    private func transaction<T>(_ work: () throws -> T) throws -> T {
        _ = try query("BEGIN IMMEDIATE")
        do {
            let result = try work()
            _ = try query("COMMIT")
            return result
        } catch {
            _ = try? query("ROLLBACK") // SQLite may have rolled back by itself
            throw error
        }
    }

    private func query(_ sql: String, _ arguments: Value...) throws -> [String] { try Self.query(connection, sql, arguments) }

    /// Executes a statement, and returns the first column of its rows.
    private static func query(_ connection: Connection, _ sql: String, _ arguments: [Value] = []) throws -> [String] {
        guard let handle = connection.handle else { throw SQLiteError(code: SQLITE_MISUSE, message: "the store is closed") }
        var statement: OpaquePointer?
        var code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        guard code == SQLITE_OK else { throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle))) }
        for (i, argument) in arguments.enumerated() {
            switch argument {
            case .text(let text): code = sqlite3_bind_text(statement, Int32(i + 1), text, -1, transient)
            case .integer(let integer): code = sqlite3_bind_int64(statement, Int32(i + 1), integer)
            }
            guard code == SQLITE_OK else { throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle))) }
        }
        var rows: [String] = []
        while true {
            code = sqlite3_step(statement)
            if code == SQLITE_DONE { return rows }
            guard code == SQLITE_ROW else { throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle))) }
            rows.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
        }
    }
}

/// SQLite copies the text before the call returns.
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
