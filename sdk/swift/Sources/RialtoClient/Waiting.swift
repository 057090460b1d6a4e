/// The server gives so many messages at once by their seqs.
let mostAsked = 200

/// A message that something of this device names by its seq.
struct Reference: Hashable, Sendable {
    let conversation: String
    let seq: Int64
}

/// Whether the server still has the message that this device knows under a seq.
typealias IsSame = @RialtoActor (_ conversation: String, _ seq: Int64) -> Bool

extension Conversation {
    /// The newest message up to a seq by which that can be recognized: at the end, what follows the last message is not kept as one.
    func recognizable(_ seq: Int64) -> Int64 {
        guard let last = lastMessage?.seq, last > 0 else { return seq }
        return min(seq, last)
    }
}

/// What was done here, waits for the server, and names messages by their seqs. A server that was restored from a backup may have given these seqs to
/// other messages. So it waits on each connection until the stream is here up to its end, and after a reset it is compared with the server first.
@RialtoActor
final class Waiting {
    private let tasks: Tasks
    private let data: LocalData
    private let store: any Store
    private let api: ChatAPI
    private let history: History
    private let conversations: Conversations
    private let outbox: Outbox
    private let marks: Marks

    /// The stream is known up to its end since the last connection began: the seqs that are known here are those that the server means.
    private(set) var whole = false

    init(tasks: Tasks, data: LocalData, store: any Store, api: ChatAPI, history: History, conversations: Conversations, outbox: Outbox, marks: Marks) {
        self.tasks = tasks
        self.data = data
        self.store = store
        self.api = api
        self.history = history
        self.conversations = conversations
        self.outbox = outbox
        self.marks = marks
    }

    /// A connection is open. `clientSeq` is the highest number that the server has of this device.
    func opened(_ clientSeq: Int64) {
        whole = false
        outbox.opened(clientSeq)
    }

    /// The stream is here up to its end.
    func synced() {
        if whole { return }
        whole = true
        outbox.synced()
        marks.flush()
        tasks.launch { [self] in await conversations.flush() }
    }

    /// After a reset, finds out which of the messages that are named the server still has. It is asked before this device drops its copy. Up to a
    /// message with the id that is known here, a conversation is the same.
    func compare() async throws -> IsSame {
        await data.written()
        let read = data.conversations.values.filter(\.readPending).map { Reference(conversation: $0.id, seq: $0.recognizable($0.readSeq)) }
        let named = Dictionary(grouping: (outbox.references() + read).filter { $0.seq > 0 }, by: \.conversation)
        var ends: [String: Int64] = [:]
        for (conversation, references) in named {
            ends[conversation] = try await lastSame(conversation, try await knownIDs(conversation, Set(references.map(\.seq))))
        }
        let known = ends
        return { conversation, seq in seq <= known[conversation] ?? 0 }
    }

    /// Gives up what concerns messages that the server has lost. Cursors of those that it still has come with the lists.
    func giveUp(_ isSame: IsSame) async throws {
        try await outbox.dropLost(isSame)
        marks.forget()
        conversations.forgetDeleted()
    }

    private func lastSame(_ conversation: String, _ known: [Int64: String]) async throws -> Int64 {
        var rest = known.keys.sorted(by: >)[...]
        while !rest.isEmpty {
            let same = try await present(conversation, Array(rest.prefix(mostAsked))).filter { known[$0.seq] == $0.id }
            if let last = same.map(\.seq).max() { return last }
            rest = rest.dropFirst(mostAsked)
        }
        return 0
    }

    /// The ids of those of the messages that this device has.
    private func knownIDs(_ conversation: String, _ seqs: Set<Int64>) async throws -> [Int64: String] {
        var ids: [Int64: String] = [:]
        for seq in seqs {
            let last = data.view(conversation).lastMessage
            let loaded = last?.seq == seq ? last : history.loaded(conversation).first { $0.seq == seq }
            if let loaded {
                ids[seq] = loaded.id
            } else {
                ids[seq] = try await store.value(.messages, messageKey(conversation, seq), Message.self)?.id
            }
        }
        return ids
    }

    /// What the server has at these seqs; nothing of a conversation that it refuses. Another error is thrown: it may have them, and the sync begins
    /// again later.
    private func present(_ conversation: String, _ seqs: [Int64]) async throws -> [Message] {
        do {
            return try await api.messages(conversation, seqs)
        } catch let error as RialtoError where error.isRefusal {
            return []
        }
    }
}
