package idgen_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

func database(t testing.TB, place string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(context.Background(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// server is a process with its generators.
type server struct {
	*idgen.Leases
	*idgen.Snowflake
	messages *idgen.Messages
}

func serve(t testing.TB, db *sqldb.DB, c *clocktest.Manual, config idgen.LeaseConfig) *server {
	t.Helper()
	l, err := idgen.NewLeases(t.Context(), idgen.LeaseDeps{DB: db, Clock: c, Logger: slog.New(slog.DiscardHandler)}, config)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Leases: l}
	if s.Snowflake, err = idgen.NewSnowflake(t.Context(), l, idgen.SnowflakeConfig{}); err != nil {
		t.Fatal(err)
	}
	if s.messages, err = idgen.NewMessages(t.Context(), l, idgen.MessagesConfig{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// draw draws n ids of each kind, which must differ from all in seen.
func (s *server) draw(t testing.TB, seen map[any]bool, n int) {
	t.Helper()
	for range n {
		v, err := s.Next(t.Context())
		m, merr := s.messages.Next(1, id.Conversation(n))
		if err != nil || merr != nil || seen[v] || seen[m] {
			t.Fatalf("%d (known: %v, %v), %s (known: %v, %v)", v, seen[v], err, m, seen[m], merr)
		}
		seen[v], seen[m] = true, true
	}
}

var own = idgen.LeaseConfig{Machine: "a", Exclusive: true}

// After a kill a server continues at once with its worker id, above its mark. Its ids stay near the clock however often it is killed.
func TestAKilledServerContinues(t *testing.T) {
	c, seen := clocktest.NewManual(), map[any]bool{}
	db := database(t, sqltest.Place(t))
	for range 20 {
		s := serve(t, db, c, own)
		s.draw(t, seen, 3000)
		if s.Worker() != 0 {
			t.Fatalf("worker %d", s.Worker())
		}
		v, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.messages.Next(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ids.ParseSnowflake(v)
		ahead := max(p.Time.UnixMilli(), m.Ms()) - c.Now().UnixMilli()
		if err != nil || ahead > idgen.MaxLead.Milliseconds() {
			t.Fatalf("%d ms ahead of the clock", ahead)
		}
		c.Advance(200 * time.Millisecond) // as long as a start takes
	}
}

// After a clean stop the next process's ids start at the clock's time.
func TestAStoppedServersSuccessorStartsAtTheClock(t *testing.T) {
	c, seen := clocktest.NewManual(), map[any]bool{}
	db := database(t, sqltest.Place(t))
	s := serve(t, db, c, own)
	s.draw(t, seen, 10)
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); !errs.Is(err, errs.Unavailable) {
		t.Errorf("Next after Release returned %v", err)
	}
	if _, err := s.messages.Next(1, 1); !errs.Is(err, errs.Unavailable) {
		t.Errorf("Next of messages after Release returned %v", err)
	}
	s = serve(t, db, c, idgen.LeaseConfig{Machine: "a", Exclusive: true})
	s.draw(t, seen, 10)
	m, err := s.messages.Next(1, 1)
	if lead := m.Ms() - c.Now().UnixMilli(); err != nil || lead > 1 {
		t.Errorf("%d ms ahead, %v", lead, err)
	}
}

// A disk is copied from a running server. The copy runs on another machine, and the server is killed and restarted.
func TestACopiedDiskGetsOtherWorkerIDs(t *testing.T) {
	c, seen := clocktest.NewManual(), map[any]bool{}
	place := sqltest.Place(t)
	db := database(t, place)
	original := serve(t, db, c, own)
	original.draw(t, seen, 100)
	twin := serve(t, database(t, sqltest.Copy(t, place)), c, idgen.LeaseConfig{Machine: "b", Exclusive: true})
	for range 5 {
		twin.draw(t, seen, 100)
		original.draw(t, seen, 100)
		original.Renew(t.Context())
		c.Advance(500 * time.Millisecond)
	}
	original = serve(t, db, c, own)
	if original.Worker() != 0 || twin.Worker() == 0 {
		t.Errorf("the original has worker %d, its copy %d", original.Worker(), twin.Worker())
	}
	for range 5 {
		twin.draw(t, seen, 100)
		original.draw(t, seen, 100)
		c.Advance(500 * time.Millisecond)
	}
}

// Nodes of a shared database have a new name at each start, as under an orchestrator. The worker ids of killed nodes are reused, so that
// they do not run out.
func TestChangingNamesUseUpNoWorkerIDs(t *testing.T) {
	c := clocktest.NewManual()
	db := database(t, sqltest.Place(t))
	for n := range 50 {
		l, err := idgen.NewLeases(t.Context(), idgen.LeaseDeps{DB: db, Clock: c, Logger: slog.New(slog.DiscardHandler)}, idgen.LeaseConfig{Machine: fmt.Sprint("node-", n)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := idgen.NewMessages(t.Context(), l, idgen.MessagesConfig{Ranges: 4})
		if err != nil {
			t.Fatalf("node %d got no worker id: %v", n, err)
		}
		if _, err := m.Next(1, 1); err != nil {
			t.Fatal(err)
		}
		c.Advance(20 * time.Second) // it is killed
	}
}

// A database that moves between machines runs out of unused worker ids. Then the one that has been unused for longest is reused, if it is
// old enough.
func TestTheLongestUnusedWorkerIDIsReused(t *testing.T) {
	c := clocktest.NewManual()
	db := database(t, sqltest.Place(t))
	start := func(machine string) (*idgen.Messages, error) {
		l, err := idgen.NewLeases(t.Context(), idgen.LeaseDeps{DB: db, Clock: c, Logger: slog.New(slog.DiscardHandler)}, idgen.LeaseConfig{Machine: machine, Exclusive: true})
		if err != nil {
			t.Fatal(err)
		}
		return idgen.NewMessages(t.Context(), l, idgen.MessagesConfig{Ranges: 2})
	}
	spin := func(m *idgen.Messages, err error) uint16 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Next(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return v.Spin() / 2048
	}
	first := spin(start("a"))
	c.Advance(time.Hour)
	second := spin(start("b"))
	c.Advance(idgen.Forgotten)
	if _, err := start("c"); err != nil || first == second {
		t.Fatalf("got ranges %d and %d, then %v", first, second, err)
	}
	if _, err := start("d"); errs.Of(err).Reason != "no_worker" {
		t.Errorf("a recently used range was reused: %v", err)
	}
	if third := spin(start("c")); third != first {
		t.Errorf("the third has range %d", third)
	}
}

// Copies of one image on different machines rarely get the same worker id: they do not all take the next one.
func TestCopiesOfOneImageSpread(t *testing.T) {
	c := clocktest.NewManual()
	place := sqltest.Place(t)
	serve(t, database(t, place), c, own)
	workers := map[uint64]bool{}
	for _, machine := range strings.Split("bcdefghi", "") {
		workers[serve(t, database(t, sqltest.Copy(t, place)), c, idgen.LeaseConfig{Machine: machine, Exclusive: true}).Worker()] = true
	}
	if len(workers) < 8 || workers[0] {
		t.Errorf("8 copies have the workers %v", workers)
	}
}

// A process slept through its lease, and another acquired its worker id. When it wakes, it acquires a free one.
func TestASuspendedProcessLosesItsWorkerID(t *testing.T) {
	c, seen := clocktest.NewManual(), map[any]bool{}
	db := database(t, sqltest.Place(t))
	nodes := func(layout idgen.Layout) (*idgen.Leases, *idgen.Snowflake, error) {
		l, err := idgen.NewLeases(t.Context(), idgen.LeaseDeps{DB: db, Clock: c, Logger: slog.New(slog.DiscardHandler)}, idgen.LeaseConfig{Machine: "a"})
		if err != nil {
			t.Fatal(err)
		}
		g, err := idgen.NewSnowflakeOf(t.Context(), l, layout)
		return l, g, err
	}
	two := idgen.Layout{Time: 41, Worker: 1, Sequence: 12}
	_, sleeper, err := nodes(two)
	if err != nil {
		t.Fatal(err)
	}
	awake, second, err := nodes(two)
	if err != nil || second.Worker() != 1 {
		t.Fatalf("the second has worker %d, %v", second.Worker(), err)
	}
	if _, _, err := nodes(two); !errs.Is(err, errs.Unavailable) || errs.Of(err).Reason != "no_worker" {
		t.Fatalf("a third of two: %v", err)
	}
	for range 5 {
		c.Advance(idgen.Abandoned / 4)
		awake.Renew(t.Context())
	}
	_, third, err := nodes(two)
	if err != nil || third.Worker() != 0 {
		t.Fatalf("the third has worker %d, %v", third.Worker(), err)
	}
	if v, err := sleeper.Next(t.Context()); errs.Of(err).Reason != "no_worker" {
		t.Fatalf("the sleeping process issued %d, %v", v, err)
	}
	if err := awake.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Millisecond)
	for _, g := range []*idgen.Snowflake{sleeper, third, sleeper, third} {
		v, err := g.Next(t.Context())
		if err != nil || seen[v] {
			t.Fatalf("id %d, error %v; want an id that was not issued before", v, err)
		}
		seen[v] = true
	}
	if sleeper.Worker() != 1 {
		t.Errorf("the sleeper has worker %d", sleeper.Worker())
	}
}

// Two processes hold one lease, because one is a copy of the other. The second to renew is rejected and acquires another worker id.
func TestACopiedProcessIsRefused(t *testing.T) {
	c, seen := clocktest.NewManual(), map[any]bool{}
	s := serve(t, database(t, sqltest.Place(t)), c, idgen.LeaseConfig{Machine: "a"})
	s.draw(t, seen, 10)
	l, g, m := idgen.Frozen(s.Leases, s.Snowflake, s.messages, c)
	twin := &server{l, g, m}
	s.Renew(t.Context())
	twin.Renew(t.Context())
	if s.Worker() != 0 || twin.Worker() == 0 {
		t.Fatalf("workers %d and %d", s.Worker(), twin.Worker())
	}
	for range 10 {
		s.draw(t, seen, 10)
		twin.draw(t, seen, 10)
		c.Advance(time.Second)
	}
}

// Run keeps the mark ahead of the clock despite faults of the store, so that no id waits. When it ends, the mark is the last id's time.
func TestRunRenewsDespiteStoreFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * 30 * 24 * time.Hour)
		store := newRows(rand.New(rand.NewPCG(3, 3)))
		tokens := 0
		l := idgen.NewLeasesOn(store, &stepping{}, slog.New(slog.DiscardHandler), own, func() string { tokens++; return strconv.Itoa(tokens) })
		g, err := idgen.NewSnowflake(t.Context(), l, idgen.SnowflakeConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		for i := range 60 {
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			if i%8 == 0 {
				store.fault(1 + i%3)
			}
			if _, ok, err := g.TryNext(t.Context()); !ok || err != nil {
				t.Fatalf("after %d half seconds: %v", i, err)
			}
			if left := time.Until(time.UnixMilli(store.row("snowflake", 0).Mark)); i%8 > 3 && (left < idgen.Ahead-2*time.Second || left > idgen.Ahead) {
				t.Fatalf("the mark is %v ahead", left)
			}
		}
		store.fault(0)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if w := store.row("snowflake", 0); w.Token != "" || w.Mark != time.Now().UnixMilli()+1 {
			t.Errorf("the row says %+v at %d", w, time.Now().UnixMilli())
		}
	})
}

// While the store is unavailable, ids are issued up to the mark, and no further.
func TestIDsEndAtTheMark(t *testing.T) {
	c, seen := clocktest.NewManual(), map[any]bool{}
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, db, c, own)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c.Advance(idgen.Ahead - time.Millisecond)
	s.draw(t, seen, 10)
	c.Advance(time.Millisecond)
	if v, err := s.Next(t.Context()); !errs.Is(err, errs.Unavailable) {
		t.Errorf("id %d, error %v; want one of the kind unavailable", v, err)
	}
	for range 2 {
		if v, err := s.messages.Next(1, 1); !errs.Is(err, errs.Unavailable) {
			t.Errorf("message id %s, error %v; want one of the kind unavailable", v, err)
		}
	}
}

// The bits of a worker id mean the same to every holder in a pool.
func TestAPoolRefusesAnotherNumberOfRanges(t *testing.T) {
	c := clocktest.NewManual()
	s := serve(t, database(t, sqltest.Place(t)), c, own)
	if _, err := idgen.NewMessages(t.Context(), s.Leases, idgen.MessagesConfig{Ranges: 8}); err == nil {
		t.Error("8 ranges were accepted for a pool divided into 16")
	}
	other, err := idgen.NewMessages(t.Context(), s.Leases, idgen.MessagesConfig{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.messages.Next(1, 7)
	b, berr := other.Next(1, 7+1<<22) // its low 22 bits are those of 7
	if err != nil || berr != nil || a.Spin()/256 == b.Spin()/256 || a.Low22() != b.Low22() {
		t.Errorf("%s and %s, %v, %v", a, b, err, berr)
	}
}

// Many callers draw ids while leases are renewed, stolen and released.
func TestIDsWhileLeasesComeAndGo(t *testing.T) {
	c := clocktest.NewManual()
	db := database(t, sqltest.Place(t))
	servers := []*server{serve(t, db, c, own), serve(t, db, c, own)} // the second process acquires the first one's worker id
	const callers, each = 6, 4000
	var wait sync.WaitGroup
	all := make([][]string, callers)
	for i := range callers {
		s := servers[i%2]
		wait.Go(func() {
			for range each {
				m, err := s.messages.Next(1, 1)
				if errs.Is(err, errs.Unavailable) {
					return // released
				}
				if err != nil || len(all[i]) > 0 && m.String() <= all[i][len(all[i])-1] {
					t.Errorf("message id %s, error %v; want one above those before", m, err)
					return
				}
				all[i] = append(all[i], m.String())
			}
		})
	}
	for range 20 {
		for _, s := range servers {
			s.Renew(t.Context())
		}
		c.Advance(100 * time.Millisecond)
	}
	if err := servers[0].Release(t.Context()); err != nil {
		t.Error(err)
	}
	after := serve(t, db, c, own) // begins where the first one ended
	var later []string            // not in all: the callers may still be appending what they drew before the release
	for range each {
		m, err := after.messages.Next(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		later = append(later, m.String())
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, s := range append(slices.Concat(all...), later...) {
		if seen[s] {
			t.Fatalf("%s was issued twice", s)
		}
		seen[s] = true
	}
}

// The tests' store behaves like the database.
func TestTheMemoryStoreMatchesTheDatabase(t *testing.T) {
	db, err := idgen.NewStore(t.Context(), database(t, sqltest.Place(t)))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	stores := []idgen.Workers{db, newRows(r)}
	bySlot := func(a, b idgen.Worker) int { return cmp.Compare(a.Slot, b.Slot) }
	for step := range 300 {
		pool, slot := string(rune('a'+r.IntN(2))), r.Uint64N(3)
		old, err := db.Get(t.Context(), pool, slot)
		if err != nil {
			t.Fatal(err)
		}
		switch r.IntN(6) {
		case 0:
			old.Term--
		case 1:
			old.Token += "x"
		case 2:
			old.Term = 0
		}
		next := idgen.Worker{Slot: slot, Token: string(rune('a' + r.IntN(3))), Machine: "m", Term: old.Term + 1, Mark: r.Int64N(1 << 40)}
		size := 8 + r.Uint64N(2)
		var said [2]bool
		var lists [2][]idgen.Worker
		var sizes [2]bool
		for i, s := range stores {
			sizes[i] = s.Pool(t.Context(), pool, size) == nil
			if said[i], err = s.Put(t.Context(), pool, old, next); err != nil {
				t.Fatal(err)
			}
			if lists[i], err = s.List(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(lists[i], bySlot)
		}
		if said[0] != said[1] || sizes[0] != sizes[1] || !slices.Equal(lists[0], lists[1]) {
			t.Fatalf("step %d: from %+v to %+v: %v, and then %v", step, old, next, said, lists)
		}
	}
}
