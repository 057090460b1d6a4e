import XCTest

@testable import RialtoClient

/// An outbox with a connection that a test opens and closes.
@RialtoActor
private final class Line {
    let time: TestTime
    let store: any Store
    let tasks = Tasks(onProblem: { what, error in XCTFail("\(what): \(error)") })
    var open = false
    var frames: [[GatewayV1.Send]] = []
    var stored: [[Int64]] = []
    private(set) var outbox: Outbox!

    init(_ time: TestTime, _ store: any Store) {
        self.time = time
        self.store = store
        outbox = Outbox(OutboxDeps(
            tasks: tasks, store: store, counter: "count", timing: time.timing(random: 0),
            transmit: { [unowned self] sends in
                if open { frames.append(sends) }
                return open
            },
            onChange: {},
            onStored: { [unowned self] item, at in stored.append([item.clientSeq, at.seq]) }))
    }

    var sends: [GatewayV1.Send] { frames.flatMap { $0 } }
    var numbers: [Int64] { sends.map(\.clientSeq) }

    func connect(_ clientSeq: Int64 = 0) {
        open = true
        frames = []
        outbox.opened(clientSeq)
        outbox.synced()
    }

    func disconnect() {
        open = false
        outbox.closed()
    }

    @discardableResult
    func send(_ text: String, _ conversation: String = room) async throws -> OutgoingMessage { try await outbox.enqueue(conversation, .text(text)) }

    func receipt(_ clientSeq: Int64, _ conversation: String = room) async throws {
        try await outbox.receipt(GatewayV1.Receipt(conversation: conversation, clientSeq: clientSeq, id: "ID", seq: clientSeq, timeMs: 1, counted: 1))
    }

    func refuse(_ clientSeq: Int64, _ reason: String, retryMs: Int = 0) async throws {
        let error = GatewayV1.Error(code: "unavailable", reason: reason, message: "no", retryMs: retryMs)
        try await outbox.receipt(GatewayV1.Receipt(conversation: room, clientSeq: clientSeq, error: error))
    }

    func pass(_ ms: Int64) async throws { try await time.sleep(ms); await time.settle() }

    func list(_ conversation: String = room) -> [Int64] { outbox.list(conversation).map(\.clientSeq) }
}

@RialtoActor
private func line(_ test: @escaping @RialtoActor @Sendable (Line) async throws -> Void) async throws {
    try await fake { server in
        let line = Line(server.time, try await MemoryStorage().open("user"))
        try await test(line)
        await line.tasks.stop()
    }
}

private func answer(_ text: String, to seq: Int64) -> Content { Content.text(text).with("replyTo", ["seq": .string(String(seq))]) }

final class OutboxTests: XCTestCase {
    func testWhatIsSentWithoutAConnectionGoesOutInOrderAndAgainAfterEachReconnectUntilItsReceipt() async throws {
        try await line { line in
            for i in 0..<3 { try await line.send("message \(i)") }
            XCTAssertEqual(line.numbers, [])
            line.connect()
            XCTAssertEqual(line.numbers, [1, 2, 3])
            try await line.receipt(1)
            line.disconnect()
            line.connect()
            XCTAssertEqual(line.numbers, [2, 3])
            try await line.receipt(3)
            try await line.receipt(2)
            line.disconnect()
            line.connect()
            XCTAssertEqual(line.numbers, [])
            XCTAssertEqual(line.stored, [[1, 1], [3, 3], [2, 2]])
            let left = try await line.store.list(.outbox, from: "", until: "", reverse: false, limit: 10)
            XCTAssertEqual(left, [])
        }
    }

    func testItSurvivesARestartAndCountsOnAboveWhatTheServerHas() async throws {
        try await line { line in
            try await line.send("one")
            try await line.send("two")
            let after = Line(line.time, line.store)
            try await after.outbox.load()
            after.connect(40)
            XCTAssertEqual(after.sends.map { "\($0.clientSeq) \($0.content?.text ?? "")" }, ["1 one", "2 two"])
            let third = try await after.send("three")
            XCTAssertEqual(third.clientSeq, 41)
            await after.tasks.stop()
        }
    }

    func testARefusalForGoodIsKeptAndARetryByHandGetsANumberOfItsOwn() async throws {
        try await line { line in
            line.connect()
            try await line.send("one")
            try await line.send("two")
            try await line.refuse(1, "muted")
            XCTAssertEqual(line.outbox.find(1)?.failed?.reason, "muted")
            try await line.pass(60_000)
            XCTAssertEqual(line.numbers, [1, 2, 2, 2, 2])
            try await line.outbox.retry(1)
            XCTAssertEqual(line.list(), [2, 3])
            XCTAssertEqual(line.numbers.last, 3)
            try await line.refuse(3, "muted")
            try await line.outbox.discard(3)
            XCTAssertEqual(line.list(), [2])
        }
    }

    func testARefusalForNowHoldsBackWhatComesAfterInThatConversationOnly() async throws {
        try await line { line in
            line.connect()
            try await line.send("one")
            try await line.refuse(1, "busy", retryMs: 3_000)
            try await line.send("two")
            try await line.send("other", "8")
            XCTAssertEqual(line.numbers, [1, 3])
            try await line.pass(2_999)
            XCTAssertEqual(line.numbers, [1, 3])
            try await line.pass(1)
            XCTAssertEqual(line.numbers, [1, 3, 1, 2])
        }
    }

    func testASendWithoutAReceiptIsRepeatedAndOneThatTheServerHoldsIsNot() async throws {
        try await line { line in
            line.connect()
            try await line.send("one")
            try await line.pass(19_999)
            XCTAssertEqual(line.numbers, [1])
            try await line.pass(1)
            XCTAssertEqual(line.numbers, [1, 1])
            line.outbox.accepted(1)
            try await line.pass(20 * 60_000)
            XCTAssertEqual(line.numbers, [1, 1])
            line.disconnect()
            line.connect()
            XCTAssertEqual(line.numbers, [1])
        }
    }

    func testARepeatNamesTheMessageBeforeItButNoneThatWasRefusedForGood() async throws {
        try await line { line in
            line.connect()
            for text in ["one", "two", "three"] { try await line.send(text) }
            XCTAssertEqual(line.sends.map(\.prevClientSeq), [0, 0, 0])
            try await line.refuse(2, "muted")
            try await line.refuse(3, "busy", retryMs: 1_000)
            try await line.pass(1_000)
            XCTAssertEqual(line.sends.last.map { [$0.clientSeq, $0.prevClientSeq] }, [3, 1])
        }
    }

    func testWhatTheServerLacksGoesAgainAtOnceAndWhatItHeldBehindThatFollows() async throws {
        try await line { line in
            line.connect()
            for i in 0..<3 { try await line.send("message \(i)") }
            try await line.receipt(1)
            try await line.refuse(3, "missing_previous", retryMs: 100)
            XCTAssertEqual(line.numbers, [1, 2, 3, 2])
            try await line.pass(500)
            XCTAssertEqual(line.numbers, [1, 2, 3, 2, 3])
        }
    }

    func testANumberThatWasUsedForAnotherMessageIsReplaced() async throws {
        try await line { line in
            line.connect()
            try await line.send("one")
            try await line.refuse(1, "id_reuse")
            XCTAssertEqual(line.numbers, [1, 2])
            XCTAssertNil(line.outbox.find(1))
        }
    }

    func testFramesHaveAtMost50SendsAndAbout128000Bytes() async throws {
        try await line { line in
            for _ in 0..<60 { try await line.send("short") }
            for _ in 0..<2 { try await line.send(String(repeating: "x", count: 100_000)) }
            line.connect()
            XCTAssertEqual(line.frames.map(\.count), [50, 11, 1])
            XCTAssertEqual(line.numbers, Array(1...62))
        }
    }

    func testAReceiptOfAnotherConversationIsNotOneOfThisMessage() async throws {
        try await line { line in
            line.connect()
            try await line.send("one")
            try await line.receipt(1, "8")
            XCTAssertEqual(line.stored, [])
        }
    }

    func testUntilTheStreamIsKnownWhatNamesAMessageByItsSeqWaitsAndWhatFollowsItInThatConversation() async throws {
        try await line { line in
            try await line.send("one")
            _ = try await line.outbox.enqueue(room, updateOf("recall", 5))
            try await line.send("two")
            _ = try await line.outbox.enqueue("8", answer("an answer", to: 5))
            try await line.send("other", "9")
            line.open = true
            line.outbox.opened(0)
            XCTAssertEqual(line.numbers, [1, 5])
            line.outbox.synced()
            XCTAssertEqual(line.numbers, [1, 5, 2, 3, 4])
        }
    }

    func testChangesOfLostMessagesAreGivenUpAnswersGoWithoutTheReferenceAndAllElseStays() async throws {
        try await line { line in
            for content in [updateOf("edit", 3), updateOf("recall", 6), answer("to the second", to: 2), answer("to the sixth", to: 6)] {
                _ = try await line.outbox.enqueue(room, content)
            }
            _ = try await line.outbox.enqueue("8", updateOf("pin", 1))
            line.open = true
            line.outbox.opened(0)
            XCTAssertEqual(line.outbox.references().map(\.seq), [3, 6, 2, 6, 1])
            try await line.outbox.dropLost { conversation, seq in conversation == room && seq <= 3 }
            let after = Line(line.time, line.store)
            try await after.outbox.load()
            for outbox in [line.outbox!, after.outbox!] {
                XCTAssertEqual(outbox.list(room).map { [$0.clientSeq, $0.names] }, [[1, 3], [3, 2], [4, 0]])
                XCTAssertEqual(outbox.list("8"), [])
            }
        }
    }

    func testAnAnswerThatTheServerMayHaveKeepsItsReference() async throws {
        try await line { line in
            line.connect()
            _ = try await line.outbox.enqueue(room, answer("sent", to: 6))
            try await line.outbox.dropLost { _, _ in false }
            XCTAssertEqual(line.outbox.list(room).map(\.names), [6])
            line.disconnect()
            line.outbox.opened(1)
            try await line.outbox.dropLost { _, _ in false }
            XCTAssertEqual(line.outbox.list(room).map(\.names), [6])
            line.outbox.opened(0)
            try await line.outbox.dropLost { _, _ in false }
            XCTAssertEqual(line.outbox.list(room).map(\.names), [0])
        }
    }
}
