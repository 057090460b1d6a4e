package idservice

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// Records is a database of counters: a *sqldb.DB. It is an interface because multi-primary ids have several databases, and tests make one
// unavailable.
type Records interface {
	Migrate(ctx context.Context, owner string, steps []string) error
	Read() *sql.DB
	Write(ctx context.Context, fn func(tx *sql.Tx) error) error
}

// CounterDeps are the dependencies of tags, segments, sequences and rules.
type CounterDeps struct {
	DB     Records
	Clock  clock.Clock
	Logger *slog.Logger
}

// counters is the SQL of tags and their counters. Rows of id_tags are never removed, so that the numbers of a deleted tag are not issued again.
type counters struct{ db Records }

func openCounters(ctx context.Context, db Records) (counters, error) {
	return counters{db: db}, db.Migrate(ctx, "idgen_counters", []string{
		`CREATE TABLE id_tags (name TEXT PRIMARY KEY, scheme TEXT NOT NULL, description TEXT NOT NULL, step BIGINT NOT NULL, maximum BIGINT NOT NULL,
			section_keys BIGINT NOT NULL, prefix TEXT NOT NULL, layout TEXT NOT NULL, zone TEXT NOT NULL, digits BIGINT NOT NULL,
			last BIGINT NOT NULL, deleted BOOLEAN NOT NULL)`,
		`CREATE TABLE id_days (tag TEXT NOT NULL, day BIGINT NOT NULL, last BIGINT NOT NULL, PRIMARY KEY (tag, day))`,
		`CREATE TABLE id_holders (holder TEXT PRIMARY KEY, beat BIGINT NOT NULL)`,
		`CREATE TABLE id_primary (one BIGINT PRIMARY KEY, generation BIGINT NOT NULL, place BIGINT NOT NULL, stride BIGINT NOT NULL,
			above BIGINT NOT NULL, ceiling BIGINT NOT NULL)`,
		`CREATE TABLE id_primary_tags (tag TEXT PRIMARY KEY, last BIGINT NOT NULL)`,
		sections.Create(),
		createRedisBounds,
	})
}

// reserveRange reserves up to want numbers of a segment tag, but at least the tag's step if that many are left. It returns the first
// number, the count, and the tag's step.
func (c counters) reserveRange(ctx context.Context, tag string, want uint64) (first, n, step uint64, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		t, err := liveTag(ctx, tx, tag, SchemeSegment)
		if err != nil {
			return err
		}
		step = t.Step
		n = min(max(want, step), t.Maximum-min(t.Last, t.Maximum))
		if n == 0 {
			return errUsedUp("the tag " + tag + " has issued its maximum, " + decimal(t.Maximum) + "; raise it, or create another tag")
		}
		first = t.Last + 1
		_, err = tx.ExecContext(ctx, `UPDATE id_tags SET last = $1 WHERE name = $2`, int64(t.Last+n), tag)
		return err
	})
	return first, n, step, err
}

// reserveDay reserves up to want numbers of a rule's day, within the digits that the rule has.
func (c counters) reserveDay(ctx context.Context, tag string, day int64, want uint64) (first, n uint64, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		t, err := liveTag(ctx, tx, tag, SchemeRule)
		if err != nil {
			return err
		}
		var last int64
		err = tx.QueryRowContext(ctx, `SELECT last FROM id_days WHERE tag = $1 AND day = $2`, tag, day).Scan(&last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		most := min(t.Maximum, t.Rule.most())
		n = min(max(want, t.Step), most-min(uint64(last), most))
		if n == 0 {
			return errUsedUp("the tag " + tag + " has issued its last number of this day, " + decimal(most) + "; for more digits, create another tag")
		}
		first = uint64(last) + 1
		_, err = tx.ExecContext(ctx, `INSERT INTO id_days (tag, day, last) VALUES ($1, $2, $3) ON CONFLICT (tag, day) DO UPDATE SET last = $3`, tag, day, last+int64(n))
		return err
	})
	return first, n, err
}

// monotonicClock is the machine's monotonic clock, which does not follow steps of the wall clock.
type monotonicClock struct{ began time.Time }

func newMonotonicClock() monotonicClock { return monotonicClock{time.Now()} }

func (s monotonicClock) now() time.Duration { return time.Since(s.began) }

const (
	storeTimeout = 5 * time.Second // of one call to the store
	retryFirst   = 50 * time.Millisecond
	retryMax     = 2 * time.Second
)

// singleFlight lets one caller at a time use the store. After a failure, callers fail at once until the retry delay is over.
type singleFlight struct {
	steady monotonicClock
	free   chan struct{} // holds one token while no call is in progress

	// Used by the holder of the token only:
	failed error
	until  time.Duration // when the store is tried again
	retry  backoff.Backoff
}

func newSingleFlight() *singleFlight {
	t := &singleFlight{steady: newMonotonicClock(), free: make(chan struct{}, 1), retry: backoff.New(retryFirst, retryMax)}
	t.free <- struct{}{}
	return t
}

// do calls visit while no other call is in progress, unless need has become false.
func (t *singleFlight) do(ctx context.Context, need func() bool, visit func(context.Context) error) error {
	select {
	case <-t.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { t.free <- struct{}{} }()
	if !need() {
		return nil
	}
	if left := t.until - t.steady.now(); t.failed != nil && left > 0 {
		return &errs.Error{Kind: errs.Unavailable, Reason: "ids_unavailable", Message: noStore, Retry: left, Cause: t.failed}
	}
	within, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := visit(within)
	if err == nil || ctx.Err() != nil || isAnswer(err) {
		t.failed = nil
		t.retry.Reset()
		return err
	}
	wait := t.retry.Next()
	t.failed, t.until = err, t.steady.now()+wait
	if errs.Of(err).Reason == "ids_unavailable" { // of another turn, in this one
		return err
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_unavailable", Message: noStore, Retry: wait, Cause: err}
}

const noStore = "the numbers in reserve are used up, and the database does not answer; try again"

// isAnswer reports whether err is an answer of the counters, not a failure of the store.
func isAnswer(err error) bool {
	e := errs.Of(err)
	return e.Kind != errs.Internal && (e.Kind != errs.Unavailable || e.Reason == "sequence_elsewhere" || e.Reason == "closing")
}

func errUsedUp(message string) error { return errs.New(errs.Exhausted, "ids_used_up", message) }

// maxNumber is the greatest number of a counter. Every number fits into a signed 64-bit integer.
const maxNumber = math.MaxInt64
