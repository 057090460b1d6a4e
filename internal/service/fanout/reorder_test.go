package fanout_test

import "testing"

// TestCommitsAnnouncedOutOfOrderAreDispatchedInOrder: commits may be announced out of order if two nodes append; entries are dispatched in order.
func TestCommitsAnnouncedOutOfOrderAreDispatchedInOrder(t *testing.T) {
	s := newStage(t, inMemory)
	s.someConversations()
	s.start()
	s.settle()
	s.reorder.Store(true)
	s.write(0, 2000)
	s.reorder.Store(false)
	s.write(2000, len(s.chat.of))
	s.settle()
	s.check(false)
	s.checkPushed()
	s.stop()
	must(t, s.log.Close())
}
