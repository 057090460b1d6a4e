package timeline_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// The keys are stored: a change loses the positions of all consumers.
func TestEachPartitionHasAnEventStreamOfItsOwn(t *testing.T) {
	for p := range uint16(timeline.Partitions) {
		k := timeline.EventStream(p)
		if k.Partition() != p || !k.IsEventStream() {
			t.Errorf("partition %d: got %v of partition %d, reserved %v", p, k, k.Partition(), k.IsEventStream())
		}
	}
	if got := timeline.EventStream(0).ID; got != 9223372036854775770 {
		t.Errorf("the stream of partition 0 has moved to %d", got)
	}
	for _, k := range []timeline.Key{{Kind: timeline.Inbox, ID: 1}, {Kind: timeline.Inbox, ID: uint64(id.CanaryUser(id.MaxCanaries))}, {Kind: timeline.Conversation, ID: timeline.EventStream(0).ID}, {Kind: timeline.Inbox, ID: 1<<64 - 1}} {
		if k.IsEventStream() {
			t.Errorf("%v is no event stream", k)
		}
	}
}
