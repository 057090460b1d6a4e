/// A stored message, as every member sees it. Like all that the client shows, it is replaced and never changed in place.
public typealias Message = ChatV1.Message

/// What the user and another one are to each other.
public typealias Relation = ChatV1.Relation

public typealias Presence = PresenceV1.Presence

public typealias User = AccountV1.User

public typealias PushProvider = PushV1.PushProvider

extension ChatV1.Message {
    /// The text of a text message, the caption of a file or an album, and otherwise empty.
    public var text: String { content?.text ?? "" }

    /// Whether it says something to a person. Other entries change an earlier message, or only steer who may write, or how messages travel.
    public var isShown: Bool {
        if recallSeq != 0 { return true }
        guard let content, !content.isUpdate, !content.isSignal else { return false }
        if !content.isControl { return content.kind != nil }
        return !["", "ACTION_ACCESS", "ACTION_LARGE", "ACTION_SMALL"].contains(content.value?.string("action") ?? "")
    }
}

/// A message on its way: kept on the device until the server has it.
public struct OutgoingMessage: Hashable, Sendable, Codable {
    public let conversation: String
    /// The device's own number of it.
    public internal(set) var clientSeq: Int64
    public internal(set) var content: Content
    /// Milliseconds since 1970, by this device's clock.
    public let createdMs: Int64
    /// Set when the server refused it for good.
    public internal(set) var failed: Refusal?

    public var text: String { content.text }

    /// The seq of the message that this one changes or answers; 0: it names none by a seq.
    var names: Int64 { content.target > 0 ? content.target : content.repliesTo }
}

/// Why the server refused a message, see `RialtoError`.
public struct Refusal: Hashable, Sendable, Codable {
    public let code: String
    public let reason: String
    public let message: String
}

/// What the user set for a conversation; `nil` leaves a setting as it is.
public struct ConversationSettings: Hashable, Sendable, Codable {
    public var pinned: Bool?
    public var muted: Bool?
    public var archived: Bool?
    /// At most 100,000 characters; empty clears it.
    public var draft: String?
    public var markedUnread: Bool?

    public init(pinned: Bool? = nil, muted: Bool? = nil, archived: Bool? = nil, draft: String? = nil, markedUnread: Bool? = nil) {
        self.pinned = pinned
        self.muted = muted
        self.archived = archived
        self.draft = draft
        self.markedUnread = markedUnread
    }

    /// These, and where they leave something as it is, the others.
    func over(_ old: ConversationSettings?) -> ConversationSettings {
        ConversationSettings(
            pinned: pinned ?? old?.pinned, muted: muted ?? old?.muted, archived: archived ?? old?.archived,
            draft: draft ?? old?.draft, markedUnread: markedUnread ?? old?.markedUnread)
    }

    /// What was set since these were told; `nil`: nothing.
    func without(_ told: ConversationSettings) -> ConversationSettings? {
        let rest = ConversationSettings(
            pinned: pinned == told.pinned ? nil : pinned, muted: muted == told.muted ? nil : muted, archived: archived == told.archived ? nil : archived,
            draft: draft == told.draft ? nil : draft, markedUnread: markedUnread == told.markedUnread ? nil : markedUnread)
        return rest == ConversationSettings() ? nil : rest
    }
}

/// Pinned first, then the last active first: the order of the server's list.
func byActivity(_ a: Conversation, _ b: Conversation) -> Bool {
    if a.pinned != b.pinned { return a.pinned }
    let (atA, atB) = (a.lastMessage?.timeMs ?? 0, b.lastMessage?.timeMs ?? 0)
    if atA != atB { return atA > atB }
    return a.id.count != b.id.count ? a.id.count > b.id.count : a.id > b.id
}

/// The badge: unread of all conversations, and followed threads, that are neither muted nor archived, and that the user has not left.
func badgeOf(_ all: [String: Conversation]) -> Int64 {
    all.values.reduce(0) { sum, c in
        let follows = c.role != .unspecified && all[c.parent]?.leaveSeq == 0
        return c.muted || c.archived || c.leaveSeq != 0 || (c.isThread && !follows) ? sum : sum + c.unread
    }
}
