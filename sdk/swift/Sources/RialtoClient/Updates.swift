/// Updates are entries that change an earlier message, their target. They may be applied in any order, and again: of edits and pins the highest
/// seq wins, of reactions the highest version, and nothing undoes a recall.

func updateOf(_ kind: String, _ target: Int64, _ fields: JSONObject = [:]) -> Content {
    Content([kind: .object(fields.merging(["target": ["seq": .string(String(target))]]) { _, last in last })])
}

extension ChatV1.Message {
    /// A message after an update of it, stored at a seq by a sender.
    func updated(by update: Message, me: String) -> Message {
        guard recallSeq == 0, let content = update.content, let value = content.value else { return self }
        var next = self
        switch content.kind {
        case "edit": next.edit(value, by: update)
        case "recall":
            next.content = nil
            next.recallSeq = update.seq
            next.recalledBy = update.sender
            next.reactions = nil
            next.pinned = false
        case "pin":
            if update.seq > pinSeq {
                next.pinned = !value.bool("remove")
                next.pinSeq = update.seq
            }
        case "thread":
            if thread == nil { next.thread = ChatV1.Thread(conversation: value.string("conversation")) }
        case "reaction": next.react(value, own: update.sender == me)
        default: break
        }
        return next
    }

    private mutating func edit(_ edit: JSONObject, by update: Message) {
        guard let fields = edit.object("content"), update.seq > editSeq else { return } // without a content, it was replaced by a later one
        let reply = content?.fields["replyTo"]
        content = Content(fields)
        if let reply, fields["replyTo"] == nil { content = content?.with("replyTo", reply) } // one that is on its way leaves out what stays
        editSeq = update.seq
        editedMs = edit.bool("ends") ? 0 : update.timeMs
    }

    private mutating func react(_ value: JSONObject, own: Bool) {
        var next = reactions ?? ChatV1.Reactions()
        let emoji = value.string("emoji")
        let remove = value.bool("remove")
        let had = next.mine.contains(emoji)
        if own { next.mine = next.mine.filter { $0 != emoji } + (remove ? [] : [emoji]) }
        let stored = value["reactions"].flatMap { try? JSON.decode(ChatV1.Reactions.self, JSON.encode($0)) }
        if let stored {
            if stored.version > next.version {
                next.version = stored.version
                next.counts = stored.counts
            }
        } else if own && had == remove { // one's own, before the server has said what it makes of it
            next.count(emoji, by: remove ? -1 : 1)
        }
        reactions = next
    }
}

extension ChatV1.Reactions {
    fileprivate mutating func count(_ emoji: String, by change: Int) {
        if let at = counts.firstIndex(where: { $0.emoji == emoji }) {
            counts[at].count += change
            counts.removeAll { $0.count <= 0 }
        } else if change > 0 {
            counts.append(ChatV1.ReactionCount(emoji: emoji, count: change))
        }
    }
}

extension [Message] {
    /// Messages as they will be once the updates on their way are stored.
    func withPending(_ outgoing: [OutgoingMessage], me: String) -> [Message] {
        let updates = Dictionary(grouping: outgoing.filter { $0.failed == nil && $0.content.target > 0 }) { $0.content.target }
        if updates.isEmpty { return self }
        return map { m in
            (updates[m.seq] ?? []).reduce(m) { at, o in
                at.updated(by: Message(conversation: o.conversation, seq: .max, sender: me, timeMs: o.createdMs, content: o.content), me: me)
            }
        }
    }
}
