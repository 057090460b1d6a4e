import Foundation

/// Messages that wait for a slow reader of `Client.incoming`; beyond them the oldest are left out.
private let mostIncoming = 4_096

/// One login on one device. It hides connecting, resending, syncing, gaps and storage: what it shows is what the server has, together with
/// what the user did here and the server has not confirmed.
///
/// Each function that needs a login fails with a `RialtoError` with the reason `logged_out` where there is none. What else it does is in
/// extensions, a file for each area.
@RialtoActor
public final class Client {
    let options: ClientOptions
    private let calls: Calls
    private let tasks: Tasks

    /// One change of the login at a time.
    private let entering = Turns()
    private var auth: Auth?
    private var deviceStore: (any Store)?
    private var userStore: (any Store)?
    private(set) var session: Session?
    private let watchers = Watchers()
    private let news = Broadcast<Message>(most: mostIncoming)
    private let ends = Broadcast<String>(most: 1)

    /// What the client knows of its way to the server.
    public private(set) var connection = ConnectionState.signedOut

    /// When the next try to connect comes, in milliseconds since 1970; 0: none is planned.
    public private(set) var retryAtMs: Int64 = 0

    public init(_ options: ClientOptions) {
        self.options = options
        calls = Calls(transport: options.transport)
        tasks = Tasks(onProblem: options.onProblem)
    }

    /// `connection` now, and after each change.
    public var connections: AsyncStream<ConnectionState> { watch { $0.connection } }

    /// Messages of somebody else as they come, in order, once; also those that were sent while this device was away. Not what a new device, or one
    /// away for too long, finds in the lists that it starts with; and of large groups only what is pushed. Take it before `start`.
    public var incoming: AsyncStream<Message> { news.stream() }

    /// The login ended: by this user elsewhere, by the server, or by a newer device. The value is the reason, such as `revoked`.
    public var ended: AsyncStream<String> { ends.stream() }

    /// Goes on with the login that the device stored, and tells whether there is one.
    public func start() async throws -> Bool {
        try await changingLogin { [self] auth in
            if session == nil, let login = try await auth.load() { try await enter(login) }
            return session != nil
        }
    }

    /// Makes an account, and logs in.
    public func register(_ handle: String, password: String, displayName: String) async throws {
        try await changingLogin { [self] in try await enter($0.register(handle, password, displayName)) }
    }

    /// Throws `SecondFactorNeeded` if the password is right, and the account needs a second factor too.
    public func logIn(_ handle: String, password: String) async throws {
        try await changingLogin { [self] in try await enter($0.logIn(handle, password)) }
    }

    /// Completes a login that failed with `SecondFactorNeeded`: with a code of the user's authenticator app, or a recovery code.
    public func logInWithSecondFactor(_ handle: String, challenge: String, code: String) async throws {
        try await changingLogin { [self] in try await enter($0.logInWithSecondFactor(handle, challenge, code)) }
    }

    /// Has a code for `logInWithCode` sent to a user, where the server can.
    public func requestCode(_ handle: String) async throws { try await opened().requestCode(handle) }

    public func logInWithCode(_ handle: String, code: String) async throws {
        try await changingLogin { [self] in try await enter($0.logInWithCode(handle, code)) }
    }

    /// Takes over a session that was made elsewhere, as by `AdminService/CreateSession` on one's own server.
    ///
    /// - Parameter session: the JSON that the server answered
    public func adopt(_ session: String) async throws {
        try await changingLogin { [self] in try await enter($0.adopt(session)) }
    }

    /// The login, or `nil`. Its tokens change.
    public var login: Login? { auth?.current }

    /// Ends the session on the server, and forgets what the device keeps. Messages not yet sent are lost. Where the server refuses, it throws, and
    /// the login stays. Where the server cannot be reached, the device forgets all the same.
    public func logOut() async throws {
        try await changingLogin { [self] auth in
            guard let login = auth.current else { throw RialtoError.signedOut }
            // Before the server ends it with the session, which would look like an end that came from elsewhere.
            session?.connection.stop()
            do {
                _ = try await call(AccountV1.AccountService.logout, AccountV1.LogoutRequest())
            } catch let error as RialtoError {
                if !error.isOffline && error.code != "unauthenticated" {
                    session?.connection.start()
                    throw error
                }
            }
            try await auth.forget()
            // With the device's number stays its count: a number used twice would make the server take new for old.
            try await leave { try await $0.clear(keeping: [counterKey(login.device)]) }
        }
    }

    /// Ends the connection, and returns when what was taken is stored. What is kept stays for the next client on the same storage.
    public func close() async throws {
        try await entering.run { [self] in
            try await leave()
            try await deviceStore?.close()
            deviceStore = nil
            auth = nil
        }
        await tasks.stop()
        watchers.end()
        news.end()
        ends.end()
    }

    /// Tries to connect at once where the next try is planned for later: call it when the network is back, or the app is shown again.
    public func reconnect() { session?.connection.wake() }

    /// Says whether this device is in use: an app in the background is away. Push notifications come while no device of the user is active.
    public func setAway(_ away: Bool) { session?.connection.setAway(away) }

    /// Makes any call of the contract, such as `client.call(ChatV1.ChatService.listFolders, ChatV1.ListFoldersRequest())`.
    public func call<I, O>(_ call: Call<I, O>, _ request: I) async throws -> O { try decoded(O.self, try await makeCall(call.method, try JSON.encode(request))) }

    /// What `read` gives now, and after each change of it.
    func watch<T: Equatable & Sendable>(_ read: @escaping @RialtoActor @Sendable (Client) -> T) -> AsyncStream<T> {
        watchers.stream { [weak self] in if let self { read(self) } else { nil } }
    }

    /// Does something with the session. It is done also if the caller is cancelled meanwhile.
    func inSession<T: Sendable>(_ work: @escaping @RialtoActor @Sendable (Session) async throws -> T) async throws -> T {
        guard let session else { throw RialtoError.signedOut }
        do {
            return try await session.tasks.start { try await work(session) }.value
        } catch is CancellationError {
            throw RialtoError.signedOut
        }
    }

    private func changingLogin<T: Sendable>(_ work: @escaping @RialtoActor @Sendable (Auth) async throws -> T) async throws -> T {
        try await entering.run { [self] in try await work(opened()) }
    }

    private func opened() async throws -> Auth {
        if let auth { return auth }
        let store = try await options.storage.open("rialto")
        if let auth { return auth } // opened meanwhile
        deviceStore = store
        let opened = Auth(url: options.url, calls: calls, store: store, info: options.info, now: options.timing.now) { [weak self] in
            self?.tasks.launch { [weak self] in try await self?.end("logged_out") }
        }
        auth = opened
        return opened
    }

    private func enter(_ login: Login) async throws {
        try await leave()
        let store = try await options.storage.open("rialto-\(login.user)")
        userStore = store
        let session = Session(
            SessionDeps(
                options: options, login: login, store: store, caller: { [self] in try await makeCall($0, $1) },
                onChange: { [self] in watchers.changed() }, onMessage: { [unowned self] in news.send($0) }),
            connectionDeps())
        try await session.load()
        self.session = session
        session.connection.start()
        watchers.changed()
    }

    private func connectionDeps() -> ConnectionDeps {
        let (calls, url) = (calls, options.url)
        let find: Gateways.Find = { try await calls.call(url, GatewayV1.GatewayService.findGateways, $0, timeoutMs: 3_000) }
        return ConnectionDeps(
            gateways: Gateways(url: url, region: options.region, now: options.timing.now, find: options.discover ? find : nil),
            token: { [self] in try await opened().token() },
            renewedToken: { [self] in
                let auth = try await opened()
                return try await auth.refresh(auth.token())
            },
            onState: { [self] state, retryAtMs in
                connection = state
                self.retryAtMs = retryAtMs
                watchers.changed()
            },
            onEnded: { [self] reason in
                let of = session
                tasks.launch { [self] in try await sessionEnded(of, reason) }
            })
    }

    /// Ends the session of the client. `finish` gets its store, which nothing else uses any more.
    private func leave(_ finish: @RialtoActor (any Store) async throws -> Void = { _ in }) async throws {
        if let left = session {
            session = nil
            await left.stop()
            connection = .signedOut
            retryAtMs = 0
            watchers.changed()
        }
        if let store = userStore {
            userStore = nil
            try await finish(store)
            try await store.close()
        }
    }

    /// The server said to stay away.
    private func sessionEnded(_ of: Session?, _ reason: String) async throws {
        try await entering.run { [self] in
            if session === of { try await auth?.forget() }
        }
        try await end(reason)
    }

    /// The login has ended, but not by this client.
    private func end(_ reason: String) async throws {
        let left = try await entering.run { [self] in
            if auth?.current != nil { return false } // somebody has logged in again
            try await leave()
            return true
        }
        if left { ends.send(reason) }
    }

    private func makeCall(_ method: String, _ body: String) async throws -> String {
        let auth = try await opened()
        let token = try await auth.token()
        do {
            return try await calls.call(options.url, method, body, token: token)
        } catch let error as RialtoError where error.code == "unauthenticated" {
            return try await calls.call(options.url, method, body, token: auth.refresh(token))
        }
    }
}
