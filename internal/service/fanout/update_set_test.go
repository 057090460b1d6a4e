package fanout

import (
	"context"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// applying applies each update.
type applying struct{ Chat }

func (applying) ApplyUpdates(_ context.Context, list []*message.Stored) ([]error, error) {
	return make([]error, len(list)), nil
}

// If a record is read again and has an update that was missing before, its updates are applied again: none is delivered as it was stored.
func TestAnUpdateThatWasMissingIsApplied(t *testing.T) {
	t.Parallel()
	c := New(Deps{Chat: applying{}}).dispatchers[0]
	p := c.partitions[0]
	entries := make([]timeline.CommittedEntry, 2)
	for i := range entries {
		payload := (&message.Entry{Sender: 2, Updates: 1, Content: []byte("update")}).Append(nil)
		entries[i] = timeline.CommittedEntry{Key: timeline.Key{Kind: timeline.Conversation, ID: 5}, Seq: uint64(i + 2), Payload: payload}
	}
	for _, read := range [][]timeline.CommittedEntry{entries[1:], entries} {
		if _, err := c.updatesOf(t.Context(), p, 1, read); !errors.Is(err, errApplying) {
			t.Fatalf("of %d entries: %v, want that they are being applied", len(read), err)
		}
		c.applying.Wait()
	}
	updates, err := c.updatesOf(t.Context(), p, 1, entries)
	if err != nil || updates.of(&entries[0]) == nil || updates.of(&entries[1]) == nil {
		t.Errorf("%v, %v; want both updates", updates, err)
	}
}
