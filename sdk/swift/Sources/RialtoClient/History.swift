private let pageMessages = 50
private let mostInPage = 200

/// A hole of at most so many messages below the loaded end is filled. Above a larger one, the end is loaded anew.
private let largestHole: Int64 = 400

/// Loads and holds the messages of conversations: each that is open is a window that reaches the end.
@RialtoActor
final class History {
    private let tasks: Tasks
    private let data: LocalData
    private let store: any Store
    private let api: ChatAPI
    private let options: ClientOptions
    private let onChange: @RialtoActor () -> Void
    private var logs: [String: MessageLog] = [:]
    private var opened: Set<String> = []
    private var filling: [String: Task<Void, any Error>] = [:]

    /// Rises with each reset: an answer that was asked for before it is not taken.
    private var generation = 0

    init(tasks: Tasks, data: LocalData, store: any Store, api: ChatAPI, options: ClientOptions, onChange: @escaping @RialtoActor () -> Void) {
        self.tasks = tasks
        self.data = data
        self.store = store
        self.api = api
        self.options = options
        self.onChange = onChange
    }

    func isOpen(_ conversation: String) -> Bool { opened.contains(conversation) }

    /// The loaded messages of a conversation; none where it was not opened.
    func loaded(_ conversation: String) -> [Message] { logs[conversation]?.messages ?? [] }

    /// Loads the end of a conversation, first from the device, and keeps it whole from then on.
    func open(_ conversation: String) async throws {
        if opened.insert(conversation).inserted {
            let of = generation
            await data.written()
            let stored = try await stored(conversation, until: "\(conversation)0")
            if of == generation { show(conversation, unexpired(conversation, stored)) } // after a reset, others may have their seqs
        }
        _ = await fill(conversation).result
    }

    /// Begins a window with what the device has, the newest first. What lies below a hole comes from the server.
    private func show(_ conversation: String, _ stored: [Message]) {
        var next: Int64 = 0
        for m in stored {
            if next != 0 && m.seq != next { break }
            logs[conversation, default: MessageLog()].extend(m.seq)
            logs[conversation, default: MessageLog()].add(m)
            next = m.seq - 1
        }
        onChange()
    }

    private func stored(_ conversation: String, until: String) async throws -> [Message] {
        try await store.list(.messages, from: "\(conversation)/", until: until, reverse: true, limit: pageMessages).map { try JSON.decode(Message.self, $0) }
    }

    /// Of stored messages, the newest first, those that have not expired. What has goes from the device, with all before it.
    private func unexpired(_ conversation: String, _ stored: [Message]) -> [Message] {
        let c = data.view(conversation)
        let cut = c.keptSeconds == 0 ? Int64.min : options.timing.now() - Int64(c.keptSeconds) * 1_000
        guard let old = stored.firstIndex(where: { $0.timeMs < cut || $0.seq < c.joinSeq }) else { return stored }
        data.keep([.deleteRange(.messages, from: "\(conversation)/", until: messageKey(conversation, stored[old].seq + 1))])
        return Array(stored[..<old])
    }

    /// Adds a new message to a window. `fillsHoles` fetches what is missing before it.
    func add(_ m: Message, fillsHoles: Bool) {
        if !opened.contains(m.conversation) { return }
        logs[m.conversation, default: MessageLog()].add(m)
        if fillsHoles { fill(m.conversation) }
    }

    /// Changes a loaded message; false where it is not loaded.
    func change(_ conversation: String, _ seq: Int64, _ ops: inout [Op], _ by: (Message) -> Message) -> Bool {
        guard let was = logs[conversation]?[seq] else { return false }
        let changed = by(was)
        logs[conversation]?.replace(changed)
        data.put(changed, &ops)
        return true
    }

    /// The conversation has grown, by messages that are not here.
    func grown(_ conversation: String) {
        if opened.contains(conversation) { fill(conversation) }
    }

    /// The conversations were read anew: what is loaded may have holes, and goes.
    func reset() {
        generation += 1
        logs = [:]
    }

    /// Drops what is loaded of one conversation.
    func forget(_ conversation: String) {
        logs[conversation] = nil
        opened.remove(conversation)
    }

    func fillOpened() {
        for conversation in opened { fill(conversation) }
    }

    /// Fetches what is missing between the loaded end and the conversation's. Several requests share one fetch.
    @discardableResult
    private func fill(_ conversation: String) -> Task<Void, any Error> {
        if let task = filling[conversation] { return task }
        let task = tasks.launch { [self] in
            defer { filling[conversation] = nil }
            do {
                var of: Int
                repeat {
                    of = generation
                    try await fillNow(conversation, of)
                } while of != generation
            } catch let error as RialtoError {
                if !error.isOffline { options.onProblem("the history could not be read", error) } // offline: the next connection asks again
            }
        }
        filling[conversation] = task
        return task
    }

    private func fillNow(_ conversation: String, _ of: Int) async throws {
        // A message may come while the end is read, whose answer may then be older.
        var asked: Int64 = -1
        while true {
            let lastSeq = data.view(conversation).lastSeq
            let last = logs[conversation]?.last ?? 0
            if asked >= lastSeq || (last > 0 && lastSeq - last <= largestHole) { break }
            asked = lastSeq
            logs[conversation] = MessageLog()
            let page = try await api.call(ChatV1.ChatService.history, ChatV1.HistoryRequest(conversation: conversation, limit: pageMessages))
            if of != generation { return }
            take(conversation, page.messages)
            if page.messages.isEmpty { logs[conversation, default: MessageLog()].extend(lastSeq + 1) } // nothing is there yet: the log is whole from the next message on
        }
        while let hole = logs[conversation]?.hole(data.view(conversation).lastSeq) {
            let request = ChatV1.HistoryRequest(conversation: conversation, after: hole.lowerBound - 1, limit: mostInPage)
            let page = try await api.call(ChatV1.ChatService.history, request)
            if of != generation { return }
            take(conversation, page.messages)
            let reached = max(page.messages.last?.seq ?? 0, page.unreadable.last ?? 0)
            logs[conversation]?.void(hole.lowerBound, page.more && reached > 0 ? min(hole.upperBound, reached) : hole.upperBound)
        }
    }

    /// Loads older messages, from the device where it has them; false when there are none.
    func older(_ conversation: String) async throws -> Bool {
        let from = logs[conversation]?.from ?? 0
        let first = max(1, data.view(conversation).joinSeq)
        if from == 0 || from <= first { return false }
        let of = generation
        let kept = try await keptBefore(conversation, from)
        if of != generation { return true }
        if !kept.isEmpty {
            take(conversation, kept)
            return logs[conversation]?.from ?? 0 > first
        }
        let page = try await api.call(ChatV1.ChatService.history, ChatV1.HistoryRequest(conversation: conversation, before: from, limit: pageMessages))
        if of != generation { return true }
        take(conversation, page.messages)
        return page.more
    }

    /// What the device has right before a seq, without a hole, in rising order.
    private func keptBefore(_ conversation: String, _ seq: Int64) async throws -> [Message] {
        await data.written()
        let kept = unexpired(conversation, try await stored(conversation, until: messageKey(conversation, seq)))
        let whole = kept.enumerated().prefix { $0.element.seq == seq - 1 - Int64($0.offset) }
        return whole.map(\.element).reversed()
    }

    private func take(_ conversation: String, _ messages: [Message]) {
        var log = logs[conversation, default: MessageLog()]
        var ops: [Op] = []
        if let first = messages.first { log.extend(first.seq) }
        for m in messages {
            if !log.add(m) { log.replace(m) } // the answer has its present state
            data.put(m, &ops)
        }
        logs[conversation] = log
        data.keep(ops)
    }

    /// Forgets a message that the user deleted, and returns it if it was loaded.
    func remove(_ conversation: String, _ seq: Int64, _ ops: inout [Op]) -> Message? {
        let was = logs[conversation]?[seq]
        logs[conversation]?.remove(seq)
        ops.append(.delete(.messages, key: messageKey(conversation, seq)))
        return was
    }

    /// Forgets the messages below a seq, which one may not read any more.
    func dropBelow(_ conversation: String, _ seq: Int64, _ ops: inout [Op]) {
        logs[conversation]?.dropBelow(seq)
        ops.append(.deleteRange(.messages, from: "\(conversation)/", until: messageKey(conversation, seq)))
    }
}
