private let syncLimit = 1_000
private let retrySyncMs: Int64 = 2_000

/// Follows the user's stream: pushes in order, and pages from the server where one is missing and after each reconnect.
@RialtoActor
final class Sync {
    private let tasks: Tasks
    private let data: LocalData
    private let events: Events
    private let history: History
    private let conversations: Conversations
    private let waiting: Waiting
    private let api: ChatAPI
    private let timing: Timing
    private let onChange: @RialtoActor () -> Void

    /// Whether a sync is running, or one that failed is to be repeated.
    private(set) var catchingUp = false

    /// The newest pushed event that arrived during a sync and was left to it.
    private var missed: ChatV1.Position?

    /// A sync was requested during another one, whose page may be older than the request.
    private var again = false

    init(tasks: Tasks, data: LocalData, events: Events, history: History, conversations: Conversations, waiting: Waiting, api: ChatAPI, timing: Timing, onChange: @escaping @RialtoActor () -> Void) {
        self.tasks = tasks
        self.data = data
        self.events = events
        self.history = history
        self.conversations = conversations
        self.waiting = waiting
        self.api = api
        self.timing = timing
        self.onChange = onChange
    }

    /// Catches up after a reconnect, when the newest event of the stream is at `tail`.
    func reconnected(_ tail: ChatV1.Position) {
        // The stream does not have all messages of large groups.
        if data.position != tail || data.conversations.values.contains(where: \.large) {
            sync(tail.epoch > 0 ? tail : nil)
        } else {
            waiting.synced()
        }
    }

    /// Takes pushed events. One that does not follow what is here is left to a sync.
    func pushed(_ pushed: [ChatV1.Event]) {
        var ops: [Op] = []
        for e in pushed {
            let at = ChatV1.Position(epoch: e.epoch, seq: e.seq)
            if e.seq == 0 { // a message of a large group: its place is that in the conversation
                if case .message(let m) = e.body { events.apply(m, &ops, live: true) }
            } else if catchingUp {
                miss(at)
            } else {
                switch orderOf(data.position, at, prev: e.prev) {
                case .old: break
                case .gap:
                    miss(at)
                    sync()
                case .next:
                    events.apply(e, &ops, live: true)
                    data.position = at
                }
            }
        }
        data.keep(ops)
    }

    private func miss(_ at: ChatV1.Position) {
        if missed.map(at.isAfter) ?? true { missed = at }
    }

    /// Catches up with the server. A call during a sync shares it, and it then reads one page more: its page may be older than the event that
    /// caused the call. A new device reads the lists first, and goes on from `tail`.
    func sync(_ tail: ChatV1.Position? = nil) {
        again = true
        if catchingUp { return }
        catchingUp = true
        tasks.launch { [self] in
            defer {
                catchingUp = false
                onChange()
            }
            while true {
                do {
                    return try await pages(tail)
                } catch let error as RialtoError {
                    // Also where the server could not be reached: the connection may live on while calls fail, and nothing else would ask.
                    if error.code == "unauthenticated" { return }
                    try await timing.sleep(max(retrySyncMs, error.retryMs))
                }
            }
        }
    }

    private func pages(_ tail: ChatV1.Position?) async throws {
        // What comes after the lists is news also to a new device; a stream read from its start is not.
        let live = data.position != nil || tail != nil
        if data.position == nil, let tail { try await rebuild(tail, drop: false) }
        while true {
            again = false
            if try await page(live) { continue }
            let left = missed
            missed = nil
            if again { continue }
            if let left, data.position.map(left.isAfter) ?? true { continue }
            return waiting.synced()
        }
    }

    /// Reads and applies a page. True: there are more.
    private func page(_ live: Bool) async throws -> Bool {
        let page = try await api.call(ChatV1.ChatService.sync, ChatV1.SyncRequest(after: data.position ?? ChatV1.Position(), limit: syncLimit))
        let next = page.next ?? ChatV1.Position()
        if page.reset {
            try await rebuild(next, drop: true)
            return page.more
        }
        var ops: [Op] = []
        for e in page.events { events.apply(e, &ops, live: live) }
        data.position = next
        data.keep(ops)
        if !page.more {
            for l in page.large { try await reached(l) }
        }
        return page.more
    }

    /// The stream is not whole from where we are: read the lists, and go on from `next`.
    private func rebuild(_ next: ChatV1.Position, drop: Bool) async throws {
        let asked = conversations.confirmations
        let answers = try await api.conversations()
        let relations = try await api.relations()
        let isSame = drop ? try await waiting.compare() : nil
        if let isSame { try await waiting.giveUp(isSame) }
        var ops: [Op] = []
        if drop {
            ops.append(.clear(.messages))
            history.reset()
        }
        let known = data.conversations
        let merged = answers.map { c in
            var was = known[c.id]
            if let isSame { was = was.map { unconfirmedPart($0, isSame) } }
            return conversations.merge(c, over: was, asked: asked)
        }
        data.dropAll(&ops)
        for r in relations { data.put(r, &ops) }
        for c in merged { data.put(c, &ops) }
        data.position = next
        data.keep(ops)
        history.fillOpened()
    }

    /// How far a large group has come, by the last page of a sync.
    private func reached(_ l: ChatV1.LargeTail) async throws {
        if l.lastSeq > data.view(l.conversation).lastSeq { try await conversations.refetch(l.conversation) }
        history.grown(l.conversation)
    }

    /// A hint: a large group has more messages than are pushed. One that is shown is read, others are brought up to date some time later.
    func grown(_ l: ChatV1.LargeTail) {
        guard let c = data.conversations[l.conversation], l.lastSeq > c.lastSeq else { return }
        if history.isOpen(l.conversation) { conversations.want(l.conversation) } else { conversations.wantSometime(l.conversation) }
    }
}
