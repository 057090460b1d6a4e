import Foundation
import XCTest

@testable import RialtoClient

let me = "11"
let bob = "22"
let room = "7"

/// A wait of a client then has a millisecond or a few, in which a test sees that it is offline.
let little = 0.002

struct NothingCame: Error {}

/// The clock of a test, and of the clients in it: it goes on to the next time that somebody waits for, once nobody has anything to do.
@RialtoActor
final class TestTime {
    private struct Sleeper {
        let atMs: Int64
        let waiting: CheckedContinuation<Void, any Error>
    }

    /// The clock is read by whoever is on the actor.
    private final class Clock: @unchecked Sendable {
        private let lock = NSLock()
        private var ms: Int64 = 1_000_000

        var now: Int64 {
            get {
                lock.lock()
                defer { lock.unlock() }
                return ms
            }
            set {
                lock.lock()
                ms = newValue
                lock.unlock()
            }
        }
    }

    private let clock = Clock()
    private var sleepers: [Int: Sleeper] = [:]
    private var next = 0

    var now: Int64 { clock.now }

    func timing(random: Double) -> Timing {
        Timing(now: { [clock] in clock.now }, sleep: { [self] in try await sleep($0) }, random: { random })
    }

    func sleep(_ ms: Int64) async throws {
        try Task.checkCancellation()
        if ms <= 0 { return await Task.yield() }
        let id = next
        next += 1
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { sleepers[id] = Sleeper(atMs: now + ms, waiting: $0) }
        } onCancel: {
            Task { @RialtoActor in sleepers.removeValue(forKey: id)?.waiting.resume(throwing: CancellationError()) }
        }
    }

    /// All work is on one actor, which does what was asked for first: after enough turns nothing is left to do but to wait.
    func settle() async {
        for _ in 0..<60 { await Task.yield() }
    }

    /// Goes on until `untilMs`, one time that somebody waits for after the other.
    func run(untilMs: Int64) async {
        while !Task.isCancelled {
            await settle()
            guard let atMs = sleepers.values.map(\.atMs).min() else { continue }
            if atMs > untilMs { return }
            clock.now = max(clock.now, atMs)
            for (id, sleeper) in sleepers.sorted(by: { $0.key < $1.key }) where sleeper.atMs <= now {
                sleepers[id] = nil
                sleeper.waiting.resume()
            }
        }
    }
}

/// Runs a test in virtual time, with a server of its own. What it waits for comes within half an hour of that time.
@RialtoActor
func fake(_ test: @escaping @RialtoActor @Sendable (FakeServer) async throws -> Void) async throws {
    let server = FakeServer()
    let running = Task { try await test(server) }
    let clock = Task {
        await server.time.run(untilMs: server.time.now + 30 * 60_000 + 700_000)
        running.cancel() // or it has ended
    }
    let result = await running.result
    for client in server.clients { try? await client.close() }
    clock.cancel()
    if case .failure(is CancellationError) = result { throw NothingCame() }
    try result.get()
}

/// The first value that is wanted.
@RialtoActor
@discardableResult
func first<T: Sendable>(_ stream: AsyncStream<T>, _ wanted: (T) -> Bool = { _ in true }) async throws -> T {
    for await value in stream where wanted(value) { return value }
    throw CancellationError()
}

/// A server for one user on one device, in the test's process and time, which loses, repeats and disorders as a test asks.
@RialtoActor
final class FakeServer: Transport {
    let time = TestTime()
    /// What is stored, by conversation: the seq is the place.
    var logs: [String: [Message]] = [room: []]
    var stream: [ChatV1.Event] = []
    var conversations: [String: ChatV1.Conversation] = [room: ChatV1.Conversation(id: room, kind: .group, title: "room")]

    /// What ids of messages begin with.
    var ids = "ID"

    /// Every number that came in, repeats included.
    var numbers: [Int64] = []
    var frames: [GatewayV1.ClientFrame] = []
    var calls: [String] = []
    var logins: [AccountV1.Client] = []
    var tokens: [String] = []
    var epoch = 1

    /// Positions below this are not whole any more.
    var trimmed: Int64 = 0
    var refreshes = 0
    var handshakes = 0

    /// What the next handshakes get in place of an answer: a status of HTTP, or 0 for none at all.
    var refusals: [Int] = []
    var pushes = true

    /// Answers pings.
    var answers = true
    var reachable = true
    var receipts = true
    var refuseSend: (GatewayV1.Send) -> GatewayV1.Error? = { _ in nil }
    var refuseCall: (String) -> GatewayV1.Error? = { _ in nil }

    /// So many messages are in an answer of those that are asked for by their seqs.
    var perAnswer = 200

    /// For how many milliseconds the answer of a call is on its way.
    var late: (String) -> Int64 = { _ in 0 }
    private(set) var clients: [Client] = []
    private var stored: [String: Message] = [:]
    private var lastClientSeq: Int64 = 0
    fileprivate var sockets: [FakeSocket] = []
    private var access = 0

    var now: Int64 { time.now }

    func client(_ storage: any Storage = MemoryStorage(), random: Double = little) -> Client {
        var options = ClientOptions(url: "http://server", storage: storage, transport: self)
        options.timing = time.timing(random: random)
        let client = Client(options)
        clients.append(client)
        return client
    }

    func loggedIn(_ storage: any Storage = MemoryStorage(), random: Double = little) async throws -> Client {
        let client = client(storage, random: random)
        try await client.logIn("me", password: "a good password")
        try await first(client.connections) { $0 == .online }
        try await first(client.catchingUp) { !$0 }
        return client
    }

    /// Waits in virtual time until the server has seen what is wanted.
    func until(_ wanted: () -> Bool) async throws {
        while !wanted() { try await time.sleep(1) }
    }

    // MARK: what happens on the server's side

    /// Somebody writes: the event is stored, and pushed unless pushes are off.
    @discardableResult
    func write(_ text: String, sender: String = bob, conversation: String = room) -> ChatV1.Event { append(store(conversation, .text(text), sender)) }

    func store(_ conversation: String, _ content: Content, _ sender: String, device: String = "0", clientSeq: Int64 = 0) -> Message {
        let n = Int64(logs[conversation, default: []].count + 1)
        let m = Message(conversation: conversation, seq: n, id: "\(ids)-\(n)", sender: sender, device: device, clientSeq: clientSeq, timeMs: n, counted: n, content: content)
        if content.kind == "edit", let at = logs[conversation]?.firstIndex(where: { $0.seq == content.target }), let edited = logs[conversation]?[at].updated(by: m, me: me) {
            logs[conversation]?[at] = edited
        }
        logs[conversation, default: []].append(m)
        return m
    }

    @discardableResult
    func append(_ m: Message) -> ChatV1.Event {
        let prev = stream.last?.seq ?? 0
        let event = ChatV1.Event(epoch: epoch, seq: prev + 1, prev: prev, body: .message(m))
        stream.append(event)
        if pushes { push(event) }
        return event
    }

    func push(_ events: ChatV1.Event...) { tell(GatewayV1.ServerFrame(events: events)) }

    func tell(_ frame: GatewayV1.ServerFrame) {
        for socket in sockets { socket.tell(frame) }
    }

    /// Breaks all connections.
    func cut() {
        for socket in sockets { socket.end { await $0.failed("broken", status: 0, retryAfterSeconds: 0) } }
    }

    func bye(_ code: Int, _ reason: String, retryMs: Int = 0) {
        tell(GatewayV1.ServerFrame(bye: GatewayV1.Bye(code: code, reason: reason, retryMs: retryMs)))
        for socket in sockets { socket.end { await $0.closed(code: code, reason: reason) } }
    }

    /// Makes the present access token useless.
    func expire() { access += 1 }

    // MARK: calls

    func post(_ url: String, headers: [String: String], body: String, timeoutMs: Int64) async throws -> HTTPAnswer {
        if !reachable { throw URLError(.cannotConnectToHost) }
        let name = String(url.split(separator: "/").last!)
        calls.append(name)
        if let refusal = refuseCall(name) { return try refused(refusal) }
        let open = ["Login", "Register", "Refresh", "LoginWithSecondFactor"].contains(name)
        if !open && headers["Authorization"] != "Bearer access-\(access)" { return try refused(GatewayV1.Error(code: "unauthenticated", reason: "bad_token")) }
        let answer = HTTPAnswer(status: 200, body: try answer(name, body))
        try await time.sleep(late(name))
        return answer
    }

    private func refused(_ e: GatewayV1.Error) throws -> HTTPAnswer {
        let debug = try JSON.decode(JSONValue.self, JSON.encode(e))
        let body: JSONValue = ["code": .string(e.code), "message": .string(e.message), "details": [["type": "rialto.gateway.v1.Error", "debug": debug]]]
        return HTTPAnswer(status: 400, body: try JSON.encode(body))
    }

    private func answer(_ name: String, _ body: String) throws -> String {
        switch name {
        case "Login":
            logins.append(try JSON.decode(AccountV1.LoginRequest.self, body).client!)
            return try session()
        case "Refresh":
            refreshes += 1
            access += 1
            return try session()
        case "Sync": return try JSON.encode(sync(JSON.decode(ChatV1.SyncRequest.self, body).after ?? ChatV1.Position()))
        case "History": return try JSON.encode(history(JSON.decode(ChatV1.HistoryRequest.self, body)))
        case "GetMessages":
            let asked = try JSON.decode(ChatV1.GetMessagesRequest.self, body)
            let found = logs[asked.conversation, default: []].filter { asked.seqs.contains($0.seq) }
            return try JSON.encode(ChatV1.GetMessagesResponse(messages: Array(found.prefix(perAnswer)), more: found.count > perAnswer))
        case "ListConversations": return try JSON.encode(ChatV1.ListConversationsResponse(conversations: conversations.keys.sorted().map { describe($0) }))
        case "GetConversation": return try JSON.encode(describe(JSON.decode(ChatV1.GetConversationRequest.self, body).conversation))
        case "Configure": return try JSON.encode(configure(JSON.decode(ChatV1.ConfigureRequest.self, body)))
        case "RegisterPush":
            tokens.append(try JSON.decode(PushV1.RegisterPushRequest.self, body).token)
            return "{}"
        default: return "{}"
        }
    }

    private func session() throws -> String {
        try JSON.encode(AccountV1.Session(user: me, device: "33", accessToken: "access-\(access)", expiresMs: now + 900_000, refreshToken: "refresh", session: "44", deviceKey: "key"))
    }

    private func sync(_ after: ChatV1.Position) -> ChatV1.SyncResponse {
        let tail = tail
        if after.seq < trimmed { return ChatV1.SyncResponse(next: tail, reset: true) }
        let events = stream.filter { $0.seq > after.seq }.prefix(3)
        return ChatV1.SyncResponse(events: Array(events), next: ChatV1.Position(epoch: epoch, seq: min(tail.seq, after.seq + 3)), more: tail.seq > after.seq + 3)
    }

    private var tail: ChatV1.Position { ChatV1.Position(epoch: epoch, seq: stream.last?.seq ?? 0) }

    private func history(_ r: ChatV1.HistoryRequest) -> ChatV1.HistoryResponse {
        let log = logs[r.conversation, default: []]
        if r.after > 0 {
            let rest = log.filter { $0.seq > r.after }
            return ChatV1.HistoryResponse(messages: Array(rest.prefix(r.limit)), more: rest.count > r.limit)
        }
        let rest = log.filter { r.before == 0 || $0.seq < r.before }
        return ChatV1.HistoryResponse(messages: Array(rest.suffix(r.limit)), more: rest.count > r.limit)
    }

    private func describe(_ id: String) -> ChatV1.Conversation {
        let last = logs[id]?.last
        var c = conversations[id] ?? ChatV1.Conversation(id: id)
        c.lastSeq = last?.seq ?? 0
        c.lastMessage = last
        c.unread = (last?.counted ?? 0) - (c.state?.readCounted ?? 0)
        return c
    }

    private func configure(_ r: ChatV1.ConfigureRequest) -> ChatV1.ConversationState {
        var state = conversations[r.conversation]?.state ?? ChatV1.ConversationState(conversation: r.conversation)
        state.pinned = r.pinned ?? state.pinned
        state.muted = r.muted ?? state.muted
        state.archived = r.archived ?? state.archived
        state.draft = r.draft ?? state.draft
        state.markedUnread = r.markedUnread ?? state.markedUnread
        conversations[r.conversation]?.state = state
        return state
    }

    // MARK: the socket

    func open(_ url: String, headers: [String: String], subprotocol: String, listener: any WebSocketListener) async throws -> any WebSocketConnection {
        handshakes += 1
        let socket = FakeSocket(self, listener)
        let refusal = refusals.isEmpty ? nil : refusals.removeFirst()
        if !reachable {
            socket.deliver { await $0.failed("not reachable", status: 0, retryAfterSeconds: 0) }
        } else if let refusal {
            if refusal > 0 { socket.deliver { await $0.failed("refused", status: refusal, retryAfterSeconds: 0) } }
        } else if headers["Authorization"] != "Bearer access-\(access)" {
            socket.deliver { await $0.failed("refused", status: 401, retryAfterSeconds: 0) }
        } else {
            sockets.append(socket)
            socket.tell(GatewayV1.ServerFrame(hello: GatewayV1.Hello(user: me, device: "33", tail: tail, clientSeq: lastClientSeq, timeMs: now, heartbeatMs: 5_000, node: "node-1")))
        }
        return socket
    }

    fileprivate func took(_ frame: GatewayV1.ClientFrame, _ socket: FakeSocket) {
        frames.append(frame)
        for s in frame.sends { took(s, socket) }
        if frame.ping != nil && answers { socket.tell(GatewayV1.ServerFrame(pong: GatewayV1.Pong(timeMs: now))) }
    }

    private func took(_ s: GatewayV1.Send, _ socket: FakeSocket) {
        numbers.append(s.clientSeq)
        let error = refuseSend(s)
        let key = "\(s.conversation)/\(s.clientSeq)"
        var m = stored[key]
        if error == nil && m == nil {
            m = store(s.conversation, s.content ?? .empty, me, device: "33", clientSeq: s.clientSeq)
            stored[key] = m
            lastClientSeq = max(lastClientSeq, s.clientSeq)
            append(m!)
        }
        if !receipts { return }
        let receipt = error != nil
            ? GatewayV1.Receipt(conversation: s.conversation, clientSeq: s.clientSeq, error: error)
            : GatewayV1.Receipt(conversation: s.conversation, clientSeq: s.clientSeq, id: m!.id, seq: m!.seq, timeMs: m!.timeMs, counted: m!.counted)
        socket.tell(GatewayV1.ServerFrame(receipts: [receipt]))
    }
}

@RialtoActor
final class FakeSocket: WebSocketConnection {
    private let server: FakeServer
    private let listener: any WebSocketListener
    private var pending: [@RialtoActor @Sendable (any WebSocketListener) async -> Void] = []
    private var delivering: Task<Void, Never>?

    init(_ server: FakeServer, _ listener: any WebSocketListener) {
        self.server = server
        self.listener = listener
    }

    func deliver(_ what: @escaping @RialtoActor @Sendable (any WebSocketListener) async -> Void) {
        pending.append(what)
        if delivering != nil { return }
        delivering = Task {
            while !pending.isEmpty { await pending.removeFirst()(listener) }
            delivering = nil
        }
    }

    func tell(_ frame: GatewayV1.ServerFrame) {
        deliver { listener in
            if let text = try? JSON.encode(frame) { await listener.message(text) }
        }
    }

    func end(_ how: @escaping @RialtoActor @Sendable (any WebSocketListener) async -> Void) {
        abandon()
        deliver(how)
    }

    func send(_ text: String) -> Bool {
        guard server.sockets.contains(where: { $0 === self }), let frame = try? JSON.decode(GatewayV1.ClientFrame.self, text) else { return false }
        server.took(frame, self)
        return true
    }

    func abandon() { server.sockets.removeAll { $0 === self } }
}

extension [Message] {
    var texts: [String] { map(\.text) }
}
