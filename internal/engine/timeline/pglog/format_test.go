package pglog_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// tables lists all tables except that of the writers, which has times.
var tables = []string{"log_meta", "log_authors", "log_checkpoints", "log_entries", "log_heads", "log_inboxes", "log_partitions", "log_posts",
	"log_records", "log_sums", "log_tails", "log_terms", "log_tokens"}

// The log writes the rows of docs/formats/postgres.md. A change here is a change of the format: stored data must still be readable.
func TestGoldenRows(t *testing.T) {
	address, _ := place(t)
	l := open(t, address, pglog.Options{})
	ctx, k, old := t.Context(), conversation(77), conversation(78)
	for _, a := range []*timeline.AppendRequest{
		{Key: k, Payload: []byte("one"), Counts: true, NeedsFanout: true, Author: 5, Token: timeline.Token{Sender: 5, Device: 6, Counter: 7}},
		{Key: k, Payload: []byte("two"), SetAccess: true},
		{Key: k, Payload: []byte("three"), Counts: true, NeedsFanout: true, Author: 5, Token: timeline.Token{Sender: 5, Device: 6, Sum: [16]byte{1, 2, 3}}},
		{Key: old, Payload: []byte("name"), SetAccess: true},
		{Key: old, Payload: []byte("old"), Counts: true},
		{Key: old, Payload: []byte("new"), Counts: true},
	} {
		must(t, timelinetest.Append(l, a).Err)
	}
	must(t, l.Expire(ctx, old, 3, []uint64{1}))
	must(t, l.Acquire(ctx, inbox(9).Partition(), 1))
	must(t, l.Acquire(ctx, k.Partition(), 1))
	for _, text := range []string{"mail", "more"} {
		must(t, l.Post(ctx, []timeline.Post{{Key: inbox(9), Payload: []byte(text)}}))
	}
	must(t, l.PutCheckpoint(ctx, k.Partition(), 1))
	c := writerSession(t, address)
	var got strings.Builder
	for _, table := range tables {
		row := "t"
		if table == "log_terms" {
			row = "(partition, term)" // the holder is random
		}
		rows, err := c.Query(ctx, `SELECT `+row+`::TEXT FROM `+table+` t ORDER BY 1`)
		must(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		for _, line := range lines {
			var partition, value int
			if n, _ := fmt.Sscanf(line, "(%d,%d)", &partition, &value); n == 2 && value == 0 {
				continue // rows of unused partitions
			}
			fmt.Fprintf(&got, "%-16s%s\n", table, line)
		}
	}
	must(t, l.Close())
	page, err := os.ReadFile("../../../../docs/formats/postgres.md")
	must(t, err)
	if _, example, _ := strings.Cut(string(page), "```\n"); !strings.HasPrefix(example, got.String()+"```\n") {
		t.Errorf("docs/formats/postgres.md does not have these rows:\n%s", got.String())
	}
	for _, table := range append(tables, "log_writers") {
		if !strings.Contains(string(page), "| `"+table+"` |") {
			t.Errorf("docs/formats/postgres.md does not have the table %s", table)
		}
	}
}

// TestConcurrentOpensCreateTheTablesOnce: nodes that open concurrently create the tables once.
func TestConcurrentOpensCreateTheTablesOnce(t *testing.T) {
	address, _ := place(t)
	var wait sync.WaitGroup
	for n := range uint64(4) {
		wait.Go(func() {
			l, err := pglog.Open(t.Context(), address, pglog.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if a := timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Token: token(n, 1)}); a.Err != nil {
				t.Error(a.Err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	l := open(t, address, pglog.Options{})
	if texts := read(t, l, conversation(1)); len(texts) != 4 {
		t.Errorf("%d entries of 4", len(texts))
	}
	must(t, l.Close())
	c := writerSession(t, address)
	var writers int
	must(t, c.QueryRow(t.Context(), `SELECT count(*) FROM log_writers`).Scan(&writers))
	if writers != 0 {
		t.Errorf("%d writers are left", writers)
	}
	// Tables of a newer version are not touched.
	_, err := c.Exec(t.Context(), `UPDATE log_meta SET version = 1000`)
	must(t, err)
	if _, err := pglog.Open(t.Context(), address, pglog.Options{}); err == nil || !strings.Contains(err.Error(), "newer rialto") {
		t.Errorf("a newer version's tables: %v", err)
	}
}

// TestCommitsAreDurable: appends wait for the disk, whatever the settings of the address, the role or the database are.
func TestCommitsAreDurable(t *testing.T) {
	address, name := place(t)
	l := open(t, address+"&synchronous_commit=off&statement_timeout=1", pglog.Options{})
	c := writerSession(t, address)
	_, err := c.Exec(t.Context(), `CREATE TABLE seen (setting TEXT);
		CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO seen SELECT concat_ws(' ', current_setting('synchronous_commit'), current_setting('statement_timeout'), current_setting('transaction_isolation'), current_setting('application_name')); RETURN NULL; END $$;
		CREATE TRIGGER see AFTER INSERT ON log_entries EXECUTE FUNCTION see();
		CREATE TRIGGER see AFTER INSERT ON log_posts EXECUTE FUNCTION see()`)
	must(t, err)
	must(t, timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1)}).Err)
	must(t, l.Acquire(t.Context(), inbox(1).Partition(), 1))
	must(t, l.Post(t.Context(), []timeline.Post{{Key: inbox(1)}}))
	rows, err := c.Query(t.Context(), `SELECT setting FROM seen`)
	must(t, err)
	seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	want := "on 0 read committed " + name
	if len(seen) != 2 || seen[0] != want || seen[1] != want {
		t.Errorf("the settings of the connections are %q, want the same expected ones for both", seen)
	}
	must(t, l.Close())
}
