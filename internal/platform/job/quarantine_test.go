package job_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// TestQuarantineKeepsEntries: entries are listed once however often they are put, by partition, until they are removed, also after a restart.
func TestQuarantineKeepsEntries(t *testing.T) {
	ctx := t.Context()
	db, _ := open(t)
	a, err := job.NewQuarantine(ctx, db, clock.System{})
	must(t, err)
	mine := timeline.Key{Kind: timeline.Conversation, ID: 1}
	other := timeline.Key{Kind: timeline.Conversation, ID: 2}
	for other.Partition() == mine.Partition() {
		other.ID++
	}
	far := timeline.Key{Kind: timeline.Conversation, ID: 1 << 62}
	for far.Partition() != mine.Partition() {
		far.ID++
	}
	for range 2 {
		must(t, a.Put(ctx, far, 1, "torn"))
		must(t, a.Put(ctx, mine, 8, "torn"))
		must(t, a.Put(ctx, mine, 7, "torn"))
		must(t, a.Put(ctx, other, 7, "torn"))
	}
	again, err := job.NewQuarantine(ctx, db, clock.System{})
	must(t, err)
	list := func(want ...timeline.Ref) {
		t.Helper()
		for limit := range len(want) + 1 { // page by page
			var got []timeline.Ref
			var after timeline.Ref
			for {
				page, puts, err := again.List(ctx, mine.Partition(), after, limit+1)
				if must(t, err); len(page) == 0 {
					break
				}
				if slices.ContainsFunc(puts, func(n int64) bool { return n != 1 }) || len(puts) != len(page) {
					t.Errorf("repeated puts: %v", puts)
				}
				got, after = append(got, page...), page[len(page)-1]
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %v, want %v", limit+1, got, want)
			}
		}
	}
	at := func(k timeline.Key, seq uint64) timeline.Ref { return timeline.Ref{Key: k, From: seq, To: seq} }
	list(at(mine, 7), at(mine, 8), at(far, 1))
	must(t, again.Remove(ctx, mine, 7, 0)) // it was put again since
	list(at(mine, 7), at(mine, 8), at(far, 1))
	must(t, again.Remove(ctx, mine, 7, 1))
	must(t, again.Remove(ctx, mine, 7, 1))
	list(at(mine, 8), at(far, 1))
}
