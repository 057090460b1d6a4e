package sqldb

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
)

// From before a commit begins until it has ended, its keys count as changed, and then as changed by it, also if it failed: its outcome may be unknown.
func TestKeysOfARunningCommitHaveChanged(t *testing.T) {
	c, failure := newCommitTracker(), errors.New("failed")
	changed, other := slotOf(1, 7), slotOf(1, 8)
	c.begin()
	c.add(changed, true)
	if err := c.commit(func() error {
		if c.last(changed) != math.MaxUint64 || c.last(other) != 0 || c.commits.Load() != 0 {
			t.Errorf("while the commit runs, the last changes are %d and %d of %d commits", c.last(changed), c.last(other), c.commits.Load())
		}
		return failure
	}); !errors.Is(err, failure) {
		t.Fatalf("error %v, want %v", err, failure)
	}
	if c.last(changed) != 1 || c.last(other) != 0 || c.commits.Load() != 1 {
		t.Errorf("afterwards the last changes are %d and %d of %d commits", c.last(changed), c.last(other), c.commits.Load())
	}
	c.add(other, true)
	c.begin() // that transaction was rolled back
	if err := c.commit(func() error { return nil }); err != nil || c.last(other) != 0 || c.commits.Load() != 2 {
		t.Errorf("after one that was rolled back, the last change is %d of %d commits: %v", c.last(other), c.commits.Load(), err)
	}
}

// A file that other processes write has no snapshot caches.
func TestNoSnapshotCachesBesideOtherProcesses(t *testing.T) {
	db, err := OpenWith(t.Context(), filepath.Join(t.TempDir(), "records.db"), Options{Store: StoreOptions{OtherProcesses: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := NewSnapshotCache(t.Context(), db, SnapshotCacheConfig[int64, int64]{Tables: map[string][]string{"migrations": {"step"}}, Key: func(k int64) []int64 { return []int64{k} }, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	loads := 0
	for range 2 {
		if got, err := c.GetCurrent([]int64{1}, func([]int64) (map[int64]int64, error) { loads++; return map[int64]int64{1: 2}, nil }); err != nil || got[1] != 2 {
			t.Errorf("the cache returns %v, error %v; want 2 for the key 1", got, err)
		}
	}
	if loads != 2 {
		t.Errorf("%d of two reads were loads", loads)
	}
}
