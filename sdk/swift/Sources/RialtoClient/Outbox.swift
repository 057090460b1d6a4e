/// At most this many sends, and about this many bytes, in one frame: far below what the server takes.
private let frameSends = 50
private let frameBytes = 128_000

/// A send without receipt for this long on an open connection is repeated. That is harmless.
private let receiptTimeoutMs: Int64 = 20_000

/// A message that the server holds is answered after half an hour at the latest, unless the connection ends.
private let heldTimeoutMs: Int64 = 35 * 60_000
private let shortestWaitMs: Int64 = 50

/// Where the server stored a message.
struct StoredAs: Hashable, Sendable {
    let id: String
    let seq: Int64
    let timeMs: Int64
    let counted: Int64
}

/// What an `Outbox` needs of others.
@RialtoActor
struct OutboxDeps {
    let tasks: Tasks
    let store: any Store
    /// The name of the device's counter in the store.
    let counter: String
    let timing: Timing
    /// Puts sends on the open connection; false where there is none.
    let transmit: @RialtoActor ([GatewayV1.Send]) -> Bool
    let onChange: @RialtoActor () -> Void
    /// The server has it; the outbox does not any more.
    let onStored: @RialtoActor (OutgoingMessage, StoredAs) -> Void
}

/// The send queue. A message gets its number, is stored on the device, is sent, and stays until a receipt says that the server stored it.
/// After each reconnect all that are left go again, in order. The number makes repeats harmless.
@RialtoActor
final class Outbox {
    private let deps: OutboxDeps
    private var items: [OutgoingMessage] = []

    /// When each was last put on the present connection.
    private var sentAt: [Int64: Int64] = [:]

    /// Not before this time: the server asked to wait.
    private var heldUntil: [Int64: Int64] = [:]

    /// By conversation, the number of the message that was sent last on the present connection.
    private var lastSent: [String: Int64] = [:]

    /// Numbers up to here are used, as far as the server knows.
    private var floor: Int64 = 0

    /// The highest number that the server had when the last connection began. Before the first, it may have all.
    private var storedUpTo = Int64.max

    /// The numbers that were sent since then.
    private var sent: Set<Int64> = []

    /// The stream is here up to its end: the seqs that messages name are those that the server means.
    private var whole = false

    /// Keeps the order in which sends were asked for, while numbers are drawn and stored.
    private let numbering = Turns()
    private var timer: Task<Void, any Error>?

    init(_ deps: OutboxDeps) { self.deps = deps }

    func load() async throws { items = try await deps.store.values(.outbox, OutgoingMessage.self) }

    func list(_ conversation: String) -> [OutgoingMessage] { items.filter { $0.conversation == conversation } }

    func find(_ clientSeq: Int64) -> OutgoingMessage? { items.first { $0.clientSeq == clientSeq } }

    /// Returns once the message is kept on the device.
    func enqueue(_ conversation: String, _ content: Content) async throws -> OutgoingMessage {
        try await numbering.run { [self] in
            let number = try await deps.store.count(deps.counter, floor: floor)
            let item = OutgoingMessage(conversation: conversation, clientSeq: number, content: content, createdMs: deps.timing.now())
            try await deps.store.write([put(item)])
            items.append(item)
            deps.onChange()
            pump()
            return item
        }
    }

    /// A connection is open. `clientSeq` is the highest number that the server has of this device.
    func opened(_ clientSeq: Int64) {
        floor = max(floor, clientSeq)
        storedUpTo = clientSeq
        sent = []
        sentAt = [:]
        lastSent = [:]
        heldUntil = [:]
        whole = false
        pump()
    }

    /// The stream is here up to its end: what names messages by their seqs may go.
    func synced() {
        if whole { return }
        whole = true
        pump()
    }

    /// The messages that waiting ones name by their seqs.
    func references() -> [Reference] { items.filter { $0.names > 0 }.map { Reference(conversation: $0.conversation, seq: $0.names) } }

    /// After a reset, gives up changes of messages that the server has lost. Answers to such messages go without the reference. One that the
    /// server may have stays as it is: the server would take a change for another message with the same number.
    func dropLost(_ isSame: IsSame) async throws {
        // Others come, and receipts, while the store writes.
        while let item = items.first(where: { $0.names > 0 && !isSame($0.conversation, $0.names) && ($0.content.target > 0 || !maybeStored($0)) }) {
            if item.content.target > 0 {
                try await drop(item.clientSeq)
            } else {
                var without = item
                without.content = item.content.without("replyTo")
                try await replace(item, without)
            }
        }
    }

    /// Whether the server may have a message whose receipt did not come.
    private func maybeStored(_ item: OutgoingMessage) -> Bool { item.failed == nil && (item.clientSeq <= storedUpTo || sent.contains(item.clientSeq)) }

    func closed() {
        sentAt = [:]
        lastSent = [:]
        timer?.cancel()
    }

    /// Those that may go now, in order: never one before an earlier one of its conversation that has to wait.
    private func due() -> [OutgoingMessage] {
        let now = deps.timing.now()
        var waiting: Set<String> = []
        return items.filter { item in
            if item.failed != nil || waiting.contains(item.conversation) { return false }
            if heldUntil[item.clientSeq] ?? 0 > now || (!whole && item.names > 0) {
                waiting.insert(item.conversation)
                return false
            }
            return sentAt[item.clientSeq].map { now - $0 >= receiptTimeoutMs } ?? true
        }
    }

    func pump() {
        var due = due()[...]
        let before = predecessors()
        while !due.isEmpty {
            let batch = firstFrame(due)
            let sends = batch.map { item in
                // The server keeps the order of one connection. It has to check a predecessor only if that was sent in another way, or not just before.
                let previous = before[item.clientSeq] ?? 0
                let follows = lastSent[item.conversation] ?? 0 == previous
                lastSent[item.conversation] = item.clientSeq
                return GatewayV1.Send(conversation: item.conversation, clientSeq: item.clientSeq, content: item.content, prevClientSeq: follows ? 0 : previous)
            }
            if !deps.transmit(sends) {
                lastSent = [:]
                return
            }
            let now = deps.timing.now()
            for item in batch {
                sentAt[item.clientSeq] = now
                sent.insert(item.clientSeq)
            }
            due = due.dropFirst(batch.count)
        }
        arm()
    }

    private func firstFrame(_ due: ArraySlice<OutgoingMessage>) -> ArraySlice<OutgoingMessage> {
        var bytes = 0
        let fit = due.prefix(frameSends).prefix { item in
            bytes += (try? JSON.encode(item.content))?.utf8.count ?? 0
            return bytes <= frameBytes
        }
        return fit.isEmpty ? due.prefix(1) : fit
    }

    /// For each message, the number of the one before it in its conversation. Messages that were refused for good are skipped.
    private func predecessors() -> [Int64: Int64] {
        var before: [Int64: Int64] = [:]
        var last: [String: Int64] = [:]
        for item in items where item.failed == nil {
            before[item.clientSeq] = last[item.conversation]
            last[item.conversation] = item.clientSeq
        }
        return before
    }

    /// Plans the next repeat.
    private func arm() {
        timer?.cancel()
        let now = deps.timing.now()
        let waits = items.filter { $0.failed == nil }.map { item in
            let held = heldUntil[item.clientSeq] ?? 0
            return (held > now ? held : (sentAt[item.clientSeq] ?? now) + receiptTimeoutMs) - now
        }
        guard let wait = waits.min() else { return }
        timer = deps.tasks.launch { [self] in
            try await deps.timing.sleep(max(shortestWaitMs, wait))
            pump()
        }
    }

    /// The server holds the message, and tries by itself: it goes again only on another connection.
    func accepted(_ clientSeq: Int64) {
        if find(clientSeq) != nil { sentAt[clientSeq] = deps.timing.now() + heldTimeoutMs - receiptTimeoutMs }
    }

    func receipt(_ r: GatewayV1.Receipt) async throws {
        guard let item = find(r.clientSeq), item.conversation == r.conversation else { return }
        if let error = r.error {
            try await refused(item, error)
        } else {
            try await stored(item, StoredAs(id: r.id, seq: r.seq, timeMs: r.timeMs, counted: r.counted))
        }
    }

    private func refused(_ item: OutgoingMessage, _ error: GatewayV1.Error) async throws {
        sentAt[item.clientSeq] = nil
        if error.retryMs > 0 || error.code == "unauthenticated" {
            heldUntil[item.clientSeq] = deps.timing.now() + Int64(max(error.retryMs, 500))
            if error.reason == "missing_previous" { repeatBefore(item) } else { arm() }
        } else if error.reason == "id_reuse" {
            try await renumber(item)
        } else {
            var failed = item
            failed.failed = Refusal(code: error.code, reason: error.reason, message: error.message)
            try await replace(item, failed)
        }
    }

    /// The server lacks a message before this one: all of those are sent again, at once.
    private func repeatBefore(_ item: OutgoingMessage) {
        for i in items where i.conversation == item.conversation && i.clientSeq < item.clientSeq { sentAt[i.clientSeq] = nil }
        pump()
    }

    /// The server has the message: a receipt came, or the message itself in the stream.
    func stored(_ item: OutgoingMessage, _ at: StoredAs) async throws {
        if find(item.clientSeq) == nil { return } // both came
        take(item.clientSeq)
        deps.onStored(item, at)
        deps.onChange()
        try await deps.store.write([.delete(.outbox, key: numberKey(item.clientSeq))])
    }

    /// Sends a refused message again, as a new one.
    func retry(_ clientSeq: Int64) async throws {
        if let item = find(clientSeq), item.failed != nil { try await renumber(item) }
    }

    /// Gives up a refused message. One that may be stored already cannot be taken back.
    func discard(_ clientSeq: Int64) async throws {
        if find(clientSeq)?.failed != nil { try await drop(clientSeq) }
    }

    private func drop(_ clientSeq: Int64) async throws {
        take(clientSeq)
        deps.onChange()
        try await deps.store.write([.delete(.outbox, key: numberKey(clientSeq))])
    }

    private func renumber(_ item: OutgoingMessage) async throws {
        try await numbering.run { [self] in
            var by = item
            by.clientSeq = try await deps.store.count(deps.counter, floor: floor)
            by.failed = nil
            if find(item.clientSeq) == nil { return } // it was discarded, or stored after all
            try await replace(item, by)
            pump()
        }
    }

    private func replace(_ item: OutgoingMessage, _ by: OutgoingMessage) async throws {
        take(item.clientSeq)
        items = (items + [by]).sorted { $0.clientSeq < $1.clientSeq }
        deps.onChange()
        try await deps.store.write(by.clientSeq == item.clientSeq ? [put(by)] : [.delete(.outbox, key: numberKey(item.clientSeq)), put(by)])
    }

    private func take(_ clientSeq: Int64) {
        items.removeAll { $0.clientSeq == clientSeq }
        sent.remove(clientSeq)
        sentAt[clientSeq] = nil
        heldUntil[clientSeq] = nil
    }

    private func put(_ item: OutgoingMessage) throws -> Op { try .put(.outbox, numberKey(item.clientSeq), item) }
}
