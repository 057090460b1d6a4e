/// Opens the stores of a device by name: one for the session, and one for each user who logs in. `MemoryStorage` forgets with the process.
/// `SQLiteStorage` keeps everything in SQLite.
///
/// A store belongs to one `Client` at a time.
public protocol Storage: Sendable {
    func open(_ name: String) async throws -> any Store
}

/// What the client keeps on the device: tables of texts under text keys. A write is all or nothing, and is durable when it returns: the client
/// tells its user that a message is kept, and the server how far it has stored the stream.
public protocol Store: Sendable {
    func get(_ table: Table, _ key: String) async throws -> String?

    /// The values of keys with from <= key < until, in rising order of keys, or in falling order if `reverse`. Empty bounds are none.
    func list(_ table: Table, from: String, until: String, reverse: Bool, limit: Int) async throws -> [String]

    /// Executes the operations in order, all or none.
    func write(_ ops: [Op]) async throws

    /// Counts up: stores max(stored, floor) + 1 under the key in the table `meta`, durably, and returns it. No number is given twice.
    func count(_ key: String, floor: Int64) async throws -> Int64

    /// Removes everything but these keys of the table `meta`, all or nothing.
    func clear(keeping: [String]) async throws

    func close() async throws
}

public enum Table: String, CaseIterable, Sendable {
    case meta, conversations, messages, outbox, relations
}

/// A change in a store.
public enum Op: Hashable, Sendable {
    case put(Table, key: String, value: String)
    case delete(Table, key: String)
    /// Deletes the keys with from <= key < until.
    case deleteRange(Table, from: String, until: String)
    case clear(Table)

    static func put(_ table: Table, _ key: String, _ value: some Encodable) throws -> Op { .put(table, key: key, value: try JSON.encode(value)) }
}

@RialtoActor
extension Store {
    func value<T: Decodable>(_ table: Table, _ key: String, _ type: T.Type) async throws -> T? { try await get(table, key).map { try JSON.decode(type, $0) } }

    func values<T: Decodable>(_ table: Table, _ type: T.Type) async throws -> [T] {
        try await list(table, from: "", until: "", reverse: false, limit: .max).map { try JSON.decode(type, $0) }
    }
}

/// Numbers as keys whose order is that of the numbers.
func numberKey(_ n: Int64) -> String {
    let digits = String(n)
    return String(repeating: "0", count: 19 - digits.count) + digits
}

/// The key of a message: in the order of seqs within a conversation.
func messageKey(_ conversation: String, _ seq: Int64) -> String { "\(conversation)/\(numberKey(seq))" }
