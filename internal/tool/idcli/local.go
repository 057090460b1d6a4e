package idcli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// counted counts the write transactions of a database.
type counted struct {
	*sqldb.DB
	writes atomic.Int64
}

// Write runs a transaction.
func (c *counted) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	c.writes.Add(1)
	return c.DB.Write(ctx, fn)
}

// local measures the generators in this process.
func (b *bench) local(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "rialto-id-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := b.flakes(ctx); err != nil {
		return err
	}
	if err := b.texts(ctx); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, filepath.Join(dir, "records.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	counts := &counted{DB: db}
	deps := idservice.CounterDeps{DB: counts, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}
	tags, err := idservice.NewTags(ctx, deps)
	if err != nil {
		return err
	}
	for _, scheme := range []string{idservice.SchemeSegment, idservice.SchemeSequence} {
		if _, err := tags.PutTag(ctx, idservice.Tag{Name: scheme, Scheme: scheme}); err != nil {
			return err
		}
	}
	if err := b.segments(ctx, deps); err != nil {
		return err
	}
	return b.sequences(ctx, deps, counts)
}

// flakes measures I1.
func (b *bench) flakes(ctx context.Context) error {
	const what = "snowflakes of one worker, 8 goroutines (its limit: 4.096)"
	b.say(what)
	g, err := idgen.NewSnowflake(ctx, idgen.Fixed(clock.System{}, 1), idgen.SnowflakeConfig{})
	if err != nil {
		return err
	}
	v, err := b.rate(ctx, callers, 1, func(ctx context.Context, _ int) error {
		_, err := g.Next(ctx)
		return err
	})
	if err != nil {
		return err
	}
	b.add("I1", what, v/1e6, "million/s")
	return nil
}

// texts measures I4 with one goroutine.
func (b *bench) texts(ctx context.Context) error {
	readable, err := idgen.NewMessages(ctx, idgen.Fixed(clock.System{}, 0), idgen.MessagesConfig{Ranges: 1})
	if err != nil {
		return err
	}
	uuids, ulids := ids.NewUUIDv7(clock.System{}.Now), ids.NewULIDs(clock.System{}.Now)
	for _, g := range []struct {
		what string
		next func() error
	}{
		{"UUIDv7", func() error { _, err := uuids.Next(); return err }},
		{"ULID", func() error { _, err := ulids.Next(); return err }},
		{"readable id, at its maximum rate", func() error { _, err := readable.Next(1, 7); return err }},
	} {
		b.say(g.what)
		v, err := b.rate(ctx, 1, 1, func(context.Context, int) error { return g.next() })
		if err != nil {
			return err
		}
		b.add("I4", g.what, 1e9/v, "ns each")
	}
	return nil
}

// running calls run in the background during do.
func running(ctx context.Context, run func(context.Context) error, do func() error) error {
	part, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() { failed = run(part) })
	err := do()
	cancel()
	wait.Wait()
	return errors.Join(err, failed)
}

// segments measures I2: the rate, and the 99.9th percentile of the latency.
func (b *bench) segments(ctx context.Context, deps idservice.CounterDeps) error {
	s, err := idservice.NewSegments(ctx, deps, idservice.SegmentsConfig{})
	if err != nil {
		return err
	}
	return running(ctx, s.Run, func() error {
		g, err := s.Of(ctx, idservice.SchemeSegment)
		if err != nil {
			return err
		}
		b.say("segments")
		next := func(ctx context.Context, _ int) error {
			_, err := g.Next(ctx)
			return err
		}
		// A warm-up lets the step adapt to the demand.
		if _, err := rate(ctx, b.duration/3, callers, 1, next); err != nil {
			return err
		}
		v, err := b.rate(ctx, callers, 1, next)
		if err != nil {
			return err
		}
		b.add("I2", "segments, one tag, 8 goroutines", v/1e6, "million/s")
		var waits [callers][]time.Duration
		if _, err := b.rate(ctx, callers, 100, func(ctx context.Context, caller int) error {
			for range 99 {
				if err := next(ctx, caller); err != nil {
					return err
				}
			}
			began := time.Now()
			err := next(ctx, caller)
			waits[caller] = append(waits[caller], time.Since(began))
			return err
		}); err != nil {
			return err
		}
		all := slices.Concat(waits[:]...)
		slices.Sort(all)
		b.add("I2", "99.9th percentile of the latency, including refills", float64(all[len(all)*999/1000])/1e3, "µs")
		return nil
	})
}

const (
	sequenceKeys = 1_000_000
	section      = 100_000
)

// sequences measures I3 and I6.
func (b *bench) sequences(ctx context.Context, deps idservice.CounterDeps, db *counted) error {
	open := func(do func(q *idservice.Sequence) error) error {
		s, err := idservice.NewSequences(ctx, deps, idservice.SequencesConfig{Node: "bench", Exclusive: true})
		if err != nil {
			return err
		}
		return running(ctx, s.Run, func() error {
			q, err := s.Of(ctx, idservice.SchemeSequence)
			if err != nil {
				return err
			}
			return do(q)
		})
	}
	err := open(func(q *idservice.Sequence) error {
		b.say("sequences of a million keys")
		var keys [callers]struct {
			at uint64
			_  [56]byte // pads to a cache line
		}
		before := db.writes.Load()
		v, err := b.rate(ctx, callers, 1, func(ctx context.Context, caller int) error {
			k := &keys[caller]
			k.at += 7919
			_, err := q.Next(ctx, (k.at+uint64(caller))%sequenceKeys)
			return err
		})
		if err != nil {
			return err
		}
		issued := uint64(0)
		for i := range keys {
			issued += keys[i].at / 7919
		}
		b.add("I3", "sequences of 1 million keys, 8 goroutines", v/1e6, "million/s")
		b.add("I3", "bounds stored for 10,000 numbers of a section", float64(db.writes.Load()-before)/float64(issued)*10_000, "")
		b.say("a restart")
		for key := uint64(0); key < b.keys; key++ {
			if _, err := q.Next(ctx, key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	began := time.Now()
	return open(func(q *idservice.Sequence) error {
		for key := uint64(0); key < b.keys; key += section {
			if _, err := q.Next(ctx, key); err != nil {
				return err
			}
			if key == 0 {
				b.add("I6", fmt.Sprintf("restart with %d keys, until the first number", b.keys), time.Since(began).Seconds(), "s")
			}
		}
		b.add("I6", "until a number of each section", time.Since(began).Seconds(), "s")
		return nil
	})
}
