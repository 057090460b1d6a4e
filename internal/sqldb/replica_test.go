package sqldb_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// from tells whether a reader is a replica's, and how many numbers it shows.
func from(t *testing.T, r sqldb.Reader) (replica bool, n int) {
	t.Helper()
	rows, err := r.QueryContext(context.Background(), `SELECT pg_is_in_recovery(), count(*) FROM numbers`)
	must(t, err)
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	must(t, rows.Scan(&replica, &n))
	return replica, n
}

// TestReadsFollowWrites: what is acknowledged is in the next read that follows, on each node, from a replica that has it or from the
// primary.
func TestReadsFollowWrites(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx, replicas := t.Context(), []string{p.Standby().URL}
	writer := numbers(t, p.URL, sqldb.Options{})
	patient := numbers(t, p.URL, sqldb.Options{Replicas: replicas, Wait: time.Minute})
	hasty := numbers(t, p.URL, sqldb.Options{Replicas: replicas, Wait: time.Millisecond, Lag: time.Nanosecond})
	late := numbers(t, p.URL, sqldb.Options{Replicas: replicas, Wait: time.Minute, Lag: time.Hour})
	const writes = 50
	for n := range writes {
		must(t, put(writer, n))
		if replica, got := from(t, patient.Follow(ctx)); got != n+1 || !replica {
			t.Fatalf("%d were acknowledged, and %d are shown (by a replica: %v)", n+1, got, replica)
		}
		if _, got := from(t, hasty.Follow(ctx)); got != n+1 {
			t.Fatalf("%d were acknowledged, and %d are shown", n+1, got)
		}
	}
	if replica, _ := from(t, late.Lagging(ctx)); !replica {
		t.Error("a read that may lag went to the primary")
	}

	must(t, p.Standby().Exec(ctx, `SELECT pg_wal_replay_pause()`))
	must(t, put(writer, writes))
	if replica, got := from(t, hasty.Follow(ctx)); replica || got != writes+1 {
		t.Errorf("a replica that stands still: %v, %d shown", replica, got)
	}
	if replica, got := from(t, hasty.Lagging(ctx)); replica || got != writes+1 {
		t.Errorf("a replica that is too far behind: %v, %d shown", replica, got)
	}
	if replica, got := from(t, late.Lagging(ctx)); !replica || got != writes {
		t.Errorf("a read that may lag: by a replica: %v, %d shown", replica, got)
	}
	must(t, p.Standby().Exec(ctx, `SELECT pg_wal_replay_resume()`))
	if replica, got := from(t, patient.Follow(ctx)); !replica || got != writes+1 {
		t.Errorf("a replica that goes on: %v, %d shown", replica, got)
	}

	// The replica ends between two reads, then it is the primary.
	reader := patient.Follow(ctx)
	must(t, p.Standby().Kill())
	if replica, got := from(t, reader); replica || got != writes+1 {
		t.Errorf("a replica that ended: %v, %d shown", replica, got)
	}
	must(t, p.Rejoin(ctx))
	must(t, p.Primary().Kill())
	must(t, p.Promote(ctx))
	n := writes + 1
	for put(writer, n) != nil { // until it has found the other
		n++
	}
	if replica, got := from(t, late.Follow(ctx)); replica || got < writes+2 {
		t.Errorf("a replica that was promoted: %v, %d shown", replica, got)
	}
}

// lines of a log.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// TestReplicasThatAreNone: the log says at the start which cannot be read from, and why.
func TestReplicasThatAreNone(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	log := make(lines, 100)
	numbers(t, p.URL, sqldb.Options{Replicas: []string{p.Standby().URL, p.Primary().URL, "postgres://rialto@127.0.0.1:1/postgres"}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	said := ""
	for late := time.After(time.Minute); !strings.Contains(said, "it is no replica") || !strings.Contains(said, "replica=127.0.0.1:1 "); {
		select {
		case line := <-log:
			said += line
		case <-late:
			t.Fatalf("the log says: %s", said)
		}
	}
	if n := strings.Count(said, "cannot be read from"); n != 2 {
		t.Errorf("%d replicas are none: %s", n, said)
	}
}
