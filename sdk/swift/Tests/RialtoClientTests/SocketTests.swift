import XCTest

@testable import RialtoClient

final class SocketTests: XCTestCase {
    func testItSendsPingsEach5SecondsAndStaysWithAServerThatAnswers() async throws {
        try await fake { server in
            _ = try await server.loggedIn()
            try await server.time.sleep(61_000)
            XCTAssertEqual(server.frames.filter { $0.ping != nil }.count, 12)
            XCTAssertEqual(server.handshakes, 1)
        }
    }

    func testAServerThatAnswersNoPingIsLeft10SecondsAfterItThoughTheConnectionStaysOpen() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            let begun = server.now
            server.answers = false
            try await first(client.connections) { $0 == .offline }
            XCTAssertEqual(server.now - begun, 14_998)
            try await first(client.connections) { $0 == .online }
            XCTAssertEqual(server.handshakes, 2)
        }
    }

    func testSendingDoesNotHideThatNothingComesBack() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            let begun = server.now
            server.answers = false
            server.receipts = false
            server.pushes = false
            while server.handshakes == 1 { // between two connections it is offline for a millisecond
                try await client.sendText(room, "is anybody there?")
                try await server.time.sleep(500)
            }
            XCTAssertLessThanOrEqual(server.now - begun, 21_000)
        }
    }

    func testWaitsDoubleFromHalfASecondUpTo30SecondsAtRandom() async throws {
        try await fake { server in
            let client = try await server.loggedIn(random: 0.5)
            server.reachable = false
            server.cut()
            var waits: [Int64] = []
            for _ in 0..<9 {
                while client.retryAtMs <= server.now { await Task.yield() }
                waits.append(client.retryAtMs - server.now)
                try await server.time.sleep(waits.last!)
            }
            XCTAssertEqual(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
        }
    }

    func testItDoesNotComeBackBeforeTheTimeThatTheServerAskedForUnlessItIsToldTo() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            let begun = server.now
            server.bye(4000, "stopping", retryMs: 7_000)
            try await first(client.connections) { $0 == .offline }
            try await first(client.connections) { $0 == .online }
            XCTAssertEqual(server.now - begun, 7_001)
            server.bye(4000, "stopping", retryMs: 3_600_000)
            try await first(client.connections) { $0 == .offline }
            XCTAssertGreaterThanOrEqual(client.retryAtMs, server.now + 3_600_000)
            client.reconnect()
            try await first(client.connections) { $0 == .online }
            XCTAssertEqual(server.now - begun, 7_001)
        }
    }

    func testToldToLookItLeavesAConnectionThatDoesNotAnswerAfter3Seconds() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            server.answers = false
            let begun = server.now
            client.reconnect()
            try await first(client.connections) { $0 == .offline }
            XCTAssertEqual(server.now - begun, 3_000)
        }
    }

    func testThisDeviceIsAwayOnEachConnectionUntilItIsNot() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            client.setAway(true)
            try await server.until { server.frames.contains { $0.activity == .away } }
            server.frames = []
            server.cut()
            try await server.until { server.frames.contains { $0.activity == .away } }
            client.setAway(false)
            try await server.until { server.frames.contains { $0.activity == .active } }
        }
    }

    func testTypingIsShownFor4SecondsAndPresenceWhileThereIsAConnection() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.watch([bob])
            try await server.until { server.frames.contains { $0.watch?.users == [bob] } }
            server.tell(GatewayV1.ServerFrame(typing: GatewayV1.Typing(conversation: room, user: bob), presences: [Presence(user: bob, status: .online, lastActiveMs: 5)]))
            try await first(client.typing(room)) { $0 == [bob] }
            let presence = try await first(client.presence(bob))
            XCTAssertEqual(presence?.status, .online)
            let begun = server.now
            try await first(client.typing(room)) { $0.isEmpty }
            XCTAssertEqual(server.now - begun, 4_000)
            server.frames = []
            server.cut()
            try await first(client.presence(bob)) { $0 == nil }
            try await server.until { server.frames.contains { $0.watch?.users == [bob] } }
        }
    }
}
