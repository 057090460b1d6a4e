package idservice_test

import (
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/platform/idservice"
)

// Eight goroutines draw five million numbers of one tag, or half of ID_COUNT, some one by one and some in batches: all are unique.
func TestConcurrentSegmentNumbersAreUnique(t *testing.T) {
	const callers, share = 8, 125_000
	count := 5_000_000
	if n, err := strconv.Atoi(os.Getenv("ID_COUNT")); err == nil {
		count = n / 2
	}
	db := store(t)
	put(t, db, idservice.Tag{Name: "many", Scheme: idservice.SchemeSegment})
	segments, err := idservice.NewSegments(t.Context(), counterDeps(db, clock.System{}), idservice.SegmentsConfig{})
	if err != nil {
		t.Fatal(err)
	}
	running(t, segments.Run)
	g, err := segments.Of(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	var check idcheck.Checker[uint64]
	runs := make([][]uint64, callers)
	for i := range runs {
		runs[i] = make([]uint64, share)
	}
	for check.Count < uint64(count) {
		var wait sync.WaitGroup
		for i, run := range runs {
			wait.Go(func() {
				batch := []int{1, 10, 1000, 10_000}[i%4]
				for at := 0; at < share; at += batch {
					var err error
					if dst := run[at:min(at+batch, share)]; batch > 1 {
						err = g.Fill(t.Context(), dst)
					} else {
						dst[0], err = g.Next(t.Context())
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
		if err := check.Round(runs...); err != nil || t.Failed() {
			t.Fatalf("after %d ids: %v", check.Count, err)
		}
	}
}
