import XCTest

@testable import RialtoClient

/// The server's operator restores a backup: messages that this device has are lost, and their seqs are those of others.
final class RestoredTests: XCTestCase {
    func testWhatWaitsForMessagesThatTheServerHasLostIsGivenUpAndAllElseArrivesOnce() async throws { try await waiting(reopened: false) }

    func testWhatWaitsForMessagesThatTheServerHasLostIsGivenUpAlsoAfterANewStart() async throws { try await waiting(reopened: true) }

    private func waiting(reopened: Bool) async throws {
        try await fake { server in
            let storage = MemoryStorage()
            var client = try await server.withSix(storage)
            try await server.goOffline(client)
            try await actOffline(client)
            if reopened { try await client.close() }
            server.restore()
            if reopened {
                client = server.client(storage)
                _ = try await client.start()
            }
            try await first(client.conversation(room)) { $0?.lastSeq ?? 0 >= 11 }
            try await server.until { server.conversations[room]?.state?.draft == "half a sentence" }
            try await server.time.sleep(60_000)
            XCTAssertEqual(server.arrived, ["text plain 0", "reaction  2", "edit  3", "text an answer to the second 2", "text an answer to the sixth 0"])
            let outgoing = try await first(client.outgoing(room))
            XCTAssertEqual(outgoing, [])
            XCTAssertEqual(server.readMarks.filter { $0 <= 6 }, [])
            let draft = try await first(client.conversation(room))?.draft
            XCTAssertEqual(draft, "half a sentence")
            try await client.open(room)
            while try await client.older(room) {}
            let shown = try await first(client.messages(room)).filter(\.isShown).texts
            XCTAssertEqual(shown, ["old 1", "old 2", "edited", "new 4", "new 5", "new 6", "plain", "an answer to the second", "an answer to the sixth"])
        }
    }

    func testWhatWasReadOfMessagesThatTheServerHasLostIsNotToldOfThoseThatHaveTheirNumbers() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            for i in 1...6 { server.write("old \(i)") }
            try await first(client.conversation(room)) { $0?.lastSeq == 6 }
            try await server.goOffline(client)
            try await client.read(room, 6)
            server.restore()
            try await first(client.connections) { $0 == .online }
            try await first(client.catchingUp) { !$0 }
            server.write("new 7")
            try await server.until { server.frames.contains { f in f.marks.contains { $0.deliveredSeq == 7 } } }
            XCTAssertEqual(server.readMarks, [])
        }
    }

    func testWhatWasReadWithoutAConnectionIsToldAfterAResetWhereTheMessageIsTheSame() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            for i in 1...3 { server.write("old \(i)") }
            try await first(client.conversation(room)) { $0?.lastSeq == 3 }
            try await server.goOffline(client)
            try await client.read(room, 3)
            server.restore()
            try await server.until { server.readMarks.contains(3) }
            XCTAssertEqual(server.readMarks, [3])
        }
    }

    func testACursorWaitsUntilTheStreamIsHereAlsoWhereAPushOfALargeGroupComesFirst() async throws {
        try await fake { server in
            server.conversations["8"] = ChatV1.Conversation(id: "8", kind: .group, title: "large", large: true)
            let client = try await server.withSix()
            try await server.goOffline(client)
            try await client.read(room, 6)
            server.restore()
            server.late = { $0 == "Sync" ? 5_000 : 0 }
            try await first(client.connections) { $0 == .online }
            server.push(ChatV1.Event(body: .message(server.store("8", .text("in the large group"), bob))))
            try await server.time.sleep(4_000)
            XCTAssertEqual(server.frames.flatMap(\.marks), [])
            try await first(client.catchingUp) { !$0 }
            try await server.time.sleep(10_000)
            XCTAssertEqual(server.readMarks, [])
        }
    }

    func testWhatWaitsIsKeptWhileTheServerIsTooBusyToSayWhichMessagesItStillHas() async throws {
        try await fake { server in
            let storage = MemoryStorage()
            let before = try await server.withSix(storage)
            try await server.goOffline(before)
            try await before.react(room, 2, "👍")
            try await before.edit(room, 3, "edited")
            try await before.close()
            server.restore()
            server.calls = []
            var codes = ["resource_exhausted", "internal"]
            server.refuseCall = { $0 == "GetMessages" && !codes.isEmpty ? GatewayV1.Error(code: codes.removeFirst(), reason: "busy", message: "busy") : nil }
            _ = try await server.client(storage).start()
            try await server.until { server.arrived.count == 2 }
            XCTAssertEqual(server.calls.filter { $0 == "GetMessages" }.count, 3)
            XCTAssertEqual(server.arrived, ["reaction  2", "edit  3"])
        }
    }

    func testAnAnswerOfMessagesThatComesInPartsIsReadToItsEnd() async throws {
        try await fake { server in
            let storage = MemoryStorage()
            let before = try await server.withSix(storage)
            try await server.goOffline(before)
            try await before.react(room, 1, "👍")
            try await before.react(room, 2, "👍")
            try await before.edit(room, 3, "edited")
            try await before.close()
            server.restore()
            server.perAnswer = 1
            _ = try await server.client(storage).start()
            try await server.until { server.arrived.count == 3 }
            XCTAssertEqual(server.arrived, ["reaction  1", "reaction  2", "edit  3"])
        }
    }
}

/// What a user does without a connection, who knows six messages of which the third and the sixth are their own.
@RialtoActor
private func actOffline(_ client: Client) async throws {
    try await client.sendText(room, "plain")
    try await client.recall(room, 6)
    try await client.react(room, 2, "👍")
    try await client.react(room, 6, "👍")
    try await client.edit(room, 3, "edited")
    try await client.sendText(room, "an answer to the second", replyTo: 2)
    try await client.sendText(room, "an answer to the sixth", replyTo: 6)
    try await client.read(room, 6)
    try await client.configure(room, ConversationSettings(draft: "half a sentence"))
}

extension FakeServer {
    fileprivate func withSix(_ storage: any Storage = MemoryStorage()) async throws -> Client {
        let client = try await loggedIn(storage)
        for i in 1...6 { write("old \(i)", sender: i % 3 == 0 ? me : bob) }
        try await first(client.conversation(room)) { $0?.lastSeq == 6 }
        try await client.open(room)
        return client
    }

    fileprivate func goOffline(_ client: Client) async throws {
        reachable = false
        cut()
        try await first(client.connections) { $0 != .online }
        frames = []
    }

    /// The server comes back with the first three messages, and others with the numbers of those that it has lost.
    fileprivate func restore() {
        logs[room] = Array(logs[room, default: []].prefix(3))
        ids = "NEW"
        epoch = 2
        stream = [ChatV1.Event(epoch: epoch, seq: 100)]
        trimmed = 100
        pushes = false
        for i in 4...6 { write("new \(i)", sender: i == 6 ? me : bob) }
        pushes = true
        reachable = true
    }

    /// What came after the first six messages: kind, text, and the seq that it names.
    fileprivate var arrived: [String] {
        logs[room, default: []].dropFirst(6).map { m in
            let content = m.content ?? .empty
            return "\(content.kind ?? "") \(content.text) \(max(content.target, content.repliesTo))"
        }
    }

    fileprivate var readMarks: [Int64] { frames.flatMap(\.marks).map(\.readSeq).filter { $0 > 0 } }
}
