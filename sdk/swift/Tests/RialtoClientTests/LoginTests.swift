import XCTest

@testable import RialtoClient

final class LoginTests: XCTestCase {
    private let folders = ChatV1.ChatService.listFolders

    func testAnAccessTokenThatEndedIsRenewedOnceForAllCallsThatMetIt() async throws {
        try await fake { [folders] server in
            let client = try await server.loggedIn()
            server.expire()
            let calls = (0..<5).map { _ in Task { try await client.call(folders, ChatV1.ListFoldersRequest()) } }
            for call in calls { _ = try await call.value }
            XCTAssertEqual(server.refreshes, 1)
        }
    }

    func testAHandshakeThatIsRefusedWith401HasTheTokenRenewed() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            server.expire()
            server.cut()
            try await first(client.connections) { $0 == .offline }
            try await first(client.connections) { $0 == .online }
            XCTAssertEqual(server.refreshes, 1)
            XCTAssertEqual(server.handshakes, 3)
        }
    }

    func testARefreshWhoseAnswerGotLostIsAskedAgain() async throws {
        try await fake { [folders] server in
            let client = try await server.loggedIn()
            server.expire()
            var lost = true
            server.refuseCall = { name in
                defer { if name == "Refresh" { lost = false } }
                return name == "Refresh" && lost ? GatewayV1.Error(code: "unavailable", retryMs: 1_000) : nil
            }
            _ = try await client.call(folders, ChatV1.ListFoldersRequest())
            XCTAssertEqual(server.refreshes, 1)
        }
    }

    func testASessionThatEndedElsewhereEndsHereAndNothingAsksOn() async throws {
        try await fake { [folders] server in
            let storage = MemoryStorage()
            let client = try await server.loggedIn(storage)
            let ended = client.ended
            server.expire()
            server.refuseCall = { $0 == "Refresh" ? GatewayV1.Error(code: "unauthenticated", reason: "bad_refresh_token") : nil }
            try await refused("bad_refresh_token") { _ = try await client.call(folders, ChatV1.ListFoldersRequest()) }
            let reason = try await first(ended)
            XCTAssertEqual(reason, "logged_out")
            XCTAssertEqual(client.connection, .signedOut)
            server.calls = []
            try await server.time.sleep(600_000)
            XCTAssertEqual(server.calls, [])
            let started = try await server.client(storage).start()
            XCTAssertFalse(started)
        }
    }

    func testToldToStayAwayBecauseTheSessionEndedItDoes() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            let ended = client.ended
            server.bye(4102, "replaced")
            let reason = try await first(ended)
            XCTAssertEqual(reason, "replaced")
            try await server.time.sleep(600_000)
            XCTAssertEqual(server.handshakes, 1)
            XCTAssertNil(client.login)
            try await refused("logged_out") { try await client.sendText(room, "?") }
        }
    }

    func testASocketThatTheServerForbidsCostsTheSocketAndNotTheLogin() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            server.bye(4103, "too big")
            try await first(client.connections) { $0 == .offline }
            try await server.time.sleep(600_000)
            XCTAssertEqual(server.handshakes, 1)
            XCTAssertEqual(client.login?.user, me)
            client.reconnect()
            try await first(client.connections) { $0 == .online }
        }
    }

    func testAfterLoggingOutNothingIsKeptButTheCountAndTheNextLoginCountsOn() async throws {
        try await fake { server in
            let storage = MemoryStorage()
            let client = try await server.loggedIn(storage)
            try await client.open(room)
            try await client.sendText(room, "one")
            try await first(client.outgoing(room)) { $0.isEmpty }
            try await client.logOut()
            XCTAssertEqual(client.connection, .signedOut)
            XCTAssertTrue(server.calls.contains("Logout"))
            let store = try await storage.open("rialto-\(me)")
            for table in Table.allCases {
                let left = try await store.list(table, from: "", until: "", reverse: false, limit: 10)
                XCTAssertEqual(left, table == .meta ? ["1"] : [])
            }
            try await client.logIn("me", password: "a good password")
            XCTAssertEqual(server.logins.map { [$0.device, $0.deviceKey] }, [["0", ""], ["33", "key"]])
            try await client.open(room)
            try await client.sendText(room, "two")
            try await client.showing(["one", "two"])
            XCTAssertEqual(server.numbers, [1, 2])
        }
    }

    func testALoginThatFailsLeavesNothing() async throws {
        try await fake { server in
            let client = server.client()
            server.refuseCall = { $0 == "Login" ? GatewayV1.Error(code: "unauthenticated", reason: "bad_login", message: "wrong") : nil }
            try await refused("bad_login") { try await client.logIn("me", password: "wrong") }
            XCTAssertEqual(client.connection, .signedOut)
        }
    }

    // MARK: push

    func testAPushTokenThatCouldNotBeToldIsRegisteredByTheNextConnectionOnce() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            try await client.registerPush(apnsToken: Data([0x01, 0xAB]))
            try await client.registerPush(apnsToken: Data([0x01, 0xAB]))
            XCTAssertEqual(server.tokens.last, "01ab")
            server.reachable = false
            server.cut()
            try await client.registerPush(.apns, token: "token-2")
            let before = server.tokens.count
            server.reachable = true
            try await server.until { server.tokens.count > before }
            XCTAssertEqual(server.tokens.last, "token-2")
            server.cut()
            try await first(client.connections) { $0 == .offline }
            try await first(client.connections) { $0 == .online }
            try await server.time.sleep(1_000)
            XCTAssertEqual(server.tokens.count, before + 1)
        }
    }

    func testAPushTokenThatTheServerRefusesIsForgottenAndTheCallerTold() async throws {
        try await fake { server in
            let client = try await server.loggedIn()
            server.refuseCall = { $0 == "RegisterPush" ? GatewayV1.Error(code: "invalid_argument", reason: "no_provider", message: "not set up") : nil }
            try await refused("no_provider") { try await client.registerPush(.apns, token: "token") }
            server.refuseCall = { _ in nil }
            server.cut()
            try await first(client.connections) { $0 == .offline }
            try await first(client.connections) { $0 == .online }
            try await server.time.sleep(1_000)
            XCTAssertEqual(server.tokens, [])
        }
    }

    func testWhatAPushSays() {
        let hint = PushHint(userInfo: ["aps": ["alert": ["loc-key": "MESSAGE"]], "rialto": ["user": "11", "conversation": "7", "seq": 5, "badge": 2]])
        XCTAssertEqual(hint?.conversation, "7")
        XCTAssertEqual(hint?.seq, 5)
        XCTAssertEqual(hint?.badge, 2)
        XCTAssertNil(PushHint(userInfo: ["aps": [:] as [String: Any]]))
        XCTAssertEqual(PushHint(json: #"{"user":"11","conversation":"7","seq":"6"}"#)?.seq, 6)
    }
}

@RialtoActor
private func refused(_ reason: String, _ work: () async throws -> Void) async throws {
    do {
        try await work()
        XCTFail("it was not refused")
    } catch let error as RialtoError {
        XCTAssertEqual(error.reason, reason)
    }
}
