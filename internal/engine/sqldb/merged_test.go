package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// mergedItem inserts a number. place is where it was in its call of apply, and call the number of that call.
type mergedItem struct{ n, call, place int }

// mergedFixture is a group commit of inserted numbers.
type mergedFixture struct {
	t      *testing.T
	db     *DB
	merged *Merged[mergedItem]
	calls  []int // items of each call of apply
	fail   error // what apply returns after its statements
}

func openMerged(t *testing.T, place string) *mergedFixture {
	t.Helper()
	db, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context(), "merged", []string{`CREATE TABLE numbers (n BIGINT PRIMARY KEY)`}); err != nil {
		t.Fatal(err)
	}
	f := &mergedFixture{t: t, db: db}
	f.merged = NewMerged(db, func(ctx context.Context, tx *sql.Tx, items []*mergedItem) error {
		for i, item := range items {
			item.call, item.place = len(f.calls), i
			if _, err := tx.ExecContext(ctx, `INSERT INTO numbers (n) VALUES ($1)`, item.n); err != nil {
				return err
			}
		}
		f.calls = append(f.calls, len(items))
		return f.fail
	})
	return f
}

// whileBusy calls start while the writer is busy, and lets it go on once as many items wait.
func (f *mergedFixture) whileBusy(items int, start func()) {
	f.t.Helper()
	running, release := make(chan struct{}), make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		if err := f.db.Write(context.Background(), func(*sql.Tx) error {
			close(running)
			<-release
			return nil
		}); err != nil {
			f.t.Error(err)
		}
	})
	<-running
	start()
	eventually.True(f.t, "all items wait", func() bool { return f.merged.Waiting() == items })
	close(release)
	busy.Wait()
}

func (f *mergedFixture) stored() (n int) {
	f.t.Helper()
	if err := f.db.Read().QueryRow(`SELECT count(*) FROM numbers`).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func onEach(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "records.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, sqltest.Schema(t, sqltest.Postgres(t))) })
}

// Writes that wait at the same time are applied in one call, in their order, and all are stored when they return.
func TestWaitingWritesAreMerged(t *testing.T) {
	onEach(t, func(t *testing.T, place string) {
		f := openMerged(t, place)
		const items = maxMerged + 100
		var group sync.WaitGroup
		f.whileBusy(items, func() {
			for n := range items {
				group.Go(func() {
					item := &mergedItem{n: n, call: -1}
					if err := f.merged.Write(context.Background(), item); err != nil || item.call < 0 {
						t.Errorf("item %d: call %d, %v", n, item.call, err)
					}
				})
			}
		})
		group.Wait()
		if fmt.Sprint(f.calls) != fmt.Sprint([]int{maxMerged, 100}) {
			t.Errorf("calls with %v items", f.calls)
		}
		if n := f.stored(); n != items {
			t.Errorf("%d of %d items are stored", n, items)
		}
	})
}

// While many items arrive, a group waits until it is full, although no other writer is at work. Otherwise, none waits.
func TestGroupsWaitForFurtherItemsUnderLoad(t *testing.T) {
	f := openMerged(t, filepath.Join(t.TempDir(), "records.db"))
	for n := range 3 {
		if err := f.merged.Write(t.Context(), &mergedItem{n: n}); err != nil {
			t.Fatal(err)
		}
	}
	f.merged.wait = time.Hour
	f.merged.arrival = arrivals{last: time.Now(), items: fullMerged, took: time.Hour}
	var group sync.WaitGroup
	for n := range fullMerged {
		group.Go(func() {
			if err := f.merged.Write(context.Background(), &mergedItem{n: 100 + n}); err != nil {
				t.Error(err)
			}
		})
		eventually.True(t, "an item waits, or all are stored", func() bool {
			waiting := f.merged.Waiting()
			return waiting == n+1 || waiting == 0 && n == fullMerged-1
		})
	}
	group.Wait()
	if fmt.Sprint(f.calls) != fmt.Sprint([]int{1, 1, 1, fullMerged}) {
		t.Errorf("calls with %v items", f.calls)
	}
	f.merged.wait = time.Nanosecond // it passes before the group is full
	f.merged.arrival = arrivals{last: time.Now().Add(time.Hour), items: 1 << 30, took: 1}
	if err := f.merged.Write(t.Context(), &mergedItem{n: 1000}); err != nil {
		t.Fatal(err)
	}
}

// How many items are to be expected follows from the last group, and from how long ago it was closed.
func TestArrivalsAreEstimated(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var a arrivals
	if n := a.within(at(0), time.Second); n != 0 {
		t.Errorf("before the first group, %d are expected", n)
	}
	a.closed(at(0), 500) // an hour or more after nothing
	if n := a.within(at(0), time.Second); n != 0 {
		t.Errorf("after the first group, %d are expected", n)
	}
	a.closed(at(10), 100)
	for after, want := range map[int]int{0: 80, 5: 80, 10: 80, 20: 40, 800: 1} {
		if n := a.within(at(10+after), 8*time.Millisecond); n != want {
			t.Errorf("%d ms after 100 items in 10 ms, %d are expected within 8 ms, want %d", after, n, want)
		}
	}
}

// The failure of merged writes is that of all of them, and nothing of them is stored. Other writers in the transaction are not affected.
func TestMergedWritesFailTogetherAndAlone(t *testing.T) {
	onEach(t, func(t *testing.T, place string) {
		f := openMerged(t, place)
		f.fail = errors.New("refused")
		var group sync.WaitGroup
		f.whileBusy(10, func() {
			for n := range 10 {
				group.Go(func() {
					if err := f.merged.Write(context.Background(), &mergedItem{n: n}); !errors.Is(err, f.fail) {
						t.Errorf("item %d: %v", n, err)
					}
				})
			}
			group.Go(func() {
				if err := f.db.Write(context.Background(), func(tx *sql.Tx) error {
					_, err := tx.Exec(`INSERT INTO numbers (n) VALUES (100)`)
					return err
				}); err != nil {
					t.Error(err)
				}
			})
		})
		group.Wait()
		if n := f.stored(); n != 1 || f.merged.waiting != 0 {
			t.Errorf("%d rows are stored, and %d items wait", n, f.merged.waiting)
		}
	})
}

// Items beyond the bound are rejected, an item whose context has ended does not wait, and the end of one item's context fails no other.
func TestMergedWritesAreBounded(t *testing.T) {
	f := openMerged(t, filepath.Join(t.TempDir(), "records.db"))
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	f.whileBusy(maxMergedWaiting, func() {
		group.Go(func() {
			if err := f.merged.Write(ctx, &mergedItem{n: 1}); err != nil {
				t.Error(err)
			}
		})
		eventually.True(t, "the first item waits", func() bool { return f.merged.Waiting() == 1 })
		cancel()
		if err := f.merged.Write(ctx, &mergedItem{n: 2}); !errors.Is(err, context.Canceled) {
			t.Errorf("an item whose context has ended: %v", err)
		}
		f.merged.mu.Lock()
		f.merged.waiting += maxMergedWaiting - 1
		f.merged.mu.Unlock()
		beyond := make(chan error, 1)
		go func() { beyond <- f.merged.Write(context.Background(), &mergedItem{n: 3}) }()
		if err := eventually.Receive(t, "the answer to an item beyond the bound", beyond); errs.Of(err).Reason != "busy" {
			t.Errorf("an item beyond the bound: %v", err)
		}
	})
	group.Wait()
	if n := f.stored(); n != 1 || f.merged.waiting != maxMergedWaiting-1 {
		t.Errorf("%d rows are stored, and %d items wait", n, f.merged.waiting)
	}
}
