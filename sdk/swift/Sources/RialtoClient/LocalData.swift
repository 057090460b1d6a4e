private let positionKey = "position"

/// The device's copy of conversations, relations and the stream's position, in memory and in the store. The parts of the replica change it:
/// each change goes into memory at once, and with `keep` into the store.
@RialtoActor
final class LocalData {
    private let tasks: Tasks
    private let store: any Store
    private let onChange: @RialtoActor () -> Void
    /// The stream is stored up to this position.
    private let onStored: @RialtoActor (ChatV1.Position) -> Void
    private let onProblem: @Sendable (String, any Error) -> Void

    private(set) var conversations: [String: Conversation] = [:]
    private(set) var relations: [String: Relation] = [:]
    var position: ChatV1.Position?

    /// What waits for the write that is under way.
    private var waiting: [Op] = []
    private var writing: Task<Void, any Error>?

    /// A write failed: the position in the store stays below what is missing there.
    private var broken = false

    init(tasks: Tasks, store: any Store, onChange: @escaping @RialtoActor () -> Void, onStored: @escaping @RialtoActor (ChatV1.Position) -> Void, onProblem: @escaping @Sendable (String, any Error) -> Void) {
        self.tasks = tasks
        self.store = store
        self.onChange = onChange
        self.onStored = onStored
        self.onProblem = onProblem
    }

    func load() async throws {
        position = try await store.value(.meta, positionKey, ChatV1.Position.self)
        for c in try await store.values(.conversations, Conversation.self) { conversations[c.id] = c }
        for r in try await store.values(.relations, Relation.self) { relations[r.user] = r }
    }

    /// Returns when all changes so far are stored.
    func written() async { _ = await writing?.result }

    /// A conversation as far as it is known.
    func view(_ id: String) -> Conversation { conversations[id] ?? Conversation(id: id) }

    func put(_ c: Conversation, _ ops: inout [Op]) {
        conversations[c.id] = c
        add(&ops, .conversations, c.id, c)
    }

    /// Forgets a conversation and its messages.
    func drop(_ id: String, _ ops: inout [Op]) {
        conversations[id] = nil
        ops.append(.delete(.conversations, key: id))
        ops.append(.deleteRange(.messages, from: "\(id)/", until: "\(id)0"))
    }

    /// Forgets all conversations and relations, before they are read anew.
    func dropAll(_ ops: inout [Op]) {
        conversations = [:]
        relations = [:]
        ops += [.clear(.conversations), .clear(.relations)]
    }

    func put(_ r: Relation, _ ops: inout [Op]) {
        relations[r.user] = r
        add(&ops, .relations, r.user, r)
    }

    func put(_ m: Message, _ ops: inout [Op]) { add(&ops, .messages, messageKey(m.conversation, m.seq), m) }

    private func add(_ ops: inout [Op], _ table: Table, _ key: String, _ value: some Encodable) {
        do {
            ops.append(try .put(table, key, value))
        } catch {
            stop(error)
        }
    }

    /// Later writes would store a position above what is missing. That comes again after the next start.
    private func stop(_ error: any Error) {
        broken = true
        onProblem("the device could not store", error)
    }

    /// Stores changes together with the position that they lead to, so that a crash repeats events and never skips one. A burst of events is
    /// stored in a few transactions.
    func keep(_ ops: [Op]) {
        onChange()
        waiting += ops
        if let position { add(&waiting, .meta, positionKey, position) }
        if broken { waiting = [] }
        if writing == nil && !waiting.isEmpty { writing = tasks.launch { [self] in await writeWaiting() } }
    }

    private func writeWaiting() async {
        while !waiting.isEmpty && !broken {
            let ops = waiting
            let at = position
            waiting = []
            do {
                try await store.write(ops)
                if let at { onStored(at) }
            } catch {
                stop(error)
            }
        }
        writing = nil
    }
}
