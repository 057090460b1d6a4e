package sqldb_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// from returns whether a reader uses a replica, and how many numbers it sees.
func from(t *testing.T, r sqldb.Reader) (replica bool, n int) {
	t.Helper()
	rows, err := r.QueryContext(context.Background(), `SELECT pg_is_in_recovery(), count(*) FROM numbers`)
	must(t, err)
	defer rows.Close()
	if !rows.Next() {
		t.Fatalf("the query returns no row: %v", rows.Err())
	}
	must(t, rows.Scan(&replica, &n))
	return replica, n
}

// A read sees all that was acknowledged before, on each node, whether a replica or the primary answers.
func TestReplicasShowAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx, replicas := t.Context(), []string{p.Standby().URL}
	writer := numbers(t, p.URL, sqldb.Options{})
	patient := numbers(t, p.URL, sqldb.Options{Replicas: replicas, ReplicaWait: time.Minute})
	hasty := numbers(t, p.URL, sqldb.Options{Replicas: replicas, ReplicaWait: time.Millisecond, ReplicaRetry: time.Nanosecond})
	const writes = 50
	for n := range writes {
		must(t, put(writer, n))
		if replica, got := from(t, patient.ReadYourWrites(ctx)); got != n+1 || !replica {
			t.Fatalf("%d rows were acknowledged, but a read has %d (from a replica: %v)", n+1, got, replica)
		}
		if _, got := from(t, hasty.ReadYourWrites(ctx)); got != n+1 {
			t.Fatalf("%d rows were acknowledged, but a read has %d", n+1, got)
		}
	}

	must(t, p.Standby().Exec(ctx, `SELECT pg_wal_replay_pause()`))
	must(t, put(writer, writes))
	if replica, got := from(t, hasty.ReadYourWrites(ctx)); replica || got != writes+1 {
		t.Errorf("while replay is paused: read from a replica: %v, %d rows", replica, got)
	}
	must(t, p.Standby().Exec(ctx, `SELECT pg_wal_replay_resume()`))
	if replica, got := from(t, patient.ReadYourWrites(ctx)); !replica || got != writes+1 {
		t.Errorf("after replay was resumed: read from a replica: %v, %d rows", replica, got)
	}

	// The replica ends between two reads, then it is the primary.
	reader := patient.ReadYourWrites(ctx)
	must(t, p.Standby().Kill())
	if replica, got := from(t, reader); replica || got != writes+1 {
		t.Errorf("after the replica was killed: read from a replica: %v, %d rows", replica, got)
	}
	must(t, p.Rejoin(ctx))
	must(t, p.Primary().Kill())
	must(t, p.Promote(ctx))
	n := writes + 1
	for put(writer, n) != nil { // until it has found the other
		n++
	}
	if replica, got := from(t, patient.ReadYourWrites(ctx)); replica || got < writes+2 {
		t.Errorf("after the replica was promoted: read from a replica: %v, %d rows", replica, got)
	}
}

// lines of a log.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// The log says at the start which replicas cannot be used, and why.
func TestUnusableReplicasAreLogged(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	log := make(lines, 100)
	numbers(t, p.URL, sqldb.Options{Replicas: []string{p.Standby().URL, p.Primary().URL, "postgres://rialto@127.0.0.1:1/postgres"}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	said := ""
	for late := time.After(time.Minute); !strings.Contains(said, "is a primary, not a replica") || !strings.Contains(said, "replica=127.0.0.1:1 "); {
		select {
		case line := <-log:
			said += line
		case <-late:
			t.Fatalf("the log says: %s", said)
		}
	}
	if n := strings.Count(said, "cannot read from a replica"); n != 2 {
		t.Errorf("%d replicas were reported as unusable: %s", n, said)
	}
}
