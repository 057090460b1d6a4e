import Foundation
import XCTest

@testable import RialtoClient

#if os(Linux) || os(macOS)

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A real server in a process of its own, on a directory of its own, on loopback.
private final class Server: @unchecked Sendable { // used by one test
    private let binary: String
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("rialto-swift-\(UUID().uuidString)")
    private let port: UInt16
    private var process: Process?

    init() throws {
        guard let binary = ProcessInfo.processInfo.environment["TEST_BINARY"], !binary.isEmpty else {
            throw XCTSkip("TEST_BINARY names no binary: build one with scripts/build.sh, and give its path")
        }
        self.binary = binary
        port = try Self.freePort()
        try run()
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Starts the process, and returns when it listens.
    func run() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["serve", "--data", folder.path, "--listen", "127.0.0.1:\(port)", "--set", "log.level=warn", "--set", "account.who_may_add=everyone"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        self.process = process
        if output.fileHandleForReading.availableData.isEmpty { throw URLError(.cannotConnectToHost) } // it has ended, and its log says why
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    /// Ends the process at once, as a power failure of its machine would.
    func kill() {
        guard let process, process.isRunning else { return }
        _ = signal(process)
        process.waitUntilExit()
    }

    private func signal(_ process: Process) -> Int32 {
        #if canImport(Darwin)
        Darwin.kill(process.processIdentifier, SIGKILL)
        #else
        Glibc.kill(process.processIdentifier, SIGKILL)
        #endif
    }

    func close() {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    private static func freePort() throws -> UInt16 {
        #if canImport(Darwin)
        let stream = SOCK_STREAM
        #else
        let stream = Int32(SOCK_STREAM.rawValue)
        #endif
        let descriptor = socket(AF_INET, stream, 0)
        defer { _ = sysClose(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1 }
        }
        guard code == 0 else { throw URLError(.cannotConnectToHost) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func sysClose(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
        Darwin.close(descriptor)
        #else
        Glibc.close(descriptor)
        #endif
    }
}

/// A server, and clients that are closed with it.
@RialtoActor
private final class Chat {
    let server: Server
    private var clients: [Client] = []

    init() throws { server = try Server() }

    func client(_ storage: any Storage = MemoryStorage()) -> Client {
        let client = Client(ClientOptions(url: server.url, storage: storage))
        clients.append(client)
        return client
    }

    func signUp(_ handle: String, _ storage: any Storage = MemoryStorage()) async throws -> Client {
        let client = client(storage)
        try await client.register(handle, password: "a good password", displayName: handle)
        try await first(client.connections) { $0 == .online }
        return client
    }

    func close() async {
        for client in clients { try? await client.close() }
        server.close()
    }
}

/// Runs a test with a server. A test that waits in vain ends after some minutes: nothing is asserted about time.
@RialtoActor
private func chat(_ test: @escaping @RialtoActor @Sendable (Chat) async throws -> Void) async throws {
    let chat = try Chat()
    let running = Task { try await test(chat) }
    let limit = Task {
        try await Task.sleep(nanoseconds: 120_000_000_000)
        running.cancel()
    }
    let result = await running.result
    limit.cancel()
    await chat.close()
    try result.get()
}

extension [Message] {
    /// The texts of messages, without control entries.
    fileprivate var said: [String] { filter { $0.content?.kind == "text" }.texts }
}

/// The whole way: URLSession, a server, and SQLite.
final class ServerTests: XCTestCase {
    func testTwoClientsChatTheServerDiesInBetweenAndNothingIsLostOrDoubled() async throws {
        try await chat { chat in
            let alice = try await chat.signUp("alice")
            let bob = try await chat.signUp("bob")
            let conversation = try await alice.openDirect(alice.findUser("bob").id).id
            try await alice.open(conversation)
            try await alice.sendText(conversation, "hello 你好 👋🏽")
            try await first(bob.conversation(conversation)) { $0?.lastSeq ?? 0 >= 2 }
            try await bob.open(conversation)
            try await first(bob.messages(conversation)) { $0.said.count == 1 }

            chat.server.kill()
            try await first(alice.connections) { $0 != .online }
            let expected = ["hello 你好 👋🏽"] + (0..<20).map { "offline \($0)" }
            for text in expected.dropFirst() { try await alice.sendText(conversation, text) }
            let waiting = try await first(alice.outgoing(conversation)).map(\.text)
            XCTAssertEqual(waiting, Array(expected.dropFirst()))

            try chat.server.run()
            let received = try await first(bob.messages(conversation)) { $0.said.count >= 21 }
            let shown = try await first(alice.messages(conversation)) { $0.said.count >= 21 }
            try await first(alice.outgoing(conversation)) { $0.isEmpty }
            XCTAssertEqual(received.said, expected)
            XCTAssertEqual(shown.said, expected)
            let badge = try await first(bob.badge)
            XCTAssertEqual(badge, 21)
            try await bob.read(conversation, 22)
            let read = try await first(bob.badge)
            XCTAssertEqual(read, 0)
            try await first(alice.conversation(conversation)) { $0?.peerReadSeq == 22 }
        }
    }

    func testASecondDeviceAndADeviceThatComesBackEndEqualToTheFirst() async throws {
        try await chat { chat in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("rialto-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let alice = try await chat.signUp("alice")
            let bob = try await chat.signUp("bob", SQLiteStorage(folder: folder))
            let conversation = try await bob.openDirect(alice.login!.user).id
            try await bob.configure(conversation, ConversationSettings(pinned: true, draft: "not yet"))
            try await bob.close()

            try await alice.open(conversation)
            for i in 0..<120 { try await alice.sendText(conversation, "message \(i)") }
            try await first(alice.outgoing(conversation)) { $0.isEmpty }

            let back = chat.client(SQLiteStorage(folder: folder))
            let started = try await back.start()
            XCTAssertTrue(started)
            try await first(back.conversation(conversation)) { $0?.lastSeq == 121 }
            try await back.open(conversation)
            try await first(back.messages(conversation)) { $0.last?.seq == 121 }

            let second = chat.client()
            try await second.logIn("bob", password: "a good password")
            try await first(second.conversation(conversation)) { $0?.lastSeq == 121 && $0?.peer == alice.login?.user }
            // What bob set shows at once on the device where he set it, and on the other one when the server was told.
            let wanted = ["not yet", "true", "121", "120"]
            func shown(_ c: Conversation?) -> [String] { c.map { [$0.draft, "\($0.pinned)", "\($0.lastSeq)", "\($0.unread)"] } ?? [] }
            let atOnce = try await first(back.conversation(conversation))
            XCTAssertEqual(shown(atOnce), wanted)
            try await first(second.conversation(conversation)) { shown($0) == wanted }
            try await second.open(conversation)
            while try await second.older(conversation) {}
            let all = try await first(second.messages(conversation)).said
            XCTAssertEqual(all, (0..<120).map { "message \($0)" })
        }
    }

    func testAGroupARefusedMessageStaysAndSaysWhy() async throws {
        try await chat { chat in
            let alice = try await chat.signUp("alice")
            let bob = try await chat.signUp("bob")
            let group = try await alice.createGroup("walks", members: [bob.login!.user]).id
            try await first(bob.conversation(group)) { $0?.title == "walks" }
            _ = try await alice.call(ChatV1.ChatService.updateGroup, ChatV1.UpdateGroupRequest(conversation: group, title: "long walks"))
            try await first(bob.conversation(group)) { $0?.title == "long walks" }
            _ = try await alice.call(ChatV1.ChatService.remove, ChatV1.RemoveRequest(conversation: group, users: [bob.login!.user]))
            try await first(bob.conversation(group)) { $0?.leaveSeq ?? 0 > 0 }
            try await bob.sendText(group, "may I?")
            let refused = try await first(bob.outgoing(group)) { $0.first?.failed != nil }[0]
            XCTAssertEqual(refused.failed?.code, "not_found")
        }
    }

    func testEditsReactionsAndRecallsShowAtBothEnds() async throws {
        try await chat { chat in
            let alice = try await chat.signUp("alice")
            let bob = try await chat.signUp("bob")
            let conversation = try await alice.openDirect(bob.login!.user).id
            try await alice.open(conversation)
            try await alice.sendText(conversation, "helo")
            try await first(bob.conversation(conversation)) { $0?.lastSeq == 2 }
            try await bob.open(conversation)
            try await first(alice.outgoing(conversation)) { $0.isEmpty }
            try await alice.edit(conversation, 2, "hello")
            try await first(bob.messages(conversation)) { $0.said == ["hello"] }
            try await bob.react(conversation, 2, "👍")
            let reacted = try await first(alice.messages(conversation)) { $0.contains { $0.seq == 2 && $0.reactions?.counts.isEmpty == false } }
            XCTAssertEqual(reacted.first { $0.seq == 2 }?.reactions?.counts, [ChatV1.ReactionCount(emoji: "👍", count: 1)])
            try await alice.recall(conversation, 2)
            try await first(bob.messages(conversation)) { $0.contains { $0.seq == 2 && $0.recallSeq > 0 } }
            try await first(bob.badge) { $0 == 0 }
        }
    }

    func testPushProvidersOfAServerWithoutAnyAndATokenThatItRefuses() async throws {
        try await chat { chat in
            let alice = try await chat.signUp("alice")
            let providers = try await alice.pushProviders()
            XCTAssertFalse(providers.contains(.apns))
            do {
                try await alice.registerPush(apnsToken: Data([1, 2, 3]))
                XCTFail("it was not refused")
            } catch let error as RialtoError {
                XCTAssertFalse(error.isOffline)
            }
        }
    }
}

#endif
