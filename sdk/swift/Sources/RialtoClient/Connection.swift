/// Close codes with which the server forbids this socket, while the login is still good.
private let socketRefused: Set = [4100, 4103]

/// What a `Connection` needs of the client.
@RialtoActor
struct ConnectionDeps {
    let gateways: Gateways
    let token: Work<String>
    let renewedToken: Work<String>
    let onState: @RialtoActor (ConnectionState, _ retryAtMs: Int64) -> Void
    /// The server said to stay away, because the session ended.
    let onEnded: @RialtoActor (_ reason: String) -> Void
}

/// Keeps the socket open, and gives its frames to those whom they concern.
@RialtoActor
final class Connection {
    private unowned let session: Session
    private let deps: ConnectionDeps
    private var running: Task<Void, any Error>?
    private var activity = PresenceV1.Activity.unspecified
    private var socket: Socket!

    init(_ session: Session, _ deps: ConnectionDeps) {
        self.session = session
        self.deps = deps
        socket = Socket(SocketDeps(
            options: session.options, gateways: deps.gateways, token: deps.token, renewedToken: deps.renewedToken,
            resumes: { [unowned session] in session.data.position != nil },
            onFrame: { [unowned self] in take($0) },
            onLost: { [unowned self] waitMs in
                closed()
                deps.onState(.offline, self.session.options.timing.now() + waitMs)
            }))
    }

    func start() {
        if running != nil { return }
        deps.onState(.connecting, 0)
        running = session.tasks.launch { [self] in
            let end = try await socket.run()
            running = nil
            closed()
            if socketRefused.contains(end.code) {
                session.options.onProblem("the server forbids the connection", RialtoError("failed_precondition", end.reason, reason: "socket_refused"))
                deps.onState(.offline, 0)
            } else {
                deps.onEnded(end.reason)
            }
        }
    }

    func stop() {
        running?.cancel()
        running = nil
        closed()
    }

    /// Tries to connect at once if the next try is planned for later, and probes a connection that is open.
    func wake() {
        if running != nil { socket.wake() } else { start() }
    }

    @discardableResult
    func send(_ frame: GatewayV1.ClientFrame) -> Bool { socket.send(frame) }

    /// Tells whether this device is in use, now and on later connections.
    func setAway(_ away: Bool) {
        activity = away ? .away : .active
        send(GatewayV1.ClientFrame(activity: activity))
    }

    private func closed() {
        session.outbox.closed()
        session.marks.closed()
        session.people.forget()
    }

    private func take(_ f: GatewayV1.ServerFrame) {
        if let hello = f.hello { greeted(hello) }
        for a in f.accepted { session.outbox.accepted(a.clientSeq) }
        if !f.receipts.isEmpty {
            session.tasks.launch { [session] in
                for r in f.receipts { try await session.outbox.receipt(r) }
            }
        }
        if !f.events.isEmpty { session.sync.pushed(f.events) }
        if let hint = f.hint {
            if hint.conversations.isEmpty { session.sync.sync() }
            for l in hint.conversations { session.sync.grown(l) }
        }
        for t in f.threads { session.events.threadChanged(t) }
        if let typing = f.typing { session.people.typed(typing) }
        session.people.take(f.presences)
        if let error = f.error { session.options.onProblem("the server refused a frame", RialtoError(error)) }
    }

    /// The socket is open: what waited for it goes, and what was missed is fetched.
    private func greeted(_ hello: GatewayV1.Hello) {
        deps.onState(.online, 0)
        session.waiting.opened(hello.clientSeq)
        if activity != .unspecified { send(GatewayV1.ClientFrame(activity: activity)) }
        if !session.people.watched.isEmpty { send(GatewayV1.ClientFrame(watch: GatewayV1.Watch(users: session.people.watched))) }
        session.sync.reconnected(hello.tail ?? ChatV1.Position())
        session.conversations.wantUnknown()
        session.history.fillOpened()
        session.tasks.launch { [session] in try await session.push.flush() }
    }
}
