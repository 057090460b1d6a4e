import XCTest

@testable import RialtoClient

/// What every store promises.
final class StoreTests: XCTestCase {
    private func folder() -> URL { FileManager.default.temporaryDirectory.appendingPathComponent("rialto-\(UUID().uuidString)") }

    private func all(_ store: any Store, _ table: Table) async throws -> [String] { try await store.list(table, from: "", until: "", reverse: false, limit: .max) }

    private func check(_ test: (any Storage) async throws -> Void) async throws {
        try await test(MemoryStorage())
        let folder = folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await test(SQLiteStorage(folder: folder))
    }

    func testListsAreInTheOrderOfKeysWithinTheirBounds() async throws {
        try await check { storage in
            let store = try await storage.open("s")
            try await store.write((1...5).map { .put(.messages, key: messageKey("7", $0 * 50), value: "\($0)") } + [.put(.messages, key: messageKey("8", 1), value: "other")])
            let of7 = try await store.list(.messages, from: "7/", until: "70", reverse: false, limit: 10)
            XCTAssertEqual(of7, ["1", "2", "3", "4", "5"])
            let newest = try await store.list(.messages, from: "7/", until: messageKey("7", 200), reverse: true, limit: 2)
            XCTAssertEqual(newest, ["3", "2"])
            let from = try await store.list(.messages, from: messageKey("7", 200), until: "", reverse: false, limit: 10)
            XCTAssertEqual(from, ["4", "5", "other"])
        }
    }

    func testOperationsAreDoneInOrder() async throws {
        try await check { storage in
            let store = try await storage.open("s")
            try await store.write([.put(.outbox, key: "a", value: "1"), .put(.outbox, key: "b", value: "2"), .put(.outbox, key: "a", value: "3"), .delete(.outbox, key: "b")])
            let outbox = try await all(store, .outbox)
            XCTAssertEqual(outbox, ["3"])
            try await store.write([.put(.messages, key: "a", value: "1"), .put(.messages, key: "b", value: "2"), .put(.messages, key: "c", value: "3"), .deleteRange(.messages, from: "a", until: "c")])
            let messages = try await all(store, .messages)
            XCTAssertEqual(messages, ["3"])
            try await store.write([.clear(.messages), .put(.messages, key: "d", value: "4")])
            let after = try await all(store, .messages)
            XCTAssertEqual(after, ["4"])
            let untouched = try await all(store, .outbox)
            XCTAssertEqual(untouched, ["3"])
        }
    }

    func testItCountsAboveWhatWasGivenAndNeverGivesANumberTwice() async throws {
        try await check { storage in
            let store = try await storage.open("s")
            var given: [Int64] = []
            for floor in [0, 0, 40, 0] as [Int64] { given.append(try await store.count("n", floor: floor)) }
            XCTAssertEqual(given, [1, 2, 41, 42])
            let more = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<20 { group.addTask { try await store.count("n", floor: 0) } }
                return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
            }
            XCTAssertEqual(more, Set(43...62))
        }
    }

    func testClearingKeepsWhatItIsToldTo() async throws {
        try await check { storage in
            let store = try await storage.open("s")
            try await store.write([.put(.meta, key: "a", value: "1"), .put(.meta, key: "b", value: "2"), .put(.messages, key: "a", value: "3")])
            try await store.clear(keeping: ["b", "c"])
            let meta = try await all(store, .meta)
            XCTAssertEqual(meta, ["2"])
            let messages = try await all(store, .messages)
            XCTAssertEqual(messages, [])
        }
    }

    func testTextsComeBackAsTheyWere() async throws {
        try await check { storage in
            let store = try await storage.open("s")
            let text = "Hello 你好 👋🏽 \"quoted\" \\ \n\t'"
            try await store.write([.put(.meta, key: text, value: text)])
            let value = try await store.get(.meta, text)
            XCTAssertEqual(value, text)
        }
    }

    func testFilesAreThereAfterAReopen() async throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try await SQLiteStorage(folder: folder).open("rialto-11")
        try await first.write([.put(.meta, key: "a", value: "1")])
        try await first.close()
        let second = try await SQLiteStorage(folder: folder).open("rialto-11")
        let value = try await second.get(.meta, "a")
        XCTAssertEqual(value, "1")
        let other = try await SQLiteStorage(folder: folder).open("rialto-12")
        let none = try await other.get(.meta, "a")
        XCTAssertNil(none)
    }
}
