package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"pgregory.net/rapid"
)

const (
	lease  = 10 * time.Second
	margin = 2 * time.Second
)

// seqNode is a node that gives sequences of the tag "s".
type seqNode struct {
	*idgen.Sequence
	all   *idgen.Sequences
	way   *breaking
	clock *stepping
}

func newSeqNode(t fataler, db *sqldb.DB, config idgen.SequencesConfig) *seqNode {
	t.Helper()
	n := &seqNode{way: &breaking{db: db}, clock: &stepping{}}
	if config.Lease == 0 {
		config.Lease, config.Margin = lease, margin
	}
	var err error
	if n.all, err = idgen.NewSequences(t.Context(), counterDeps(n.way, n.clock), config); err != nil {
		t.Fatal(err)
	}
	if n.Sequence, err = n.all.Of(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	return n
}

// stop ends a node as a server does that is told to.
func (n *seqNode) stop(t fataler) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.all.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func elsewhere(err error) bool { return hasReason(err, errs.Unavailable, "sequence_elsewhere") }

// deed is one step of a schedule.
type deed struct {
	what string
	node int
	key  uint64
	n    int // how many, how long
	yes  bool
}

// TestSequencesModel: three nodes give numbers of a few keys in two sections, while they crash, stop, lose the store and its
// answers, and while their clocks step and time goes by. No key's number is ever given again, or goes back, whoever gives it.
func TestSequencesModel(t *testing.T) {
	place, tries, given := sqltest.Place(t), uint64(0), 0
	schedules(t, 60, 1, func(r *rapid.T) {
		deeds := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) deed {
			return deed{
				what: rapid.SampledFrom([]string{"next", "next", "next", "next", "peek", "time", "time", "step", "away", "mute", "crash", "stop"}).Draw(r, "what"),
				node: rapid.IntRange(0, 2).Draw(r, "node"), key: rapid.SampledFrom([]uint64{0, 7, 999, 1000, 1777}).Draw(r, "key"),
				n: rapid.IntRange(1, 12_000).Draw(r, "n"), yes: rapid.Bool().Draw(r, "yes"),
			}
		}), 1, 60).Draw(r, "deeds")
		tries++ // sections of its own
		var fault string
		synctest.Test(t, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Step: 10, SectionKeys: 1000})
			w := &seqWorld{db: db, nodes: make([]*seqNode, 3), highest: map[uint64]uint64{}, first: tries * 10_000}
			for i := range w.nodes {
				w.nodes[i] = newSeqNode(t, db, idgen.SequencesConfig{PagesMost: int64(i) * 3}) // the second has room for one section
			}
			for _, d := range deeds {
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
		t.Errorf("only %d were given", given)
	}
}

// seqWorld is the nodes of a schedule, and what they gave.
type seqWorld struct {
	db      *sqldb.DB
	nodes   []*seqNode
	highest map[uint64]uint64 // given, by key
	first   uint64            // key
	given   int
}

// do does a deed, and tells what is wrong afterwards.
func (w *seqWorld) do(t *testing.T, d deed) (fault string) {
	n, key := w.nodes[d.node], w.first+d.key
	failure := func(err error) string {
		if !errs.Is(err, errs.Unavailable) || !n.way.away.Load() && !n.way.mute.Load() && errs.Of(err).Retry <= 0 {
			return "it does not say when to try again: " + err.Error()
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
		n.way.away.Store(d.yes)
	case "mute":
		n.way.mute.Store(d.yes)
	case "crash":
		w.nodes[d.node] = newSeqNode(t, w.db, idgen.SequencesConfig{})
	case "stop":
		n.stop(t)
		if _, err := n.Next(t.Context(), key); !errs.Is(err, errs.Unavailable) {
			return fmt.Sprintf("after its end: %v", err)
		}
		w.nodes[d.node] = newSeqNode(t, w.db, idgen.SequencesConfig{})
	}
	return ""
}

// TestAnOwnerStopsBeforeItIsSucceeded: cut off from the store it gives numbers for lease less margin, then none; another gives
// none before the lease is over, and then higher ones.
func TestAnOwnerStopsBeforeItIsSucceeded(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence})
		a, b := newSeqNode(t, db, idgen.SequencesConfig{Node: "a"}), newSeqNode(t, db, idgen.SequencesConfig{Node: "b"})
		ctx := t.Context()
		last, err := a.Next(ctx, 5)
		if err != nil || last != 1 {
			t.Fatalf("%d, %v", last, err)
		}
		if _, err := b.Next(ctx, 5); !elsewhere(err) || errs.Of(err).Retry != lease {
			t.Fatal(err)
		}
		for node, of := range map[*seqNode]string{a: "a", b: "a"} {
			if owner, err := node.Owner(ctx, 5); err != nil || owner != of {
				t.Fatalf("%q, %v", owner, err)
			}
		}
		a.way.away.Store(true)
		time.Sleep(lease - margin - time.Millisecond)
		if last, err = a.Next(ctx, 5); err != nil || last != 2 {
			t.Fatalf("%d, %v", last, err)
		}
		time.Sleep(time.Millisecond)
		if _, err := a.Next(ctx, 5); !hasReason(err, errs.Unavailable, "ids_unavailable") {
			t.Fatal(err)
		}
		if _, err := a.Peek(ctx, 5); !errs.Is(err, errs.Unavailable) {
			t.Fatal(err)
		}
		time.Sleep(margin - time.Millisecond)
		if _, err := b.Next(ctx, 5); !elsewhere(err) || errs.Of(err).Retry > retryAtOnce {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if last, err = b.Next(ctx, 5); err != nil || last != 10_001 {
			t.Fatalf("%d, %v", last, err)
		}
		a.way.away.Store(false)
		time.Sleep(3 * time.Second)
		if _, err := a.Next(ctx, 5); !elsewhere(err) {
			t.Fatal(err)
		}
		// b goes on, as long as it lives; when it stops, a need not wait.
		running := make(chan error)
		whole, stop := context.WithCancel(ctx)
		go func() { running <- b.all.Run(whole) }()
		time.Sleep(10 * lease)
		if _, err := a.Next(ctx, 5); !elsewhere(err) {
			t.Fatal(err)
		}
		stop()
		if err := <-running; err != nil {
			t.Fatal(err)
		}
		if _, err := b.Next(ctx, 5); !hasReason(err, errs.Unavailable, "closing") {
			t.Fatal(err)
		}
		if last, err = a.Next(ctx, 5); err != nil || last != 20_001 {
			t.Fatalf("%d, %v", last, err)
		}
	})
}

// retryAtOnce is the shortest that a caller is asked to wait.
const retryAtOnce = 50 * time.Millisecond

// TestTheWallClockStopsAnOwnerOnlyEarlier: one that stepped ahead may mean that the machine slept; one that steps back means
// nothing.
func TestTheWallClockStopsAnOwnerOnlyEarlier(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence})
		a := newSeqNode(t, db, idgen.SequencesConfig{})
		for _, c := range []struct {
			step time.Duration // back
			wait time.Duration
			ok   bool
		}{{-time.Hour, 0, false}, {time.Hour, 0, true}, {time.Hour, lease - margin, false}, {-time.Second, 0, true}, {-lease, 0, false}} {
			a.way.away.Store(false)
			time.Sleep(3 * time.Second)
			if _, err := a.Next(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			before := a.way.writes.Load()
			a.way.away.Store(true)
			a.clock.step(c.step)
			time.Sleep(c.wait)
			if _, err := a.Next(t.Context(), 5); (err == nil) != c.ok || a.way.writes.Load() != before {
				t.Errorf("%v back and %v later: %v", c.step, c.wait, err)
			}
		}
	})
}

// TestALateBoundIsRefused: one that an owner sent, and that comes to the store when another owns the section, changes nothing.
func TestALateBoundIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Step: 100})
		short := idgen.SequencesConfig{Lease: 4 * time.Second, Margin: time.Second} // than the wait for a store
		a, b := newSeqNode(t, db, short), newSeqNode(t, db, short)
		ctx := t.Context()
		if _, err := a.NextN(ctx, 5, 100); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Next(ctx, 5); !elsewhere(err) {
			t.Fatal(err)
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
			t.Fatal(err)
		}
		if last < 1101 {
			t.Fatal(last)
		}
		c := newSeqNode(t, db, idgen.SequencesConfig{Own: true}) // b is gone, and its bound is not
		if v, err := c.Next(ctx, 5); err != nil || v <= last {
			t.Fatalf("%d after %d, %v", v, last, err)
		}
	})
}

// TestASequenceOfManyAskers who go to whichever node owns the section, while each stops in turn.
func TestASequenceOfManyAskers(t *testing.T) {
	db := store(t) // in real time: askers who leave in the middle of a statement are waited for by the database
	put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Step: 500, SectionKeys: 1000})
	checks := map[uint64]*idcheck.Checker[uint64]{3: {}, 4: {}, 2003: {}}
	for range 5 {
		n := newSeqNode(t, db, idgen.SequencesConfig{})
		whole, stop := context.WithCancel(t.Context())
		var room sync.WaitGroup
		room.Go(func() {
			if err := n.all.Run(whole); err != nil {
				t.Error(err)
			}
		})
		runs := map[uint64][][]uint64{}
		var askers sync.WaitGroup
		for key := range checks {
			runs[key] = make([][]uint64, 4)
			for i := range runs[key] {
				run := &runs[key][i]
				askers.Go(func() {
					for {
						v, err := n.Next(whole, key)
						if err != nil {
							if !errs.Is(err, errs.Unavailable) && !errors.Is(err, context.Canceled) {
								t.Error(err)
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
		askers.Wait()
		stop()
		room.Wait()
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

// TestBoundsAreStoredSeldom: one for 10,000 numbers of a section's furthest key, however many keys there are, besides the
// taking over; and a restart reads bounds, not keys.
func TestBoundsAreStoredSeldom(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence})
		ctx := t.Context()
		n := newSeqNode(t, db, idgen.SequencesConfig{})
		running(t, n.all.Run)
		const keys = 300_000 // three sections
		for key := uint64(0); key < keys; key++ {
			if v, err := n.NextN(ctx, key, 20); err != nil || v != 1 {
				t.Fatalf("%d, %v", v, err)
			}
		}
		if got := n.way.writes.Load(); got != 1+3 { // the lease, and each section
			t.Errorf("%d writes for many keys", got)
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
		again := newSeqNode(t, db, idgen.SequencesConfig{Own: true})
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

// TestSequencesAreBoundedInMemory: however many keys there are, and however far apart, a node holds so many pages, and forgets
// others; what it forgot goes on above what was given. What it owns no more it gives back.
func TestSequencesAreBoundedInMemory(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, SectionKeys: 10_240})
		ctx := t.Context()
		const most = 22 // two sections of ten pages
		n := newSeqNode(t, db, idgen.SequencesConfig{PagesMost: most})
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
			t.Fatalf("what fits was not held: %d, with %d pages", last[5], n.all.Pages())
		}
		next(n, 1<<50) // one of the two goes
		next(n, 5)
		before := last[5]
		for range 2 {
			for i := range uint64(100) {
				next(n, 1<<50+i<<20)
				next(n, 5) // which is used, and stays
			}
		}
		if last[5] != before+200 {
			t.Errorf("what was used all the time was forgotten: %d after %d", last[5], before)
		}
		time.Sleep(2 * lease)
		other := newSeqNode(t, db, idgen.SequencesConfig{Own: true, PagesMost: most})
		next(other, 5) // n is dead, and owns nothing
		next(n, 1<<40)
		if got := n.all.Pages(); got != 2 {
			t.Errorf("%d pages for one key", got)
		}
		small := newSeqNode(t, db, idgen.SequencesConfig{Own: true, PagesMost: 1})
		if _, err := small.Next(ctx, 5); !hasReason(err, errs.Exhausted, "sequence_memory") {
			t.Error(err)
		}
	})
}

// TestASequenceEnds at its tag's maximum, and with its tag.
func TestASequenceEnds(t *testing.T) {
	db := store(t)
	tag := idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Maximum: 10_005}
	put(t, db, tag)
	ctx := t.Context()
	n := newSeqNode(t, db, idgen.SequencesConfig{})
	for _, count := range []int{0, -1, 10_001} {
		if _, err := n.NextN(ctx, 1, count); !hasReason(err, errs.Invalid, "bad_batch") {
			t.Errorf("%d: %v", count, err)
		}
	}
	if v, err := n.NextN(ctx, 1, 10_000); err != nil || v != 1 {
		t.Fatalf("%d, %v", v, err)
	}
	if _, err := n.NextN(ctx, 1, 6); !hasReason(err, errs.Exhausted, "ids_used_up") {
		t.Error(err)
	}
	if v, err := n.NextN(ctx, 1, 5); err != nil || v != 10_001 {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := n.Next(ctx, 1); !hasReason(err, errs.Exhausted, "ids_used_up") {
		t.Error(err)
	}
	tag.Maximum = 30_000
	put(t, db, tag)
	if err := tagsOf(t, db).DeleteTag(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Next(ctx, 1); !hasReason(err, errs.NotFound, "no_tag") {
		t.Error(err)
	}
	put(t, db, tag)
	if v, err := n.Next(ctx, 1); err != nil || v <= 10_005 {
		t.Errorf("made anew it begins with %d, %v", v, err)
	}
	if _, err := n.all.Of(ctx, "other"); !hasReason(err, errs.NotFound, "no_tag") {
		t.Error(err)
	}
	for _, c := range []idgen.SequencesConfig{{Lease: time.Second}, {Margin: -1}} {
		if _, err := idgen.NewSequences(ctx, counterDeps(db, clock.System{}), c); !hasReason(err, errs.Invalid, "bad_config") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestLostAnswersOfBounds: what was stored and not heard of is found again, and nobody else's.
func TestLostAnswersOfBounds(t *testing.T) {
	bubble(t, func(t *testing.T, db *sqldb.DB) {
		put(t, db, idgen.Tag{Name: "s", Scheme: idgen.SchemeSequence, Step: 100})
		n := newSeqNode(t, db, idgen.SequencesConfig{})
		running(t, n.all.Run)
		var all []uint64
		for round := range 4 {
			n.way.mute.Store(false)
			time.Sleep(3 * time.Second)
			for range 100 {
				v, err := n.Next(t.Context(), 5)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, v)
			}
			n.way.mute.Store(true)
			for range round { // so many answers in a row
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
			t.Errorf("%v", all)
		}
		if all[len(all)-1] != uint64(len(all)) {
			t.Errorf("%d numbers up to %d: the section was taken for another's", len(all), all[len(all)-1])
		}
	})
}
