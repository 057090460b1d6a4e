/// Marks sent this long before a connection ended are sent again: a dead connection is noticed sooner than that.
private let resendWindowMs: Int64 = 60_000
private let everyMs: Int64 = 1_000

/// Collects moves of cursors and the acknowledgement of the stream, and sends them together, at most once a second. Cursors only grow, so
/// only the latest is sent.
@RialtoActor
final class Marks {
    typealias Transmit = @RialtoActor ([GatewayV1.Mark], ChatV1.Position?) -> Bool

    private let tasks: Tasks
    private let timing: Timing
    private let transmit: Transmit
    private var pending: [String: GatewayV1.Mark] = [:]
    /// Marks sent lately on the present connection, which may end before the server reads them.
    private var sent: [(atMs: Int64, marks: [GatewayV1.Mark])] = []
    private var ack: ChatV1.Position?
    private var lastMs = Int64.min / 2
    private var timer: Task<Void, any Error>?

    /// `transmit` sends marks on the open connection. It is false where there is none, or the stream is not here up to its end.
    init(tasks: Tasks, timing: Timing, transmit: @escaping Transmit) {
        self.tasks = tasks
        self.timing = timing
        self.transmit = transmit
    }

    func delivered(_ conversation: String, _ seq: Int64) {
        add(GatewayV1.Mark(conversation: conversation, deliveredSeq: seq))
        arm()
    }

    func read(_ conversation: String, _ seq: Int64) {
        add(GatewayV1.Mark(conversation: conversation, readSeq: seq))
        arm()
    }

    func acknowledge(_ position: ChatV1.Position) {
        ack = position
        arm()
    }

    private func add(_ m: GatewayV1.Mark) {
        let was = pending[m.conversation] ?? GatewayV1.Mark(conversation: m.conversation)
        pending[m.conversation] = GatewayV1.Mark(conversation: m.conversation, deliveredSeq: max(was.deliveredSeq, m.deliveredSeq), readSeq: max(was.readSeq, m.readSeq))
    }

    private func arm() {
        if timer != nil { return }
        timer = tasks.launch { [self] in
            try await timing.sleep(max(0, lastMs + everyMs - timing.now()))
            timer = nil
            flush()
        }
    }

    /// Sends the pending marks. They stay pending where there is no connection.
    func flush() {
        if pending.isEmpty && ack == nil { return }
        let marks = pending.values.sorted { $0.conversation < $1.conversation }
        if !transmit(marks, ack) { return }
        lastMs = timing.now()
        sent = sent.filter { lastMs - $0.atMs < resendWindowMs } + [(lastMs, marks)]
        pending = [:]
        ack = nil
    }

    /// The server may have lost messages, and given their seqs to others: cursors that were not told, or lately, may be beyond what was read.
    func forget() {
        pending = [:]
        sent = []
    }

    /// The connection ended: marks sent shortly before go again on the next one. Cursors only grow, so that is harmless.
    func closed() {
        for (atMs, marks) in sent where timing.now() - atMs < resendWindowMs { marks.forEach { add($0) } }
        sent = []
    }
}
