/// What becomes of a conversation by what the server says of it. Each function returns a new view.

private let mostMentions = 100

/// Takes the server's view over ours. Cursors never go back, and what the user set here and is not confirmed stays.
func merged(_ old: Conversation?, _ c: ChatV1.Conversation) -> Conversation {
    let was = old ?? Conversation(id: c.id)
    var next = was
    next.kind = c.kind
    next.title = c.title
    next.announcement = c.announcement
    next.avatar = c.avatar
    next.memberCount = c.memberCount
    next.peer = c.peer
    next.role = c.role
    next.joinSeq = c.joinSeq
    next.leaveSeq = c.leaveSeq
    next.large = c.large
    next.channel = c.channel
    next.handle = c.handle
    next.mutedAll = c.mutedAll
    next.mutedUntilMs = c.mutedUntilMs
    next.dissolved = c.dissolved
    next.keptSeconds = c.keptSeconds
    next.peerDeliveredSeq = max(was.peerDeliveredSeq, c.peerDeliveredSeq)
    next.peerReadSeq = max(was.peerReadSeq, c.peerReadSeq)
    next.stateSeq = max(was.stateSeq, c.lastSeq)
    next.parent = c.parent
    next.rootSeq = c.rootSeq
    if c.lastSeq >= was.lastSeq { next = withEnd(next, c) }
    return c.state.map { merged(next, $0) } ?? next
}

/// The answer is not older than what is here: its end and its counts are taken.
private func withEnd(_ was: Conversation, _ c: ChatV1.Conversation) -> Conversation {
    let readCounted = c.state?.readCounted ?? 0
    let lastCounted = c.lastMessage?.counted ?? 0
    let last = c.lastMessage?.isShown == true ? c.lastMessage : was.lastMessage
    var next = was
    next.lastSeq = c.lastSeq
    next.lastCounted = max(was.lastCounted, readCounted + c.unread, lastCounted)
    next.recalled = max(0, lastCounted - readCounted - c.unread)
    next.mentions = c.mentions
    next.lastMessage = last.flatMap { $0.seq >= was.joinSeq ? $0 : nil } // one below has expired
    return next
}

func merged(_ c: Conversation, _ s: ChatV1.ConversationState) -> Conversation {
    let behind = s.readSeq < c.readSeq
    let readSeq = behind ? c.readSeq : s.readSeq
    var next = c
    next.pinned = c.pending?.pinned ?? s.pinned
    next.muted = c.pending?.muted ?? s.muted
    next.archived = c.pending?.archived ?? s.archived
    next.draft = c.pending?.draft ?? s.draft
    next.markedUnread = c.pending?.markedUnread ?? s.markedUnread
    next.readSeq = readSeq
    next.readCounted = behind ? c.readCounted : max(c.readCounted, s.readCounted)
    next.recalled = c.recalledAfter(readSeq)
    next.mentions = c.mentions.filter { $0 > readSeq }
    next.readPending = behind && c.readPending
    return next
}

/// What stays of a conversation after a reset: what the user set here and the server has not confirmed. The server may have lost what was read
/// here, as after a backup was restored, and give its numbers to other messages: counts come from the server alone, and a cursor of this
/// device stays only where the message is the same.
@RialtoActor
func unconfirmedPart(_ old: Conversation, _ isSame: IsSame) -> Conversation {
    var kept = Conversation(id: old.id)
    kept.pending = old.pending
    let readSeq = old.recognizable(old.readSeq)
    if old.readPending && isSame(old.id, readSeq) {
        kept.readSeq = readSeq
        kept.readCounted = old.readCounted
        kept.readPending = true
    }
    return kept
}

extension Conversation {
    /// With the settings of another view.
    func withSettings(of other: Conversation) -> Conversation {
        var next = self
        next.pinned = other.pinned
        next.muted = other.muted
        next.archived = other.archived
        next.draft = other.draft
        next.markedUnread = other.markedUnread
        return next
    }

    /// What is known of recalled messages after a read cursor that moves. Where it does not reach the end, some may be counted that it passed.
    func recalledAfter(_ readSeq: Int64) -> Int64 { readSeq >= lastSeq ? 0 : recalled }

    /// With a message among the unread mentions, or without it.
    func withMention(_ seq: Int64, _ mentioned: Bool) -> Conversation {
        if mentions.contains(seq) == (mentioned && seq > readSeq) { return self }
        var next = self
        next.mentions = mentioned ? Array((mentions + [seq]).sorted().prefix(mostMentions)) : mentions.filter { $0 != seq }
        return next
    }

    /// Takes over what the user deleted on another device: entries up to a seq, and perhaps the conversation's place on the list.
    func without(_ d: ChatV1.Deletion) -> Conversation {
        var next = self
        next.deleted = d.deleted && lastCounted <= d.throughCounted
        let from = d.throughSeq + 1
        if from <= joinSeq { return next }
        next.joinSeq = from
        next.lastMessage = lastMessage.flatMap { $0.seq >= from ? $0 : nil }
        if d.throughSeq <= readSeq { return next }
        next.readSeq = d.throughSeq
        next.readCounted = max(readCounted, d.throughCounted)
        next.recalled = recalledAfter(d.throughSeq)
        next.mentions = mentions.filter { $0 > d.throughSeq }
        return next
    }

    /// Takes a message away that the user deleted: it is not unread, and `last` is the newest that remains, where it was the last message.
    func withoutMessage(_ seq: Int64, mine: Bool, last: Message?) -> Conversation {
        var next = withMention(seq, false)
        if lastMessage?.seq == seq { next.lastMessage = last }
        if !mine && seq > readSeq { next.recalled += 1 }
        return next
    }

    /// Takes a message into the conversation: last message, counts, one's own cursor, and what a control entry changes.
    func with(_ m: Message, me: String) -> Conversation {
        let content = m.content ?? .empty
        var next = self
        if m.seq > lastSeq {
            next.lastSeq = m.seq
            next.lastCounted = max(lastCounted, m.counted)
            next.deleted = deleted && next.lastCounted == lastCounted
            if m.isShown && !(isThread && content.isControl) { next.lastMessage = m }
        }
        if !content.isControl && !content.isUpdate && !content.isSignal && m.sender == me && m.seq > next.readSeq {
            next.readSeq = m.seq
            next.readCounted = max(next.readCounted, m.counted)
            next.recalled = 0
            next.mentions = next.mentions.filter { $0 > m.seq }
        }
        if !content.isUpdate && m.sender != me { next = next.withMention(m.seq, content.mentions(me)) }
        if content.isControl && m.seq > stateSeq {
            next.apply(content.value ?? [:], seq: m.seq, me: me)
            next.stateSeq = m.seq
        }
        return next
    }

    private mutating func apply(_ control: JSONObject, seq: Int64, me: String) {
        let users = control.strings("users")
        let mine = users.contains(me)
        switch control.string("action") {
        case "ACTION_CREATED":
            if !control.string("text").isEmpty { title = control.string("text") }
            memberCount = max(memberCount, users.count)
        case "ACTION_JOINED":
            memberCount += users.count
            if mine && isThread {
                role = .member
            } else if mine {
                leaveSeq = 0
                joinSeq = seq
            }
        case "ACTION_LEFT", "ACTION_REMOVED":
            memberCount = max(0, memberCount - users.count)
            if mine {
                role = .unspecified
                if !isThread { leaveSeq = seq }
            }
        case "ACTION_RENAMED": title = control.string("text")
        case "ACTION_ANNOUNCED": announcement = control.string("text")
        case "ACTION_AVATAR": avatar = control.string("upload").isEmpty ? "0" : control.string("upload")
        case "ACTION_DISSOLVED": dissolved = true
        case "ACTION_LARGE": large = true
        case "ACTION_SMALL": large = false
        default: break // such as of roles: the conversation is read anew after each control entry
        }
    }
}
