package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// freezablePostgres stands for Cassandra as a source: it is frozen in a transaction of its own.
type freezablePostgres struct {
	*pglog.Frozen
	pool   *pgxpool.Pool
	cannot error
	// retired: no server reads it. Here they could.
	retired atomic.Bool
}

func (f *freezablePostgres) CanFreeze(context.Context) error { return f.cannot }

func (f *freezablePostgres) isFrozen(ctx context.Context, tx pgx.Tx) (is bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE t.tgname = 'log_frozen' AND c.relnamespace = current_schema()::regnamespace)`).Scan(&is)
	return is, err
}

func (f *freezablePostgres) Freeze(ctx context.Context) (time.Duration, error) {
	return 0, pglog.LockTables(ctx, f.pool, func(tx pgx.Tx) error {
		if is, err := f.isFrozen(ctx, tx); is || err != nil {
			return err
		}
		return pglog.Freeze(ctx, tx)
	})
}

func (f *freezablePostgres) Retire(context.Context) error {
	f.retired.Store(true)
	return nil
}

func (f *freezablePostgres) Unfreeze(ctx context.Context) error {
	f.retired.Store(false)
	return pglog.LockTables(ctx, f.pool, func(tx pgx.Tx) error {
		if is, err := f.isFrozen(ctx, tx); !is || err != nil {
			return err
		}
		return pglog.Unfreeze(ctx, tx)
	})
}

// HighestCounters are ahead of what is stored, as those of Cassandra may be.
func (f *freezablePostgres) HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error) {
	counters, err := f.Frozen.HighestCounters(ctx, devices)
	for i := range counters {
		counters[i]++
	}
	return counters, err
}

func (f *freezablePostgres) Close() error { return nil }

func newFreezer(t *testing.T, address string) *freezablePostgres {
	pool, err := pgxpool.New(t.Context(), address)
	must(t, err)
	t.Cleanup(pool.Close)
	return &freezablePostgres{Frozen: pglog.OpenFrozen(pool), pool: pool}
}

// movedOnce is a database whose timelines were moved to a copy, the copy's log as a server has it open, and the options of a move back.
func movedOnce(t *testing.T, seed uint64) (*pglog.Log, TimelinesOptions) {
	t.Helper()
	_, toCopy := served(t, seed)
	r, err := RunTimelines(t.Context(), toCopy)
	must(t, err)
	if len(r.Differences) > 0 {
		t.Fatalf("got differences %q", r.Differences)
	}
	agreed(t, toCopy.Postgres, inTheCopy)
	copied := toCopy.sink.(*otherPostgres).options.Postgres
	log, err := pglog.Open(t.Context(), copied, pglog.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	return log, TimelinesOptions{Postgres: toCopy.Postgres, Setting: inTheCopy, Back: true, Batch: 40, freezer: newFreezer(t, copied)}
}

// stopAfter makes a run stop at a point, or after a number of points.
func stopAfter(o *TimelinesOptions, point string, points int64) {
	var budget atomic.Int64
	budget.Store(points)
	o.interrupt = func(at string) error {
		if at == point || point == "" && budget.Add(-1) < 0 {
			return errStopped
		}
		return nil
	}
}

func openServed(t *testing.T, address string) *pglog.Log {
	t.Helper()
	log, err := pglog.Open(t.Context(), address, pglog.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	return log
}

// The move back is stopped at each step and every few commits. Until it has begun, servers write; from then until its end no node starts, and nothing changes.
// Afterwards PostgreSQL has everything, and the timelines can move to another copy.
func TestTimelinesMoveBack(t *testing.T) {
	ctx := t.Context()
	log, o := movedOnce(t, 21)
	stopAfter(&o, "begin", 0)
	if _, err := RunTimelines(ctx, o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	agreed(t, o.Postgres, inTheCopy)
	if a := appendTo(log, "before the move back"); a.Err != nil {
		t.Errorf("an append before the move back: %v", a.Err)
	}
	want, points := shown(t, log), 0
	source := o.freezer.(*freezablePostgres)
	for _, stop := range []string{"began", "frozen", "", "retired", "switch"} {
		for budget := int64(5); ; budget += 5 {
			stopAfter(&o, stop, budget)
			_, err := RunTimelines(ctx, o)
			if stop == "" && err == nil {
				t.Fatal("the move ended before it was stopped at its end")
			}
			if !errors.Is(err, errStopped) {
				t.Fatalf("error %v, want %v", err, errStopped)
			}
			points++
			agreed(t, o.Postgres, "a move from "+inTheCopy+" to PostgreSQL that is not complete")
			if stop != "began" {
				refusesWrites(t, log)
			}
			sameLines(t, shown(t, log), want)
			isSwitch := stop == "retired" || stop == "switch"
			if source.retired.Load() != isSwitch || strings.Contains(err.Error(), "unable to read timelines") != isSwitch {
				t.Errorf("stopped at %q with %v, servers read the log: %t", stop, err, !source.retired.Load())
			}
			if stop != "" || budget > 10 {
				break
			}
		}
	}
	o.interrupt = nil
	r, err := RunTimelines(ctx, o)
	must(t, err)
	if len(r.Differences) > 0 || r.Conversations == 0 || r.Inboxes == 0 || r.Tokens == 0 || points < 6 {
		t.Fatalf("after %d stops: got report %+v", points, r)
	}
	agreed(t, o.Postgres, InPostgreSQL)
	refusesWrites(t, log)
	for name, call := range map[string]func(context.Context, TimelinesOptions) error{"another run": ran, "an abort": AbortTimelines} {
		if err := call(ctx, o); err == nil || !strings.Contains(err.Error(), "were moved to PostgreSQL") {
			t.Errorf("%s after the end: got error %v", name, err)
		}
	}

	returned := openServed(t, o.Postgres)
	sameLines(t, shown(t, returned), want)
	if returned.Epoch() != log.Epoch() {
		t.Errorf("the epoch is %d after the move back, and was %d, so devices start again", returned.Epoch(), log.Epoch())
	}
	if a := appendTo(returned, "before the move back"); a.Err != nil || !a.Duplicate {
		t.Errorf("a retry of an entry: got %+v, want a duplicate", a)
	}
	must(t, appendTo(returned, "after the move back").Err)
	want = shown(t, returned)
	again := TimelinesOptions{Postgres: o.Postgres, Setting: "Cassandra (keyspace third, store 3)", sink: newOtherPostgres(t, o.Postgres)}
	r, err = RunTimelines(ctx, again)
	must(t, err)
	if len(r.Differences) > 0 {
		t.Errorf("the second move from PostgreSQL: got differences %q", r.Differences)
	}
	third, err := again.sink.open(ctx)
	must(t, err)
	sameLines(t, shown(t, third.(*pglog.Log)), want)
	must(t, third.Close())
}

func ran(ctx context.Context, o TimelinesOptions) error {
	_, err := RunTimelines(ctx, o)
	return err
}

// Writers append until they are refused, in conversations that are moved and in new ones. All that was acknowledged is in PostgreSQL, at its place, and nothing else.
func TestAcknowledgedEntriesMoveBack(t *testing.T) {
	ctx := t.Context()
	log, o := movedOnce(t, 22)
	const first, writers = 300, 4
	type result struct {
		acknowledged uint64
		refused      error
	}
	results, some := make(chan result, writers), make(chan struct{}, writers)
	for i := range uint64(writers) {
		go func() { // ends when the log is frozen
			var w result
			for n := uint64(1); w.refused == nil; n++ {
				a := timelinetest.Append(log, &timeline.AppendRequest{Key: conversation(first + i), Payload: fmt.Append(nil, "entry ", n), Token: timeline.Token{Sender: i + 1, Device: 6, Counter: n}})
				if w.refused = a.Err; a.Err == nil {
					w.acknowledged = a.Seq
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
	total := uint64(0)
	for range writers {
		w := <-results
		if !errors.Is(w.refused, timeline.ErrMoving) {
			t.Errorf("a writer ended with %v", w.refused)
		}
		total += w.acknowledged
	}
	returned, found := openServed(t, o.Postgres), 0
	for i := range uint64(writers) {
		entries, err := returned.Read(ctx, conversation(first+i), 0, 1<<20)
		must(t, err)
		for n, e := range entries {
			if e.Seq != uint64(n+1) || string(e.Payload) != fmt.Sprint("entry ", n+1) {
				t.Errorf("conversation %d: entry %d is %q at %d", first+i, n+1, e.Payload, e.Seq)
			}
		}
		found += len(entries)
	}
	if uint64(found) != total || total < 10*writers {
		t.Errorf("PostgreSQL has %d entries of %d that were acknowledged", found, total)
	}
}

// An aborted move back leaves the log as it was, for servers that have it open too, wherever the abort itself is stopped. What servers write then is moved by the next
// one.
func TestAnAbortedMoveBack(t *testing.T) {
	ctx := t.Context()
	log, o := movedOnce(t, 23)
	if err := AbortTimelines(ctx, o); err == nil || !strings.Contains(err.Error(), "no move of the timelines has begun") {
		t.Errorf("an abort before a move back: got error %v", err)
	}
	want := shown(t, log)
	stopAfter(&o, "", 20)
	if _, err := RunTimelines(ctx, o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	toCopy := TimelinesOptions{Postgres: o.Postgres, Setting: inTheCopy, sink: newOtherPostgres(t, o.Postgres)}
	for name, err := range map[string]error{"a run": ran(ctx, toCopy), "an abort": AbortTimelines(ctx, toCopy)} {
		if err == nil {
			t.Errorf("%s of a move from PostgreSQL meanwhile: got no error", name)
		}
	}
	for _, stop := range []string{"discarded", "unfrozen"} {
		stopAfter(&o, stop, 0)
		if err := AbortTimelines(ctx, o); !errors.Is(err, errStopped) {
			t.Fatalf("error %v, want %v", err, errStopped)
		}
		if err := ran(ctx, o); err == nil || !strings.Contains(err.Error(), "run it again with --abort") {
			t.Errorf("a run after an abort that was stopped: got error %v", err)
		}
		agreed(t, o.Postgres, "a move from "+inTheCopy+" to PostgreSQL that is not complete")
	}
	must(t, appendTo(log, "the log is not frozen any more").Err)
	o.interrupt = nil
	must(t, AbortTimelines(ctx, o))
	agreed(t, o.Postgres, inTheCopy)
	if got := shown(t, log); slices.Equal(got, want) {
		t.Error("the log does not show what was appended to it")
	}
	want = shown(t, log)
	r, err := RunTimelines(ctx, o)
	must(t, err)
	if len(r.Differences) > 0 {
		t.Errorf("got differences %q", r.Differences)
	}
	sameLines(t, shown(t, openServed(t, o.Postgres)), want)
}

// damagedSource returns other entries when it is exported than when it is compared.
type damagedSource struct{ *freezablePostgres }

func (d damagedSource) Export(ctx context.Context, name string, after []byte, do func(place []byte, rows []timeline.Row) error) error {
	return d.freezablePostgres.Export(ctx, name, after, func(place []byte, rows []timeline.Row) error {
		for i := range rows {
			if r := &rows[i]; r.Kind == timeline.RowEntry && r.Key == conversation(5) && r.Entry.Seq == 2 {
				r.Entry.Payload = []byte("damaged")
			}
		}
		return do(place, rows)
	})
}

// A copy in PostgreSQL that differs is not used, and nodes start with Cassandra again after an abort.
func TestADifferentCopyInPostgreSQLIsNotUsed(t *testing.T) {
	log, o := movedOnce(t, 24)
	o.freezer = damagedSource{o.freezer.(*freezablePostgres)}
	r, err := RunTimelines(t.Context(), o)
	must(t, err)
	if len(r.Differences) != 1 || !strings.Contains(r.Differences[0], "conversation 5: entries above 0 differ") {
		t.Errorf("got differences %q", r.Differences)
	}
	refusesWrites(t, log)
	agreed(t, o.Postgres, "a move from "+inTheCopy+" to PostgreSQL that is not complete")
	must(t, AbortTimelines(t.Context(), o))
	agreed(t, o.Postgres, inTheCopy)
	must(t, appendTo(log, "after the abort").Err)
}

// A move back that cannot be done changes nothing.
func TestRefusedMovesBack(t *testing.T) {
	ctx := t.Context()
	log, o := movedOnce(t, 25)
	elsewhere := o
	elsewhere.Setting = "Cassandra (keyspace other, store 0)"
	unable := o
	unable.freezer = &freezablePostgres{Frozen: o.freezer.(*freezablePostgres).Frozen, cannot: errors.New("a node of Cassandra is down")}
	for want, o := range map[string]TimelinesOptions{"the timelines were moved to " + inTheCopy: elsewhere, "a node of Cassandra is down": unable} {
		if err := ran(ctx, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
	_, err := session(t, o.Postgres).Exec(ctx, `CREATE TABLE log_entries (id BIGINT)`)
	must(t, err)
	if err := ran(ctx, o); err == nil || !strings.Contains(err.Error(), "has timelines already") {
		t.Errorf("with tables that a node may use: got error %v", err)
	}
	agreed(t, o.Postgres, inTheCopy)
	must(t, appendTo(log, "after refused moves").Err)

	_, inPostgres := served(t, 26) // its timelines were never in Cassandra
	o.Postgres = inPostgres.Postgres
	if err := ran(ctx, o); err == nil || !strings.Contains(err.Error(), "the nodes have their timelines in PostgreSQL, not in "+inTheCopy) {
		t.Errorf("of timelines that are in PostgreSQL: got error %v", err)
	}
}

// A run is suspended at a step of the move back. Meanwhile its move is aborted, and servers write. It neither freezes their log nor ends the move.
func TestASuspendedRunChangesNothingAfterAnAbort(t *testing.T) {
	for step, seed := range map[string]uint64{"freezing the timelines": 27, "switching to the copy": 28} {
		t.Run(step, func(t *testing.T) {
			log, o := movedOnce(t, seed)
			aborts := o
			o.Say = func(format string, _ ...any) {
				if strings.HasPrefix(format, step) {
					suspend(t, o.Postgres)
					must(t, AbortTimelines(t.Context(), aborts))
				}
			}
			if err := ran(t.Context(), o); !errors.Is(err, errOtherRun) {
				t.Errorf("the suspended run ends with %v", err)
			}
			agreed(t, o.Postgres, inTheCopy)
			must(t, appendTo(log, "after the abort").Err)
		})
	}
}

// An abort is suspended before it unfreezes the log. Meanwhile another run aborts the move, and a later move begins, or also ends. The suspended abort leaves the log frozen, or retired.
func TestASuspendedAbortChangesNoLaterMove(t *testing.T) {
	for later, seed := range map[string]uint64{"frozen": 29, "ended": 30} {
		t.Run(later, func(t *testing.T) {
			log, o := movedOnce(t, seed)
			suspended, stopped := o, o
			stopAfter(&stopped, "frozen", 0)
			if err := ran(t.Context(), stopped); !errors.Is(err, errStopped) {
				t.Fatalf("error %v, want %v", err, errStopped)
			}
			suspended.interrupt = func(point string) error {
				if point != "discarded" {
					return nil
				}
				suspend(t, o.Postgres)
				must(t, AbortTimelines(t.Context(), o))
				must(t, appendTo(log, "after the abort").Err)
				if later == "ended" {
					return ran(t.Context(), o)
				}
				if err := ran(t.Context(), stopped); !errors.Is(err, errStopped) {
					t.Errorf("the later move begins with %v", err)
				}
				return nil
			}
			if err := AbortTimelines(t.Context(), suspended); !errors.Is(err, errOtherRun) {
				t.Errorf("the suspended abort ends with %v", err)
			}
			refusesWrites(t, log)
			if o.freezer.(*freezablePostgres).retired.Load() != (later == "ended") {
				t.Errorf("servers read the log: %t", later == "ended")
			}
			if later == "frozen" {
				must(t, ran(t.Context(), o))
			}
			agreed(t, o.Postgres, InPostgreSQL)
		})
	}
}

// A switch that failed can be aborted: servers read and write the log again.
func TestAFailedSwitchBackIsAborted(t *testing.T) {
	log, o := movedOnce(t, 31)
	stopAfter(&o, "switch", 0)
	if err := ran(t.Context(), o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	o.interrupt = nil
	must(t, AbortTimelines(t.Context(), o))
	if o.freezer.(*freezablePostgres).retired.Load() {
		t.Error("servers cannot read the log")
	}
	agreed(t, o.Postgres, inTheCopy)
	must(t, appendTo(log, "after the abort").Err)
}
