package counter_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

// fleet is a group of nodes that share a database.
type fleet struct {
	t     testing.TB
	place string
	clock *clocktest.Manual
	names []string
	dbs   []*sqldb.DB
	nodes []*counter.Service
	on    func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error // OnChange of all nodes; nil: nothing
}

// open opens n nodes. In SQLite, which one process uses, they share its connections.
func open(t testing.TB, n int) *fleet {
	t.Helper()
	return openAt(t, sqltest.Place(t), n)
}

func openAt(t testing.TB, place string, n int) *fleet {
	t.Helper()
	f := &fleet{t: t, place: place, clock: clocktest.NewManual()}
	for i := range n {
		f.names = append(f.names, fmt.Sprintf("node-%d", i))
	}
	for i := range n {
		if i == 0 || strings.HasPrefix(place, "postgres") {
			db, err := sqldb.Open(context.Background(), place)
			must(t, err)
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			f.dbs = append(f.dbs, db)
		}
		s, err := counter.New(context.Background(), counter.Deps{DB: f.dbs[i%len(f.dbs)], Clock: f.clock, Logger: slog.New(slog.DiscardHandler), Node: f.names[i], Nodes: func() []string { return f.names },
			OnChange: func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
				if f.on == nil {
					return nil
				}
				return f.on(ctx, tx, changes)
			}})
		must(t, err)
		f.nodes = append(f.nodes, s)
	}
	return f
}

// count returns the size of a set.
func (f *fleet) count(subject uint64) uint64 {
	f.t.Helper()
	counts, err := f.nodes[0].Counts(context.Background(), counter.PostLikes, []uint64{subject})
	must(f.t, err)
	return counts[0]
}

// users returns all members of a set, newest first, by pages of a size.
func (f *fleet) users(subject uint64, page int) (users []id.User) {
	f.t.Helper()
	for behind := (counter.Position{}); ; {
		list, err := f.nodes[0].Members(context.Background(), counter.PostLikes, subject, behind, page)
		must(f.t, err)
		for _, m := range list {
			users = append(users, m.User)
			behind = m.Position()
		}
		if len(list) < page {
			return users
		}
	}
}

// exec changes rows by hand.
func (f *fleet) exec(statement string, args ...any) {
	f.t.Helper()
	must(f.t, f.dbs[0].Write(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
