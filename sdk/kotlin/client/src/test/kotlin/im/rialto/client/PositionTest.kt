package im.rialto.client

import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue

class PositionTest {
    private fun order(epoch: Long, seq: Long, prev: Long) = orderOf(StreamPosition(2, 10), StreamPosition(epoch, seq), prev)

    @Test
    fun `an event is the next one if it names the position`() {
        assertEquals(EventOrder.NEXT, order(2, 11, 10))
        assertEquals(EventOrder.NEXT, order(2, 15, 10))
        assertEquals(EventOrder.GAP, order(2, 12, 11))
        assertEquals(EventOrder.GAP, order(2, 11, 9))
        assertEquals(EventOrder.OLD, order(2, 10, 9))
        assertEquals(EventOrder.OLD, order(2, 3, 10))
        assertEquals(EventOrder.OLD, order(1, 99, 10))
        assertEquals(EventOrder.GAP, order(3, 11, 10))
        assertEquals(EventOrder.GAP, orderOf(null, StreamPosition(1, 1), 0))
    }

    @Test
    fun `positions are ordered by epoch, then seq`() {
        assertTrue(StreamPosition(2, 1).isAfter(StreamPosition(1, 9)))
        assertTrue(StreamPosition(1, 9).isAfter(StreamPosition(1, 8)))
        assertFalse(StreamPosition(1, 9).isAfter(StreamPosition(1, 9)))
        assertFalse(StreamPosition(1, 9).isAfter(StreamPosition(2, 1)))
    }
}
