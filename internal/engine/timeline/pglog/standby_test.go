package pglog_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// until waits until a query returns true.
func until(t *testing.T, c *pgx.Conn, question string) {
	t.Helper()
	eventually.True(t, question, func() (yes bool) {
		if err := c.QueryRow(t.Context(), question).Scan(&yes); err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		return yes
	})
}

const (
	waits  = `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
	cancel = `SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
)

// TestWithoutTheStandbyNothingIsAcknowledged: without the standby nothing is acknowledged or visible. A refused append is stored once when
// it is retried.
func TestWithoutTheStandbyNothingIsAcknowledged(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx := t.Context()
	for _, setting := range []string{"statement_timeout = '100ms'", "client_min_messages = 'error'", "synchronous_commit = 'local'"} {
		must(t, p.Primary().Exec(ctx, "ALTER ROLE rialto SET "+setting))
	}
	hasty, patient := open(t, p.URL, pglog.Options{Timeout: 2 * time.Second}), open(t, p.URL, pglog.Options{Timeout: time.Minute})
	admin := writerSession(t, p.Primary().URL)
	_, err := admin.Exec(ctx, `SET statement_timeout = 0`)
	must(t, err)
	k := conversation(1)
	first := &timeline.AppendRequest{Key: k, Payload: []byte("first"), Token: token(1, 1)}
	if timelinetest.Append(hasty, first); first.Err != nil {
		t.Fatal(first.Err)
	}
	must(t, hasty.Acquire(ctx, inbox(1).Partition(), 2))

	must(t, p.Standby().Pause())
	if err := hasty.Acquire(ctx, inbox(1).Partition(), 3); !errs.Is(err, errs.Unavailable) {
		t.Errorf("a term without the standby: %v", err)
	}
	if a := timelinetest.Append(hasty, &timeline.AppendRequest{Key: k, Payload: []byte("second"), Token: token(1, 2)}); !errs.Is(a.Err, errs.Unavailable) {
		t.Errorf("without the standby: %+v", a)
	}
	var term int
	must(t, admin.QueryRow(ctx, `SELECT term FROM log_terms WHERE partition = $1`, int16(inbox(1).Partition())).Scan(&term))
	if texts := read(t, patient, k); len(texts) != 1 || term != 2 {
		t.Errorf("rows that the standby does not have are visible: %q, term %d", texts, term)
	}
	must(t, p.Standby().Resume())
	if a := timelinetest.Append(patient, &timeline.AppendRequest{Key: k, Payload: []byte("second"), Token: token(1, 2)}); a.Err != nil || a.Seq != 2 || !a.Duplicate {
		t.Errorf("again: %+v", a)
	}

	// An operator cancels the wait, and PostgreSQL answers that it is committed.
	must(t, patient.Acquire(ctx, inbox(1).Partition(), 4))
	must(t, p.Standby().Pause())
	posted, appended := make(chan error, 1), make(chan *timeline.AppendRequest, 1)
	go func() { posted <- patient.Post(ctx, []timeline.Post{{Key: inbox(1), Payload: []byte("x")}}) }()
	until(t, admin, waits)
	until(t, admin, cancel)
	if err := <-posted; !errs.Is(err, errs.Unavailable) {
		t.Errorf("a post whose wait was cancelled: %v", err)
	}
	go func() {
		appended <- timelinetest.Append(patient, &timeline.AppendRequest{Key: k, Payload: []byte("third")})
	}()
	until(t, admin, waits)
	until(t, admin, cancel)
	until(t, admin, waits) // for the query for its outcome
	until(t, admin, cancel)
	until(t, admin, waits)
	if len(appended) > 0 {
		t.Errorf("the append was acknowledged without the standby: %+v", <-appended)
	}
	must(t, p.Standby().Resume())
	if a := <-appended; a.Err != nil || a.Seq != 3 {
		t.Errorf("a lost answer: %+v", a)
	}
	if texts := read(t, hasty, k); len(texts) != 3 {
		t.Errorf("the conversation has %q, want 3 entries", texts)
	}
	must(t, hasty.Close())
	must(t, patient.Close())
}

// TestUnreplicatedResultsAreNotReported: a committer found its batch on the primary, and lost the primary before the standby had it. It
// queries the next primary again.
func TestUnreplicatedResultsAreNotReported(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx, k := t.Context(), conversation(1)
	l := open(t, p.URL, pglog.Options{Timeout: time.Minute, PrimaryCheckInterval: 100 * time.Millisecond})
	if a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("first"), Token: token(1, 1)}); a.Err != nil {
		t.Fatal(a.Err)
	}
	must(t, p.Standby().Kill())
	appended := make(chan *timeline.AppendRequest, 1)
	go func() {
		appended <- timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("second"), Token: token(1, 2)})
	}()
	admin := writerSession(t, p.Primary().URL)
	until(t, admin, waits)
	// The wait of the batch, which is then stored on this server only, and that of the query that finds it are cancelled, until the
	// committer creates another writer.
	until(t, admin, `SELECT coalesce(bool_or(CASE WHEN query LIKE 'INSERT INTO log_writers %' THEN true ELSE NOT pg_cancel_backend(pid) END), false)
		FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`)
	must(t, p.Primary().Kill())
	must(t, p.Standby().Restart(ctx))
	must(t, p.Promote(ctx))
	if a := <-appended; a.Err != nil || a.Seq != 2 {
		t.Errorf("the append that waited for the standby is %+v, want seq 2", a)
	}
	if texts := read(t, l, k); len(texts) != 2 {
		t.Errorf("it was acknowledged, but the stored entries are %q", texts)
	}
	must(t, l.Close())
}

// TestRecoveredResultsSurviveALostPrimary: the primary ends after a committer has found its batch, and before it has read the batch's entries.
func TestRecoveredResultsSurviveALostPrimary(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx, k := t.Context(), conversation(1)
	l := open(t, p.URL, pglog.Options{Timeout: time.Minute, PrimaryCheckInterval: 10 * time.Millisecond, Readers: 1})
	if a := timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("first"), Token: token(1, 1)}); a.Err != nil {
		t.Fatal(a.Err)
	}
	admin, holds := writerSession(t, p.Primary().URL), writerSession(t, p.Primary().URL)
	_, err := holds.Exec(ctx, `BEGIN; LOCK log_posts`)
	must(t, err)
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = l.Read(ctx, inbox(1), 0, 1) }) // holds the only connection for reads
	until(t, admin, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%log_posts%'`)
	must(t, p.Standby().Pause())
	appended := make(chan *timeline.AppendRequest, 1)
	go func() {
		appended <- timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("second"), Token: token(1, 2), Counts: true})
	}()
	until(t, admin, waits)
	until(t, admin, cancel) // the batch is stored on this server, and its answer is lost
	until(t, admin, waits+` AND query LIKE 'UPDATE log_writers %'`)
	must(t, p.Standby().Resume())
	// Statements are prepared once the writer has its row.
	until(t, admin, `SELECT count(*) > 1 FROM log_writers`)
	until(t, admin, `SELECT count(*) = 0 FROM pg_stat_activity WHERE state = 'active' AND wait_event_type IS DISTINCT FROM 'Lock' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
	must(t, p.Primary().Kill())
	must(t, p.Promote(ctx))
	reading.Wait()
	if a := <-appended; a.Err != nil || a.Seq != 2 || a.Counted != 1 {
		t.Errorf("the append that waited for the standby is %+v, want seq 2, counted 1", a)
	}
	if texts := read(t, l, k); len(texts) != 2 {
		t.Errorf("the conversation has %q, want 2 entries", texts)
	}
	must(t, l.Close())
}

// TestConnectionsWaitingForTheStandbyAreBounded: writes without the standby fail, and do not accumulate connections at the server.
func TestConnectionsWaitingForTheStandbyAreBounded(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx := t.Context()
	l := open(t, p.URL, pglog.Options{Timeout: time.Second, Writers: 1})
	post := func(u uint64) error { return l.Post(ctx, []timeline.Post{{Key: inbox(u), Payload: []byte("x")}}) }
	for err := post(1); err != nil; err = post(1) { // Take and Post; a slow machine needs some
		if !errs.Is(err, errs.Unavailable) && !errors.Is(err, timeline.ErrFenced) {
			t.Fatalf("error %v, want one of the kind unavailable, or %v", err, timeline.ErrFenced)
		}
		for p := range uint16(timeline.Partitions) {
			if err := l.Acquire(ctx, p, 1); err != nil && !errs.Is(err, errs.Unavailable) {
				t.Fatalf("error %v, want none or one of the kind unavailable", err)
			}
		}
	}
	admin := writerSession(t, p.Primary().URL)
	must(t, p.Standby().Pause())
	for u := uint64(2); u < 12; u++ { // each to another inbox, so that none waits for another's row
		if err := post(u); !errs.Is(err, errs.Unavailable) {
			t.Errorf("a post without the standby: %v", err)
		}
	}
	until(t, admin, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%log_inboxes%'`)
	var waiting int
	must(t, admin.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%log_inboxes%'`).Scan(&waiting))
	if waiting > 2 {
		t.Errorf("%d posts wait at the server", waiting)
	}
	for range 3 { // the first of this committer: it has no writer yet
		if a := timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("x")}); !errs.Is(a.Err, errs.Unavailable) {
			t.Errorf("an append without the standby: %+v", a)
		}
	}
	until(t, admin, `SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'INSERT INTO log_writers %'`)
	must(t, p.Standby().Resume())
	for err := post(20); err != nil; err = post(20) {
		if !errs.Is(err, errs.Unavailable) {
			t.Fatalf("error %v, want one of the kind unavailable", err)
		}
	}
	for a := (&timeline.AppendRequest{Err: timeline.ErrBusy}); a.Err != nil; {
		a = timelinetest.Append(l, &timeline.AppendRequest{Key: conversation(1), Payload: []byte("y"), Token: token(1, 1)})
		if a.Err != nil && !errs.Is(a.Err, errs.Unavailable) {
			t.Fatalf("error %v, want none or one of the kind unavailable", a.Err)
		}
	}
	must(t, l.Close())
}
