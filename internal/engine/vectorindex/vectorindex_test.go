package vectorindex_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/vectorindex"
	"golang.org/x/sys/unix"
)

const dimensions = 64

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unit returns a random vector of length 1.
func unit(random *rand.Rand) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return scaled(v)
}

// scaled returns a vector with the length 1.
func scaled(v []float32) []float32 {
	length := float32(math.Sqrt(float64(vectorindex.Product(v, v))))
	out := make([]float32, len(v))
	for i := range v {
		out[i] = v[i] / length
	}
	return out
}

// exact returns the ids of the k vectors most similar to a query.
func exact(vectors map[uint64][]float32, query []float32, k int) []uint64 {
	list := make([]vectorindex.Hit, 0, len(vectors))
	for n, v := range vectors {
		list = append(list, vectorindex.Hit{ID: n, Similarity: vectorindex.Product(v, query)})
	}
	slices.SortFunc(list, func(a, b vectorindex.Hit) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
	})
	ids := make([]uint64, min(k, len(list)))
	for i := range ids {
		ids[i] = list[i].ID
	}
	return ids
}

// filled is an index of n vectors, of which a tenth was deleted and put back.
func filled(t testing.TB, next func() []float32, c vectorindex.Config) (*vectorindex.Index, map[uint64][]float32) {
	x, err := vectorindex.New(c)
	must(t, err)
	vectors := map[uint64][]float32{}
	for n := range uint64(c.Capacity) {
		vectors[n+1] = scaled(next())
		must(t, x.Put(n+1, vectors[n+1]))
	}
	for n := uint64(1); n <= uint64(c.Capacity); n += 10 {
		if !x.Delete(n) {
			t.Fatalf("vector %d was not there", n)
		}
	}
	for n := uint64(1); n <= uint64(c.Capacity); n += 10 {
		must(t, x.Put(n, vectors[n]))
	}
	return x, vectors
}

// recall returns which part of the ten nearest vectors searches find.
func recall(t testing.TB, x *vectorindex.Index, vectors map[uint64][]float32, next func() []float32, queries int) float64 {
	found := 0
	for range queries {
		query := scaled(next())
		hits := x.Search(query, 10)
		if len(hits) != 10 {
			t.Fatalf("%d hits", len(hits))
		}
		want := exact(vectors, query, 10)
		for i, h := range hits {
			if i > 0 && hits[i-1].Similarity < h.Similarity {
				t.Fatalf("hits are not in order: %v", hits)
			}
			if want := vectorindex.Product(vectors[h.ID], query); math.Abs(float64(want-h.Similarity)) > 1e-5 {
				t.Fatalf("the similarity of %d is %v, want %v", h.ID, h.Similarity, want)
			}
			if slices.Contains(want, h.ID) {
				found++
			}
		}
	}
	return float64(found) / float64(10*queries)
}

// Searches find at least 95 % of the ten nearest vectors, after a tenth of all was deleted and put back.
func TestRecall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	next := func() []float32 { return unit(random) }
	x, vectors := filled(t, next, vectorindex.Config{Dimensions: dimensions, Capacity: 3000, Seed: 1})
	must(t, x.Check())
	if part := recall(t, x, vectors, next, 100); part < 0.95 {
		t.Errorf("recall@10 is %.3f", part)
	}
	if x.Len() != 3000 || x.Slots() != 3000 {
		t.Errorf("%d vectors in %d slots", x.Len(), x.Slots())
	}
}

// What is deleted is not found, what is replaced is found by its new vector, and the graph stays whole, whatever the order of changes.
func TestRandomChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	x, err := vectorindex.New(vectorindex.Config{Dimensions: dimensions, Capacity: 400, Links: 4, BuildWidth: 40, SearchWidth: 60, Seed: 2})
	must(t, err)
	vectors, refused := map[uint64][]float32{}, 0
	for step := range 6000 {
		n := uint64(1 + random.IntN(500))
		if random.IntN(3) == 0 {
			if _, ok := vectors[n]; x.Delete(n) != ok {
				t.Fatalf("step %d: the deletion of %d says %v", step, n, !ok)
			}
			delete(vectors, n)
		} else {
			v := unit(random)
			err := x.Put(n, v)
			_, had := vectors[n]
			if full := !had && len(vectors) == 400; full != errors.Is(err, vectorindex.ErrFull) {
				t.Fatalf("step %d: Put with %d vectors: %v", step, len(vectors), err)
			} else if full {
				refused++
				continue
			}
			vectors[n] = v
		}
		if step%500 == 0 {
			must(t, x.Check())
		}
		if x.Len() != len(vectors) || x.Has(n) != (vectors[n] != nil) {
			t.Fatalf("step %d: %d vectors, want %d", step, x.Len(), len(vectors))
		}
	}
	must(t, x.Check())
	if x.Slots() > 400 {
		t.Errorf("%d slots", x.Slots())
	}
	missing := 0
	for n, v := range vectors {
		hits := x.Search(v, 5)
		if len(hits) == 0 || hits[0].ID != n || hits[0].Similarity < 0.999 {
			missing++
		}
		for _, h := range hits {
			if vectors[h.ID] == nil {
				t.Fatalf("the deleted vector %d is found", h.ID)
			}
		}
	}
	if missing > len(vectors)/50 {
		t.Errorf("%d of %d vectors are not found by themselves", missing, len(vectors))
	}
	for n := range vectors {
		x.Delete(n)
	}
	if hits := x.Search(unit(random), 5); x.Len() != 0 || len(hits) != 0 {
		t.Errorf("an empty index finds %v", hits)
	}
}

// The same operations make the same index, and what is no vector is refused.
func TestDeterminism(t *testing.T) {
	c := vectorindex.Config{Dimensions: dimensions, Capacity: 500, Seed: 3}
	same := func() func() []float32 {
		random := rand.New(rand.NewPCG(3, 3))
		return func() []float32 { return unit(random) }
	}
	a, _ := filled(t, same(), c)
	b, _ := filled(t, same(), c)
	random := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		query := unit(random)
		if x, y := a.Search(query, 50), b.Search(query, 50); !slices.Equal(x, y) {
			t.Fatalf("one finds %v, the other %v", x, y)
		}
	}
	for name, v := range map[string][]float32{"a short one": {1}, "one without a length": make([]float32, dimensions), "no number": append(make([]float32, dimensions-1), float32(math.NaN()))} {
		if a.Put(1, v) == nil {
			t.Errorf("%s is stored", name)
		}
	}
	if _, err := vectorindex.New(vectorindex.Config{Dimensions: dimensions}); err == nil {
		t.Error("an index without a capacity was made")
	}
}

// Searches and changes run at the same time.
func TestConcurrency(t *testing.T) {
	x, err := vectorindex.New(vectorindex.Config{Dimensions: dimensions, Capacity: 300, Links: 4, BuildWidth: 20, SearchWidth: 20})
	must(t, err)
	stable := unit(rand.New(rand.NewPCG(9, 9)))
	must(t, x.Put(1000, stable))
	var group sync.WaitGroup
	for worker := range uint64(4) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(5, worker))
			for range 300 {
				n := 1 + worker*50 + uint64(random.IntN(50))
				if random.IntN(3) == 0 {
					x.Delete(n)
				} else if err := x.Put(n, unit(random)); err != nil {
					t.Error(err)
				}
				if len(x.Search(stable, 3)) == 0 {
					t.Error("nothing is found")
				}
			}
		})
	}
	group.Wait()
	must(t, x.Check())
}

// BenchmarkNeighbours searches among 100,000 vectors of 64 dimensions, of which a tenth was deleted and put back: with random directions, which is the hardest case, and in clusters, as those
// of texts about the same things.
func BenchmarkNeighbours(b *testing.B) {
	size := 100_000
	if n, err := strconv.Atoi(os.Getenv("VECTORS")); err == nil {
		size = n
	}
	for _, clustered := range []bool{false, true} {
		b.Run(fmt.Sprintf("clustered=%v", clustered), func(b *testing.B) {
			random := rand.New(rand.NewPCG(6, 6))
			next := func() []float32 { return unit(random) }
			if clustered {
				next = clusters(random)
			}
			before, memory := cpuTime(b), heapBytes()
			x, vectors := filled(b, next, vectorindex.Config{Dimensions: dimensions, Capacity: size, Links: 32, BuildWidth: 160, SearchWidth: 260, Seed: 6})
			b.Logf("built with %v of a processor", cpuTime(b)-before)
			part := recall(b, x, vectors, next, 100)
			vectors = nil // only the index is left
			memory = heapBytes() - memory
			var took, computed []time.Duration
			for b.Loop() {
				query := next()
				began, before := time.Now(), cpuTime(b)
				x.Search(query, 10)
				took, computed = append(took, time.Since(began)), append(computed, cpuTime(b)-before)
			}
			b.ReportMetric(float64(memory)/float64(size), "bytes/vector")
			b.ReportMetric(part, "recall@10")
			b.ReportMetric(percentile(took, 50), "p50-ms")
			b.ReportMetric(percentile(took, 99), "p99-ms")
			b.ReportMetric(percentile(computed, 50), "p50-cpu-ms") // says the same on a busy machine
		})
	}
}

// heapBytes returns how much memory is in use.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// clusters returns vectors near one of 1,000 directions.
func clusters(random *rand.Rand) func() []float32 {
	var centres [1000][]float32
	for i := range centres {
		centres[i] = unit(random)
	}
	return func() []float32 {
		v, centre := unit(random), centres[random.IntN(len(centres))]
		for i := range v {
			v[i] = 0.7*v[i] + centre[i]
		}
		return v
	}
}

func percentile(list []time.Duration, n int) float64 {
	slices.Sort(list)
	return float64(list[len(list)*n/100].Microseconds()) / 1000
}

// cpuTime is how long the process has computed.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
