package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// TestRecordsAsTable does the same at random to the database and to the table in memory.
func TestRecordsAsTable(t *testing.T) {
	for name, place := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "records.db") },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Schema(t, sqltest.Postgres(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			db, err := sqldb.Open(ctx, place(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Migrate(ctx, "cluster", steps); err != nil {
				t.Fatal(err)
			}
			model := newTable()
			r := rand.New(rand.NewPCG(7, 7))
			for i := range 400 {
				m := member{Node: Node{Name: fmt.Sprint("n", r.IntN(3)), Since: int64(i), Address: fmt.Sprint("10.0.0.", i), Idle: i%2 == 0,
					Version: Version{fmt.Sprint("v", i), 1 + r.IntN(2) + i/150, 1 + r.IntN(2)}}, incarnation: uint64(r.IntN(2)), beat: uint64(i), cut: fmt.Sprint("n", i)}
				is, as := store(records{db}), store(at{model, m.Name})
				what := ""
				var got, want any
				var gotErr, wantErr error
				switch r.IntN(12) {
				case 0, 1, 2, 3, 4:
					first := r.IntN(3) == 0
					what = fmt.Sprintf("beat %+v %v", m, first)
					if old, ok := model.members[m.Name]; ok && !first {
						m.Node = old.Node // it does not change while a process runs
					}
					got, gotErr = is.beat(ctx, m, first)
					want, wantErr = as.beat(ctx, m, first)
				case 5, 6, 7:
					changes := []change{}
					for n := range 4 {
						p := part{"k", n}
						changes = append(changes, change{p, model.parts[p].term - uint64(r.IntN(2))*min(model.parts[p].term, 1), m.Name})
					}
					what = fmt.Sprintf("apply %+v", changes)
					got, gotErr = is.apply(ctx, changes)
					want, wantErr = as.apply(ctx, changes)
				case 8:
					what = fmt.Sprintf("leave %+v", m)
					gotErr, wantErr = is.leave(ctx, m), as.leave(ctx, m)
				case 9:
					what = "peek"
					got, gotErr = is.peek(ctx)
					want, wantErr = as.peek(ctx)
				case 10:
					protocol := r.IntN(4)
					what = fmt.Sprintf("agree %d", protocol)
					got, gotErr = is.agree(ctx, protocol)
					want, wantErr = as.agree(ctx, protocol)
				default:
					if old, ok := model.members[m.Name]; ok && r.IntN(2) == 0 {
						m = old
					}
					what = fmt.Sprintf("forget %+v", m)
					gotErr, wantErr = is.forget(ctx, []member{m}), as.forget(ctx, []member{m})
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
}
