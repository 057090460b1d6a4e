package idservice_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/platform/idservice"
)

// Many nodes use one record store concurrently, each with its own connection: no number, and no text, is issued by two; and only one node
// issues a key's numbers.
func TestManyNodesAtOnce(t *testing.T) {
	place := sqltest.Place(t)
	const nodes, rounds = 3, 60
	var mu sync.Mutex // guards the variables below
	numbers, texts := idcheck.Set[uint64]{}, idcheck.Set[string]{}
	giver := map[uint64]int{}
	var wait sync.WaitGroup
	for node := range nodes {
		db := database(t, place) // one after the other: opening a new SQLite file needs exclusive access
		wait.Go(func() {
			tags, err := idservice.NewTags(t.Context(), counterDeps(db, clock.System{}))
			if err != nil {
				t.Error(err)
				return
			}
			for _, tag := range []idservice.Tag{{Name: "g", Scheme: idservice.SchemeSegment, Step: 20}, {Name: "s", Scheme: idservice.SchemeSequence, SectionKeys: 1000},
				{Name: "r", Scheme: idservice.SchemeRule, Step: 20, Rule: idservice.Rule{Prefix: "R", Digits: 9}}} {
				if _, err := tags.PutTag(t.Context(), tag); err != nil {
					t.Error(err)
					return
				}
			}
			deps := counterDeps(db, clock.System{})
			g, err1 := idservice.NewSegments(t.Context(), deps, idservice.SegmentsConfig{MaxStep: 40})
			r, err2 := idservice.NewRules(t.Context(), deps, idservice.RulesConfig{})
			s, err3 := idservice.NewSequences(t.Context(), deps, idservice.SequencesConfig{Node: strconv.Itoa(node), Lease: time.Hour})
			if err1 != nil || err2 != nil || err3 != nil {
				t.Errorf("the ids of three schemes have the errors %v, %v, %v", err1, err2, err3)
				return
			}
			q, err := s.Of(t.Context(), "s")
			if err != nil {
				t.Error(err)
				return
			}
			for round := range uint64(rounds) {
				dst := make([]uint64, 30)
				if err := g.Fill(t.Context(), "g", dst); err != nil {
					t.Error(err)
				}
				ids, err := r.Next(t.Context(), "r", 15)
				if err != nil {
					t.Error(err)
				}
				key := round * 1000 // of a section that nobody owns, or that was just acquired
				first, err := q.Next(t.Context(), key)
				mu.Lock()
				if err == nil && first == 1 {
					if other, given := giver[key]; given {
						t.Errorf("node %d and node %d issued the first number of key %d", other, node, key)
					}
					giver[key] = node
				} else if !hasReason(err, errs.Unavailable, "sequence_elsewhere") {
					t.Errorf("key %d: got %d, %v", key, first, err)
				}
				if err := numbers.Add(dst...); err != nil {
					t.Error(err)
				}
				if err := texts.Add(ids...); err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(giver) != rounds || len(numbers) != nodes*rounds*30 || len(texts) != nodes*rounds*15 {
		t.Errorf("got %d keys, %d numbers, %d texts", len(giver), len(numbers), len(texts))
	}
}
