package runtimeswitch_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const likes, comments runtimeswitch.Name = "likes", "comments"

// nodes returns a clock, what opens a node of one database, and how often nodes were told of changes.
func nodes(t *testing.T) (_ *clocktest.Manual, open func() *runtimeswitch.Service, told *atomic.Int64) {
	t.Helper()
	told = &atomic.Int64{}
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	clock, logger := clocktest.NewManual(), slog.New(slog.DiscardHandler)
	return clock, func() *runtimeswitch.Service {
		t.Helper()
		var s *runtimeswitch.Service
		events, err := clusterevent.New(t.Context(), clusterevent.Deps{DB: db, Logger: logger, Handle: func(e clusterevent.Event) {
			told.Add(1)
			s.HandleEvent(e)
		}})
		must(t, err)
		s, err = runtimeswitch.New(t.Context(), runtimeswitch.Deps{DB: db, ClusterEvents: events, Clock: clock, Logger: logger})
		must(t, err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 2)
		go func() { ended <- events.Run(ctx) }()
		go func() { ended <- s.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
		return s
	}, told
}

// A switch is turned on all nodes, outlives a restart, and each change is recorded once.
func TestSwitchesOfAllNodes(t *testing.T) {
	clock, open, told := nodes(t)
	one, two := open(), open()
	if one.IsOn(likes) || two.IsOn(likes) {
		t.Error("a switch is on at first")
	}
	must(t, one.Set(t.Context(), map[runtimeswitch.Name]bool{likes: true, comments: false}, "ann", "too much load"))
	if !one.IsOn(likes) || one.IsOn(comments) {
		t.Error("the node that turned a switch has another state")
	}
	eventually.Within(t, eventually.Timeout/2, "nodes are told, and need not wait until they read all", func() bool { return told.Load() > 0 })
	eventually.True(t, "the other node has the state", func() bool { return two.IsOn(likes) })
	must(t, two.Set(t.Context(), map[runtimeswitch.Name]bool{likes: true}, "ben", "again"))
	if later := open(); !later.IsOn(likes) {
		t.Error("a restart turned a switch")
	}
	clock.Advance(1000)
	must(t, two.Set(t.Context(), map[runtimeswitch.Name]bool{likes: false}, "ben", "over"))
	eventually.True(t, "it is off again", func() bool { return !one.IsOn(likes) })
	changes, err := one.Changes(t.Context(), "li", 10)
	must(t, err)
	if len(changes) != 2 || changes[0].On || changes[0].By != "ben" || changes[0].Reason != "over" || !changes[1].On || changes[1].By != "ann" || changes[1].Name != likes {
		t.Errorf("the records are %+v", changes)
	}
	// Without the database the last state holds.
	ended, end := context.WithCancel(t.Context())
	end()
	if err := one.Set(ended, map[runtimeswitch.Name]bool{likes: true}, "ann", "x"); err == nil || one.IsOn(likes) {
		t.Errorf("without a database a switch is turned: %v", err)
	}
	must(t, one.Set(t.Context(), map[runtimeswitch.Name]bool{likes: true}, "ann", "again"))
	if err := one.Reload(ended); err == nil || !one.IsOn(likes) {
		t.Errorf("a failed read is answered with %v, and the switch is on: %v", err, one.IsOn(likes))
	}
}

// A change of a switch or a number is recorded with its states before and after, once, in its transaction.
func TestChangesAreAudited(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	var got []string
	var fail error
	audit := func(_ context.Context, _ *sql.Tx, n runtimeswitch.Name, before, after, by, reason string) error {
		got = append(got, strings.Join([]string{string(n), before, after, by, reason}, ","))
		return fail
	}
	s, err := runtimeswitch.New(t.Context(), runtimeswitch.Deps{DB: db, Audit: audit, Clock: clocktest.NewManual(), Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	three := int64(3)
	must(t, s.Set(t.Context(), map[runtimeswitch.Name]bool{likes: true, comments: false}, "ann", "load"))
	must(t, s.SetNumbers(t.Context(), map[runtimeswitch.Name]*int64{"weight": &three}, "ann", ""))
	must(t, s.SetNumbers(t.Context(), map[runtimeswitch.Name]*int64{"weight": nil}, "ben", ""))
	must(t, s.Set(t.Context(), map[runtimeswitch.Name]bool{likes: false}, "ben", ""))
	if want := []string{"likes,off,on,ann,load", "weight,default,3,ann,", "weight,3,default,ben,", "likes,on,off,ben,"}; !slices.Equal(got, want) {
		t.Errorf("the records are %q, want %q", got, want)
	}
	fail = errors.New("it cannot be recorded")
	if err := s.Set(t.Context(), map[runtimeswitch.Name]bool{likes: true}, "ann", ""); !errors.Is(err, fail) || s.IsOn(likes) {
		t.Errorf("without its record a switch is turned: %v (%v)", s.IsOn(likes), err)
	}
}

// A number is set on all nodes, zero is a number, and one goes back to its default. Each change is recorded once.
func TestNumbersOfAllNodes(t *testing.T) {
	clock, open, _ := nodes(t)
	one, two := open(), open()
	const weight, other runtimeswitch.Name = "ranking.likes", "other"
	number := func(n int64) *int64 { return &n }
	if one.Number(weight, 7) != 7 {
		t.Error("a number that nobody set is not its default")
	}
	must(t, one.SetNumbers(t.Context(), map[runtimeswitch.Name]*int64{weight: number(0), other: number(-3)}, "ann", "try it"))
	if one.Number(weight, 7) != 0 || one.Number(other, 1) != -3 {
		t.Error("the node that set numbers has others")
	}
	eventually.True(t, "the other node has the number", func() bool { return two.Number(weight, 7) == 0 })
	must(t, two.SetNumbers(t.Context(), map[runtimeswitch.Name]*int64{weight: number(0)}, "ben", "again"))
	clock.Advance(1000)
	must(t, two.SetNumbers(t.Context(), map[runtimeswitch.Name]*int64{weight: nil}, "ben", "over"))
	must(t, two.SetNumbers(t.Context(), map[runtimeswitch.Name]*int64{weight: nil}, "ben", "over"))
	eventually.True(t, "it is the default again", func() bool { return one.Number(weight, 7) == 7 })
	if later := open(); later.Number(other, 1) != -3 || later.Number(weight, 7) != 7 {
		t.Error("a restart changed a number")
	}
	changes, err := one.NumberChanges(t.Context(), "ranking.", 10)
	must(t, err)
	if len(changes) != 2 || changes[0].Value != nil || changes[0].By != "ben" || changes[0].Reason != "over" || changes[1].Value == nil || *changes[1].Value != 0 || changes[1].By != "ann" || changes[1].Name != weight {
		t.Errorf("the records are %+v", changes)
	}
}
