package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// onEachDatabase runs a test on each kind of database, with the tables of the cluster.
func onEachDatabase(t *testing.T, test func(ctx context.Context, t *testing.T, db *sqldb.DB)) {
	for name, url := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "records.db") },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Schema(t, sqltest.Postgres(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			db, err := sqldb.Open(ctx, url(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Migrate(ctx, "cluster", migrations); err != nil {
				t.Fatal(err)
			}
			test(ctx, t, db)
		})
	}
}

// Random operations have the same results in the database and in the table in memory.
func TestSQLStoreMatchesTheModel(t *testing.T) {
	onEachDatabase(t, func(ctx context.Context, t *testing.T, db *sqldb.DB) {
		model := newTable()
		r := rand.New(rand.NewPCG(7, 7))
		for i := range 400 {
			m := member{Node: Node{Name: fmt.Sprint("n", r.IntN(3)), Since: int64(i), Address: fmt.Sprint("10.0.0.", i), Idle: i%2 == 0,
				Version: Version{fmt.Sprint("v", i), 1 + r.IntN(2) + i/150, 1 + r.IntN(2)}}, incarnation: uint64(r.IntN(2)), heartbeat: uint64(i), unreachable: fmt.Sprint("n", i), gateway: fmt.Sprint("g", i)}
			is, as := store(sqlStore{db}), store(nodeTable{model, m.Name})
			what := ""
			var got, want any
			var gotErr, wantErr error
			switch r.IntN(12) {
			case 0, 1, 2, 3, 4:
				first := r.IntN(3) == 0
				what = fmt.Sprintf("heartbeat %+v %v", m, first)
				if old := model.row(m.Name); old != nil && !first {
					m.Node = old.Node // it does not change while the process runs
				}
				got, gotErr = is.heartbeat(ctx, m, first)
				want, wantErr = as.heartbeat(ctx, m, first)
			case 5, 6, 7:
				changes := []change{}
				for n := range 4 {
					p := part{"k", n}
					term := model.parts[p].term - uint64(r.IntN(2))*min(model.parts[p].term, 1)
					changes = append(changes, change{p, term, term + 1 + uint64(r.IntN(3)), m.Name})
				}
				what = fmt.Sprintf("apply %+v", changes)
				got, gotErr = is.apply(ctx, changes)
				want, wantErr = as.apply(ctx, changes)
			case 8:
				what = fmt.Sprintf("leave %+v", m)
				gotErr, wantErr = is.leave(ctx, m), as.leave(ctx, m)
			case 9:
				what = "read"
				got, gotErr = is.read(ctx)
				want, wantErr = as.read(ctx)
			case 10:
				protocol := r.IntN(4)
				what = fmt.Sprintf("raiseProtocol %d", protocol)
				got, gotErr = is.raiseProtocol(ctx, protocol)
				want, wantErr = as.raiseProtocol(ctx, protocol)
			default:
				if old := model.row(m.Name); old != nil && r.IntN(2) == 0 {
					m = *old
				}
				what = fmt.Sprintf("removeDead %+v", m)
				gotErr, wantErr = is.removeDead(ctx, []*member{&m}), as.removeDead(ctx, []*member{&m})
			}
			if !errors.Is(gotErr, wantErr) {
				t.Fatalf("%d: %s: %v; want %v", i, what, gotErr, wantErr)
			}
			if wantErr == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%d: %s:\n%+v\nwant\n%+v", i, what, got, want)
			}
		}
	})
}
