import Foundation

/// The list of conversations, and the user's own part of each: read cursor and settings.
extension Client {
    /// Pinned first, then the last active first. Threads are not among them.
    public var conversations: AsyncStream<[Conversation]> {
        watch { client in
            client.session?.data.conversations.values.filter { $0.kind != .unspecified && !$0.deleted && !$0.isThread }.sorted(by: byActivity) ?? []
        }
    }

    /// A conversation; `nil` while it is not known.
    public func conversation(_ id: String) -> AsyncStream<Conversation?> { watch { $0.session?.data.conversations[id] } }

    /// The unread messages of all conversations, and followed threads, that are neither muted nor archived.
    public var badge: AsyncStream<Int64> { watch { $0.session.map { badgeOf($0.data.conversations) } ?? 0 } }

    /// Whether what came in while this device was away is still being fetched.
    public var catchingUp: AsyncStream<Bool> { watch { $0.session?.sync.catchingUp ?? false } }

    /// Friends, requests and blocks, by user.
    public var relations: AsyncStream<[String: Relation]> { watch { $0.session?.data.relations ?? [:] } }

    /// The one-to-one conversation with a user, by their id; made where there is none.
    public func openDirect(_ user: String) async throws -> Conversation {
        try await inSession { $0.conversations.take(try await $0.api.call(ChatV1.ChatService.openDirect, ChatV1.OpenDirectRequest(user: user))) }
    }

    /// Makes a group. Members whom the user may not add are invited.
    ///
    /// - Parameters:
    ///   - title: 1 to 100 characters
    ///   - members: ids of at most 500 users besides this one
    public func createGroup(_ title: String, members: [String]) async throws -> Conversation {
        let request = ChatV1.CreateGroupRequest(title: title, members: members, key: UUID().uuidString)
        return try await inSession { $0.conversations.take(try await $0.api.call(ChatV1.ChatService.createGroup, request)) }
    }

    /// Moves the read cursor of a conversation to a seq. It never goes back. It shows at once, and the server is told when it can be reached.
    public func read(_ conversation: String, _ seq: Int64) async throws { try await inSession { $0.conversations.read(conversation, seq) } }

    /// Pins, mutes or archives a conversation, marks it as unread, or sets its draft. It shows at once, and the server is told when it can be reached.
    public func configure(_ conversation: String, _ settings: ConversationSettings) async throws {
        try await inSession { try await $0.conversations.configure(conversation, settings) }
    }
}
