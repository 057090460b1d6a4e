package im.rialto.client

internal enum class EventOrder { NEXT, OLD, GAP }

/**
 * Compares an event with the position reached. An event names the one before it, and is the next one if that is the position. An event of
 * a later epoch is always a gap: only the server knows what the earlier epoch still had. One of an earlier epoch is old.
 */
internal fun orderOf(at: StreamPosition?, event: StreamPosition, prev: Long): EventOrder = when {
    at == null || event.epoch > at.epoch -> EventOrder.GAP
    event.epoch < at.epoch || event.seq <= at.seq -> EventOrder.OLD
    prev == at.seq -> EventOrder.NEXT
    else -> EventOrder.GAP
}

internal fun StreamPosition.isAfter(other: StreamPosition): Boolean = if (epoch != other.epoch) epoch > other.epoch else seq > other.seq
