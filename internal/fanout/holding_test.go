package fanout

import (
	"testing"

	"github.com/rialto-im/rialto/internal/timeline"
)

// What is held is bounded by its bytes: the oldest goes.
func TestHeldIsBounded(t *testing.T) {
	key := timeline.Key{Kind: timeline.Conversation, ID: 7}
	var h held
	put := func(record uint64) {
		h.put(&timeline.Commit{Partition: key.Partition(), Record: record, Entries: []timeline.Committed{{Key: key, Seq: record, Payload: make([]byte, heldBytes/4)}}})
	}
	for record := range uint64(6) {
		put(record + 1)
		put(record + 1) // told twice
	}
	for record := range uint64(7) {
		if has, want := h.get(key, record, record) != nil, record >= 3; has != want {
			t.Errorf("record %d is held: %v, want %v", record, has, want)
		}
	}
	if len(h.order) != 4 || h.bytes != heldBytes || len(h.of[key.Partition()]) != 4 {
		t.Errorf("%d records of %d bytes, %d are found", len(h.order), h.bytes, len(h.of[key.Partition()]))
	}
	if h.get(key, 4, 5) != nil || h.get(timeline.Key{Kind: timeline.Conversation, ID: 8}, 5, 5) != nil {
		t.Error("another entry was given")
	}
}
