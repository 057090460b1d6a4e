package fanout_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
)

// TestFormingRecordsHoldUpNobodyElse: where the entries of one partition's records are on their way, the others of its carrier go on, and
// so does it when they have come.
func TestFormingRecordsHoldUpNobodyElse(t *testing.T) {
	s := newStage(t, inMemory)
	var slow, quick id.Conversation = 1, 2
	for conversation(quick).Partition() == conversation(slow).Partition() || conversation(quick).Partition()%2 != conversation(slow).Partition()%2 {
		quick++ // another partition of the same carrier
	}
	s.chat.of[slow], s.chat.of[quick] = []id.User{1}, []id.User{2}
	var done sync.WaitGroup
	s.append(slow, textEntry("slow"), &done) // before there is a worker: it has to be read
	done.Wait()
	s.log.forming.Store(conversation(slow).Partition(), true)
	s.start()
	s.append(quick, textEntry("quick"), &done)
	done.Wait()
	for len(s.posted(2)[2]) == 0 {
		if posted := s.posted(1); len(posted[1]) > 0 {
			t.Fatalf("%v", posted)
		}
	}
	s.log.forming.Clear()
	s.settle()
	s.stop()
	if posted := s.posted(1); !slices.Equal(posted[1], []uint64{1}) {
		t.Errorf("%v", posted)
	}
}
