package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// otherPostgres stands for Cassandra: rows are stored before their position, and may be stored again.
type otherPostgres struct {
	postgresSink
	damage func(*timeline.Row)
}

func (s *otherPostgres) store(ctx context.Context, _ pgx.Tx, rows []timeline.Row) error {
	rows = slices.Clone(rows)
	for i := range rows {
		if s.damage != nil {
			s.damage(&rows[i])
		}
	}
	return s.inTransaction(ctx, func(tx pgx.Tx) error { return pglog.Import(ctx, tx, rows) })
}

func (s *otherPostgres) end(ctx context.Context, _ pgx.Tx, epoch, restored uint32) error {
	return s.inTransaction(ctx, func(tx pgx.Tx) error { return pglog.EndImport(ctx, tx, epoch, restored) })
}

func (s *otherPostgres) inTransaction(ctx context.Context, do func(pgx.Tx) error) error {
	c, err := pgx.Connect(ctx, s.options.Postgres)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, c, do)
	if twice := (*pgconn.PgError)(nil); errors.As(err, &twice) && twice.Code == "23505" { // an earlier run has stored all of it
		err = nil
	}
	return errors.Join(err, c.Close(ctx))
}

func newOtherPostgres(t *testing.T, server string) *otherPostgres {
	s := &otherPostgres{postgresSink: postgresSink{options: Options{Postgres: sqltest.Schema(t, server)}}}
	s.options.defaults()
	log, err := s.log(t.Context()) // creates the tables
	must(t, err)
	must(t, log.Close())
	return s
}

const inTheCopy = "Cassandra (keyspace copied, store 3)"

// served is a log in PostgreSQL with data of every kind, as a server has it open, and the options of a move of it.
func served(t *testing.T, seed uint64) (*pglog.Log, TimelinesOptions) {
	t.Helper()
	server := sqltest.Postgres(t)
	address := sqltest.Schema(t, server)
	completed(t, Options{Data: directory(t, seed), Postgres: address})
	agreed(t, address, "PostgreSQL")
	log, err := pglog.Open(t.Context(), address, pglog.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	return log, TimelinesOptions{Postgres: address, Setting: inTheCopy, Batch: 40, sink: newOtherPostgres(t, server)}
}

// agreed checks where the nodes of a database expect the timelines.
func agreed(t *testing.T, address, want string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address)
	must(t, err)
	got, err := cluster.AgreeSetting(t.Context(), db, "timelines", "PostgreSQL")
	must(t, errors.Join(err, db.Close()))
	if got != want {
		t.Errorf("the nodes agree on %q, want %q", got, want)
	}
}

func appendTo(log timeline.Log, text string) *timeline.AppendRequest {
	return timelinetest.Append(log, &timeline.AppendRequest{Key: conversation(1), Payload: []byte(text), Counts: true, NeedsFanout: true, Author: 1, Token: timeline.Token{Sender: 1, Device: 77, Counter: uint64(len(text))}})
}

// refusesWrites checks that a log refuses all that changes it.
func refusesWrites(t *testing.T, log timeline.Log) {
	t.Helper()
	ctx := t.Context()
	for name, err := range map[string]error{
		"append":  appendTo(log, "refused").Err,
		"feed":    timelinetest.Append(log, &timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Feed, ID: 1}, Payload: []byte("refused")}).Err,
		"expire":  log.Expire(ctx, conversation(4), 1<<40, nil),
		"replace": log.Replace(ctx, conversation(1), []timeline.Entry{{Seq: 1, Payload: []byte("refused")}}),
		"trim":    log.Trim(ctx, inbox(1), 1<<50),
		"acquire": log.Acquire(ctx, 3, 1<<40),
	} {
		if !errors.Is(err, timeline.ErrMoving) {
			t.Errorf("%s: got error %v, want that the timelines are being moved", name, err)
		}
	}
}

// The move is stopped every few commits, and last before it ends. Until then servers read the log as it was and nothing is written; after
// it, they can neither write nor read it, and the copy has everything.
func TestTimelinesMoveWhileServersRead(t *testing.T) {
	ctx := t.Context()
	log, o := served(t, 7)
	points, left, stopAt := 0, int64(0), "freeze"
	var budget atomic.Int64
	o.interrupt = func(point string) error {
		if point == stopAt || stopAt == "" && budget.Add(-1) < 0 {
			return errStopped
		}
		return nil
	}
	if _, err := RunTimelines(ctx, o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	if a := appendTo(log, "before the move"); a.Err != nil {
		t.Errorf("an append before the log is frozen: %v", a.Err)
	}
	must(t, log.Acquire(ctx, inbox(1).Partition(), 1))
	want := shown(t, log)
	for stopAt = "frozen"; ; points++ {
		left += 5
		budget.Store(left)
		r, err := RunTimelines(ctx, o)
		if err == nil {
			if len(r.Differences) > 0 || r.Conversations == 0 || r.Inboxes == 0 || r.Tokens == 0 {
				t.Fatalf("got report %+v", r)
			}
			break
		}
		if !errors.Is(err, errStopped) || points > 200 {
			t.Fatalf("error %v at point %d, want %v at most 200 times", err, points, errStopped)
		}
		refusesWrites(t, log)
		sameLines(t, shown(t, log), want)
		agreed(t, o.Postgres, "PostgreSQL")
		if stopAt = ""; points == 3 {
			stopAt = "switch"
		}
	}
	if points < 5 {
		t.Errorf("the move was interrupted only %d times", points)
	}
	agreed(t, o.Postgres, inTheCopy)
	refusesWrites(t, log)
	if _, err := log.Read(ctx, conversation(1), 0, 10); !errors.Is(err, timeline.ErrMoving) {
		t.Errorf("a read of the log after the move: got error %v", err)
	}
	if _, err := RunTimelines(ctx, o); err == nil || !strings.Contains(err.Error(), "were moved to "+inTheCopy) {
		t.Errorf("another run: got error %v", err)
	}
	if err := AbortTimelines(ctx, o); err == nil || !strings.Contains(err.Error(), "were moved to "+inTheCopy) {
		t.Errorf("an abort after the end: got error %v", err)
	}

	moved, err := o.sink.open(ctx)
	must(t, err)
	copied := moved.(*pglog.Log)
	sameLines(t, shown(t, copied), want)
	if copied.Epoch() != log.Epoch() || copied.Epoch() != 3 {
		t.Errorf("the copy has epoch %d, want %d as before, or devices would start again", copied.Epoch(), log.Epoch())
	}
	if a := appendTo(copied, "before the move"); a.Err != nil || !a.Duplicate {
		t.Errorf("a retry of an entry: got %+v, want a duplicate", a)
	}
	must(t, copied.Close())
}

// Writers append until they are refused. All that was acknowledged is in the copy, at its place, and nothing else.
func TestAcknowledgedEntriesAreInTheCopy(t *testing.T) {
	ctx := t.Context()
	log, o := served(t, 8)
	type writer struct {
		acknowledged map[uint64]bool // by seq
		refused      error
	}
	const first, writers = 200, 4
	results, some := make(chan writer, writers), make(chan struct{}, writers)
	for i := range uint64(writers) {
		go func() { // ends when the log is frozen
			w := writer{acknowledged: map[uint64]bool{}}
			for n := uint64(1); w.refused == nil; n++ {
				a := timelinetest.Append(log, &timeline.AppendRequest{Key: conversation(first + i), Payload: fmt.Append(nil, "entry ", n), Token: timeline.Token{Sender: i + 1, Device: 5, Counter: n}})
				if w.refused = a.Err; a.Err == nil {
					w.acknowledged[a.Seq] = true
				}
				if n == 10 {
					some <- struct{}{}
				}
			}
			results <- w
		}()
	}
	for range writers {
		<-some
	}
	r, err := RunTimelines(ctx, o)
	must(t, err)
	if len(r.Differences) > 0 {
		t.Errorf("got differences %q", r.Differences)
	}
	total := 0
	for range writers {
		w := <-results
		if !errors.Is(w.refused, timeline.ErrMoving) {
			t.Errorf("a writer ended with %v", w.refused)
		}
		total += len(w.acknowledged)
	}
	copied, err := o.sink.open(ctx)
	must(t, err)
	found := 0
	for i := range uint64(writers) {
		entries, err := copied.Read(ctx, conversation(first+i), 0, 1<<20)
		must(t, err)
		for n, e := range entries {
			if e.Seq != uint64(n+1) || string(e.Payload) != fmt.Sprint("entry ", n+1) {
				t.Errorf("conversation %d: entry %d is %q at %d", first+i, n+1, e.Payload, e.Seq)
			}
		}
		found += len(entries)
	}
	if found != total || total < 10*writers {
		t.Errorf("the copy has %d entries of %d that were acknowledged", found, total)
	}
	must(t, copied.Close())
}

// An aborted move leaves the log as it was, for servers that have it open too, and another one can follow.
func TestAnAbortedMoveOfTimelines(t *testing.T) {
	ctx := t.Context()
	log, o := served(t, 9)
	want := shown(t, log)
	if err := AbortTimelines(ctx, o); err == nil || !strings.Contains(err.Error(), "no move of the timelines has begun") {
		t.Errorf("an abort before a move: got error %v", err)
	}
	var budget atomic.Int64
	budget.Store(12)
	o.interrupt = func(string) error {
		if budget.Add(-1) < 0 {
			return errStopped
		}
		return nil
	}
	if _, err := RunTimelines(ctx, o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	elsewhere := o
	elsewhere.Setting = "Cassandra (keyspace other, store 0)"
	if _, err := RunTimelines(ctx, elsewhere); err == nil || !strings.Contains(err.Error(), "a move to "+inTheCopy+" has begun") {
		t.Errorf("the same move to another target: got error %v", err)
	}
	refusesWrites(t, log)
	must(t, AbortTimelines(ctx, o))
	sameLines(t, shown(t, log), want)
	if a := appendTo(log, "after the abort"); a.Err != nil {
		t.Errorf("an append after the abort: %v", a.Err)
	}
	must(t, log.Acquire(ctx, 3, 2))
	agreed(t, o.Postgres, "PostgreSQL")

	want = shown(t, log)
	again := TimelinesOptions{Postgres: o.Postgres, Setting: inTheCopy, sink: newOtherPostgres(t, o.Postgres)}
	r, err := RunTimelines(ctx, again)
	must(t, err)
	if len(r.Differences) > 0 {
		t.Errorf("got differences %q", r.Differences)
	}
	copied, err := again.sink.open(ctx)
	must(t, err)
	sameLines(t, shown(t, copied.(*pglog.Log)), want)
	must(t, copied.Close())
}

// A copy that differs is not used.
func TestADifferentCopyIsNotUsed(t *testing.T) {
	log, o := served(t, 10)
	damaged := atomic.Bool{}
	o.sink.(*otherPostgres).damage = func(r *timeline.Row) {
		if r.Kind == timeline.RowEntry && r.Key == conversation(5) && damaged.CompareAndSwap(false, true) {
			r.Entry.Payload = []byte("damaged")
		}
	}
	r, err := RunTimelines(t.Context(), o)
	must(t, err)
	if len(r.Differences) != 1 || !strings.Contains(r.Differences[0], "conversation 5: entries above 0 differ") {
		t.Errorf("got differences %q", r.Differences)
	}
	refusesWrites(t, log)
	agreed(t, o.Postgres, "PostgreSQL")
	must(t, AbortTimelines(t.Context(), o))
	if a := appendTo(log, "after the abort"); a.Err != nil {
		t.Errorf("an append after the abort: %v", a.Err)
	}
}

// Without the triggers servers could have written meanwhile, so the copy is not used.
func TestAMoveNeedsItsTriggers(t *testing.T) {
	_, o := served(t, 11)
	o.interrupt = func(point string) error {
		if point == "frozen" {
			_, err := session(t, o.Postgres).Exec(t.Context(), `DROP TRIGGER log_frozen ON log_tails`)
			return err
		}
		return nil
	}
	if _, err := RunTimelines(t.Context(), o); err == nil || !strings.Contains(err.Error(), "because triggers were removed") {
		t.Errorf("got error %v", err)
	}
	agreed(t, o.Postgres, "PostgreSQL")
}
