/// A conversation, with the user's own part of it: read cursor and settings. It is stored as messages of the contract are: a field that a later
/// version adds is empty where this one has written.
public struct Conversation: ProtoMessage {
    public let id: String
    /// Unspecified while only the id of the conversation is known.
    public internal(set) var kind: ChatV1.ConversationKind = .unspecified
    /// Of a group; empty in a one-to-one conversation, whose other user is `peer`.
    public internal(set) var title: String = ""
    public internal(set) var announcement: String = ""
    public internal(set) var avatar: String = "0"
    public internal(set) var memberCount: Int = 0
    public internal(set) var peer: String = "0"
    public internal(set) var role: ChatV1.Role = .unspecified
    /// The seq of the newest entry.
    public internal(set) var lastSeq: Int64 = 0
    /// The running number of messages that count as unread, at the end.
    public internal(set) var lastCounted: Int64 = 0
    /// The seq from which on the user may read.
    public internal(set) var joinSeq: Int64 = 0
    /// The last seq that a former member may read; 0 for members.
    public internal(set) var leaveSeq: Int64 = 0
    public internal(set) var lastMessage: Message? = nil
    public internal(set) var large: Bool = false
    public internal(set) var channel: Bool = false
    public internal(set) var handle: String = ""
    public internal(set) var mutedAll: Bool = false
    /// Until this time the user alone may not write here.
    public internal(set) var mutedUntilMs: Int64 = 0
    public internal(set) var dissolved: Bool = false
    /// For so many seconds the server keeps messages; 0: for ever.
    public internal(set) var keptSeconds: Int = 0
    public internal(set) var pinned: Bool = false
    public internal(set) var muted: Bool = false
    public internal(set) var archived: Bool = false
    public internal(set) var draft: String = ""
    public internal(set) var markedUnread: Bool = false
    /// The read cursor.
    public internal(set) var readSeq: Int64 = 0
    /// Seqs of the unread messages that mention the user, the lowest first, at most 100.
    public internal(set) var mentions: [Int64] = []
    public internal(set) var peerDeliveredSeq: Int64 = 0
    /// Up to where the other user of a one-to-one conversation has read.
    public internal(set) var peerReadSeq: Int64 = 0
    /// Of a thread, the conversation that it belongs to; "0" for other kinds.
    public internal(set) var parent: String = "0"
    public internal(set) var rootSeq: Int64 = 0
    var readCounted: Int64 = 0
    /// How many messages after the read cursor were recalled, as far as is known.
    var recalled: Int64 = 0
    /// The highest seq that the stream brought: what it brings again is not new.
    var streamSeq: Int64 = 0
    /// Control entries to here are in the fields above already.
    var stateSeq: Int64 = 0
    /// The read cursor was moved here, and the server has not said that it knows.
    var readPending: Bool = false
    /// What the user set here, and the server has not confirmed.
    var pending: ConversationSettings? = nil
    /// The user deleted it on another device: it is not listed until a message comes.
    var deleted: Bool = false

    init(id: String) { self.id = id }

    public init(from decoder: any Decoder) throws {
        let fields = try ProtoReader(decoder)
        id = try fields.value("id", IDCoder.self)
        kind = try fields.value("kind", EnumCoder<ChatV1.ConversationKind>.self)
        title = try fields.value("title", TextCoder.self)
        announcement = try fields.value("announcement", TextCoder.self)
        avatar = try fields.value("avatar", IDCoder.self)
        memberCount = try fields.value("memberCount", IntCoder.self)
        peer = try fields.value("peer", IDCoder.self)
        role = try fields.value("role", EnumCoder<ChatV1.Role>.self)
        lastSeq = try fields.value("lastSeq", Int64Coder.self)
        lastCounted = try fields.value("lastCounted", Int64Coder.self)
        joinSeq = try fields.value("joinSeq", Int64Coder.self)
        leaveSeq = try fields.value("leaveSeq", Int64Coder.self)
        lastMessage = try fields.optional("lastMessage", MessageCoder<Message>.self)
        large = try fields.value("large", BoolCoder.self)
        channel = try fields.value("channel", BoolCoder.self)
        handle = try fields.value("handle", TextCoder.self)
        mutedAll = try fields.value("mutedAll", BoolCoder.self)
        mutedUntilMs = try fields.value("mutedUntilMs", Int64Coder.self)
        dissolved = try fields.value("dissolved", BoolCoder.self)
        keptSeconds = try fields.value("keptSeconds", IntCoder.self)
        pinned = try fields.value("pinned", BoolCoder.self)
        muted = try fields.value("muted", BoolCoder.self)
        archived = try fields.value("archived", BoolCoder.self)
        draft = try fields.value("draft", TextCoder.self)
        markedUnread = try fields.value("markedUnread", BoolCoder.self)
        readSeq = try fields.value("readSeq", Int64Coder.self)
        mentions = try fields.list("mentions", Int64Coder.self)
        peerDeliveredSeq = try fields.value("peerDeliveredSeq", Int64Coder.self)
        peerReadSeq = try fields.value("peerReadSeq", Int64Coder.self)
        parent = try fields.value("parent", IDCoder.self)
        rootSeq = try fields.value("rootSeq", Int64Coder.self)
        readCounted = try fields.value("readCounted", Int64Coder.self)
        recalled = try fields.value("recalled", Int64Coder.self)
        streamSeq = try fields.value("streamSeq", Int64Coder.self)
        stateSeq = try fields.value("stateSeq", Int64Coder.self)
        readPending = try fields.value("readPending", BoolCoder.self)
        pending = try fields.optional("pending", MessageCoder<ConversationSettings>.self)
        deleted = try fields.value("deleted", BoolCoder.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = ProtoWriter(encoder)
        try fields.value("id", id, IDCoder.self)
        try fields.value("kind", kind, EnumCoder<ChatV1.ConversationKind>.self)
        try fields.value("title", title, TextCoder.self)
        try fields.value("announcement", announcement, TextCoder.self)
        try fields.value("avatar", avatar, IDCoder.self)
        try fields.value("memberCount", memberCount, IntCoder.self)
        try fields.value("peer", peer, IDCoder.self)
        try fields.value("role", role, EnumCoder<ChatV1.Role>.self)
        try fields.value("lastSeq", lastSeq, Int64Coder.self)
        try fields.value("lastCounted", lastCounted, Int64Coder.self)
        try fields.value("joinSeq", joinSeq, Int64Coder.self)
        try fields.value("leaveSeq", leaveSeq, Int64Coder.self)
        try fields.optional("lastMessage", lastMessage, MessageCoder<Message>.self)
        try fields.value("large", large, BoolCoder.self)
        try fields.value("channel", channel, BoolCoder.self)
        try fields.value("handle", handle, TextCoder.self)
        try fields.value("mutedAll", mutedAll, BoolCoder.self)
        try fields.value("mutedUntilMs", mutedUntilMs, Int64Coder.self)
        try fields.value("dissolved", dissolved, BoolCoder.self)
        try fields.value("keptSeconds", keptSeconds, IntCoder.self)
        try fields.value("pinned", pinned, BoolCoder.self)
        try fields.value("muted", muted, BoolCoder.self)
        try fields.value("archived", archived, BoolCoder.self)
        try fields.value("draft", draft, TextCoder.self)
        try fields.value("markedUnread", markedUnread, BoolCoder.self)
        try fields.value("readSeq", readSeq, Int64Coder.self)
        try fields.list("mentions", mentions, Int64Coder.self)
        try fields.value("peerDeliveredSeq", peerDeliveredSeq, Int64Coder.self)
        try fields.value("peerReadSeq", peerReadSeq, Int64Coder.self)
        try fields.value("parent", parent, IDCoder.self)
        try fields.value("rootSeq", rootSeq, Int64Coder.self)
        try fields.value("readCounted", readCounted, Int64Coder.self)
        try fields.value("recalled", recalled, Int64Coder.self)
        try fields.value("streamSeq", streamSeq, Int64Coder.self)
        try fields.value("stateSeq", stateSeq, Int64Coder.self)
        try fields.value("readPending", readPending, BoolCoder.self)
        try fields.optional("pending", pending, MessageCoder<ConversationSettings>.self)
        try fields.value("deleted", deleted, BoolCoder.self)
    }

    /// The unread messages. It is a subtraction: what counts up to the end, less what counted up to the read cursor, and what was recalled. So
    /// a lost or repeated event cannot make it wrong for long.
    public var unread: Int64 { max(0, lastCounted - readCounted - recalled) }

    var isThread: Bool { kind == .thread }
}
