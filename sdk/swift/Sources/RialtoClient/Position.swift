enum EventOrder { case next, old, gap }

/// Compares an event with the position reached. An event names the one before it, and is the next one if that is the position. An event of
/// a later epoch is always a gap: only the server knows what the earlier epoch still had. One of an earlier epoch is old.
func orderOf(_ at: ChatV1.Position?, _ event: ChatV1.Position, prev: Int64) -> EventOrder {
    guard let at, event.epoch <= at.epoch else { return .gap }
    if event.epoch < at.epoch || event.seq <= at.seq { return .old }
    return prev == at.seq ? .next : .gap
}

extension ChatV1.Position {
    func isAfter(_ other: ChatV1.Position) -> Bool { epoch != other.epoch ? epoch > other.epoch : seq > other.seq }
}
