package counter_test

import (
	"context"
	"encoding/hex"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/axiomhq/hyperloglog"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

func views(t *testing.T, s *counter.Service, subjects ...uint64) []uint64 {
	t.Helper()
	figures, err := s.Figures(t.Context(), 0, subjects, counter.Asked{Views: counter.PostViews})
	must(t, err)
	list := make([]uint64, len(figures))
	for i := range figures {
		list[i] = figures[i].Views
	}
	return list
}

// Users who view something on several nodes, and more than once, count once. Small numbers are exact, and large ones within 2.4 % (three
// standard errors).
func TestUniqueViews(t *testing.T) {
	f := open(t, 3)
	const large = 200_000
	for u := range id.User(large) {
		f.nodes[u%3].View(counter.PostViews, 7, u+1)
		f.nodes[(u/3)%3].View(counter.PostViews, 7, u+1)
		if u < 50 {
			f.nodes[u%3].View(counter.PostViews, 8, u%25+1)
		}
		if u%50_000 == 0 {
			for _, s := range f.nodes {
				must(t, s.FlushViews(t.Context()))
			}
		}
	}
	f.nodes[1].View(counter.PostViews, 9, 1)
	for range 2 { // the second time, nothing waits
		for _, s := range f.nodes {
			must(t, s.FlushViews(t.Context()))
		}
	}
	got := views(t, f.nodes[0], 7, 8, 9, 10)
	if got[1] != 25 || got[2] != 1 || got[3] != 0 {
		t.Errorf("small numbers are %v", got[1:])
	}
	if off := math.Abs(float64(got[0])-large) / large; off > 0.024 {
		t.Errorf("%d of %d: off by %.2f %%", got[0], large, 100*off)
	}
}

// Two nodes that write to the same bucket, since they disagree about the live nodes, lose no view. Views that cannot be written wait.
func TestViewsOfOneBucketAreMerged(t *testing.T) {
	f := open(t, 2)
	f.names = []string{"node-0"} // node-1 does not find itself, and takes the first bucket too
	var group sync.WaitGroup
	for i, s := range f.nodes {
		group.Go(func() {
			for n := range 20 {
				s.View(counter.PostViews, 7, id.User(1+20*i+n))
				if err := s.FlushViews(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	f.nodes[0].View(counter.PostViews, 7, 41)
	if err := f.nodes[0].FlushViews(cancelled); err == nil {
		t.Error("a write with a cancelled context succeeds")
	}
	for _, s := range f.nodes { // what lost against the other node's version waits for the next write
		must(t, s.FlushViews(t.Context()))
	}
	if got := views(t, f.nodes[0], 7); got[0] != 41 {
		t.Errorf("%d views", got[0])
	}
}

// A node that ends writes the views that wait. Views of too many subjects are dropped, and counted.
func TestWaitingViews(t *testing.T) {
	f := open(t, 1)
	s := f.nodes[0]
	for n := range uint64(5000) {
		s.View(counter.PostViews, n+1, 1)
		s.View(counter.PostViews, 1, id.User(n+1))
	}
	if n := s.DroppedViews(); n != 5000-4096 {
		t.Errorf("%d dropped", n)
	}
	must(t, s.FlushViews(t.Context()))
	s.View(counter.PostViews, 5000, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, s.Run(ended))
	got := views(t, s, 1, 4096, 4097, 5000)
	if math.Abs(float64(got[0])-5000) > 120 || got[1] != 1 || got[2] != 0 || got[3] != 1 {
		t.Errorf("views are %v", got)
	}
}

// A stored sketch of an earlier build can be read.
func TestStoredSketch(t *testing.T) {
	text, err := os.ReadFile("testdata/sketch.hex")
	must(t, err)
	body, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	must(t, err)
	sketch := hyperloglog.New14()
	must(t, sketch.UnmarshalBinary(body))
	for u := range id.User(10) { // all are in it
		sketch.InsertHash(id.Hash(uint64(u + 1)))
	}
	if n := sketch.Estimate(); n != 10 {
		t.Errorf("the sketch of 10 users estimates %d", n)
	}
}
