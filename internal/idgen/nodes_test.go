package idgen_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// TestManyNodesAtOnce on one record store, each with a connection of its own: no number, and no text, is given by two; and a key's
// numbers are given by one node only.
func TestManyNodesAtOnce(t *testing.T) {
	place := sqltest.Place(t)
	const nodes, rounds = 3, 60
	var mu sync.Mutex // guards what is below
	numbers, texts := idcheck.Set[uint64]{}, idcheck.Set[string]{}
	giver := map[uint64]int{}
	var wait sync.WaitGroup
	for node := range nodes {
		db := database(t, place) // one after the other: SQLite has a new file's opening alone
		wait.Go(func() {
			tags, err := idgen.NewTags(t.Context(), counterDeps(db, clock.System{}))
			if err != nil {
				t.Error(err)
				return
			}
			for _, tag := range []idgen.Tag{{Name: "g", Scheme: idgen.SchemeSegment, Step: 20}, {Name: "s", Scheme: idgen.SchemeSequence, SectionKeys: 1000},
				{Name: "r", Scheme: idgen.SchemeRule, Step: 20, Rule: idgen.Rule{Prefix: "R", Digits: 9}}} {
				if _, err := tags.PutTag(t.Context(), tag); err != nil {
					t.Error(err)
					return
				}
			}
			deps := counterDeps(db, clock.System{})
			g, err1 := idgen.NewSegments(t.Context(), deps, idgen.SegmentsConfig{StepMost: 40})
			r, err2 := idgen.NewRules(t.Context(), deps, idgen.RulesConfig{})
			s, err3 := idgen.NewSequences(t.Context(), deps, idgen.SequencesConfig{Node: strconv.Itoa(node), Lease: time.Hour})
			if err1 != nil || err2 != nil || err3 != nil {
				t.Error(err1, err2, err3)
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
				key := round * 1000 // a section that nobody has, or somebody has just taken
				first, err := q.Next(t.Context(), key)
				mu.Lock()
				if err == nil && first == 1 {
					if other, given := giver[key]; given {
						t.Errorf("node %d and node %d gave the first number of key %d", other, node, key)
					}
					giver[key] = node
				} else if !hasReason(err, errs.Unavailable, "sequence_elsewhere") {
					t.Errorf("key %d: %d, %v", key, first, err)
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
		t.Errorf("%d keys, %d numbers, %d texts", len(giver), len(numbers), len(texts))
	}
}
