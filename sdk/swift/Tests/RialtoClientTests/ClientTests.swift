import XCTest

@testable import RialtoClient

/// The stream, the outbox and the login of a whole client, with a server that loses, repeats and disorders.
final class ClientTests: XCTestCase {
    func testAnAnswerThatIsOlderThanSettingsThatTheServerConfirmedDoesNotUndoThem() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            let wanted = ConversationSettings(pinned: true, draft: "half a sentence")
            func settings(_ id: String) async throws -> [String] { try await first(client.conversation(id)).map { [$0.draft, "\($0.pinned)"] } ?? [] }
            server.late = { ["GetConversation", "ListConversations"].contains($0) ? 5_000 : 0 }
            server.conversations["9"] = ChatV1.Conversation(id: "9", kind: .group, title: "new", state: ChatV1.ConversationState(conversation: "9"))
            server.write("first", conversation: "9")
            try await server.until { server.calls.contains("GetConversation") } // its answer is on its way
            try await client.configure("9", wanted)
            try await first(client.conversation("9")) { $0?.title == "new" }
            let read = try await settings("9")
            XCTAssertEqual(read, ["half a sentence", "true"])

            server.conversations[room]?.state = ChatV1.ConversationState(conversation: room)
            server.calls = []
            server.restored("kept", 5)
            try await server.until { server.calls.contains("ListConversations") }
            try await client.configure(room, wanted)
            try await first(client.conversation(room)) { $0?.lastSeq == 5 }
            let listed = try await settings(room)
            XCTAssertEqual(listed, ["half a sentence", "true"])
        }
    }

    func testALostReceiptTheMessageGoesAgainAfterTheReconnectAndIsThereOnce() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            server.receipts = false
            server.pushes = false
            try await client.sendText(room, "hello")
            try await server.until { server.numbers.count == 1 }
            server.receipts = true
            server.cut()
            try await client.showing(["hello"])
            try await first(client.outgoing(room)) { $0.isEmpty }
            XCTAssertEqual(server.logs[room]?.texts, ["hello"])
        }
    }

    func testOnesOwnMessageIsShownOnceWhetherItsPushOrItsReceiptComesFirst() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            server.receipts = false // the push alone
            try await client.sendText(room, "one")
            try await client.showing(["one"])
            try await first(client.outgoing(room)) { $0.isEmpty }
            server.receipts = true
            server.pushes = false // the receipt alone
            try await client.sendText(room, "two")
            try await client.showing(["one", "two"])
            server.pushes = true
            server.write("three")
            try await client.showing(["one", "two", "three"])
        }
    }

    func testAPushThatWasLostShowsAsAGapWithTheNextAndIsFetched() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            server.write("one")
            server.pushes = false
            for i in 0..<5 { server.write("lost \(i)") }
            server.pushes = true
            server.calls = []
            server.write("last")
            let all = ["one", "lost 0", "lost 1", "lost 2", "lost 3", "lost 4", "last"]
            try await client.showing(all)
            XCTAssertTrue(server.calls.contains("Sync"))
            try await first(client.catchingUp) { !$0 }
            server.calls = []
            server.write("next")
            try await client.showing(all + ["next"])
            XCTAssertEqual(server.calls, [])
        }
    }

    func testPushesOutOfOrderAndRepeatedEachMessageOnceInOrder() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            let incoming = client.incoming
            try await client.open(room)
            server.pushes = false
            let (a, b, c) = (server.write("a"), server.write("b"), server.write("c"))
            for event in [b, a, c, b] { server.push(event) }
            try await client.showing(["a", "b", "c"])
            try await first(client.catchingUp) { !$0 }
            server.pushes = true
            server.write("d")
            try await client.showing(["a", "b", "c", "d"])
            try await server.time.sleep(1)
            try await client.close()
            var came: [String] = []
            for await m in incoming { came.append(m.text) }
            XCTAssertEqual(came, ["a", "b", "c", "d"])
        }
    }

    func testAnEventThatWasThereBeforeChangesNothing() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            let old = server.write("one")
            server.write("two")
            try await client.showing(["one", "two"])
            server.calls = []
            server.push(old)
            try await server.time.sleep(5_000)
            try await client.showing(["one", "two"])
            XCTAssertEqual(server.calls, [])
        }
    }

    func testASyncThatTheServerRefusesForNowIsAskedAgainWhileTheConnectionLives() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            var refusals = 2
            server.refuseCall = { name in
                if name != "Sync" || refusals == 0 { return nil }
                refusals -= 1
                return GatewayV1.Error(code: "unavailable", reason: "busy", message: "busy", retryMs: 1_000)
            }
            server.pushes = false
            server.write("lost")
            server.pushes = true
            server.write("last")
            try await client.showing(["lost", "last"])
            XCTAssertEqual(server.handshakes, 1)
        }
    }

    func testAStreamInALaterEpochIsSyncedAndGoesOnThere() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            server.write("one")
            try await client.showing(["one"])
            server.epoch = 2
            server.pushes = false
            server.write("two")
            server.pushes = true
            server.write("three")
            try await client.showing(["one", "two", "three"])
            try await first(client.catchingUp) { !$0 }
            server.calls = []
            server.write("four")
            try await client.showing(["one", "two", "three", "four"])
            XCTAssertEqual(server.calls, [])
        }
    }

    func testWhatWasSentWhileTheDeviceWasAwayIsThereAndToldOnce() async throws {
        try await fake { server in
            let storage = MemoryStorage()
            let before = try await server.loggedIn(storage)
            try await before.open(room)
            server.write("one")
            try await before.showing(["one"])
            try await before.close()
            for i in 0..<7 { server.write("away \(i)") }
            let back = server.client(storage)
            let incoming = back.incoming
            let started = try await back.start()
            XCTAssertTrue(started)
            try await first(back.conversation(room)) { $0?.lastSeq == 8 }
            let badge = try await first(back.badge)
            XCTAssertEqual(badge, 8)
            try await back.close()
            var came: [String] = []
            for await m in incoming { came.append(m.text) }
            XCTAssertEqual(came, (0..<7).map { "away \($0)" })
        }
    }

    func testAResetTheListsAreReadAnewWhatIsNoMoreIsGoneAndWhatWaitsToBeSentStays() async throws {
        try await fake { server in
            let storage = MemoryStorage()
            server.logs["8"] = []
            server.conversations["8"] = ChatV1.Conversation(id: "8", kind: .group, title: "gone")
            let before = try await server.loggedIn(storage)
            try await before.open(room)
            server.write("one")
            server.write("other", conversation: "8")
            try await before.showing(["one"])
            try await first(before.conversation("8")) { $0?.lastSeq == 1 }
            server.reachable = false
            server.cut()
            try await first(before.connections) { $0 != .online }
            try await before.sendText(room, "waits")
            try await before.close()
            server.logs = [room: []]
            server.conversations["8"] = nil
            server.restored("anew", 4)
            server.reachable = true
            let back = server.client(storage)
            _ = try await back.start()
            try await back.open(room)
            try await first(back.messages(room)) { $0.last?.text == "waits" }
            while try await back.older(room) {}
            try await back.showing(["anew 0", "anew 1", "anew 2", "anew 3", "waits"])
            try await first(back.conversations) { $0.map(\.id) == [room] }
            try await first(back.outgoing(room)) { $0.isEmpty }
        }
    }

    func testAResetWhileTheServersAnswerOfALogIsOnItsWayItIsNotTaken() async throws {
        try await fake { server in
            for i in 0..<60 { _ = server.store(room, .text("old \(i)"), bob) }
            let client = try await server.loggedIn()
            for (name, count) in [("anew", 60), ("again", 112)] {
                var asked = 0
                server.late = { call in
                    if call != "History" { return 0 }
                    asked += 1
                    return asked == 1 ? 1_000 : 0
                }
                let asking = Task { if name == "anew" { try await client.open(room) } else { try await client.older(room) } }
                try await server.time.sleep(500)
                server.restored(name, count)
                try await asking.value
                try await client.showing((count - 50..<count).map { "\(name) \($0)" })
            }
        }
    }

    func testWhatWasLoadedOnceIsThereWithoutAServerAndOlderMessagesToo() async throws {
        try await fake { server in
            let storage = MemoryStorage()
            for i in 0..<120 { _ = server.store(room, .text("message \(i)"), bob) }
            let before = try await server.loggedIn(storage)
            try await before.open(room)
            while try await before.older(room) {}
            try await before.close()
            server.reachable = false
            let back = server.client(storage)
            let started = try await back.start()
            XCTAssertTrue(started)
            try await back.open(room)
            try await back.showing((70..<120).map { "message \($0)" })
            let more = try await back.older(room)
            XCTAssertTrue(more)
            let none = try await back.older(room)
            XCTAssertFalse(none)
            try await back.showing((0..<120).map { "message \($0)" })
            let title = try await first(back.conversation(room))?.title
            XCTAssertEqual(title, "room")
        }
    }

    func testSettingsAndReadCursorsThatAreSetOfflineShowAtOnceAndAreToldWhenThereIsAConnection() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            for i in 0..<3 { server.write("message \(i)") }
            try await first(client.conversation(room)) { $0?.lastSeq == 3 }
            server.reachable = false
            server.cut()
            try await first(client.connections) { $0 == .offline }
            try await client.configure(room, ConversationSettings(pinned: true, muted: true, draft: "later"))
            try await client.read(room, 3)
            let shown = try await first(client.conversation(room))!
            XCTAssertTrue(shown.pinned && shown.muted)
            XCTAssertEqual(shown.draft, "later")
            XCTAssertEqual(shown.unread, 0)
            server.reachable = true
            try await server.until { server.conversations[room]?.state?.draft == "later" }
            try await server.until { server.frames.contains { f in f.marks.contains { $0.conversation == room && $0.readSeq == 3 } } }
            XCTAssertEqual(server.conversations[room]?.state?.pinned, true)
            XCTAssertEqual(server.conversations[room]?.state?.muted, true)
            try await first(client.conversation(room)) { $0?.pending == nil }
        }
    }

    func testReadMarksGoOutTogetherAndAgainAfterAConnectionThatDiedWithThem() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            for i in 0..<3 { server.write("message \(i)") }
            try await first(client.conversation(room)) { $0?.lastSeq == 3 }
            server.frames = []
            for seq in 1...3 { try await client.read(room, Int64(seq)) }
            try await server.until { server.frames.contains { !$0.marks.isEmpty } }
            try await server.time.sleep(3_000)
            XCTAssertEqual(server.frames.flatMap(\.marks).map(\.readSeq).max(), 3)
            server.frames = []
            server.cut()
            try await server.until { server.frames.contains { f in f.marks.contains { $0.readSeq == 3 } } }
        }
    }

    func testTheStreamIsAcknowledgedOnceItIsStored() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            server.write("one")
            try await first(client.conversation(room)) { $0?.lastSeq == 1 }
            try await server.until { server.frames.contains { $0.ack == ChatV1.Position(epoch: 1, seq: 1) } }
        }
    }

    func testAHintThatNamesALargeGroupItsMessagesArePulledWhereItIsShownWithoutASync() async throws {
        try await fake { server in
            server.conversations[room]?.large = true
            _ = server.store(room, .text("one"), bob)
            let client = try await server.loggedIn()
            try await client.open(room)
            try await client.showing(["one"])
            try await first(client.catchingUp) { !$0 }
            server.calls = []
            for i in 0..<3 { _ = server.store(room, .text("more \(i)"), bob) }
            server.tell(GatewayV1.ServerFrame(hint: GatewayV1.Hint(conversations: [ChatV1.LargeTail(conversation: room, lastSeq: 4)])))
            try await client.showing(["one", "more 0", "more 1", "more 2"])
            XCTAssertFalse(server.calls.contains("Sync"))
        }
    }

    func testARefusedMessageStaysSaysWhyHoldsNothingBackAndGetsANewNumberWhenTriedAgain() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            server.refuseSend = { $0.content?.text == "bad" ? GatewayV1.Error(code: "permission_denied", reason: "muted", message: "you are muted") : nil }
            try await client.sendText(room, "bad")
            try await client.sendText(room, "good")
            try await client.showing(["good"])
            let failed = try await first(client.outgoing(room)) { $0.count == 1 && $0[0].failed != nil }[0]
            XCTAssertEqual(failed.failed?.reason, "muted")
            server.refuseSend = { _ in nil }
            try await client.retry(failed)
            try await client.showing(["good", "bad"])
            XCTAssertEqual(server.numbers, [1, 2, 3])
        }
    }

    func testEditsReactionsAndPinsShowBeforeTheServerHasThem() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.open(room)
            server.write("mine", sender: me)
            try await client.showing(["mine"])
            server.reachable = false
            server.cut()
            try await first(client.connections) { $0 == .offline }
            try await client.edit(room, 1, "edited")
            try await client.react(room, 1, "👍")
            try await client.pin(room, 1)
            let shown = try await first(client.messages(room)) { $0.first?.pinned == true }[0]
            XCTAssertEqual(shown.text, "edited")
            XCTAssertEqual(shown.reactions?.counts, [ChatV1.ReactionCount(emoji: "👍", count: 1)])
            let outgoing = try await first(client.outgoing(room))
            XCTAssertEqual(outgoing, [])
            try await client.recall(room, 1)
            try await first(client.messages(room)) { $0.first?.content == nil }
        }
    }
}

extension Client {
    func showing(_ texts: [String]) async throws { _ = try await first(messages(room)) { $0.texts == texts } }
}

extension FakeServer {
    /// A backup was restored, which has other messages, and all devices connect anew.
    fileprivate func restored(_ name: String, _ messages: Int) {
        logs[room] = []
        stream = []
        epoch += 4
        pushes = false
        for i in 0..<messages { write("\(name) \(i)") }
        pushes = true
        trimmed = Int64(messages)
        cut()
    }
}
