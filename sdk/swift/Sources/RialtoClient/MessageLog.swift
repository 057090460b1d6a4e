/// The loaded end of one conversation: all messages from `from` on, in order, each once. Since seqs have no gap, what is missing shows by
/// itself. What the server says is not to be had is noted as void.
struct MessageLog {
    /// In rising order of seqs.
    private(set) var messages: [Message] = []
    private var voids: Set<Int64> = []

    /// The lowest seq of the window; 0 while nothing is loaded.
    private(set) var from: Int64 = 0

    var last: Int64 { messages.last?.seq ?? 0 }

    subscript(seq: Int64) -> Message? {
        let at = place(seq)
        return at < messages.count && messages[at].seq == seq ? messages[at] : nil
    }

    /// Adds a message; false where it is there already, or lies before the window.
    @discardableResult
    mutating func add(_ m: Message) -> Bool {
        if from == 0 { from = m.seq }
        if m.seq < from || self[m.seq] != nil { return false }
        messages.insert(m, at: place(m.seq))
        return true
    }

    /// Takes the newer state of a message that is there.
    mutating func replace(_ m: Message) {
        if self[m.seq] != nil { messages[place(m.seq)] = m }
    }

    /// Takes a message out, which is not to be had any more.
    mutating func remove(_ seq: Int64) {
        if self[seq] == nil { return }
        messages.remove(at: place(seq))
        voids.insert(seq)
    }

    /// Lets the window begin at a seq.
    mutating func extend(_ seq: Int64) {
        if from == 0 || seq < from { from = seq }
    }

    /// Drops what lies below a seq: the window begins there at the earliest.
    mutating func dropBelow(_ seq: Int64) {
        if from == 0 || from >= seq { return }
        from = seq
        messages.removeFirst(place(seq))
        voids = voids.filter { $0 >= seq }
    }

    /// Notes that there is nothing to be had from first to last, but for what is here.
    mutating func void(_ first: Int64, _ last: Int64) {
        guard first <= last else { return }
        for seq in first...last where self[seq] == nil { voids.insert(seq) }
    }

    /// The first run of seqs that are missing between the beginning of the window and `upTo`.
    func hole(_ upTo: Int64) -> ClosedRange<Int64>? {
        guard from > 0, from <= upTo, let first = (from...upTo).first(where: missing) else { return nil }
        var last = first
        while last < upTo && missing(last + 1) { last += 1 }
        return first...last
    }

    private func missing(_ seq: Int64) -> Bool { self[seq] == nil && !voids.contains(seq) }

    /// The place of the first message that is not below a seq.
    private func place(_ seq: Int64) -> Int {
        var low = 0
        var high = messages.count
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
