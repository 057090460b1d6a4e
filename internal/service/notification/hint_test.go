package notification

import (
	"context"
	"database/sql"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// TestHintsRest: a user who had a hint gets the next one a second later, and what is never committed is forgotten.
func TestHintsRest(t *testing.T) {
	h := newHints()
	want := func(now time.Time, list map[id.User]uint64, waits bool) {
		t.Helper()
		if due, more := h.due(now); !maps.Equal(due, list) || more != waits {
			t.Errorf("due are %v, and others wait: %v; want %v, %v", due, more, list, waits)
		}
	}
	now := time.Now()
	h.want(1, 5)
	want(now, map[id.User]uint64{1: 5}, true)
	h.sent(now, []id.User{1}, map[id.User]uint64{1: 5})
	h.want(1, 6)
	want(now.Add(hintInterval-1), map[id.User]uint64{}, true)
	want(now.Add(hintInterval), map[id.User]uint64{1: 6}, true)
	want(time.Now().Add(hintTimeout), map[id.User]uint64{}, false)
}

// TestHintsAreNotDelayedByOthers: rounds follow each other although causes come all the time.
func TestHintsAreNotDelayedByOthers(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	hinted := make(chan struct{}, 1)
	s := &Service{deps: Deps{DB: db, Logger: slog.Default(), Notify: func([]id.User, []byte) { wakeup.Signal(hinted) }}, hints: newHints()}
	must(t, db.Migrate(t.Context(), "notification", migrations))
	for _, u := range []id.User{1, 2} {
		must(t, db.Write(t.Context(), func(tx *sql.Tx) error { return putOwner(t.Context(), tx, &owner{user: u, last: 1}) }))
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { s.runHints(ctx) })
	s.hints.want(1, 1)
	eventually.Receive(t, "the first hint", hinted)
	s.hints.want(2, 1)
	eventually.Within(t, 30*time.Second, "a hint of the next round", func() bool {
		s.hints.want(3, 1) // of somebody else, whose transaction is not committed
		return len(hinted) > 0
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
