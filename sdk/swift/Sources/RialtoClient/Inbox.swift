/// Messages of the server that wait to be processed: then reading stops.
private let mostWaiting = 64

/// What happens to a socket.
enum SocketEvent: Sendable {
    case message(String)
    case ended(SocketEnd, status: Int)
}

/// Takes what a connection tells. While too much waits, the reader of the connection does, too.
@RialtoActor
final class Inbox: WebSocketListener {
    private let timing: Timing
    private var events: [SocketEvent] = []
    private var readers: [CheckedContinuation<Void, Never>] = []
    private var signalled = false
    private var closed = false
    private var taker: CheckedContinuation<Void, Never>?

    init(timing: Timing) { self.timing = timing }

    /// The next event; `nil` where the time has come, or somebody gave a signal, or the task was cancelled.
    func next(untilMs: Int64) async -> SocketEvent? {
        if events.isEmpty && !signalled && !Task.isCancelled {
            let timer = Task { [timing] in
                try await timing.sleep(max(0, untilMs - timing.now()))
                wake()
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { taker = $0 }
            } onCancel: {
                Task { @RialtoActor in self.wake() }
            }
            timer.cancel()
        }
        signalled = false
        if events.isEmpty { return nil }
        let event = events.removeFirst()
        if !readers.isEmpty { readers.removeFirst().resume() }
        return event
    }

    /// Ends a wait.
    func signal() {
        signalled = true
        wake()
    }

    /// Nothing is taken any more: who waits to add goes on.
    func close() {
        closed = true
        for reader in readers { reader.resume() }
        readers = []
    }

    private func wake() {
        taker?.resume()
        taker = nil
    }

    private func add(_ event: SocketEvent) async {
        while events.count >= mostWaiting && !closed { await withCheckedContinuation { readers.append($0) } }
        if closed { return }
        events.append(event)
        wake()
    }

    func message(_ text: String) async { await add(.message(text)) }

    func closed(code: Int, reason: String) async { await add(.ended(SocketEnd(code: code, reason: reason, stay: staysAway(code)), status: 0)) }

    func failed(_ reason: String, status: Int, retryAfterSeconds: Int64) async {
        await add(.ended(SocketEnd(code: 0, reason: reason, stay: false, retryMs: retryAfterSeconds * 1_000), status: status))
    }
}
