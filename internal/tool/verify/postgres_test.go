package verify_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/tool/verify"
)

// TestPostgres: a correct database passes, and each corruption is found.
func TestPostgres(t *testing.T) {
	ctx, server := t.Context(), sqltest.Postgres(t)
	for _, damage := range []struct{ statement, rule string }{
		{`SELECT 1`, ""},
		{`DELETE FROM log_entries WHERE seq = 3`, "sequence"},
		{`UPDATE log_tails SET counted = counted + 1`, "sequence"},
		{`DELETE FROM log_tokens WHERE seq = 2`, "duplicate"},
		{`UPDATE log_authors SET seq = 3 WHERE author = 1`, "author"},
		{`DELETE FROM log_posts WHERE id = 2 AND seq % 65536 = 4`, "delivery"},
		{`UPDATE log_posts SET prev = 9 WHERE id = 2 AND seq % 65536 = 4`, "inbox"},
		{`DELETE FROM log_records`, "delivery"},
		{`UPDATE members SET leave_seq = 0`, "members"},
		{`UPDATE views SET read_seq = 9`, "cursors"},
		{`INSERT INTO quarantine VALUES (77, 5, 'torn')`, "damaged"},
		{`DELETE FROM counter_counts WHERE bucket = 1`, "counters"},
		{`DROP TABLE counter_counts, counter_members`, ""}, // a release without counters
		{`DROP TABLE quarantine`, ""},                      // a release without quarantine
	} {
		place := sqltest.Schema(t, server)
		log, err := pglog.Open(ctx, place, pglog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, log)
		c, err := pgx.Connect(ctx, place)
		if err != nil {
			t.Fatal(err)
		}
		do := func(statement string, args ...any) {
			t.Helper()
			if _, err := c.Exec(ctx, statement, args...); err != nil {
				t.Fatal(err)
			}
		}
		records(t, "BYTEA", do)
		// An uncommitted transaction is not visible, and nobody waits for it.
		if damage.statement == `SELECT 1` {
			do(`BEGIN; DELETE FROM log_entries; DELETE FROM members`)
		}
		do(damage.statement)
		r, err := verify.RunPostgres(ctx, place, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, v := range r.Violations {
			found += v.Rule + " "
		}
		if !strings.Contains(found, damage.rule) || damage.rule == "" && (found != "" || r.Conversations != 1 || r.Entries != last || r.Inboxes != 3 || r.InboxEntries != 17 || r.Undelivered != 1) {
			t.Errorf("after %s: got %+v", damage.statement, r)
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	half := sqltest.Schema(t, server)
	log, err := pglog.Open(ctx, half, pglog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(ctx, half)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, `CREATE TABLE moves (ended TIMESTAMPTZ); INSERT INTO moves VALUES (NULL)`); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.RunPostgres(ctx, half, t.Logf); err == nil || !strings.Contains(err.Error(), "is not complete") {
		t.Errorf("incomplete move: got %v, want an error", err)
	}
	if _, err := verify.RunPostgres(ctx, sqltest.Schema(t, server), t.Logf); err == nil || !strings.Contains(err.Error(), "has a server run there?") {
		t.Errorf("empty database: got %v, want an error", err)
	}
}

// TestSeveralServers: timelines and SQL data are read from the primary, even if the standby is listed first.
func TestSeveralServers(t *testing.T) {
	ctx, pair := t.Context(), sqltest.PairOf(t, sqltest.PairOptions{})
	place := pair.StandbyFirst()
	log, err := pglog.Open(ctx, place, pglog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, log)
	c, err := pgx.Connect(ctx, pair.Primary().URL)
	if err != nil {
		t.Fatal(err)
	}
	records(t, "BYTEA", func(statement string, args ...any) {
		t.Helper()
		if _, err := c.Exec(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	})
	if r, err := verify.RunPostgres(ctx, place, t.Logf); err != nil || len(r.Violations) > 0 || r.Conversations != 1 {
		t.Errorf("got %+v, %v, want no violations", r, err)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
