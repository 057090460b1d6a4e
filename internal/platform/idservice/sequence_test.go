package idservice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"pgregory.net/rapid"
)

const (
	lease  = 10 * time.Second
	margin = 2 * time.Second
)

// seqNode is a node that issues sequences of the tag "s".
type seqNode struct {
	*idservice.Sequence
	all   *idservice.Sequences
	way   *breaking
	clock *stepping
}

func newSeqNode(t fataler, db *sqldb.DB, config idservice.SequencesConfig) *seqNode {
	t.Helper()
	n := &seqNode{way: &breaking{db: db}, clock: &stepping{}}
	if config.Lease == 0 {
		config.Lease, config.Margin = lease, margin
	}
	var err error
	if n.all, err = idservice.NewSequences(t.Context(), counterDeps(n.way, n.clock), config); err != nil {
		t.Fatal(err)
	}
	if n.Sequence, err = n.all.Of(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	return n
}

// stop ends a node cleanly.
func (n *seqNode) stop(t fataler) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.all.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func elsewhere(err error) bool { return hasReason(err, errs.Unavailable, "sequence_elsewhere") }

// scheduleStep is one step of a schedule.
type scheduleStep struct {
	what string
	node int
	key  uint64
	n    int // how many, how long
	yes  bool
}

// TestSequencesModel: three nodes issue numbers of a few keys in two sections while they crash, stop, lose the store and its answers, and
// while their clocks step and time passes. No key's number is ever repeated or decreases, whichever node issues it.
func TestSequencesModel(t *testing.T) {
	place, attempts, given := sqltest.Place(t), uint64(0), 0
	schedules(t, 60, 1, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) scheduleStep {
			return scheduleStep{
				what: rapid.SampledFrom([]string{"next", "next", "next", "next", "peek", "time", "time", "step", "away", "mute", "crash", "stop"}).Draw(r, "what"),
				node: rapid.IntRange(0, 2).Draw(r, "node"), key: rapid.SampledFrom([]uint64{0, 7, 999, 1000, 1777}).Draw(r, "key"),
				n: rapid.IntRange(1, 12_000).Draw(r, "n"), yes: rapid.Bool().Draw(r, "yes"),
			}
		}), 1, 60).Draw(r, "steps")
		attempts++ // sections of its own
		var fault string
		synctest.Test(t, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Step: 10, SectionKeys: 1000})
			w := &seqWorld{db: db, nodes: make([]*seqNode, 3), highest: map[uint64]uint64{}, first: attempts * 10_000}
			for i := range w.nodes {
				w.nodes[i] = newSeqNode(t, db, idservice.SequencesConfig{MaxPages: int64(i) * 3}) // the second has capacity for one section
			}
			for _, d := range steps {
				if fault = w.do(t, d); fault != "" {
					break
				}
			}
			given += w.given
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
		if fault != "" {
			r.Fatal(fault)
		}
	})
	if given < 60 {
		t.Errorf("only %d numbers were issued", given)
	}
}

// seqWorld is the nodes of a schedule, and the numbers that they issued.
type seqWorld struct {
	db      *sqldb.DB
	nodes   []*seqNode
	highest map[uint64]uint64 // given, by key
	first   uint64            // key
	given   int
}

// do executes a step and returns the violation that it finds afterwards.
func (w *seqWorld) do(t *testing.T, d scheduleStep) (fault string) {
	n, key := w.nodes[d.node], w.first+d.key
	failure := func(err error) string {
		if !errs.Is(err, errs.Unavailable) || !n.way.unavailable.Load() && !n.way.loseAnswers.Load() && errs.Of(err).Retry <= 0 {
			return "the error does not say when to retry: " + err.Error()
		}
		return ""
	}
	switch d.what {
	case "next":
		count := d.n%25 + 1
		first, err := n.NextN(t.Context(), key, count)
		if err != nil {
			return failure(err)
		}
		if first <= w.highest[key] {
			return fmt.Sprintf("key %d: %d after %d", key, first, w.highest[key])
		}
		w.highest[key] = first + uint64(count) - 1
		w.given++
	case "peek":
		at, err := n.Peek(t.Context(), key)
		if err != nil {
			return failure(err)
		}
		if at < w.highest[key] {
			return fmt.Sprintf("key %d: %d is seen after %d", key, at, w.highest[key])
		}
	case "time":
		time.Sleep(time.Duration(d.n) * time.Millisecond)
	case "step":
		n.clock.step(time.Duration(d.n-6000) * time.Second)
	case "away":
		n.way.unavailable.Store(d.yes)
	case "mute":
		n.way.loseAnswers.Store(d.yes)
	case "crash":
		w.nodes[d.node] = newSeqNode(t, w.db, idservice.SequencesConfig{})
	case "stop":
		n.stop(t)
		if _, err := n.Next(t.Context(), key); !errs.Is(err, errs.Unavailable) {
			return fmt.Sprintf("after its end: %v", err)
		}
		w.nodes[d.node] = newSeqNode(t, w.db, idservice.SequencesConfig{})
	}
	return ""
}

// TestAnOwnerStopsBeforeItsSuccessorStarts: without the store an owner issues numbers until the margin before the end of its lease. Another
// node issues none before the lease has expired, and then higher ones.
func TestAnOwnerStopsBeforeItsSuccessorStarts(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence})
		a, b := newSeqNode(t, db, idservice.SequencesConfig{Node: "a"}), newSeqNode(t, db, idservice.SequencesConfig{Node: "b"})
		ctx := t.Context()
		last, err := a.Next(ctx, 5)
		if err != nil || last != 1 {
			t.Fatalf("the first number is %d, %v, want 1", last, err)
		}
		if _, err := b.Next(ctx, 5); !elsewhere(err) || errs.Of(err).Retry != lease {
			t.Fatalf("error %v, want sequence_elsewhere with a retry after the lease", err)
		}
		a.way.unavailable.Store(true)
		time.Sleep(lease - margin - time.Millisecond)
		if last, err = a.Next(ctx, 5); err != nil || last != 2 {
			t.Fatalf("just before its lease ends the owner issued %d, %v, want 2", last, err)
		}
		time.Sleep(time.Millisecond)
		if _, err := a.Next(ctx, 5); !hasReason(err, errs.Unavailable, "ids_unavailable") {
			t.Fatalf("error %v, want the reason ids_unavailable", err)
		}
		if _, err := a.Peek(ctx, 5); !errs.Is(err, errs.Unavailable) {
			t.Fatalf("error %v, want one of the kind unavailable", err)
		}
		time.Sleep(margin - time.Millisecond)
		if _, err := b.Next(ctx, 5); !elsewhere(err) || errs.Of(err).Retry > retryAtOnce {
			t.Fatalf("error %v, want sequence_elsewhere with a retry at once", err)
		}
		time.Sleep(time.Millisecond)
		if last, err = b.Next(ctx, 5); err != nil || last != 10_001 {
			t.Fatalf("the next owner issued %d, %v, want 10001", last, err)
		}
		a.way.unavailable.Store(false)
		time.Sleep(3 * time.Second)
		if _, err := a.Next(ctx, 5); !elsewhere(err) {
			t.Fatalf("error %v, want sequence_elsewhere", err)
		}
		// b continues while it renews; when it stops, a need not wait.
		running := make(chan error)
		whole, stop := context.WithCancel(ctx)
		go func() { running <- b.all.Run(whole) }()
		time.Sleep(10 * lease)
		if _, err := a.Next(ctx, 5); !elsewhere(err) {
			t.Fatalf("error %v, want sequence_elsewhere", err)
		}
		stop()
		if err := <-running; err != nil {
			t.Fatal(err)
		}
		if _, err := b.Next(ctx, 5); !hasReason(err, errs.Unavailable, "closing") {
			t.Fatalf("error %v, want the reason closing", err)
		}
		if last, err = a.Next(ctx, 5); err != nil || last != 20_001 {
			t.Fatalf("the first owner, which took the section over again, issued %d, %v, want 20001", last, err)
		}
	})
}

// retryAtOnce is the shortest retry delay of an error.
const retryAtOnce = 50 * time.Millisecond

// TestTheWallClockStopsAnOwnerOnlyEarlier: a step ahead may mean that the machine slept; a step back changes nothing.
func TestTheWallClockStopsAnOwnerOnlyEarlier(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence})
		a := newSeqNode(t, db, idservice.SequencesConfig{})
		for _, c := range []struct {
			step time.Duration // back
			wait time.Duration
			ok   bool
		}{{-time.Hour, 0, false}, {time.Hour, 0, true}, {time.Hour, lease - margin, false}, {-time.Second, 0, true}, {-lease, 0, false}} {
			a.way.unavailable.Store(false)
			time.Sleep(3 * time.Second)
			if _, err := a.Next(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			before := a.way.writes.Load()
			a.way.unavailable.Store(true)
			a.clock.step(c.step)
			time.Sleep(c.wait)
			if _, err := a.Next(t.Context(), 5); (err == nil) != c.ok || a.way.writes.Load() != before {
				t.Errorf("%v back and %v later: %v", c.step, c.wait, err)
			}
		}
	})
}

// TestALateBoundIsRefused: a bound that reaches the store after another node acquired the section changes nothing.
func TestALateBoundIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Step: 100})
		short := idservice.SequencesConfig{Lease: 4 * time.Second, Margin: time.Second} // longer than a store call may take
		a, b := newSeqNode(t, db, short), newSeqNode(t, db, short)
		ctx := t.Context()
		if _, err := a.NextN(ctx, 5, 100); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Next(ctx, 5); !elsewhere(err) {
			t.Fatalf("error %v, want sequence_elsewhere", err)
		}
		var last uint64
		a.way.before = func() { // it raises from 100 to 200
			time.Sleep(short.Lease)
			var err error
			if last, err = b.NextN(ctx, 5, 1000); err == nil {
				last, err = b.Next(ctx, 5)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Next(ctx, 5); !elsewhere(err) {
			t.Fatalf("error %v, want sequence_elsewhere", err)
		}
		if last < 1101 {
			t.Fatalf("the last number is %d, want at least 1101", last)
		}
		c := newSeqNode(t, db, idservice.SequencesConfig{Exclusive: true}) // b is gone, but its bound remains
		if v, err := c.Next(ctx, 5); err != nil || v <= last {
			t.Fatalf("%d after %d, %v", v, last, err)
		}
	})
}

// TestSequencesOfManyCallers: callers use whichever node owns the section, while each node stops in turn.
func TestSequencesOfManyCallers(t *testing.T) {
	db := store(t) // in real time: the database waits for callers that leave in the middle of a statement
	put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Step: 500, SectionKeys: 1000})
	checks := map[uint64]*idcheck.Checker[uint64]{3: {}, 4: {}, 2003: {}}
	for range 5 {
		n := newSeqNode(t, db, idservice.SequencesConfig{})
		whole, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := n.all.Run(whole); err != nil {
				t.Error(err)
			}
		})
		runs := map[uint64][][]uint64{}
		var callers sync.WaitGroup
		for key := range checks {
			runs[key] = make([][]uint64, 4)
			for i := range runs[key] {
				run := &runs[key][i]
				callers.Go(func() {
					for {
						v, err := n.Next(whole, key)
						if err != nil {
							if !errs.Is(err, errs.Unavailable) && !errors.Is(err, context.Canceled) {
								t.Errorf("error %v, want one of the kind unavailable, or %v", err, context.Canceled)
							}
							return
						}
						*run = append(*run, v)
						if len(*run) == 4000 {
							stop() // in the middle of what the others do
						}
					}
				})
			}
		}
		callers.Wait()
		stop()
		running.Wait()
		for key, check := range checks {
			if err := check.Round(runs[key]...); err != nil {
				t.Fatalf("key %d: %v", key, err)
			}
		}
	}
	if checks[3].Count < 100 {
		t.Errorf("only %d", checks[3].Count)
	}
}

// TestBoundsAreStoredSeldom: besides the acquisition, one bound is stored per 10,000 numbers of a section's highest counter, however many
// keys there are. A restart reads bounds, not keys.
func TestBoundsAreStoredSeldom(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence})
		ctx := t.Context()
		n := newSeqNode(t, db, idservice.SequencesConfig{})
		running(t, n.all.Run)
		const keys = 300_000 // three sections
		for key := uint64(0); key < keys; key++ {
			if v, err := n.NextN(ctx, key, 20); err != nil || v != 1 {
				t.Fatalf("the first numbers of a key begin at %d, %v, want 1", v, err)
			}
		}
		if got := n.way.writes.Load(); got != 1+3 { // the lease, and each section
			t.Errorf("%d writes, although only bounds are stored", got)
		}
		before := n.way.writes.Load()
		const raised = 95_000
		last := uint64(0)
		for last < raised {
			v, err := n.Next(ctx, 7)
			if err != nil || v <= last {
				t.Fatalf("%d after %d, %v", v, last, err)
			}
			last = v
		}
		synctest.Wait()
		if got := n.way.writes.Load() - before; got < raised/10_000 || got > raised/10_000+1 {
			t.Errorf("%d bounds were stored for %d numbers", got, raised)
		}
		again := newSeqNode(t, db, idservice.SequencesConfig{Exclusive: true})
		for _, key := range []uint64{7, 8, 250_000} {
			v, err := again.Next(ctx, key)
			if key < 100_000 && v != 100_001 || key > 100_000 && v != 10_001 || err != nil {
				t.Errorf("key %d begins with %d, %v", key, v, err)
			}
		}
		if got := again.way.writes.Load(); got != 1+2 {
			t.Errorf("%d writes of a restart", got)
		}
	})
}

// TestSequencesAreBoundedInMemory: however many keys there are, and however far apart, a node holds at most MaxPages pages and evicts
// others. Evicted counters continue above the issued numbers. Lost sections free their pages.
func TestSequencesAreBoundedInMemory(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, SectionKeys: 10_240})
		ctx := t.Context()
		const most = 22 // two sections of ten pages
		n := newSeqNode(t, db, idservice.SequencesConfig{MaxPages: most})
		last := map[uint64]uint64{}
		next := func(n *seqNode, key uint64) {
			t.Helper()
			v, err := n.Next(ctx, key)
			if err != nil || v <= last[key] || n.all.Pages() > most {
				t.Fatalf("key %d: %d after %d with %d pages, %v", key, v, last[key], n.all.Pages(), err)
			}
			last[key] = v
		}
		for range 2 {
			for key := uint64(0); key < 2*10_240; key++ {
				next(n, key)
			}
		}
		if last[5] != 2 || n.all.Pages() != most {
			t.Fatalf("a section that fits was evicted: got %d, with %d pages", last[5], n.all.Pages())
		}
		next(n, 1<<50) // one of the two is evicted
		next(n, 5)
		before := last[5]
		for range 2 {
			for i := range uint64(100) {
				next(n, 1<<50+i<<20)
				next(n, 5) // in use, and therefore kept
			}
		}
		if last[5] != before+200 {
			t.Errorf("a section in constant use was evicted: got %d after %d", last[5], before)
		}
		time.Sleep(2 * lease)
		other := newSeqNode(t, db, idservice.SequencesConfig{Exclusive: true, MaxPages: most})
		next(other, 5) // n was declared dead and owns nothing
		next(n, 1<<40)
		if got := n.all.Pages(); got != 2 {
			t.Errorf("%d pages for one key", got)
		}
		small := newSeqNode(t, db, idservice.SequencesConfig{Exclusive: true, MaxPages: 1})
		if _, err := small.Next(ctx, 5); !hasReason(err, errs.Exhausted, "sequence_memory") {
			t.Errorf("error %v, want the reason sequence_memory", err)
		}
	})
}

// TestASequenceEndsAtItsMaximum: a sequence ends at its tag's maximum, and when its tag is deleted.
func TestASequenceEndsAtItsMaximum(t *testing.T) {
	db := store(t)
	tag := idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Maximum: 10_005}
	put(t, db, tag)
	ctx := t.Context()
	n := newSeqNode(t, db, idservice.SequencesConfig{})
	for _, count := range []int{0, -1, 10_001} {
		if _, err := n.NextN(ctx, 1, count); !hasReason(err, errs.Invalid, "bad_batch") {
			t.Errorf("a request for %d numbers returned %v, want bad_batch", count, err)
		}
	}
	if v, err := n.NextN(ctx, 1, 10_000); err != nil || v != 1 {
		t.Fatalf("10,000 numbers begin at %d, %v, want 1", v, err)
	}
	if _, err := n.NextN(ctx, 1, 6); !hasReason(err, errs.Exhausted, "ids_used_up") {
		t.Errorf("error %v, want the reason ids_used_up", err)
	}
	if v, err := n.NextN(ctx, 1, 5); err != nil || v != 10_001 {
		t.Errorf("the next numbers begin at %d, %v, want 10001", v, err)
	}
	if _, err := n.Next(ctx, 1); !hasReason(err, errs.Exhausted, "ids_used_up") {
		t.Errorf("error %v, want the reason ids_used_up", err)
	}
	tag.Maximum = 30_000
	put(t, db, tag)
	if err := tagsOf(t, db).DeleteTag(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Next(ctx, 1); !hasReason(err, errs.NotFound, "no_tag") {
		t.Errorf("error %v, want the reason no_tag", err)
	}
	put(t, db, tag)
	if v, err := n.Next(ctx, 1); err != nil || v <= 10_005 {
		t.Errorf("created again it begins with %d, %v", v, err)
	}
	if _, err := n.all.Of(ctx, "other"); !hasReason(err, errs.NotFound, "no_tag") {
		t.Errorf("error %v, want the reason no_tag", err)
	}
	for _, c := range []idservice.SequencesConfig{{Lease: time.Second}, {Margin: -1}} {
		if _, err := idservice.NewSequences(ctx, counterDeps(db, clock.System{}), c); !hasReason(err, errs.Invalid, "bad_config") {
			t.Errorf("the configuration %+v returned %v, want bad_config", c, err)
		}
	}
}

// TestLostAnswersOfBounds: a bound whose answer was lost is recognized as this node's own.
func TestLostAnswersOfBounds(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idservice.Tag{Name: "s", Scheme: idservice.SchemeSequence, Step: 100})
		n := newSeqNode(t, db, idservice.SequencesConfig{})
		running(t, n.all.Run)
		var all []uint64
		for round := range 4 {
			n.way.loseAnswers.Store(false)
			time.Sleep(3 * time.Second)
			for range 100 {
				v, err := n.Next(t.Context(), 5)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, v)
			}
			n.way.loseAnswers.Store(true)
			for range round { // number of consecutive answers
				for {
					v, err := n.Next(t.Context(), 5)
					if err != nil {
						break
					}
					all = append(all, v)
				}
				time.Sleep(3 * time.Second)
			}
		}
		if !slices.IsSorted(all) || len(slices.Compact(all)) != len(all) {
			t.Errorf("the numbers are %v, want them sorted and each once", all)
		}
		if all[len(all)-1] != uint64(len(all)) {
			t.Errorf("got %d numbers up to %d: the node considered its section another's", len(all), all[len(all)-1])
		}
	})
}
