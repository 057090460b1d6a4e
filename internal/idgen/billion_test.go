package idgen_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/idgen/idcheck"
)

// TestVeryManyIDs: eight goroutines draw ids side by side, some one by one and some in batches, and no id comes twice: ten million in
// all, or ID_COUNT.
func TestVeryManyIDs(t *testing.T) {
	const callers, share = 8, 125_000
	count := 10_000_000
	if n, err := strconv.Atoi(os.Getenv("ID_COUNT")); err == nil {
		count = n
	}
	// A layout in which a millisecond has a million ids: in the common one they would take until they are over.
	flakes, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(clock.System{}, 1), idgen.SnowflakeConfig{Layout: idgen.Layout{TimeBits: 41, WorkerBits: 2, SequenceBits: 20}})
	if err != nil {
		t.Fatal(err)
	}
	deps := counterDeps(store(t), clock.System{})
	tags, err := idgen.NewTags(t.Context(), deps)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tags.PutTag(t.Context(), idgen.Tag{Name: "many", Scheme: idgen.SchemeSegment}); err != nil {
		t.Fatal(err)
	}
	segments, err := idgen.NewSegments(t.Context(), deps, idgen.SegmentsConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- segments.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	numbers, err := segments.Of(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	type generator interface {
		Next(ctx context.Context) (uint64, error)
		Fill(ctx context.Context, dst []uint64) error
	}
	for name, g := range map[string]generator{"snowflake": flakes, "segment": numbers} {
		var check idcheck.Checker[uint64]
		runs := make([][]uint64, callers)
		for i := range runs {
			runs[i] = make([]uint64, share)
		}
		for check.Count < uint64(count/2) {
			var wait sync.WaitGroup
			for i, run := range runs {
				wait.Go(func() {
					batch := []int{1, 10, 1000, 10_000}[i%4]
					for at := 0; at < share; at += batch {
						var err error
						if dst := run[at:min(at+batch, share)]; batch > 1 {
							err = g.Fill(ctx, dst)
						} else {
							dst[0], err = g.Next(ctx)
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
				t.Fatalf("%s, after %d: %v", name, check.Count, err)
			}
		}
	}
}
