package cache_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/cache"
)

// 10,000 concurrent readers of one missing key cause one load, whether it exists or not.
func TestConcurrentReadersShareOneLoad(t *testing.T) {
	for key, want := range map[post]int{7: 1, 8: 0} {
		f := open(t, 1, nil, cache.Config[post, int]{})
		f.rows.put(7, 1)
		release := make(chan struct{})
		f.rows.before = func([]post) { <-release }
		var readers sync.WaitGroup
		for range 10_000 {
			readers.Go(func() { f.expect("a reader", 0, key, want) })
		}
		eventually.True(t, "all wait", func() bool { return f.nodes[0].Joined() == 9999 })
		close(release)
		readers.Wait()
		if n := f.rows.loaded(key); n != 1 {
			t.Errorf("key %d was loaded %d times", key, n)
		}
	}
}

// A reader that read before a commit, and comes back after it, keeps nothing: the first of the two classic races.
func TestALoadFromBeforeAnInvalidationIsNotKept(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	f.rows.put(7, 1)
	read, release := make(chan struct{}), make(chan struct{})
	var loads atomic.Int32
	f.rows.after = func([]post) {
		if loads.Add(1) == 1 {
			close(read)
			<-release
		}
	}
	var slow sync.WaitGroup
	slow.Go(func() { f.expect("the slow reader", 0, 7, 1) })
	<-read
	f.rows.put(7, 2)
	f.nodes[0].Invalidate(t.Context(), 7)
	f.expect("a reader after the commit, while the slow one is under way", 0, 7, 2)
	close(release)
	slow.Wait()
	f.expect("a reader after both", 0, 7, 2)
	if n := f.rows.loaded(7); n != 2 {
		t.Errorf("%d loads", n)
	}
}

// Of two loads that end in the other order, the later one is kept: the second race.
func TestLoadsThatEndInTheOtherOrder(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	f.rows.put(7, 1)
	var number atomic.Int32
	read, release := [2]chan struct{}{make(chan struct{}), make(chan struct{})}, [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	f.rows.after = func([]post) {
		if n := number.Add(1) - 1; n < 2 {
			close(read[n])
			<-release[n]
		}
	}
	var readers sync.WaitGroup
	for i := range 2 {
		readers.Go(func() { f.expect("a slow reader", 0, 7, i+1) })
		<-read[i]
		if i == 0 {
			f.rows.put(7, 2)
			f.nodes[0].Invalidate(t.Context(), 7)
		}
	}
	close(release[1])
	eventually.True(t, "the later load is kept", func() bool {
		v, found, err := f.nodes[0].Get(t.Context(), 7)
		return err == nil && found && v == 2
	})
	close(release[0])
	readers.Wait()
	f.expect("a reader after both", 0, 7, 2)
	if n := f.rows.loaded(7); n != 2 {
		t.Errorf("%d loads", n)
	}
}

// What a lagging replica has is not kept: after an invalidation the primary is read.
func TestALaggingReplicaLeavesNothingStale(t *testing.T) {
	f := open(t, 2, nil, cache.Config[post, int]{})
	f.rows.put(7, 1)
	f.expect("before", 0, 7, 1)
	f.rows.write(7, 2)
	f.nodes[0].Invalidate(t.Context(), 7)
	f.expect("the node that wrote", 0, 7, 2)
	f.get(1, 7) // it does not know of the commit yet, and reads the replica
	f.nodes[1].InvalidateLater(7)
	f.expect("the other node, after the event", 1, 7, 2)
	f.rows.replicate()
	f.clock.Advance(time.Minute)
	f.expect("later, from the replica", 1, 7, 2)
}

// A node that may have missed events forgets everything, and reads the primary.
func TestMissedEvents(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	for key := range post(100) {
		f.rows.put(key+1, 1)
		f.get(0, key+1)
	}
	f.get(0, 200)
	for key := range post(200) {
		f.rows.write(key+1, 2)
	}
	f.nodes[0].InvalidateAll()
	for key := range post(200) {
		f.expect("afterwards", 0, key+1, 2)
	}
}

// That a key does not exist is known for ten seconds, and no longer than until it is created.
func TestNegativeEntries(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	for range 5 {
		f.expect("missing", 0, 7, 0)
	}
	if n := f.rows.loaded(7); n != 1 {
		t.Errorf("%d loads", n)
	}
	f.rows.write(7, 1)
	f.nodes[0].Invalidate(t.Context(), 7)
	f.expect("created", 0, 7, 1)
	f.expect("missing", 0, 8, 0)
	f.rows.put(8, 1)
	f.clock.Advance(11 * time.Second)
	f.expect("created without an event", 0, 8, 1)
}

// Copies that were loaded at the same time are loaded again between 9 and 11 seconds later, and not all at once.
func TestCopiesEndAtDifferentTimes(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	const keys = 500
	for key := range post(keys) {
		f.rows.put(key+1, 1)
		f.get(0, key+1)
	}
	var loads []int
	for _, wait := range []time.Duration{8999 * time.Millisecond, time.Second, time.Second + time.Millisecond} {
		f.clock.Advance(wait)
		before := f.rows.total()
		for key := range post(keys) {
			f.get(0, key+1)
		}
		loads = append(loads, f.rows.total()-before)
	}
	if loads[0] != 0 || loads[1] < keys/4 || loads[1] > keys*3/4 || loads[1]+loads[2] != keys {
		t.Errorf("loads after 9, 10 and 11 seconds: %v", loads)
	}
}

// While the database fails, copies are served for a day, with a load at most once a second. What was invalidated is not served.
func TestCopiesAreServedWhileLoadsFail(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	f.rows.put(7, 1)
	f.rows.put(8, 1)
	f.expect("at first", 0, 7, 1)
	f.expect("at first", 0, 8, 1)
	f.rows.fail(errDown)
	f.clock.Advance(time.Hour)
	before := f.rows.loaded(7)
	for range 10 {
		f.expect("after an hour", 0, 7, 1)
	}
	if n := f.rows.loaded(7) - before; n != 1 {
		t.Errorf("%d loads within a second", n)
	}
	f.nodes[0].Invalidate(t.Context(), 8)
	if _, _, err := f.nodes[0].Get(t.Context(), 8); !errors.Is(err, errDown) {
		t.Errorf("after an invalidation: %v", err)
	}
	f.clock.Advance(24 * time.Hour)
	if _, _, err := f.nodes[0].Get(t.Context(), 7); !errors.Is(err, errDown) {
		t.Errorf("after a day: %v", err)
	}
	f.rows.fail(nil)
	f.rows.put(7, 2)
	f.expect("when the database is back", 0, 7, 2)
}

// A caller that gives up does not fail the others who wait for the same load.
func TestACancelledReaderFailsNoOther(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	f.rows.put(7, 1)
	release := make(chan struct{})
	f.rows.before = func([]post) { <-release }
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, _, err := f.nodes[0].Get(ctx, 7)
		first <- err
	}()
	eventually.True(t, "the first reader loads", func() bool { return f.rows.running.Load() == 1 })
	var second sync.WaitGroup
	second.Go(func() { f.expect("the second reader", 0, 7, 1) })
	eventually.True(t, "the second reader waits", func() bool { return f.nodes[0].Joined() == 1 })
	cancel()
	if err := eventually.Receive(t, "the first reader's end", first); !errors.Is(err, context.Canceled) {
		t.Errorf("the first reader: %v", err)
	}
	close(release)
	second.Wait()
}

// Keys that are asked for often stay while many others, which exist or not, are read once.
func TestHotKeysStay(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{MaxBytes: 100 * 128})
	const hot = 20
	for key := range post(20_000) {
		f.rows.write(key+1, 1)
	}
	f.rows.replicate()
	readHot := func() {
		for key := range post(hot) {
			f.get(0, key+1)
		}
	}
	for range 50 {
		readHot()
	}
	const rounds = 50
	for cold := range post(rounds * 200) { // 400 others between two reads of a hot key
		f.get(0, 1000+cold)
		f.get(0, 1_000_000+cold)
		if cold%200 == 0 {
			readHot()
		}
	}
	loads := 0
	for key := range post(hot) {
		loads += f.rows.loaded(key + 1)
	}
	if loads > rounds*hot/4 { // if the latest keys stayed, it would be all
		t.Errorf("%d loads of %d hot keys in %d rounds", loads, hot, rounds)
	}
}

// Large values take the place of several small ones.
func TestValuesAreBoundedByBytes(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{MaxBytes: 1 << 20, Size: func(v int) int { return v }})
	for key := range post(1000) {
		f.rows.write(key+1, 100_000)
	}
	f.rows.replicate()
	for range 2 {
		for key := range post(1000) {
			f.get(0, key+1)
		}
	}
	if n := f.rows.total(); n < 1900 {
		t.Errorf("%d loads: a MiB has more than %d values of 100 KB", n, 2000-n)
	}
}

// GetMany loads all missing keys with one call, and each key once, also if it is in the list twice. Long lists are several calls.
func TestManyKeys(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{})
	var keys []post
	for key := range post(450) {
		keys = append(keys, key+1, key+1)
		if key%2 == 0 {
			f.rows.put(key+1, int(key)+1)
		}
	}
	got, err := f.nodes[0].GetMany(t.Context(), keys[:100])
	must(t, err)
	if len(got) != 25 || f.rows.reads.Load() != 1 {
		t.Errorf("%d values by %d loads", len(got), f.rows.reads.Load())
	}
	if got, err = f.nodes[0].GetMany(t.Context(), keys); err != nil || len(got) != 225 || f.rows.reads.Load() != 3 || f.rows.total() != 450 {
		t.Errorf("%d values by %d loads of %d keys, %v", len(got), f.rows.reads.Load(), f.rows.total(), err)
	}
	for key, v := range got {
		if v != int(key) {
			t.Errorf("key %d has %d", key, v)
		}
	}
}

// No more loads run at once than configured.
func TestLoadsAtOnceAreBounded(t *testing.T) {
	f := open(t, 1, nil, cache.Config[post, int]{MaxLoads: 4})
	var readers sync.WaitGroup
	for key := range post(200) {
		f.rows.put(key+1, 1)
		readers.Go(func() { f.get(0, key+1) })
	}
	readers.Wait()
	if n := f.rows.most.Load(); n > 4 {
		t.Errorf("%d loads at once", n)
	}
}

// TestReadsFollowCommits: concurrent writers and readers. Who reads after an Invalidate has returned sees that commit or a later one.
func TestReadsFollowCommits(t *testing.T) {
	readsFollowCommits(t, open(t, 1, nil, cache.Config[post, int]{MaxBytes: 8 * 128}))
}

// readsFollowCommits runs writers and readers on all nodes. A reader on the node of a commit sees it at once; the other nodes when they got
// the event.
func readsFollowCommits(t *testing.T, f *fixture) {
	const keys, writes = 12, 300
	var committed [keys]atomic.Int64 // versions whose invalidations have returned, and whose events have been handled
	var writing, reading sync.WaitGroup
	var ended atomic.Bool
	for key := range post(keys) {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(key)))
			for version := 1; version <= writes; version++ {
				f.rows.write(key+1, version)
				by := random.IntN(len(f.nodes))
				f.nodes[by].Invalidate(context.Background(), key+1)
				for n, c := range f.nodes {
					if n != by {
						c.InvalidateLater(key + 1)
					}
				}
				committed[key].Store(int64(version))
				if random.IntN(3) == 0 {
					f.rows.replicate()
				}
			}
		})
	}
	for n := range f.nodes {
		for reader := range 4 {
			reading.Go(func() {
				random := rand.New(rand.NewPCG(uint64(n), uint64(reader)))
				for !ended.Load() {
					key := random.IntN(keys)
					least := committed[key].Load()
					if v := int64(f.get(n, post(key+1))); v < least {
						t.Errorf("node %d has version %d of %d after %d", n, v, key+1, least)
						return
					}
				}
			})
		}
	}
	writing.Wait()
	ended.Store(true)
	reading.Wait()
	for n := range f.nodes {
		for key := range post(keys) {
			f.expect("at the end", n, key+1, writes)
		}
	}
}
