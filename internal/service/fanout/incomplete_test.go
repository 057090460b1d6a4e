package fanout_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
)

// TestIncompleteRecordsDelayNoOtherPartition: while the records of one partition have no entries yet, the dispatcher goes on with its other
// partitions. It dispatches the first once the entries are there.
func TestIncompleteRecordsDelayNoOtherPartition(t *testing.T) {
	s := newStage(t, inMemory)
	var slow, quick id.Conversation = 1, 2
	for conversation(quick).Partition() == conversation(slow).Partition() || conversation(quick).Partition()%2 != conversation(slow).Partition()%2 {
		quick++ // another partition of the same dispatcher
	}
	s.chat.of[slow], s.chat.of[quick] = []id.User{1}, []id.User{2}
	var done sync.WaitGroup
	s.append(slow, textEntry("slow"), &done) // no worker yet: the record must be read from the log
	done.Wait()
	s.log.forming.Store(conversation(slow).Partition(), true)
	s.start()
	s.append(quick, textEntry("quick"), &done)
	done.Wait()
	eventually.True(t, "the other partition's entry is posted", func() bool {
		if posted := s.posted(1); len(posted[1]) > 0 {
			t.Fatalf("a record without entries was posted: %v", posted)
		}
		return len(s.posted(2)[2]) > 0
	})
	s.log.forming.Clear()
	s.settle()
	s.stop()
	if posted := s.posted(1); !slices.Equal(posted[1], []uint64{1}) {
		t.Errorf("posts %v, want entry 1 in partition 1", posted)
	}
}
