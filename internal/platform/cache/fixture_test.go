package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/platform/cache"
)

type post uint64

// rows is a database with a primary, and a replica that lags until it is told to catch up. A value is a version.
type rows struct {
	mu               sync.Mutex
	primary, replica map[post]int
	loads            map[post]int // of each key
	failing          error
	before           func(keys []post) // called before a load reads; nil: nothing
	after            func(keys []post) // called after a load has read; nil: nothing
	running, most    atomic.Int64      // calls of load, and the most at once
	reads            atomic.Int64      // calls of load
}

func newRows() *rows {
	return &rows{primary: map[post]int{}, replica: map[post]int{}, loads: map[post]int{}}
}

func (r *rows) load(_ context.Context, keys []post, primary bool) (map[post]int, error) {
	r.reads.Add(1)
	for n := r.running.Add(1); ; {
		most := r.most.Load()
		if n <= most || r.most.CompareAndSwap(most, n) {
			break
		}
	}
	defer r.running.Add(-1)
	if r.before != nil {
		r.before(keys)
	}
	r.mu.Lock()
	found, from := map[post]int{}, r.replica
	if primary {
		from = r.primary
	}
	for _, key := range keys {
		r.loads[key]++
		if v, ok := from[key]; ok {
			found[key] = v
		}
	}
	err := r.failing
	r.mu.Unlock()
	if r.after != nil {
		r.after(keys)
	}
	return found, err
}

// write commits a version. The replica gets it with replicate.
func (r *rows) write(key post, version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.primary[key] = version
}

// replicate brings all rows to the replica.
func (r *rows) replicate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, v := range r.primary {
		r.replica[key] = v
	}
}

// put writes a row and replicates it.
func (r *rows) put(key post, version int) {
	r.write(key, version)
	r.replicate()
}

func (r *rows) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = err
}

func (r *rows) loaded(key post) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loads[key]
}

// total is how many keys were loaded.
func (r *rows) total() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, loads := range r.loads {
		n += loads
	}
	return n
}

var errDown = errors.New("the database is down")

// fixture is some nodes that read the same rows.
type fixture struct {
	t     *testing.T
	clock *clocktest.Manual
	rows  *rows
	nodes []*cache.Cache[post, int]
}

// config of the caches; the rest is filled in.
func open(t *testing.T, nodes int, shared func() *cache.Shared, config cache.Config[post, int]) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.NewManual(), rows: newRows()}
	config.Name, config.Load = "posts", f.rows.load
	config.Encode = func(v int) ([]byte, error) { return []byte(strconv.Itoa(v)), nil }
	config.Decode = func(b []byte) (int, error) { return strconv.Atoi(string(b)) }
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range nodes {
		deps := cache.Deps{Clock: f.clock, Logger: slog.New(slog.DiscardHandler), Metrics: cache.NewMetrics()}
		if shared != nil {
			deps.Shared = shared()
		}
		c, err := cache.New(deps, config)
		must(t, err)
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		f.nodes = append(f.nodes, c)
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}

// get reads a version; 0 if there is none.
func (f *fixture) get(node int, key post) int {
	f.t.Helper()
	v, found, err := f.nodes[node].Get(context.Background(), key)
	if err != nil || found != (v > 0) {
		f.t.Errorf("node %d, key %d: %d, %v, %v", node, key, v, found, err)
	}
	return v
}

// expect reads a version that is known.
func (f *fixture) expect(what string, node int, key post, want int) {
	f.t.Helper()
	if v := f.get(node, key); v != want {
		f.t.Errorf("%s: node %d has version %d of %d, want %d", what, node, v, key, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Sprint(err))
	}
}
