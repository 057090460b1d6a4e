/// A connection that held for this long counts as good: the next loss starts with short waits again.
private let stableMs: Int64 = 10_000

/// From a ping to any frame at all.
private let answerTimeoutMs: Int64 = 10_000
private let probeTimeoutMs: Int64 = 3_000
private let defaultHeartbeatMs: Int64 = 25_000

/// The node stops.
private let closeDrain = 4000

/// The credentials were not accepted: the next try renews them, and so finds out whether the login is over.
private let closeAuth = 4101
private let unauthorized = 401

func staysAway(_ code: Int) -> Bool { (4100...4199).contains(code) && code != closeAuth }

/// Why a connection ended. `stay`: the server asked not to come back.
struct SocketEnd: Hashable, Sendable {
    let code: Int
    let reason: String
    let stay: Bool
    var retryMs: Int64 = 0
}

/// What a `Socket` needs of others.
@RialtoActor
struct SocketDeps {
    let options: ClientOptions
    let gateways: Gateways
    /// An access token; a new one where the present one was refused.
    let token: Work<String>
    let renewedToken: Work<String>
    /// Whether this device has all but the last events. In a reconnect storm such devices go first.
    let resumes: @RialtoActor () -> Bool
    let onFrame: @RialtoActor (GatewayV1.ServerFrame) -> Void
    /// The connection ended, or the try failed; the next one comes in so many milliseconds.
    let onLost: @RialtoActor (Int64) -> Void
}

/// Keeps one connection up: opens it, sends pings when nothing else was sent, notices a dead path, and comes back with growing, jittered
/// waits, as the server's `bye` and close codes ask for. It knows nothing of what the frames mean beyond `hello` and `bye`.
@RialtoActor
final class Socket {
    private let deps: SocketDeps
    private var backoff: Backoff
    /// Where the present connection, or the wait for the next one, is told to wake.
    private var inbox: Inbox
    private var open: (any WebSocketConnection)?
    private var retries = 0
    private var renew = false

    // Of the present connection, in milliseconds of the clock; 0: not yet.
    private var openedMs: Int64 = 0
    private var heartbeatMs = defaultHeartbeatMs
    private var sentMs: Int64 = 0
    private var heardMs: Int64 = 0
    private var beatAtMs: Int64 = 0
    private var deadAtMs: Int64 = 0
    private var pingSentMs: Int64 = 0
    private var rttMs: Int64 = 0
    private var probe = false

    init(_ deps: SocketDeps) {
        self.deps = deps
        backoff = Backoff(random: deps.options.timing.random, baseMs: 500, ceilingMs: 30_000)
        inbox = Inbox(timing: deps.options.timing)
    }

    private var timing: Timing { deps.options.timing }
    private var now: Int64 { timing.now() }

    /// Connects again and again, until the server says to stay away, which is the result, or the task is cancelled.
    func run() async throws -> SocketEnd {
        while true {
            let end: SocketEnd
            do {
                end = try await connect()
            } catch where !(error is CancellationError) {
                // Such as of the device's store. What could not be processed comes again by the next sync.
                deps.options.onProblem("the connection ended by an error of this program", error)
                end = SocketEnd(code: 0, reason: "\(error)", stay: false)
            }
            try Task.checkCancellation()
            if end.stay { return end }
            if openedMs > 0 {
                retries = 0
                if now - openedMs >= stableMs { backoff.reset() }
            } else {
                deps.gateways.failed()
            }
            retries += 1
            let waitMs = backoff.next(atLeastMs: end.retryMs)
            inbox = Inbox(timing: timing) // a signal that was meant for the lost connection is forgotten
            let untilMs = now + waitMs
            deps.onLost(waitMs)
            _ = await inbox.next(untilMs: untilMs)
            try Task.checkCancellation()
            // A small jitter keeps apart what is woken together, as when an office has its network back.
            if now < untilMs { try await timing.sleep(Int64(timing.random() * 250)) }
        }
    }

    /// Tries at once if the next try is planned for later, and else finds out quickly whether the connection is still there.
    func wake() {
        probe = true
        inbox.signal()
    }

    func send(_ frame: GatewayV1.ClientFrame) -> Bool {
        guard let open, let text = try? JSON.encode(frame), open.send(text) else { return false }
        sentMs = now
        // Where nothing was heard for a while the ping is not put off: it is what finds a dead path.
        if sentMs - heardMs < heartbeatMs { planBeat() }
        return true
    }

    /// Makes one connection, and returns why it ended.
    private func connect() async throws -> SocketEnd {
        openedMs = 0
        let opensUntilMs = now + deps.options.openTimeoutMs
        let inbox = Inbox(timing: timing)
        self.inbox = inbox
        let socket: any WebSocketConnection
        do {
            let address = await deps.gateways.next()
            let token = try await renew ? deps.renewedToken() : deps.token()
            renew = false
            let resume = deps.resumes() ? "?resume=1" : ""
            socket = try await deps.options.transport.open(address + resume, headers: ["Authorization": "Bearer \(token)"], subprotocol: "rialto.v1.json", listener: inbox)
        } catch let error as RialtoError {
            // Who we are is settled elsewhere (a login that ended stops us). Anything else may pass.
            return SocketEnd(code: 0, reason: error.message, stay: error.code == "unauthenticated", retryMs: error.retryMs)
        }
        sentMs = 0
        heardMs = 0
        deadAtMs = 0
        pingSentMs = 0
        defer {
            open = nil
            // The closing handshake is not waited for: on a dead path it never ends.
            socket.abandon()
            inbox.close()
        }
        return try await follow(socket, inbox, opensUntilMs)
    }

    private func follow(_ socket: any WebSocketConnection, _ inbox: Inbox, _ opensUntilMs: Int64) async throws -> SocketEnd {
        var bye: SocketEnd?
        while true {
            let wakeAtMs = open == nil ? opensUntilMs : deadAtMs > 0 ? min(deadAtMs, beatAtMs) : beatAtMs
            let event = await inbox.next(untilMs: wakeAtMs)
            try Task.checkCancellation()
            switch event {
            case .ended(let end, let status):
                if status == unauthorized || end.code == closeAuth || bye?.code == closeAuth { renew = true }
                return bye ?? end
            case .message(let text):
                heardMs = now
                deadAtMs = 0
                let frame: GatewayV1.ServerFrame
                do {
                    frame = try JSON.decode(GatewayV1.ServerFrame.self, text)
                } catch {
                    return SocketEnd(code: 0, reason: "bad frame: \(error)", stay: false)
                }
                if let hello = frame.hello {
                    open = socket
                    openedMs = now
                    greeted(hello)
                }
                if let b = frame.bye {
                    if b.code == closeDrain { deps.gateways.failed() }
                    bye = SocketEnd(code: b.code, reason: b.reason, stay: staysAway(b.code), retryMs: Int64(b.retryMs))
                }
                if frame.pong != nil && pingSentMs > 0 {
                    rttMs = now - pingSentMs
                    pingSentMs = 0
                }
                deps.onFrame(frame)
            case nil:
                if let end = overdue(opensUntilMs) { return end }
            }
        }
    }

    private func greeted(_ hello: GatewayV1.Hello) {
        heartbeatMs = hello.heartbeatMs > 0 ? Int64(hello.heartbeatMs) : defaultHeartbeatMs
        probe = false
        planBeat()
        deps.gateways.opened(hello.node)
    }

    /// Does what a time that has come asks for. Not nil: the connection has to be given up.
    private func overdue(_ opensUntilMs: Int64) -> SocketEnd? {
        if open == nil { return now >= opensUntilMs ? SocketEnd(code: 0, reason: "no answer", stay: false) : nil }
        if deadAtMs > 0 && now >= deadAtMs { return SocketEnd(code: 0, reason: "no answer to a ping", stay: false) }
        if probe {
            probe = false
            ping(withinMs: probeTimeoutMs)
        } else if now >= beatAtMs {
            ping(withinMs: answerTimeoutMs)
        }
        return nil
    }

    private func ping(withinMs: Int64) {
        pingSentMs = now
        // An earlier ping without an answer keeps its time, unless this one is more impatient: repeating it must not put off the end.
        deadAtMs = deadAtMs > 0 ? min(deadAtMs, now + withinMs) : now + withinMs
        _ = send(GatewayV1.ClientFrame(ping: GatewayV1.Ping(rttMs: Int(rttMs), retries: retries)))
        planBeat()
    }

    /// Up to a fifth early, so that many clients do not send their pings in step.
    private func planBeat() { beatAtMs = now + Int64(Double(heartbeatMs) * (1 - 0.2 * timing.random())) }
}
