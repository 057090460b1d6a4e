package idgen

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// Records is a record store as counters use it: a *sqldb.DB. It is named here because multi-primary ids have several, and
// because what matters most of all of them is what happens while one is away.
type Records interface {
	Migrate(ctx context.Context, room string, steps []string) error
	Read() *sql.DB
	Write(ctx context.Context, fn func(tx *sql.Tx) error) error
}

// CounterDeps are what tags, segments, sequences and rules are made of.
type CounterDeps struct {
	DB     Records
	Clock  clock.Clock
	Logger *slog.Logger
}

// counters is the SQL of tags and of what is counted under them. Rows of id_tags are never removed: a deleted tag keeps its
// numbers to itself.
type counters struct{ db Records }

func openCounters(ctx context.Context, db Records) (counters, error) {
	return counters{db: db}, db.Migrate(ctx, "idgen_counters", []string{
		`CREATE TABLE id_tags (name TEXT PRIMARY KEY, scheme TEXT NOT NULL, description TEXT NOT NULL, step BIGINT NOT NULL, maximum BIGINT NOT NULL,
			section_keys BIGINT NOT NULL, prefix TEXT NOT NULL, layout TEXT NOT NULL, zone TEXT NOT NULL, digits BIGINT NOT NULL,
			last BIGINT NOT NULL, deleted BOOLEAN NOT NULL)`,
		`CREATE TABLE id_days (tag TEXT NOT NULL, day BIGINT NOT NULL, last BIGINT NOT NULL, PRIMARY KEY (tag, day))`,
		`CREATE TABLE id_holders (holder TEXT PRIMARY KEY, beat BIGINT NOT NULL)`,
		`CREATE TABLE id_sections (tag TEXT NOT NULL, section BIGINT NOT NULL, bound BIGINT NOT NULL, term BIGINT NOT NULL, holder TEXT NOT NULL,
			PRIMARY KEY (tag, section))`,
		`CREATE TABLE id_primary (one BIGINT PRIMARY KEY, generation BIGINT NOT NULL, place BIGINT NOT NULL, stride BIGINT NOT NULL,
			above BIGINT NOT NULL, ceiling BIGINT NOT NULL)`,
		`CREATE TABLE id_primary_tags (tag TEXT PRIMARY KEY, last BIGINT NOT NULL)`,
	})
}

// takeRange takes up to want numbers of a segment tag, and never fewer than its step while it has so many. It gives the first,
// how many, and the tag's step.
func (c counters) takeRange(ctx context.Context, tag string, want uint64) (first, n, step uint64, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		t, err := liveTag(ctx, tx, tag, SchemeSegment)
		if err != nil {
			return err
		}
		step = t.Step
		n = min(max(want, step), t.Maximum-min(t.Last, t.Maximum))
		if n == 0 {
			return usedUp("the tag " + tag + " has given its maximum, " + decimal(t.Maximum) + "; raise it, or make another tag")
		}
		first = t.Last + 1
		_, err = tx.ExecContext(ctx, `UPDATE id_tags SET last = $1 WHERE name = $2`, int64(t.Last+n), tag)
		return err
	})
	return first, n, step, err
}

// takeDay takes up to want numbers of a rule's day, as far as its digits go.
func (c counters) takeDay(ctx context.Context, tag string, day int64, want uint64) (first, n uint64, err error) {
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
			return usedUp("the tag " + tag + " has given its last number of this day, " + decimal(most) + "; a rule with more digits is another tag")
		}
		first = uint64(last) + 1
		_, err = tx.ExecContext(ctx, `INSERT INTO id_days (tag, day, last) VALUES ($1, $2, $3) ON CONFLICT (tag, day) DO UPDATE SET last = $3`, tag, day, last+int64(n))
		return err
	})
	return first, n, err
}

// steady is the machine's steady clock, which no step of the wall clock moves.
type steady struct{ began time.Time }

func newSteady() steady { return steady{time.Now()} }

func (s steady) now() time.Duration { return time.Since(s.began) }

const (
	visitMost  = 5 * time.Second // that one visit to the store takes
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// turn lets one caller at a time go to the store, and spares those behind it a store that has failed a moment ago.
type turn struct {
	steady steady
	free   chan struct{} // holds one token while nobody is at the store

	// Of the one who has the token:
	failed error
	until  time.Duration // when the store is tried again
	wait   time.Duration
}

func newTurn() *turn {
	t := &turn{steady: newSteady(), free: make(chan struct{}, 1)}
	t.free <- struct{}{}
	return t
}

// do visits the store if, when its turn has come, there is still need.
func (t *turn) do(ctx context.Context, need func() bool, visit func(context.Context) error) error {
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
	within, cancel := context.WithTimeout(ctx, visitMost)
	defer cancel()
	err := visit(within)
	if err == nil || ctx.Err() != nil || ours(err) {
		t.failed, t.wait = nil, 0
		return err
	}
	t.failed, t.wait = err, min(max(2*t.wait, retryFirst), retryMost)
	t.until = t.steady.now() + t.wait
	if errs.Of(err).Reason == "ids_unavailable" { // of another turn, in this one
		return err
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_unavailable", Message: noStore, Retry: t.wait, Cause: err}
}

const noStore = "the numbers in reserve are used up, and the record store does not answer; try again"

// ours tells an answer of the counters from a failure of the store.
func ours(err error) bool {
	e := errs.Of(err)
	return e.Kind != errs.Internal && (e.Kind != errs.Unavailable || e.Reason == "sequence_elsewhere" || e.Reason == "closing")
}

func usedUp(message string) error { return errs.New(errs.Exhausted, "ids_used_up", message) }

// most a counter reaches: numbers fit where a signed number does.
const most = math.MaxInt64
