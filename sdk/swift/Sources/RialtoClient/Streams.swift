/// Streams of what is shown: each gives the present value first, and then what has changed. A slow reader skips values that are not the last.
@RialtoActor
final class Watchers {
    private var watchers: [Int: @RialtoActor () -> Void] = [:]
    private var ends: [Int: @Sendable () -> Void] = [:]
    private var next = 0
    private var changing = false

    /// `read` gives nil where there is nothing to be read any more.
    func stream<T: Equatable & Sendable>(_ read: @escaping @RialtoActor () -> T?) -> AsyncStream<T> {
        let (stream, continuation) = AsyncStream.makeStream(of: T.self, bufferingPolicy: .bufferingNewest(1))
        let watcher = Watcher(read, continuation)
        let id = next
        next += 1
        watchers[id] = { watcher.look() }
        ends[id] = { continuation.finish() }
        continuation.onTermination = { [weak self] _ in
            Task { @RialtoActor in
                self?.watchers[id] = nil
                self?.ends[id] = nil
            }
        }
        watcher.look()
        return stream
    }

    /// Something that is shown may have changed. A burst of changes is looked at once.
    func changed() {
        if changing { return }
        changing = true
        Task {
            changing = false
            for watcher in watchers.values { watcher() }
        }
    }

    func end() {
        for end in ends.values { end() }
    }
}

@RialtoActor
private final class Watcher<T: Equatable & Sendable> {
    private let read: @RialtoActor () -> T?
    private let continuation: AsyncStream<T>.Continuation
    private var last: T?

    init(_ read: @escaping @RialtoActor () -> T?, _ continuation: AsyncStream<T>.Continuation) {
        self.read = read
        self.continuation = continuation
    }

    func look() {
        guard let now = read(), now != last else { return }
        last = now
        continuation.yield(now)
    }
}

/// Gives each value to all that read it. Beyond `most` values that wait for a slow reader, the oldest are left out.
@RialtoActor
final class Broadcast<T: Sendable> {
    private let most: Int
    private var readers: [Int: AsyncStream<T>.Continuation] = [:]
    private var next = 0

    init(most: Int) { self.most = most }

    func stream() -> AsyncStream<T> {
        let (stream, continuation) = AsyncStream.makeStream(of: T.self, bufferingPolicy: .bufferingNewest(most))
        let id = next
        next += 1
        readers[id] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { @RialtoActor in self?.readers[id] = nil }
        }
        return stream
    }

    func send(_ value: T) {
        for reader in readers.values { reader.yield(value) }
    }

    func end() {
        for reader in readers.values { reader.finish() }
    }
}
