/// Applies the stream's events to the device's data. What decides which event is the next one is `Sync`.
@RialtoActor
final class Events {
    private let me: String
    private let data: LocalData
    private let history: History
    private let conversations: Conversations
    private let marks: Marks
    /// A message of somebody else came, once, in order.
    private let onMessage: @RialtoActor (Message) -> Void
    /// The stream brought a message of this user.
    private let onOwn: @RialtoActor (Message) -> Void

    init(me: String, data: LocalData, history: History, conversations: Conversations, marks: Marks, onMessage: @escaping @RialtoActor (Message) -> Void, onOwn: @escaping @RialtoActor (Message) -> Void) {
        self.me = me
        self.data = data
        self.history = history
        self.conversations = conversations
        self.marks = marks
        self.onMessage = onMessage
        self.onOwn = onOwn
    }

    /// `live`: it is news, and not the past that a new device reads.
    func apply(_ e: ChatV1.Event, _ ops: inout [Op], live: Bool) {
        switch e.body {
        case .message(let m): apply(m, &ops, live: live)
        case .conversation(let s): state(s, &ops)
        case .mark(let m): mark(m, &ops)
        case .relation(let r): data.put(r, &ops)
        case .follow(let f): follow(f, &ops)
        case .deletion(let d): conversations.deleted(d, &ops)
        default: break // what this client does not use only moves the position
        }
    }

    private func state(_ s: ChatV1.ConversationState, _ ops: inout [Op]) {
        let known = data.conversations[s.conversation] != nil
        data.put(merged(data.view(s.conversation), s), &ops)
        if !known { conversations.want(s.conversation) } // it was imported: no message of it was pushed
    }

    private func mark(_ m: ChatV1.MemberMark, _ ops: inout [Op]) {
        var c = data.view(m.conversation)
        c.peerDeliveredSeq = max(c.peerDeliveredSeq, m.deliveredSeq)
        c.peerReadSeq = max(c.peerReadSeq, m.readSeq)
        data.put(c, &ops)
    }

    private func follow(_ f: ChatV1.FollowChange, _ ops: inout [Op]) {
        if !f.follows { return conversations.drop(f.conversation, &ops) }
        if data.conversations[f.conversation] == nil { data.put(data.view(f.conversation), &ops) } // if it cannot be read now, the next connection reads it
        conversations.want(f.conversation)
    }

    func apply(_ m: Message, _ ops: inout [Op], live: Bool) {
        let was = data.view(m.conversation)
        if m.seq < was.joinSeq || conversations.isDeleted(m.conversation, m.seq) { // it was cleared, or has expired
            if m.sender == me { onOwn(m) }
            return
        }
        let content = m.content ?? .empty
        let fresh = m.seq > was.streamSeq
        var c = was.with(m, me: me)
        if c.leaveSeq != 0 && was.leaveSeq == 0 { conversations.dropThreads(c.id, &ops) }
        c.streamSeq = max(c.streamSeq, m.seq)
        data.put(c, &ops)
        data.put(m, &ops)
        history.add(m, fillsHoles: m.seq > was.lastSeq + 1)
        if content.isUpdate { update(m, content, fresh: fresh, &ops) }
        if m.sender == me {
            onOwn(m)
        } else if !content.isControl {
            if !c.large { marks.delivered(m.conversation, m.seq) }
            if live && fresh && !content.isUpdate && m.recallSeq == 0 { onMessage(m) }
        }
        // Events alone do not tell all of a conversation. Who joined one asks for it, and who reads a control entry, too.
        if c.kind == .unspecified || (content.isControl && m.seq > was.stateSeq) { conversations.want(m.conversation) }
    }

    /// Applies an update to its target. If that is not loaded, the device forgets its copy: the server has the present one.
    private func update(_ m: Message, _ content: Content, fresh: Bool, _ ops: inout [Op]) {
        let seq = content.target
        let c = data.view(m.conversation)
        var next = c.withMentions(of: content, from: m.sender, me, seq)
        if let last = c.lastMessage, last.seq == seq { next.lastMessage = last.updated(by: m, me: me) }
        if fresh && content.kind == "recall" && seq > c.readSeq && !conversations.isDeleted(c.id, seq) { next.recalled += 1 }
        if next != c { data.put(next, &ops) }
        if history.change(m.conversation, seq, &ops, { $0.updated(by: m, me: me) }) { return }
        let key = messageKey(m.conversation, seq)
        for case .put(.messages, key: key, value: let value) in ops.reversed() { // it came in the same page
            if let stored = try? JSON.decode(Message.self, value) { return data.put(stored.updated(by: m, me: me), &ops) }
        }
        ops.append(.delete(.messages, key: key))
    }

    /// The replies of the thread under a message changed.
    func threadChanged(_ u: GatewayV1.ThreadUpdate) {
        var ops: [Op] = []
        _ = history.change(u.conversation, u.seq, &ops) { m in
            var next = m
            next.thread = u.thread ?? m.thread
            return next
        }
        data.keep(ops)
    }

    /// A message of this device is stored: shown in its place at once.
    func sent(_ item: OutgoingMessage, _ at: StoredAs, device: String) {
        if item.content.kind == "forward" || item.content.repliesToOwn { return } // the server adds what it shows, or answers: the stream brings it
        var ops: [Op] = []
        let m = Message(conversation: item.conversation, seq: at.seq, id: at.id, sender: me, device: device, clientSeq: item.clientSeq, timeMs: at.timeMs, counted: at.counted, content: item.content)
        data.put(data.view(m.conversation).with(m, me: me), &ops)
        data.put(m, &ops)
        history.add(m, fillsHoles: true)
        if item.content.isUpdate { update(m, item.content, fresh: false, &ops) }
        data.keep(ops)
    }
}

extension Conversation {
    /// An edit has mentions of its own, and a recalled message has none.
    fileprivate func withMentions(of update: Content, from sender: String, _ me: String, _ seq: Int64) -> Conversation {
        if update.kind == "recall" { return withMention(seq, false) }
        let edits = update.kind == "edit" && update.value?.object("content") != nil && sender != me
        return edits ? withMention(seq, update.mentions(me)) : self
    }
}
