package idgen

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// The database of a single process becomes shared. All generators start, and none repeats an id, even if the clock stands still.
func TestMigrateToSharedRepeatsNoID(t *testing.T) {
	ctx := t.Context()
	own, shared := opened(t), opened(t)
	now := clock.System{}
	seen := map[id.Message]bool{}
	take := func(g *Messages) {
		for range 3000 {
			m, err := g.Next(1, 7)
			if err != nil {
				t.Fatal(err)
			}
			if seen[m] {
				t.Fatalf("%v was issued twice", m)
			}
			seen[m] = true
		}
	}
	leases, err := NewLeases(ctx, LeaseDeps{DB: own, Clock: now, Logger: slog.New(slog.DiscardHandler)}, LeaseConfig{Machine: "one", Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewMessages(ctx, leases, MessagesConfig{})
	if err != nil {
		t.Fatal(err)
	}
	take(g)
	nodes, err := NewLeases(ctx, LeaseDeps{DB: shared, Clock: now, Logger: slog.New(slog.DiscardHandler)}, LeaseConfig{Machine: "two"})
	if err != nil {
		t.Fatal(err)
	}
	copyRows(t, own, shared, "idgen_pools", []string{"pool", "size"}, func(_ string, _ []string, row []any) [][]any { return [][]any{row} })
	if _, err := NewMessages(ctx, nodes, MessagesConfig{}); err == nil || !strings.Contains(err.Error(), "made for 16") {
		t.Errorf("rows as they were: %v", err)
	}
	if err := shared.Write(ctx, func(tx *sql.Tx) error { _, err := tx.Exec(`DELETE FROM idgen_pools`); return err }); err != nil {
		t.Fatal(err)
	}
	copyRows(t, own, shared, "idgen_pools", []string{"pool", "size"}, MigrateToShared)
	copyRows(t, own, shared, "idgen_leases", []string{"kind", "number", "holder", "token", "term", "mark"}, MigrateToShared)
	var old, mark int64
	if err := shared.Read().QueryRow(`SELECT count(*), min(mark) FROM idgen_leases`).Scan(&old, &mark); err != nil || old != 4 || mark < time.Now().Add(-time.Minute).UnixMilli() {
		t.Errorf("%d rows, marked %d, %v", old, mark, err)
	}
	for range 60 { // all that are not those of the old range
		g, err := NewMessages(ctx, nodes, MessagesConfig{})
		if err != nil {
			t.Fatal(err)
		}
		take(g)
	}
	if _, err := NewMessages(ctx, nodes, MessagesConfig{}); err == nil {
		t.Error("a range was acquired whose ids may be ahead of the clock")
	}
}

func opened(t *testing.T) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(context.Background(), filepath.Join(t.TempDir(), "records.db"))
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

func copyRows(t *testing.T, from, to *sqldb.DB, table string, columns []string, how func(string, []string, []any) [][]any) {
	t.Helper()
	rows, err := from.Read().Query(`SELECT ` + strings.Join(columns, ", ") + ` FROM ` + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, r := range how(table, columns, row) {
			if err := to.Write(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.Exec(`INSERT INTO `+table+` VALUES (`+"$1, $2, $3, $4, $5, $6"[:4*len(columns)-2]+`)`, r...)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
