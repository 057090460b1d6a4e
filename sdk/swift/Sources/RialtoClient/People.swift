private let typingShownMs: Int64 = 4_000

/// The server's limit of users to watch.
private let mostWatched = 500

/// What the client knows of others while it is connected: presence, and who is typing.
@RialtoActor
final class People {
    private let tasks: Tasks
    private let timing: Timing
    private let onChange: @RialtoActor () -> Void
    private var presences: [String: Presence] = [:]
    /// Users who type, by conversation, with the number of their last notice.
    private var typing: [String: [String: Int]] = [:]
    private var notices = 0
    private(set) var watched: [String] = []

    init(tasks: Tasks, timing: Timing, onChange: @escaping @RialtoActor () -> Void) {
        self.tasks = tasks
        self.timing = timing
        self.onChange = onChange
    }

    func presence(_ user: String) -> Presence? { presences[user] }

    func typing(_ conversation: String) -> Set<String> { Set(typing[conversation, default: [:]].keys) }

    /// Replaces the set of users whose presence is wanted; false where it is the same.
    func watch(_ users: Set<String>) -> Bool {
        let next = Array(users.sorted().prefix(mostWatched))
        if next == watched { return false }
        watched = next
        presences = presences.filter { next.contains($0.key) }
        onChange()
        return true
    }

    func take(_ list: [Presence]) {
        if list.isEmpty { return }
        for p in list { presences[p.user] = p }
        onChange()
    }

    /// The connection ended: what was known may be wrong by now.
    func forget() {
        presences = [:]
        typing = [:]
        onChange()
    }

    func typed(_ t: GatewayV1.Typing) {
        notices += 1
        let notice = notices
        typing[t.conversation, default: [:]][t.user] = notice
        onChange()
        tasks.launch { [self] in
            try await timing.sleep(typingShownMs)
            if typing[t.conversation]?[t.user] == notice { typing[t.conversation]?[t.user] = nil }
            onChange()
        }
    }

    func wrote(_ m: Message) { typing[m.conversation]?[m.sender] = nil }
}
