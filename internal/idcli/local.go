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

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// counted is a way to the records that counts what is written.
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
	way := &counted{DB: db}
	deps := idgen.CounterDeps{DB: way, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}
	tags, err := idgen.NewTags(ctx, deps)
	if err != nil {
		return err
	}
	for _, scheme := range []string{idgen.SchemeSegment, idgen.SchemeSequence} {
		if _, err := tags.PutTag(ctx, idgen.Tag{Name: scheme, Scheme: scheme}); err != nil {
			return err
		}
	}
	if err := b.segments(ctx, deps); err != nil {
		return err
	}
	return b.sequences(ctx, deps, way)
}

// flakes are I1: the scheme's own limit, and the code's, in a layout that has none.
func (b *bench) flakes(ctx context.Context) error {
	for _, l := range []struct {
		what   string
		layout idgen.Layout
	}{
		{"snowflakes of one worker, 8 goroutines (its limit: 4.096)", idgen.Layout{}},
		{"snowflakes, 20 bits of sequence, 8 goroutines", idgen.Layout{TimeBits: 41, WorkerBits: 2, SequenceBits: 20}},
	} {
		b.say(l.what)
		g, err := idgen.NewSnowflake(ctx, idgen.Fixed(clock.System{}, 1), idgen.SnowflakeConfig{Layout: l.layout})
		if err != nil {
			return err
		}
		v, err := b.rate(ctx, askers, 1, func(ctx context.Context, _ int) error {
			_, err := g.Next(ctx)
			return err
		})
		if err != nil {
			return err
		}
		b.add("I1", l.what, v/1e6, "million/s")
	}
	return nil
}

// texts are I4, one goroutine.
func (b *bench) texts(ctx context.Context) error {
	readable, err := idgen.NewMessages(ctx, idgen.Fixed(clock.System{}, 0), idgen.MessagesConfig{Ranges: 1})
	if err != nil {
		return err
	}
	uuids, ulids := idgen.NewUUIDv7(clock.System{}), idgen.NewULID(clock.System{})
	for _, g := range []struct {
		what string
		next func() error
	}{
		{"UUIDv7", func() error { _, err := uuids.Next(); return err }},
		{"ULID", func() error { _, err := ulids.Next(); return err }},
		{"readable id, as fast as its spins allow", func() error { _, err := readable.Next(1, 7); return err }},
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

// running has parts run while do does.
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

// segments are I2: the rate, and what one in a thousand waits.
func (b *bench) segments(ctx context.Context, deps idgen.CounterDeps) error {
	s, err := idgen.NewSegments(ctx, deps, idgen.SegmentsConfig{})
	if err != nil {
		return err
	}
	return running(ctx, s.Run, func() error {
		g, err := s.Of(ctx, idgen.SchemeSegment)
		if err != nil {
			return err
		}
		b.say("segments")
		next := func(ctx context.Context, _ int) error {
			_, err := g.Next(ctx)
			return err
		}
		// First for a moment, so that the step is what the demand takes.
		if _, err := rate(ctx, b.duration/3, askers, 1, next); err != nil {
			return err
		}
		v, err := b.rate(ctx, askers, 1, next)
		if err != nil {
			return err
		}
		b.add("I2", "segments, one tag, 8 goroutines", v/1e6, "million/s")
		var waits [askers][]time.Duration
		if _, err := b.rate(ctx, askers, 100, func(ctx context.Context, asker int) error {
			for range 99 {
				if err := next(ctx, asker); err != nil {
					return err
				}
			}
			began := time.Now()
			err := next(ctx, asker)
			waits[asker] = append(waits[asker], time.Since(began))
			return err
		}); err != nil {
			return err
		}
		all := slices.Concat(waits[:]...)
		slices.Sort(all)
		b.add("I2", "one in a thousand waits, with its refills", float64(all[len(all)*999/1000])/1e3, "µs")
		return nil
	})
}

const (
	someKeys = 1_000_000
	section  = 100_000
)

// sequences are I3 and I6.
func (b *bench) sequences(ctx context.Context, deps idgen.CounterDeps, way *counted) error {
	open := func(do func(q *idgen.Sequence) error) error {
		s, err := idgen.NewSequences(ctx, deps, idgen.SequencesConfig{Node: "bench", Own: true})
		if err != nil {
			return err
		}
		return running(ctx, s.Run, func() error {
			q, err := s.Of(ctx, idgen.SchemeSequence)
			if err != nil {
				return err
			}
			return do(q)
		})
	}
	err := open(func(q *idgen.Sequence) error {
		b.say("sequences of a million keys")
		var keys [askers]struct {
			at uint64
			_  [56]byte // a cache line each
		}
		before := way.writes.Load()
		v, err := b.rate(ctx, askers, 1, func(ctx context.Context, asker int) error {
			k := &keys[asker]
			k.at += 7919
			_, err := q.Next(ctx, (k.at+uint64(asker))%someKeys)
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
		b.add("I3", "bounds stored for 10,000 numbers of a section", float64(way.writes.Load()-before)/float64(issued)*10_000, "")
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
	return open(func(q *idgen.Sequence) error {
		for key := uint64(0); key < b.keys; key += section {
			if _, err := q.Next(ctx, key); err != nil {
				return err
			}
			if key == 0 {
				b.add("I6", fmt.Sprintf("restart with %d keys, to the first number", b.keys), time.Since(began).Seconds(), "s")
			}
		}
		b.add("I6", "to a number in each of its sections", time.Since(began).Seconds(), "s")
		return nil
	})
}
