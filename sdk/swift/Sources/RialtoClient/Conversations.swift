/// Events that name the same conversation within this time cause one call.
private let fetchAfterMs: Int64 = 20

/// Within this time, at random, what grows without being shown is fetched.
private let sometimeMs = 60_000.0

/// When what could not be told is told again.
private let retryMs: Int64 = 2_000

/// Fetches conversations, and changes the user's own part of them: read cursors and settings.
@RialtoActor
final class Conversations {
    private let tasks: Tasks
    private let me: String
    private let data: LocalData
    private let api: ChatAPI
    private let marks: Marks
    private let history: History
    private let options: ClientOptions
    private var fetching: Set<String> = []
    private var fetchingSometime: Set<String> = []
    private var deletedMessages: Set<String> = []
    private var retrying: Task<Void, any Error>?

    /// How often the server has confirmed settings, and which of these times was the last for a conversation.
    private(set) var confirmations = 0
    private var confirmed: [String: Int] = [:]

    init(tasks: Tasks, me: String, data: LocalData, api: ChatAPI, marks: Marks, history: History, options: ClientOptions) {
        self.tasks = tasks
        self.me = me
        self.data = data
        self.api = api
        self.marks = marks
        self.history = history
        self.options = options
    }

    /// Takes an answer that describes a conversation.
    func take(_ answer: ChatV1.Conversation) -> Conversation {
        var ops: [Op] = []
        data.put(merged(data.conversations[answer.id], answer), &ops)
        data.keep(ops)
        return data.view(answer.id)
    }

    /// Takes an answer over what is here. One that was asked for before settings were confirmed does not have them.
    func merge(_ answer: ChatV1.Conversation, over was: Conversation?, asked: Int) -> Conversation {
        let next = merged(was, answer)
        if confirmed[answer.id] ?? 0 <= asked { return next }
        return next.withSettings(of: data.view(answer.id))
    }

    func refetch(_ id: String) async throws {
        var ops: [Op] = []
        let asked = confirmations
        do {
            let answer = try await api.call(ChatV1.ChatService.getConversation, ChatV1.GetConversationRequest(conversation: id))
            data.put(merge(answer, over: data.conversations[id], asked: asked), &ops) // what is here may have changed meanwhile
        } catch let error as RialtoError {
            if error.isOffline { throw error }
            // The user may not read it any more, and nothing is known of it that could be shown.
            if data.view(id).kind == .unspecified && error.isRefusal { drop(id, &ops) }
        }
        data.keep(ops)
    }

    /// Fetches a conversation soon.
    func want(_ id: String) {
        if fetching.insert(id).inserted { fetch(id, inMs: fetchAfterMs) { self.fetching.remove(id) } }
    }

    /// Fetches those of which only the stream has told: the fetch failed, or the program ended before.
    func wantUnknown() {
        for c in data.conversations.values where c.kind == .unspecified { want(c.id) }
    }

    /// Fetches a conversation some time later: many devices are told at once that it has grown.
    func wantSometime(_ id: String) {
        if fetchingSometime.insert(id).inserted { fetch(id, inMs: Int64(options.timing.random() * sometimeMs)) { self.fetchingSometime.remove(id) } }
    }

    private func fetch(_ id: String, inMs ms: Int64, begun: @escaping @RialtoActor @Sendable () -> Void) {
        tasks.launch { [self] in
            try await options.timing.sleep(ms)
            begun()
            do {
                try await refetch(id)
            } catch is RialtoError {
                return // offline: the next sync's events ask again, or the list does
            }
            history.grown(id)
        }
    }

    /// Drops a conversation that the user no longer follows, and its messages.
    func drop(_ id: String, _ ops: inout [Op]) {
        data.drop(id, &ops)
        history.forget(id)
    }

    /// Drops the threads of a conversation that the user is not in any more.
    func dropThreads(_ parent: String, _ ops: inout [Op]) {
        for c in data.conversations.values where c.parent == parent { drop(c.id, &ops) }
    }

    /// Moves the read cursor. It never goes back.
    func read(_ conversation: String, _ seq: Int64) {
        var c = data.view(conversation)
        let to = min(seq, c.lastSeq)
        if to <= c.readSeq { return }
        let at = to == c.lastSeq ? c.lastCounted : history.loaded(conversation).first { $0.seq == to }?.counted ?? c.readCounted
        c.recalled = c.recalledAfter(to)
        c.readSeq = to
        c.readCounted = max(c.readCounted, at)
        c.mentions = c.mentions.filter { $0 > to }
        c.readPending = true
        c.markedUnread = false
        c.pending?.markedUnread = nil // reading clears it, on the server, too
        if c.pending == ConversationSettings() { c.pending = nil }
        var ops: [Op] = []
        data.put(c, &ops)
        marks.read(conversation, to)
        data.keep(ops)
    }

    /// What the user deleted on another device.
    func deleted(_ d: ChatV1.Deletion, _ ops: inout [Op]) {
        if !d.seqs.isEmpty { return messagesDeleted(d, &ops) }
        let c = data.view(d.conversation).without(d)
        data.put(c, &ops)
        history.dropBelow(d.conversation, c.joinSeq, &ops)
    }

    private func messagesDeleted(_ d: ChatV1.Deletion, _ ops: inout [Op]) {
        let before = data.view(d.conversation)
        var c = before
        for seq in d.seqs {
            if !deletedMessages.insert(messageKey(c.id, seq)).inserted { continue } // it is known: nothing is counted twice
            let was = history.remove(c.id, seq, &ops) ?? (c.lastMessage?.seq == seq ? c.lastMessage : nil)
            c = c.withoutMessage(seq, mine: was?.sender == me, last: history.loaded(c.id).last(where: \.isShown))
        }
        data.put(c, &ops)
        if c.lastMessage == nil && before.lastMessage != nil { want(c.id) } // what the list shows now is not loaded
    }

    /// After a reset: the keys may be those of other messages.
    func forgetDeleted() { deletedMessages = [] }

    /// Whether the user deleted a message, as far as this device can know without asking.
    func isDeleted(_ conversation: String, _ seq: Int64) -> Bool { deletedMessages.contains(messageKey(conversation, seq)) }

    /// Sets at once here, and tells the server as soon as that is possible.
    func configure(_ conversation: String, _ s: ConversationSettings) async throws {
        var c = data.view(conversation)
        c.pending = s.over(c.pending)
        c.pinned = s.pinned ?? c.pinned
        c.muted = s.muted ?? c.muted
        c.archived = s.archived ?? c.archived
        c.draft = s.draft ?? c.draft
        c.markedUnread = s.markedUnread ?? c.markedUnread
        var ops: [Op] = []
        data.put(c, &ops)
        data.keep(ops)
        try await tellSettings(conversation)
    }

    private func tellSettings(_ id: String) async throws {
        guard let told = data.view(id).pending else { return }
        var ops: [Op] = []
        let request = ChatV1.ConfigureRequest(conversation: id, pinned: told.pinned, muted: told.muted, archived: told.archived, draft: told.draft, markedUnread: told.markedUnread)
        do {
            let state = try await api.call(ChatV1.ChatService.configure, request)
            confirmations += 1
            confirmed[id] = confirmations
            var c = data.view(id)
            c.pending = c.pending?.without(told)
            data.put(merged(c, state), &ops)
            data.keep(ops)
        } catch let error as RialtoError {
            if error.isOffline { return retry() }
            var c = data.view(id)
            c.pending = nil
            data.put(c, &ops)
            data.keep(ops)
            throw error
        }
    }

    /// Tells again soon: the connection may live on while calls fail, and nothing else would.
    private func retry() {
        retrying?.cancel()
        retrying = tasks.launch { [self] in
            try await options.timing.sleep(retryMs)
            await flush()
        }
    }

    /// Tells what was set, or read, without a connection. Cursors wait in `Marks` until the stream is here up to its end.
    func flush() async {
        for c in data.conversations.values {
            do {
                try await tellSettings(c.id)
            } catch {
                options.onProblem("the server refused settings of a conversation", error)
            }
            if c.readPending { marks.read(c.id, c.readSeq) }
        }
    }
}
