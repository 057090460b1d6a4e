/// Keeps everything in memory, for tests and for programs that need nothing after their end. A second client on it finds what the first one kept.
@RialtoActor
public final class MemoryStorage: Storage {
    private var stores: [String: MemoryStore] = [:]

    public nonisolated init() {}

    public func open(_ name: String) async throws -> any Store {
        if let store = stores[name] { return store }
        let store = MemoryStore()
        stores[name] = store
        return store
    }
}

@RialtoActor
private final class MemoryStore: Store {
    private var tables: [Table: Rows] = [:]

    func get(_ table: Table, _ key: String) -> String? { tables[table]?.values[key] }

    func list(_ table: Table, from: String, until: String, reverse: Bool, limit: Int) -> [String] {
        guard let rows = tables[table] else { return [] }
        let keys = rows.keys[rows.range(from, until)]
        return (reverse ? keys.reversed().prefix(limit) : Array(keys.prefix(limit))[...]).compactMap { rows.values[$0] }
    }

    func write(_ ops: [Op]) {
        for op in ops {
            switch op {
            case .put(let table, let key, let value): tables[table, default: Rows()].put(key, value)
            case .delete(let table, let key): tables[table]?.removeAll(from: key, until: key + "\0")
            case .deleteRange(let table, let from, let until): tables[table]?.removeAll(from: from, until: until)
            case .clear(let table): tables[table] = nil
            }
        }
    }

    func count(_ key: String, floor: Int64) -> Int64 {
        let next = max(tables[.meta]?.values[key].flatMap { Int64($0) } ?? 0, floor) + 1
        tables[.meta, default: Rows()].put(key, String(next))
        return next
    }

    func clear(keeping: [String]) {
        let kept = tables[.meta]?.values.filter { keeping.contains($0.key) } ?? [:]
        tables = [:]
        for (key, value) in kept { tables[.meta, default: Rows()].put(key, value) }
    }

    func close() {}
}

/// Values by their keys, which are in the order of their bytes, as in SQLite.
private struct Rows {
    var keys: [String] = []
    var values: [String: String] = [:]

    mutating func put(_ key: String, _ value: String) {
        if values.updateValue(value, forKey: key) == nil { keys.insert(key, at: place(key)) }
    }

    mutating func removeAll(from: String, until: String) {
        let gone = range(from, until)
        for key in keys[gone] { values[key] = nil }
        keys.removeSubrange(gone)
    }

    func range(_ from: String, _ until: String) -> Range<Int> {
        let first = place(from)
        return first..<max(first, until.isEmpty ? keys.count : place(until))
    }

    /// The place of the first key that is not below this one.
    private func place(_ key: String) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle].utf8.lexicographicallyPrecedes(key.utf8) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
