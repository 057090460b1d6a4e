package cache_test

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

// A committed change makes all nodes forget the row, also if the node that changed it ends after the commit. One that is rolled back does not.
func TestCommittedEventsInvalidateOnAllNodes(t *testing.T) {
	f := open(t, 3, nil, cache.Config[post, int]{})
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	var events []*clusterevent.Service
	var all []*cache.Invalidations
	for n, c := range f.nodes {
		e, err := clusterevent.New(t.Context(), clusterevent.Deps{DB: db, Logger: slog.New(slog.DiscardHandler), Handle: func(e clusterevent.Event) { all[n].HandleEvent(e) }})
		must(t, err)
		i := cache.NewInvalidations(e)
		must(t, cache.Register(i, c))
		if cache.Register(i, c) == nil {
			t.Error("two caches have the same name")
		}
		events, all = append(events, e), append(all, i)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, e := range events {
		running.Go(func() {
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for key := range post(2) {
		f.rows.put(key+1, 1)
		for n := range f.nodes {
			f.expect("at first", n, key+1, 1)
		}
		f.rows.put(key+1, 2)
	}
	if err := db.Write(t.Context(), func(tx *sql.Tx) error {
		if err := all[0].Add(t.Context(), tx, "posts", 2); err != nil {
			return err
		}
		return errDown
	}); err == nil {
		t.Error("the second change is committed")
	}
	must(t, db.Write(t.Context(), func(tx *sql.Tx) error { return all[0].Add(t.Context(), tx, "posts", 1) }))
	for _, e := range events { // without a call of Invalidate, as if the first node had ended
		e.Wake()
	}
	for n := range f.nodes {
		eventually.True(t, "the row is forgotten", func() bool {
			v, found, err := f.nodes[n].Get(t.Context(), 1)
			return err == nil && found && v == 2
		})
		f.expect("a change that was rolled back", n, 2, 1)
	}
	all[0].Missed()
	f.expect("after missed events", 0, 2, 2)
}
