/// The messages of conversations: those that are loaded, and those that are on their way.
extension Client {
    /// The loaded end of a conversation, in order, without gaps, with the edits, recalls, reactions and pins that are on their way. Empty until `open`.
    public func messages(_ conversation: String) -> AsyncStream<[Message]> {
        watch { client in
            guard let session = client.session else { return [] }
            return session.history.loaded(conversation).withPending(session.outbox.list(conversation), me: session.login.user)
        }
    }

    /// What was sent here and is not stored yet, in order. Of edits, recalls, reactions, pins and signals only those that the server refused.
    public func outgoing(_ conversation: String) -> AsyncStream<[OutgoingMessage]> {
        watch { client in
            client.session?.outbox.list(conversation).filter { $0.failed != nil || !($0.content.isUpdate || $0.content.isSignal) } ?? []
        }
    }

    /// Loads the end of a conversation, and keeps it whole from then on. It begins with what the device has near the end without a hole, which may be
    /// one message; where that is nothing, with the newest 50 of the server. `older` loads more. Without a connection it returns with what there is.
    public func open(_ conversation: String) async throws { try await inSession { try await $0.history.open(conversation) } }

    /// Loads older messages of a conversation that is open; false when there are none.
    @discardableResult
    public func older(_ conversation: String) async throws -> Bool { try await inSession { try await $0.history.older(conversation) } }

    /// Sends. It returns once the message is kept on the device. The message goes out when it can, in order, and is stored once, whatever is lost,
    /// repeated or restarted on the way.
    @discardableResult
    public func send(_ conversation: String, _ content: Content) async throws -> OutgoingMessage { try await inSession { try await $0.outbox.enqueue(conversation, content) } }

    /// Sends a text.
    ///
    /// - Parameter replyTo: the seq of the message that this one answers; 0: none
    @discardableResult
    public func sendText(_ conversation: String, _ text: String, replyTo: Int64 = 0) async throws -> OutgoingMessage {
        let content = Content.text(text)
        return try await send(conversation, replyTo == 0 ? content : content.with("replyTo", ["seq": .string(String(replyTo))]))
    }

    /// Sends a text that answers a message of this device which may still be on its way.
    @discardableResult
    public func sendText(_ conversation: String, _ text: String, replyTo: OutgoingMessage) async throws -> OutgoingMessage {
        try await send(conversation, Content.text(text).with("replyTo", ["clientSeq": .string(String(replyTo.clientSeq))]))
    }

    /// Replaces the text of a message of one's own. It shows at once, and goes out as a message does.
    @discardableResult
    public func edit(_ conversation: String, _ seq: Int64, _ text: String) async throws -> OutgoingMessage {
        try await send(conversation, updateOf("edit", seq, ["content": .object(Content.text(text).fields)]))
    }

    /// Takes a message back for everybody.
    @discardableResult
    public func recall(_ conversation: String, _ seq: Int64) async throws -> OutgoingMessage { try await send(conversation, updateOf("recall", seq)) }

    /// Adds one's emoji to a message, or removes it.
    @discardableResult
    public func react(_ conversation: String, _ seq: Int64, _ emoji: String, remove: Bool = false) async throws -> OutgoingMessage {
        try await send(conversation, updateOf("reaction", seq, remove ? ["emoji": .string(emoji), "remove": true] : ["emoji": .string(emoji)]))
    }

    /// Pins a message for all members, or removes the pin.
    @discardableResult
    public func pin(_ conversation: String, _ seq: Int64, remove: Bool = false) async throws -> OutgoingMessage {
        try await send(conversation, updateOf("pin", seq, remove ? ["remove": true] : [:]))
    }

    /// Sends a message again that the server refused, as a new one.
    public func retry(_ message: OutgoingMessage) async throws { try await inSession { try await $0.outbox.retry(message.clientSeq) } }

    /// Gives up a message that the server refused.
    public func discard(_ message: OutgoingMessage) async throws { try await inSession { try await $0.outbox.discard(message.clientSeq) } }
}
