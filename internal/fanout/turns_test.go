package fanout_test

import "testing"

// TestToldInTurns: of two commits the later is told first, as where two nodes append. They are carried in order.
func TestToldInTurns(t *testing.T) {
	s := newStage(t, inMemory)
	s.someConversations()
	s.start()
	s.settle()
	s.turns.Store(true)
	s.write(0, 2000)
	s.turns.Store(false)
	s.write(2000, len(s.chat.of))
	s.settle()
	s.check(false)
	s.checkPushed()
	s.stop()
	must(t, s.log.Close())
}
