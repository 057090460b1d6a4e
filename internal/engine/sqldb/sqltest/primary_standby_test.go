package sqltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPair covers all operations: what was committed before a server is killed is on the other one.
func TestPair(t *testing.T) {
	for name, o := range map[string]sqltest.PairOptions{"socket files": {}, "ports": {Listen: "127.0.0.1"}} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			p := sqltest.PairOf(t, o)
			exec := func(statement string) {
				t.Helper()
				c, err := pgx.Connect(ctx, p.URL)
				must(t, err)
				_, err = c.Exec(ctx, statement)
				must(t, errors.Join(err, c.Close(ctx)))
			}
			exec(`CREATE TABLE rounds (n BIGINT)`)
			for round := range 2 {
				exec(`INSERT INTO rounds VALUES (1)`)
				if round == 0 {
					must(t, p.Primary().Kill())
				} else {
					must(t, p.Primary().Pause())
				}
				must(t, p.Promote(ctx))
				exec(`INSERT INTO rounds VALUES (1)`) // without a standby
				old := p.Standby()
				if round == 0 {
					must(t, old.Restart(ctx))
				} else {
					must(t, old.Resume())
				}
				alone, err := pgx.Connect(ctx, old.URL)
				must(t, err)
				var rows int
				must(t, alone.QueryRow(ctx, `SELECT count(*) FROM rounds`).Scan(&rows))
				if want := 2*round + 1; rows != want {
					t.Errorf("the former primary: got %d rows, want %d", rows, want)
				}
				must(t, alone.Close(ctx))
				must(t, p.Rejoin(ctx))
			}
			c, err := pgx.Connect(ctx, p.Standby().URL)
			must(t, err)
			defer c.Close(ctx)
			var rows int
			for rows < 4 { // the standby has flushed it when the commit returns, and shows it a moment later
				must(t, c.QueryRow(ctx, `SELECT count(*) FROM rounds`).Scan(&rows))
			}
			must(t, p.Standby().Pause())
			short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
			defer stop()
			if err := p.Primary().Exec(short, `INSERT INTO rounds VALUES (1)`); err == nil {
				t.Error("a commit did not wait for the standby")
			}
			must(t, p.Standby().Resume())
			must(t, p.Synchronous(ctx, false))
		})
	}
}
