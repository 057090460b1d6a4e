package counter_test

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

// Figures of a snapshot are as of its beginning, of sets that grow from nobody to thirty users and back: what other readers have read before may be kept, and what changes while
// the snapshot is open is not in it.
func TestFiguresOfSnapshotsEqualAModel(t *testing.T) {
	f := open(t, 1)
	s, random := f.nodes[0], rand.New(rand.NewPCG(1, 2))
	const users = 30
	subjects := []uint64{7, 8, 7}
	asked := counter.Asked{Sets: [2]counter.Kind{counter.PostLikes, counter.PostFavourites}}
	type set struct {
		kind    counter.Kind
		subject uint64
	}
	model := map[set]map[id.User]bool{}
	for _, k := range asked.Sets {
		for _, subject := range subjects {
			model[set{k, subject}] = map[id.User]bool{}
		}
	}
	want := func(u id.User) (list []counter.Figures) {
		for _, subject := range subjects {
			var of counter.Figures
			for i, k := range asked.Sets {
				of.Sizes[i], of.Member[i] = uint64(len(model[set{k, subject}])), model[set{k, subject}][u]
			}
			list = append(list, of)
		}
		return list
	}
	change := func(remove bool) {
		t.Helper()
		k, subject, u := asked.Sets[random.IntN(2)], subjects[random.IntN(2)], id.User(1+random.IntN(users))
		must(t, s.Apply(t.Context(), []counter.Change{{Kind: k, Subject: subject, User: u, Remove: remove}}))
		if delete(model[set{k, subject}], u); !remove {
			model[set{k, subject}][u] = true
		}
	}
	largest := 0
	for round := range 600 {
		remove := random.IntN(600) < round // sets grow at first, and shrink in the end
		before, u := map[id.User][]counter.Figures{}, id.User(random.IntN(users+2))
		for one := range id.User(users + 2) {
			before[one] = want(one)
		}
		must(t, f.dbs[0].ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
			if random.IntN(2) == 0 || sqltest.OnPostgres() { // where the first query begins the snapshot
				if _, err := s.In(tx).Figures(t.Context(), u, subjects[:1], asked); err != nil {
					return err
				}
			}
			change(remove)
			list, err := s.In(tx).Figures(t.Context(), u, subjects, asked)
			if !slices.Equal(list, before[u]) {
				t.Errorf("round %d: in the open snapshot %+v, want %+v", round, list, before[u])
			}
			return err
		}))
		for range 2 {
			u := id.User(1 + random.IntN(users+1))
			must(t, f.dbs[0].ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
				list, err := s.In(tx).Figures(t.Context(), u, subjects, asked)
				if !slices.Equal(list, want(u)) {
					t.Errorf("round %d: user %d has %+v, want %+v", round, u, list, want(u))
				}
				return err
			}))
		}
		if t.Failed() {
			return
		}
		largest = max(largest, len(model[set{counter.PostLikes, 7}]))
	}
	if last := len(model[set{counter.PostLikes, 7}]); largest < 20 || last > 10 {
		t.Errorf("the set had at most %d members, and %d in the end: the test tests little", largest, last)
	}
}
