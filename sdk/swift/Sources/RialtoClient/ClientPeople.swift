/// Others: profiles, presence, and who is typing.
extension Client {
    /// The profiles of at most 200 users, by their ids.
    public func getUsers(_ ids: [String]) async throws -> [User] { try await call(AccountV1.AccountService.getUsers, AccountV1.GetUsersRequest(users: ids)).users }

    /// Throws a `RialtoError` with the code `not_found` where there is no such user.
    public func findUser(_ handle: String) async throws -> User {
        let found = try await call(AccountV1.AccountService.getUsers, AccountV1.GetUsersRequest(handles: [handle])).users.first
        guard let found else { throw RialtoError("not_found", "there is no user with the handle \(handle)", reason: "no_user") }
        return found
    }

    /// Has the presence of these users pushed, at most 500, in place of those before.
    public func watch(_ users: Set<String>) async throws {
        try await inSession { session in
            if session.people.watch(users) { session.connection.send(GatewayV1.ClientFrame(watch: GatewayV1.Watch(users: session.people.watched))) }
        }
    }

    /// The presence of a user who is watched; `nil` while it is not known, as without a connection.
    public func presence(_ user: String) -> AsyncStream<Presence?> { watch { $0.session?.people.presence(user) } }

    /// The users who are typing in a conversation.
    public func typing(_ conversation: String) -> AsyncStream<Set<String>> { watch { $0.session?.people.typing(conversation) ?? [] } }

    /// Tells the others that this user is typing: call it at each key. The server forwards it at most once a second.
    public func sendTyping(_ conversation: String) async throws { try await inSession { _ = $0.connection.send(GatewayV1.ClientFrame(typing: conversation)) } }
}
