package idservice_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"pgregory.net/rapid"
)

func primaries(t fataler, first int, stores ...*breaking) (*idservice.MultiPrimary, error) {
	t.Helper()
	return idservice.NewMultiPrimary(t.Context(), idservice.MultiPrimaryDeps{Stores: records(stores), Logger: slog.New(slog.DiscardHandler)}, idservice.MultiPrimaryConfig{First: first})
}

func records(stores []*breaking) (all []idservice.Records) {
	for _, s := range stores {
		all = append(all, s)
	}
	return all
}

// connections returns n connections to stores.
func connections(stores []*sqldb.DB, n int) (all []*breaking) {
	for _, db := range stores[:n] {
		all = append(all, &breaking{db: db})
	}
	return all
}

func take(t fataler, m *idservice.MultiPrimary, n int) ([]uint64, error) {
	t.Helper()
	dst := make([]uint64, n)
	err := m.Fill(t.Context(), "a", dst)
	if err == nil && (!slices.IsSorted(dst) || len(slices.Compact(slices.Clone(dst))) != n) {
		t.Fatalf("numbers %v do not increase", dst)
	}
	return dst, err
}

// Each store issues its own remainders, whatever the configured order is later, and a node's numbers increase.
func TestMultiPrimaryGivesRemainders(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t)}
	if _, err := primaries(t, 0, connections(stores, 3)...); err != nil {
		t.Fatal(err)
	}
	shuffled := []*breaking{{db: stores[1]}, {db: stores[2]}, {db: stores[0]}}
	m, err := primaries(t, 0, shuffled...)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for round := range 9 {
		at := round % 3 // the only store that answers
		for i, way := range shuffled {
			way.unavailable.Store(i != at)
		}
		got, err := take(t, m, 4)
		if err != nil || got[0] <= last {
			t.Fatalf("got number %d after %d, %v", got, last, err)
		}
		last = got[3]
		for _, v := range got {
			if v%3 != uint64(at+1)%3 {
				t.Errorf("store %d issued %d, not its remainder", (at+1)%3, v)
			}
		}
	}
	for _, way := range shuffled {
		way.unavailable.Store(true)
	}
	if _, err := take(t, m, 1); !hasReason(err, errs.Unavailable, "ids_unavailable") || errs.Of(err).Retry <= 0 {
		t.Errorf("error %v, want ids_unavailable with a time to retry", err)
	}
	for _, n := range []int{10_001} {
		if err := m.Fill(t.Context(), "a", make([]uint64, n)); !hasReason(err, errs.Invalid, "bad_batch") {
			t.Errorf("%d stores: got %v", n, err)
		}
	}
	if err := m.Fill(t.Context(), "Ä", make([]uint64, 1)); !errs.Is(err, errs.Invalid) {
		t.Errorf("error %v, want one of the kind invalid", err)
	}
}

// A failed store is probed in the background, not by each caller.
func TestAFailedStoreIsProbed(t *testing.T) {
	places := []string{sqltest.Place(t), sqltest.Place(t)}
	synctest.Test(t, func(t *testing.T) {
		var all []*breaking
		for _, place := range places {
			db, err := sqldb.Open(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			all = append(all, &breaking{db: db})
		}
		if _, err := primaries(t, 0, all...); err != nil {
			t.Fatal(err)
		}
		all[0].unavailable.Store(true) // from the start
		m, err := primaries(t, 0, all...)
		if err != nil {
			t.Fatal(err)
		}
		running(t, m.Run)
		remainder := func() uint64 {
			t.Helper()
			got, err := take(t, m, 1)
			if err != nil {
				t.Fatal(err)
			}
			return got[0] % 2
		}
		if remainder() != 1 {
			t.Fatal("the unavailable store issued a number")
		}
		all[0].unavailable.Store(false)
		if remainder() != 1 {
			t.Error("a caller used a failed store")
		}
		time.Sleep(3 * time.Second)
		all[1].unavailable.Store(true)
		if remainder() != 0 {
			t.Error("the recovered store issued no number")
		}
	})
}

// All stores are set up together, once, with distinct places. An empty store among others that are set up is skipped, because the store
// that it replaces may have issued the numbers of its place.
func TestStoresAreSetUpTogether(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t)}
	all := connections(stores, 2)
	all[1].unavailable.Store(true)
	if _, err := primaries(t, 0, all...); !hasReason(err, errs.Unavailable, "ids_unavailable") {
		t.Fatalf("setting up with one of two stores unavailable: got %v", err)
	}
	all[1].unavailable.Store(false)
	all[1].loseAnswers.Store(true)
	if _, err := primaries(t, 0, all...); err == nil {
		t.Fatal("setting up with a lost answer: got no error")
	}
	all[1].loseAnswers.Store(false)
	m, err := primaries(t, 0, all...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(t, m, 5); err != nil {
		t.Fatal(err)
	}
	replaced := []*breaking{{db: stores[2]}, {db: stores[1]}}
	if m, err = primaries(t, 0, replaced...); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := take(t, m, 1); err != nil || got[0]%2 != 1 {
			t.Fatalf("got number %d, %v", got, err)
		}
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records(replaced)); !hasReason(err, errs.Invalid, "bad_config") {
		t.Errorf("growing a set with a lost store: got %v", err)
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records([]*breaking{{db: store(t)}})); !hasReason(err, errs.Invalid, "bad_config") {
		t.Errorf("growing an empty set: got %v", err)
	}
	place := []*breaking{{db: store(t)}, {db: store(t)}}
	for _, way := range place {
		if _, err := primaries(t, 0, way); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := primaries(t, 0, place...); !hasReason(err, errs.Invalid, "bad_config") || !strings.Contains(err.Error(), "place 0") {
		t.Errorf("stores with the same place: got %v", err)
	}
	for _, first := range []int{-1, 2} {
		if _, err := primaries(t, first, all...); !hasReason(err, errs.Invalid, "bad_config") {
			t.Errorf("First %d: got %v", first, err)
		}
	}
}

// A growth is interrupted between two stores: the store that has not continued issues nothing above the ceiling, where its numbers could
// equal others'; calling it again completes it.
func TestAnInterruptedGrowthIsCompleted(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t)}
	all := connections(stores, 2)
	m, err := primaries(t, 0, all...)
	if err != nil {
		t.Fatal(err)
	}
	seen := idcheck.Set[uint64]{}
	give := func(m *idservice.MultiPrimary, n int) []uint64 {
		t.Helper()
		got, err := take(t, m, n)
		if err == nil {
			err = seen.Add(got...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	give(m, 100)
	growing := connections(stores, 3)
	growing[1].leave(2) // its layout is read, and it agrees
	if err := idservice.GrowMultiPrimary(t.Context(), records(growing)); !errs.Is(err, errs.Internal) {
		t.Fatalf("error %v, want one of the kind internal", err)
	}
	if got := give(m, 100); got[1]-got[0] != 3 || got[0] < 10_000_000 {
		t.Fatalf("the first store issued %d, %d", got[0], got[1])
	}
	all[0].unavailable.Store(true)
	if got, err := take(t, m, 1); !hasReason(err, errs.Unavailable, "ids_unavailable") {
		t.Fatalf("the second store: got %d, %v", got, err)
	}
	fresh, err := primaries(t, 1, all...)
	if err != nil {
		t.Fatal(err)
	}
	if got := give(fresh, 100); got[1]-got[0] != 2 {
		t.Fatalf("the second store issued %d, %d", got[0], got[1])
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records(connections(stores, 3))); err != nil {
		t.Fatal(err)
	}
	all[0].unavailable.Store(false)
	for first := range 3 {
		more, err := primaries(t, first, connections(stores, 3)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*idservice.MultiPrimary{m, fresh, more} {
			if got := give(m, 100); got[1]-got[0] != 3 {
				t.Fatalf("got numbers %d, %d", got[0], got[1])
			}
		}
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records(connections(stores, 2))); !hasReason(err, errs.Invalid, "bad_config") {
		t.Errorf("shrinking a set: got %v", err)
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records(connections(stores, 3))); err != nil {
		t.Errorf("growing again after completion: got %v", err)
	}
}

// A set grows twice, although it issued nothing in between, and was interrupted.
func TestASetGrowsTwice(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t), store(t)}
	if _, err := primaries(t, 0, connections(stores, 2)...); err != nil {
		t.Fatal(err)
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records(connections(stores, 3))); err != nil {
		t.Fatal(err)
	}
	m, err := primaries(t, 2, connections(stores, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	growing := connections(stores, 4)
	growing[2].leave(1) // before it agrees
	if err := idservice.GrowMultiPrimary(t.Context(), records(growing)); !errs.Is(err, errs.Internal) {
		t.Fatalf("error %v, want one of the kind internal", err)
	}
	before, err := take(t, m, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := idservice.GrowMultiPrimary(t.Context(), records(connections(stores, 4))); err != nil {
		t.Fatal(err)
	}
	after, err := take(t, m, 100)
	if err != nil || after[1]-after[0] != 4 || after[0] <= before[99] {
		t.Fatalf("got numbers %d after %d, %v", after[:2], before[99], err)
	}
}

// Nodes draw numbers while stores fail, recover and lose answers, and while the set grows from two to three to five stores, each growth
// interrupted at any point; nodes that know only the old stores continue. No number is issued twice, and those of a node increase.
func TestMultiPrimaryModel(t *testing.T) {
	var stores []*sqldb.DB
	for range 5 {
		stores = append(stores, store(t))
	}
	schedules(t, 12, 0.1, func(t *rapid.T) {
		for _, db := range stores {
			clearPrimaries(t, db)
		}
		type node struct {
			*idservice.MultiPrimary
			connections []*breaking
			last        uint64
		}
		size := 2
		var nodes []*node
		begin := func(t *rapid.T, first int) {
			n := &node{connections: connections(stores, size)}
			var err error
			if n.MultiPrimary, err = primaries(t, first%size, n.connections...); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
		begin(t, 0)
		begin(t, 1)
		growTo, interrupted := size, false
		seen := idcheck.Set[uint64]{}
		pick := func(t *rapid.T) *node { return rapid.SampledFrom(nodes).Draw(t, "node") }
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := pick(t)
				got, err := take(t, n.MultiPrimary, rapid.IntRange(1, 20).Draw(t, "count"))
				if err != nil {
					if !errs.Is(err, errs.Unavailable) {
						t.Fatalf("error %v, want one of the kind unavailable", err)
					}
					return
				}
				if got[0] <= n.last {
					t.Fatalf("got number %d after %d", got[0], n.last)
				}
				n.last = got[len(got)-1]
				if err := seen.Add(got...); err != nil {
					t.Fatal(err)
				}
			},
			"away": func(t *rapid.T) {
				n := pick(t)
				n.connections[rapid.IntRange(0, len(n.connections)-1).Draw(t, "store")].unavailable.Store(rapid.Bool().Draw(t, "away"))
			},
			"mute": func(t *rapid.T) {
				n := pick(t)
				n.connections[rapid.IntRange(0, len(n.connections)-1).Draw(t, "store")].loseAnswers.Store(rapid.Bool().Draw(t, "mute"))
			},
			"grow": func(t *rapid.T) {
				if !interrupted {
					growTo = min(2*growTo-1, 5)
				}
				all := connections(stores, growTo)
				broken := rapid.IntRange(-1, growTo-1).Draw(t, "broken")
				if broken >= 0 {
					all[broken].leave(rapid.IntRange(1, 12).Draw(t, "after"))
				}
				err := idservice.GrowMultiPrimary(t.Context(), records(all))
				if interrupted = err != nil; interrupted && broken < 0 {
					t.Fatal(err)
				}
				if err == nil {
					size = growTo
					begin(t, rapid.IntRange(0, 4).Draw(t, "first"))
				}
			},
		})
	})
}

// clearPrimaries makes a store look as if it had never been set up.
func clearPrimaries(t fataler, db *sqldb.DB) {
	t.Helper()
	tagsOf(t, db) // creates the tables
	for _, statement := range []string{`DELETE FROM id_primary`, `DELETE FROM id_primary_tags`} {
		if err := write(t, db, statement); err != nil {
			t.Fatal(err)
		}
	}
}
