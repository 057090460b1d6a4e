import Foundation

/// All that clients have is used on this actor, which does one thing at a time. So what belongs together changes together, without locks.
@globalActor
public actor RialtoActor {
    public static let shared = RialtoActor()
}

/// The clock, and chance. Programs have the system's; tests have others.
struct Timing: Sendable {
    /// Milliseconds since 1970.
    var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }
    var sleep: @RialtoActor @Sendable (_ ms: Int64) async throws -> Void = { try await Task.sleep(nanoseconds: UInt64(max(0, $0)) * 1_000_000) }
    /// From 0 to 1.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
}

typealias Work<T> = @RialtoActor @Sendable () async throws -> T

/// Tasks with an owner, who ends them all.
@RialtoActor
final class Tasks {
    private var running: [Int: (cancel: @Sendable () -> Void, ended: @Sendable () async -> Void)] = [:]
    private var next = 0
    private var stopped = false
    private let onProblem: @Sendable (String, any Error) -> Void

    init(onProblem: @escaping @Sendable (String, any Error) -> Void) { self.onProblem = onProblem }

    /// Begins work whose result somebody waits for.
    func start<T: Sendable>(_ work: @escaping Work<T>) -> Task<T, any Error> {
        let id = next
        next += 1
        let task = Task { @RialtoActor in
            defer { running[id] = nil }
            try Task.checkCancellation()
            return try await work()
        }
        running[id] = ({ task.cancel() }, { _ = await task.result })
        if stopped { task.cancel() }
        return task
    }

    /// Begins work in the background. What fails is told to `onProblem`.
    @discardableResult
    func launch(_ work: @escaping Work<Void>) -> Task<Void, any Error> {
        let problem = onProblem
        return start {
            do {
                try await work()
            } catch where !(error is CancellationError) {
                problem("work in the background failed", error)
            }
        }
    }

    /// Cancels all, and returns when they have ended.
    func stop() async {
        stopped = true
        let all = Array(running.values)
        for task in all { task.cancel() }
        for task in all { await task.ended() }
    }
}

/// Has work wait for its turn, in the order of the calls.
@RialtoActor
final class Turns {
    private var busy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func run<T: Sendable>(_ work: Work<T>) async throws -> T {
        if busy { await withCheckedContinuation { waiting.append($0) } }
        busy = true
        defer {
            if waiting.isEmpty { busy = false } else { waiting.removeFirst().resume() }
        }
        return try await work()
    }
}
