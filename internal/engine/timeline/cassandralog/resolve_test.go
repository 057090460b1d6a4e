package cassandralog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

var errNoStore = errors.New("the store does not answer")

// slowBatches are batches of one entry each, by their stamps. Late ones arrive while they are being voided, just before that succeeds.
type slowBatches struct {
	mu         sync.Mutex // guards the fields below: refs are looked up concurrently
	there      map[uint64]bool
	late       map[uint64]bool
	impossible map[uint64]bool
	fail       bool // voiding fails
}

func (b *slowBatches) findBatch(_ context.Context, r ref, _ bool) ([]timeline.Ref, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.there[r.stamp] {
		return nil, false, nil
	}
	return []timeline.Ref{{Key: r.key, From: r.stamp, To: r.stamp}}, true, nil
}

func (b *slowBatches) voidBatch(_ context.Context, r ref) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fail:
		return false, errNoStore
	case b.late[r.stamp]:
		b.there[r.stamp] = true
		return false, nil
	}
	b.impossible[r.stamp] = true
	return true, nil
}

// A record names batches of which only some are stored. The others are waited for; then each is voided before it is left out, and one
// that arrived meanwhile is not left out.
func TestOnlyVoidedBatchesAreSkipped(t *testing.T) {
	k := timeline.Key{Kind: timeline.Conversation, ID: 7}
	const stored, late, lost, dropped = 2, 4, 6, 8
	row := recordRow{seq: 1, dropped: []int64{dropped}}
	for _, stamp := range []uint64{stored, late, lost, dropped} {
		row.refs = append(row.refs, ref{k, 0, stamp - 1, stamp})
	}
	b := &slowBatches{there: map[uint64]bool{stored: true}, late: map[uint64]bool{late: true}, impossible: map[uint64]bool{}}
	if refs, whole, err := row.resolve(t.Context(), b, false); whole || err != nil || len(b.impossible) != 0 {
		t.Fatalf("while waiting for two batches: got refs %v, complete %v, error %v, voided %v", refs, whole, err, b.impossible)
	}
	b.fail = true
	if refs, whole, err := row.resolve(t.Context(), b, true); whole || !errors.Is(err, errNoStore) {
		t.Fatalf("when voiding fails: got refs %v, complete %v, error %v", refs, whole, err)
	}
	b.fail = false
	refs, whole, err := row.resolve(t.Context(), b, true)
	want := []timeline.Ref{{Key: k, From: stored, To: stored}, {Key: k, From: late, To: late}}
	if !whole || err != nil || !slices.Equal(refs, want) {
		t.Errorf("after the wait: got refs %v, complete %v, error %v, want %v", refs, whole, err, want)
	}
	if len(b.impossible) != 1 || !b.impossible[lost] {
		t.Errorf("voided: got %v, want only %d, which never arrived", b.impossible, lost)
	}
}
