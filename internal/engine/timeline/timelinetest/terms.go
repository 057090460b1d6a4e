package timelinetest

import (
	"context"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// testTerms acquires a partition in several terms; open has acquired it in the first.
func testTerms(t *testing.T, open Open) {
	l := open(t, nil)
	defer l.Close()
	ctx, k := context.Background(), inbox(1)
	for _, term := range []uint64{1, 5, 5} {
		must(t, l.Acquire(ctx, k.Partition(), term))
	}
	for _, term := range []uint64{1, 4} {
		fenced := (*timeline.FencedError)(nil)
		if err := l.Acquire(ctx, k.Partition(), term); !errors.Is(err, timeline.ErrFenced) || !errors.As(err, &fenced) || fenced.Term != 5 {
			t.Errorf("acquired in term %d after 5: %v", term, err)
		}
	}
	must(t, l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("x")}})) // the rejected calls changed nothing
	must(t, l.PutCheckpoint(ctx, k.Partition(), 1))
	must(t, l.Acquire(ctx, k.Partition(), 6))
	must(t, l.Post(ctx, []timeline.Post{{Key: k, Payload: []byte("y")}}))
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Acquire(canceled, k.Partition(), 7); err == nil {
		t.Error("acquired after its context ended")
	}
}
