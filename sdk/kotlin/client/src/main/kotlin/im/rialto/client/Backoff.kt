package im.rialto.client

import kotlin.math.min

/**
 * Waits with full jitter: at random between 0 and min(ceiling, base · 2ⁿ). So many clients that lose one server at the same instant come
 * back spread over time.
 */
internal class Backoff(private val random: () -> Double, private val baseMs: Long, private val ceilingMs: Long) {
    private var waits = 0

    /** The next wait in milliseconds. [atLeastMs] is what the server asked for, and is not shortened. */
    fun next(atLeastMs: Long): Long {
        val bound = min(ceilingMs.toDouble(), baseMs * Math.pow(2.0, min(waits, 30).toDouble()))
        waits++
        return atLeastMs + (random() * bound).toLong()
    }

    fun reset() {
        waits = 0
    }
}
