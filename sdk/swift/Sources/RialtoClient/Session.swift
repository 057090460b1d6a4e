/// What a `Session` needs of the client.
@RialtoActor
struct SessionDeps {
    let options: ClientOptions
    let login: Login
    let store: any Store
    let caller: Caller
    let onChange: @RialtoActor () -> Void
    let onMessage: @RialtoActor (Message) -> Void
}

/// What a client has while somebody is logged in: the copy of their data, and what waits to be sent.
@RialtoActor
final class Session {
    let options: ClientOptions
    let login: Login
    let api: ChatAPI
    let tasks: Tasks
    let people: People
    private(set) var marks: Marks!
    private(set) var data: LocalData!
    private(set) var history: History!
    private(set) var conversations: Conversations!
    private(set) var events: Events!
    private(set) var outbox: Outbox!
    private(set) var waiting: Waiting!
    private(set) var sync: Sync!
    let push: Push
    private(set) var connection: Connection!

    init(_ deps: SessionDeps, _ connectionDeps: ConnectionDeps) {
        let (options, login, store) = (deps.options, deps.login, deps.store)
        let api = ChatAPI(caller: deps.caller)
        let tasks = Tasks(onProblem: options.onProblem)
        self.options = options
        self.login = login
        self.api = api
        self.tasks = tasks
        people = People(tasks: tasks, timing: options.timing, onChange: deps.onChange)
        push = Push(login: login, store: store, api: api)
        marks = Marks(tasks: tasks, timing: options.timing) { [unowned self] marks, ack in
            waiting.whole && connection.send(GatewayV1.ClientFrame(ack: ack, marks: marks))
        }
        data = LocalData(tasks: tasks, store: store, onChange: deps.onChange, onStored: { [marks] in marks!.acknowledge($0) }, onProblem: options.onProblem)
        history = History(tasks: tasks, data: data, store: store, api: api, options: options, onChange: deps.onChange)
        conversations = Conversations(tasks: tasks, me: login.user, data: data, api: api, marks: marks, history: history, options: options)
        events = Events(
            me: login.user, data: data, history: history, conversations: conversations, marks: marks,
            onMessage: { [people] m in
                people.wrote(m)
                deps.onMessage(m)
            },
            onOwn: { [unowned self] in ownStored($0) })
        outbox = Outbox(OutboxDeps(
            tasks: tasks, store: store, counter: counterKey(login.device), timing: options.timing,
            transmit: { [unowned self] in connection.send(GatewayV1.ClientFrame(sends: $0)) },
            onChange: deps.onChange,
            onStored: { [events] item, at in events!.sent(item, at, device: login.device) }))
        waiting = Waiting(tasks: tasks, data: data, store: store, api: api, history: history, conversations: conversations, outbox: outbox, marks: marks)
        sync = Sync(tasks: tasks, data: data, events: events, history: history, conversations: conversations, waiting: waiting, api: api, timing: options.timing, onChange: deps.onChange)
        connection = Connection(self, connectionDeps)
    }

    func load() async throws {
        try await data.load()
        try await outbox.load()
    }

    /// Ends all that would go on by itself. Returns when what was taken is stored, and nothing is written any more.
    func stop() async {
        connection.stop()
        await data.written()
        await tasks.stop()
    }

    /// One of ours came back in the stream: the outbox need not wait for its receipt.
    private func ownStored(_ m: Message) {
        guard m.device == login.device, m.clientSeq != 0, let item = outbox.find(m.clientSeq), item.conversation == m.conversation else { return }
        tasks.launch { [outbox] in try await outbox!.stored(item, StoredAs(id: m.id, seq: m.seq, timeMs: m.timeMs, counted: m.counted)) }
    }
}

/// The store's key of a device's count of messages.
func counterKey(_ device: String) -> String { "client_seq/\(device)" }
