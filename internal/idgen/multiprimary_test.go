package idgen_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"pgregory.net/rapid"
)

func primaries(t fataler, first int, stores ...*breaking) (*idgen.MultiPrimary, error) {
	t.Helper()
	return idgen.NewMultiPrimary(t.Context(), idgen.MultiPrimaryDeps{Stores: records(stores), Logger: slog.New(slog.DiscardHandler)}, idgen.MultiPrimaryConfig{First: first})
}

func records(stores []*breaking) (all []idgen.Records) {
	for _, s := range stores {
		all = append(all, s)
	}
	return all
}

// ways gives ways to n stores.
func ways(stores []*sqldb.DB, n int) (all []*breaking) {
	for _, db := range stores[:n] {
		all = append(all, &breaking{db: db})
	}
	return all
}

func take(t fataler, m *idgen.MultiPrimary, n int) ([]uint64, error) {
	t.Helper()
	dst := make([]uint64, n)
	err := m.Fill(t.Context(), "a", dst)
	if err == nil && (!slices.IsSorted(dst) || len(slices.Compact(slices.Clone(dst))) != n) {
		t.Fatalf("%v do not rise", dst)
	}
	return dst, err
}

// TestMultiPrimaryGivesRemainders: each store its own, whatever order they are named in later, and one node's numbers rise.
func TestMultiPrimaryGivesRemainders(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t)}
	if _, err := primaries(t, 0, ways(stores, 3)...); err != nil {
		t.Fatal(err)
	}
	turned := []*breaking{{db: stores[1]}, {db: stores[2]}, {db: stores[0]}}
	m, err := primaries(t, 0, turned...)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for round := range 9 {
		at := round % 3 // the only one that answers
		for i, way := range turned {
			way.away.Store(i != at)
		}
		got, err := take(t, m, 4)
		if err != nil || got[0] <= last {
			t.Fatalf("%d after %d, %v", got, last, err)
		}
		last = got[3]
		for _, v := range got {
			if v%3 != uint64(at+1)%3 {
				t.Errorf("store %d gave %d", (at+1)%3, v)
			}
		}
	}
	for _, way := range turned {
		way.away.Store(true)
	}
	if _, err := take(t, m, 1); !hasReason(err, errs.Unavailable, "ids_unavailable") || errs.Of(err).Retry <= 0 {
		t.Error(err)
	}
	for _, n := range []int{10_001} {
		if err := m.Fill(t.Context(), "a", make([]uint64, n)); !hasReason(err, errs.Invalid, "bad_batch") {
			t.Errorf("%d: %v", n, err)
		}
	}
	if err := m.Fill(t.Context(), "Ä", make([]uint64, 1)); !errs.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// TestADeadStoreIsTriedAgain in the background, not by each caller.
func TestADeadStoreIsTriedAgain(t *testing.T) {
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
		all[0].away.Store(true) // from the start
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
			t.Fatal("the store that is away gave a number")
		}
		all[0].away.Store(false)
		if remainder() != 1 {
			t.Error("a caller tried a store that had failed")
		}
		time.Sleep(3 * time.Second)
		all[1].away.Store(true)
		if remainder() != 0 {
			t.Error("the store that is back gave no number")
		}
	})
}

// TestStoresAreSetUpTogether: all of them, once, in places of their own; one that is empty among those that are not is left out,
// since the numbers of its place may have been given by the one that it replaces.
func TestStoresAreSetUpTogether(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t)}
	all := ways(stores, 2)
	all[1].away.Store(true)
	if _, err := primaries(t, 0, all...); !hasReason(err, errs.Unavailable, "ids_unavailable") {
		t.Fatalf("one of two is away: %v", err)
	}
	all[1].away.Store(false)
	all[1].mute.Store(true)
	if _, err := primaries(t, 0, all...); err == nil {
		t.Fatal("an answer was lost")
	}
	all[1].mute.Store(false)
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
			t.Fatalf("%d, %v", got, err)
		}
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records(replaced)); !hasReason(err, errs.Invalid, "bad_config") {
		t.Errorf("a set that lost one grew: %v", err)
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records([]*breaking{{db: store(t)}})); !hasReason(err, errs.Invalid, "bad_config") {
		t.Errorf("a set of none grew: %v", err)
	}
	apart := []*breaking{{db: store(t)}, {db: store(t)}}
	for _, way := range apart {
		if _, err := primaries(t, 0, way); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := primaries(t, 0, apart...); !hasReason(err, errs.Invalid, "bad_config") || !strings.Contains(err.Error(), "place 0") {
		t.Errorf("two that were set up apart: %v", err)
	}
	for _, first := range []int{-1, 2} {
		if _, err := primaries(t, first, all...); !hasReason(err, errs.Invalid, "bad_config") {
			t.Errorf("first %d: %v", first, err)
		}
	}
}

// TestAGrowthIsInterrupted between two stores: the one that has not gone on gives nothing above the ceiling, where its numbers
// would meet those of others; called again it goes on.
func TestAGrowthIsInterrupted(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t)}
	all := ways(stores, 2)
	m, err := primaries(t, 0, all...)
	if err != nil {
		t.Fatal(err)
	}
	seen := idcheck.Set[uint64]{}
	give := func(m *idgen.MultiPrimary, n int) []uint64 {
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
	growing := ways(stores, 3)
	growing[1].leave(2) // it is looked at, and agrees
	if err := idgen.GrowMultiPrimary(t.Context(), records(growing)); !errs.Is(err, errs.Internal) {
		t.Fatal(err)
	}
	if got := give(m, 100); got[1]-got[0] != 3 || got[0] < 10_000_000 {
		t.Fatalf("the first store gives %d, %d", got[0], got[1])
	}
	all[0].away.Store(true)
	if got, err := take(t, m, 1); !hasReason(err, errs.Unavailable, "ids_unavailable") {
		t.Fatalf("the second store gives %d, %v", got, err)
	}
	fresh, err := primaries(t, 1, all...)
	if err != nil {
		t.Fatal(err)
	}
	if got := give(fresh, 100); got[1]-got[0] != 2 {
		t.Fatalf("the second store gives %d, %d", got[0], got[1])
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records(ways(stores, 3))); err != nil {
		t.Fatal(err)
	}
	all[0].away.Store(false)
	for first := range 3 {
		more, err := primaries(t, first, ways(stores, 3)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*idgen.MultiPrimary{m, fresh, more} {
			if got := give(m, 100); got[1]-got[0] != 3 {
				t.Fatalf("%d, %d", got[0], got[1])
			}
		}
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records(ways(stores, 2))); !hasReason(err, errs.Invalid, "bad_config") {
		t.Errorf("it grew smaller: %v", err)
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records(ways(stores, 3))); err != nil {
		t.Errorf("it is done: %v", err)
	}
}

// TestASetGrowsTwice although it gave nothing between, and was interrupted.
func TestASetGrowsTwice(t *testing.T) {
	stores := []*sqldb.DB{store(t), store(t), store(t), store(t)}
	if _, err := primaries(t, 0, ways(stores, 2)...); err != nil {
		t.Fatal(err)
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records(ways(stores, 3))); err != nil {
		t.Fatal(err)
	}
	m, err := primaries(t, 2, ways(stores, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	growing := ways(stores, 4)
	growing[2].leave(1) // before it agrees
	if err := idgen.GrowMultiPrimary(t.Context(), records(growing)); !errs.Is(err, errs.Internal) {
		t.Fatal(err)
	}
	before, err := take(t, m, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := idgen.GrowMultiPrimary(t.Context(), records(ways(stores, 4))); err != nil {
		t.Fatal(err)
	}
	after, err := take(t, m, 100)
	if err != nil || after[1]-after[0] != 4 || after[0] <= before[99] {
		t.Fatalf("%d after %d, %v", after[:2], before[99], err)
	}
}

// TestMultiPrimaryModel: nodes take numbers while stores go, come back and lose answers, and while the set grows from two to
// three to five stores, each growth interrupted at any place; nodes that know only the old stores go on. No number comes twice,
// and those of a node rise.
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
			*idgen.MultiPrimary
			ways []*breaking
			last uint64
		}
		size := 2
		var nodes []*node
		begin := func(t *rapid.T, first int) {
			n := &node{ways: ways(stores, size)}
			var err error
			if n.MultiPrimary, err = primaries(t, first%size, n.ways...); err != nil {
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
						t.Fatal(err)
					}
					return
				}
				if got[0] <= n.last {
					t.Fatalf("%d after %d", got[0], n.last)
				}
				n.last = got[len(got)-1]
				if err := seen.Add(got...); err != nil {
					t.Fatal(err)
				}
			},
			"away": func(t *rapid.T) {
				n := pick(t)
				n.ways[rapid.IntRange(0, len(n.ways)-1).Draw(t, "store")].away.Store(rapid.Bool().Draw(t, "away"))
			},
			"mute": func(t *rapid.T) {
				n := pick(t)
				n.ways[rapid.IntRange(0, len(n.ways)-1).Draw(t, "store")].mute.Store(rapid.Bool().Draw(t, "mute"))
			},
			"grow": func(t *rapid.T) {
				if !interrupted {
					growTo = min(2*growTo-1, 5)
				}
				all := ways(stores, growTo)
				broken := rapid.IntRange(-1, growTo-1).Draw(t, "broken")
				if broken >= 0 {
					all[broken].leave(rapid.IntRange(1, 12).Draw(t, "after"))
				}
				err := idgen.GrowMultiPrimary(t.Context(), records(all))
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

// clearPrimaries makes a store as if it had never been set up.
func clearPrimaries(t fataler, db *sqldb.DB) {
	t.Helper()
	tagsOf(t, db) // the tables
	for _, statement := range []string{`DELETE FROM id_primary`, `DELETE FROM id_primary_tags`} {
		if err := write(t, db, statement); err != nil {
			t.Fatal(err)
		}
	}
}
