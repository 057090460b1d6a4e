import Foundation

/// Waits with full jitter: at random between 0 and min(ceiling, base · 2ⁿ). So many clients that lose one server at the same instant come
/// back spread over time.
struct Backoff {
    let random: @Sendable () -> Double
    let baseMs: Int64
    let ceilingMs: Int64
    private var waits = 0

    init(random: @escaping @Sendable () -> Double, baseMs: Int64, ceilingMs: Int64) {
        self.random = random
        self.baseMs = baseMs
        self.ceilingMs = ceilingMs
    }

    /// The next wait in milliseconds. `atLeastMs` is what the server asked for, and is not shortened.
    mutating func next(atLeastMs: Int64) -> Int64 {
        let bound = min(Double(ceilingMs), Double(baseMs) * pow(2, Double(min(waits, 30))))
        waits += 1
        return atLeastMs + Int64(random() * bound)
    }

    mutating func reset() { waits = 0 }
}
