package app

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// TestAnUnresponsiveNodeLosesItsPartitions: a node sends heartbeats but is not on the bus. The other node first leaves half of the
// partitions to it, reports it as unreachable, and takes all of them back.
func TestAnUnresponsiveNodeLosesItsPartitions(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), "postgres="+address, "node=a"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	t.Cleanup(func() {
		stop()
		beating.Wait()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !is(); {
			if now := <-tick.C; now.After(end) {
				t.Fatalf("%s; it has %v partitions of %v", what, h.ownedPartitions(), h.heldPartitions())
			}
		}
	}
	until("a node alone does not have all", func() bool { return h.ownedPartitions() == timeline.Partitions })
	beating.Go(func() {
		for beat := 1; ctx.Err() == nil; beat++ {
			err := db.Write(ctx, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO cluster_nodes (name, incarnation, heartbeat, since, unreachable) VALUES ('z', 1, 1, 1, '')
					ON CONFLICT (name) DO UPDATE SET heartbeat = $1`, beat)
				return err
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	until("two do not share", func() bool { return h.ownedPartitions() == timeline.Partitions/2 })
	until("the unreachable node's partitions belong to no other node", func() bool {
		var cut string
		if err := db.Read().QueryRowContext(ctx, `SELECT unreachable FROM cluster_nodes WHERE name = 'a'`).Scan(&cut); err != nil {
			t.Fatal(err)
		}
		return cut == "z" && h.ownedPartitions() == timeline.Partitions
	})
}
