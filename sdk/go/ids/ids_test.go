package ids_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/sdk/go/ids"
)

// Ids of one generator rise, also while its clock stands and steps back, and a hundred thousand of them differ.
func TestGeneratorsRise(t *testing.T) {
	ms := int64(1_800_000_000_000)
	clock := func() time.Time { return time.UnixMilli(ms) }
	uuids, ulids := ids.NewUUIDv7(clock), ids.NewULIDs(clock)
	for name, next := range map[string]func() (string, error){
		"UUID": func() (string, error) { v, err := uuids.Next(); return v.String(), err },
		"ULID": func() (string, error) { v, err := ulids.Next(); return v.String(), err },
	} {
		var list []string
		for i := range 100_000 {
			if i%1000 == 999 {
				ms -= 10
			}
			v, err := next()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		if !slices.IsSorted(list) || len(slices.Compact(list)) != 100_000 {
			t.Errorf("the %ss do not rise", name)
		}
	}
}

// stepping is a clock that may step.
type stepping struct{ off time.Duration }

func (s *stepping) now() time.Time { return time.Now().Add(s.off) }

// sorted are ids of a generator in a form that sorts as they should.
type sorted func(ctx context.Context) (string, error)

// fixed makes a generator of each kind.
var fixed = map[string]func(c ids.Config) (sorted, error){
	"snowflake": func(c ids.Config) (sorted, error) { return flakes(ids.NewSnowflakes(c)) },
	"sonyflake": func(c ids.Config) (sorted, error) { return flakes(ids.NewSonyflakes(c)) },
	"readable": func(c ids.Config) (sorted, error) {
		g, err := ids.NewReadables(16, c)
		return func(ctx context.Context) (string, error) {
			v, err := g.Next(ctx, 1, 77)
			return v.String(), err
		}, err
	},
}

func flakes(g *ids.Flakes, err error) (sorted, error) {
	return func(ctx context.Context) (string, error) {
		v, err := g.Next(ctx)
		return fmt.Sprintf("%020d", v), err
	}, err
}

// inBubble runs a test of each kind of generator with a clock of its own, in 2030.
func inBubble(t *testing.T, test func(t *testing.T, name string, make func(c ids.Config) (sorted, error))) {
	for name, make := range fixed {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(30 * 365 * 24 * time.Hour) // the bubble begins in 2000
				test(t, name, make)
			})
		})
	}
}

// perSecond is how many ids one worker has in a second.
var perSecond = map[string]int{"snowflake": 4_096_000, "sonyflake": 25_600, "readable": 256_000}

// TestWorkersIDs: many goroutines get different rising ids, at most as many as the bits allow in the time that passes: a generator with a
// worker id of its own is never ahead of its clock.
func TestWorkersIDs(t *testing.T) {
	inBubble(t, func(t *testing.T, name string, make func(c ids.Config) (sorted, error)) {
		next, err := make(ids.Config{Worker: 5})
		if err != nil {
			t.Fatal(err)
		}
		const callers, each = 4, 500
		began := time.Now()
		all := [callers][]string{}
		var wait sync.WaitGroup
		for i := range all {
			wait.Go(func() {
				for range each {
					v, err := next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					all[i] = append(all[i], v)
				}
			})
		}
		wait.Wait()
		for _, list := range all {
			if !slices.IsSorted(list) {
				t.Error("the ids of a caller do not rise")
			}
		}
		list := slices.Sorted(slices.Values(slices.Concat(all[:]...)))
		if n := len(slices.Compact(list)); n != callers*each {
			t.Errorf("%d different ids of %d", n, callers*each)
		}
		unit := time.Millisecond
		if name == "sonyflake" {
			unit = ids.SonyflakeUnit
		}
		least := time.Duration(callers*each)*time.Second/time.Duration(perSecond[name]) - unit
		if took := time.Since(began); took < least {
			t.Errorf("%d ids in %v: their times are ahead of the clock", callers*each, took)
		}
	})
}

// TestRestart: a generator that begins anew repeats nothing, if the clock went on or After names the last id.
func TestRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, name string, make func(c ids.Config) (sorted, error)) {
		clock := &stepping{}
		var last string
		for range 5 {
			next, err := make(ids.Config{Worker: 5, Now: clock.now})
			if err != nil {
				t.Fatal(err)
			}
			for range 300 {
				v, err := next(t.Context())
				if err != nil || v <= last {
					t.Fatalf("%s after %s, %v", v, last, err)
				}
				last = v
			}
			time.Sleep(ids.SonyflakeUnit)
		}
		after := clock.now()
		clock.off = -time.Hour
		next, err := make(ids.Config{Worker: 5, After: after, Now: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		var back *ids.ClockBackError
		if v, err := next(t.Context()); !errors.As(err, &back) || back.Behind < time.Hour-time.Second || back.Behind > time.Hour+time.Second {
			t.Fatalf("an hour back: %s, %v", v, err)
		}
		time.Sleep(back.Behind)
		if v, err := next(t.Context()); err != nil || v <= last {
			t.Errorf("%s after %s, %v", v, last, err)
		}
	})
}

// TestClockSteps: a short step back is waited out; after a long one ids are refused, and go on when the clock has caught up.
func TestClockSteps(t *testing.T) {
	inBubble(t, func(t *testing.T, name string, make func(c ids.Config) (sorted, error)) {
		clock := &stepping{}
		next, err := make(ids.Config{Worker: 5, Now: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		last, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		clock.off -= 50 * time.Millisecond
		for range 500 { // more than a millisecond of readable ids
			v, err := next(t.Context())
			if err != nil || v <= last {
				t.Fatalf("%s after %s, %v", v, last, err)
			}
			last = v
		}
		clock.off -= time.Minute
		var back *ids.ClockBackError
		for range 500 {
			v, err := next(t.Context())
			if errors.As(err, &back) {
				break
			}
			if err != nil || v <= last {
				t.Fatalf("%s after %s, %v", v, last, err)
			}
			last = v
		}
		if back == nil {
			t.Fatal("a minute back: no id was refused")
		}
		time.Sleep(back.Behind)
		if v, err := next(t.Context()); err != nil || v <= last {
			t.Errorf("%s after %s, %v", v, last, err)
		}
	})
}

// TestWaitEnds: who waits for the clock stops waiting with their context.
func TestWaitEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, name string, make func(c ids.Config) (sorted, error)) {
		clock := &stepping{}
		next, err := make(ids.Config{Now: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := next(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.off = -90 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		for range 500 {
			if _, err = next(ctx); err != nil {
				break
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// TestConfigs that make no generator, with errors that say why.
func TestConfigs(t *testing.T) {
	at := func(ms int64) func() time.Time { return func() time.Time { return time.UnixMilli(ms) } }
	good := ids.SnowflakeLayout()
	layout := func(change func(l *ids.Layout)) error {
		l := good
		change(&l)
		_, err := ids.NewFlakes(l, ids.Config{})
		return err
	}
	snowflakes := func(c ids.Config) error { _, err := ids.NewSnowflakes(c); return err }
	readables := func(ranges uint64, c ids.Config) error { _, err := ids.NewReadables(ranges, c); return err }
	for want, err := range map[string]error{
		"worker 1024: the layout has numbers up to 1023": snowflakes(ids.Config{Worker: 1024}),
		"worker 16: the layout has numbers up to 15":     readables(16, ids.Config{Worker: 16}),
		"the clock is at 2024-12-31 23:59:59.999 +0000 UTC, before the epoch of these ids, 2025-01-01 00:00:00 +0000 UTC; set the clock":                                       snowflakes(ids.Config{Now: at(ids.Epoch - 1)}),
		"ids: the time in these ids has no more bits; check the clock: they ended at 2094-09-07 15:47:35.552 +0000 UTC, and the clock is at 2094-09-07 15:47:35.552 +0000 UTC": snowflakes(ids.Config{Now: at(ids.Epoch + 1<<41)}),
		"3 ranges of spins: set a power of two, 1 to 4,096":             readables(3, ids.Config{}),
		"8192 ranges of spins: set a power of two, 1 to 4,096":          readables(8192, ids.Config{}),
		"ids: a layout has at most 63 bits, and this has 64":            layout(func(l *ids.Layout) { l.WorkerBits++ }),
		"ids: a layout has at least one bit of time":                    layout(func(l *ids.Layout) { l.TimeBits = 0 }),
		"ids: a layout's Unit is one or more whole milliseconds":        layout(func(l *ids.Layout) { l.Unit = 1500 * time.Microsecond }),
		"ids: a layout's Epoch is a whole millisecond, not before 1970": layout(func(l *ids.Layout) { l.Epoch = time.Time{} }),
		"ids: a layout's time has fewer bits, or a smaller unit":        layout(func(l *ids.Layout) { l.TimeBits, l.WorkerBits, l.SequenceBits = 63, 0, 0 }),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	g, err := ids.NewReadables(1, ids.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := g.Next(t.Context(), 16, 1); !errors.Is(err, ids.ErrType) {
		t.Errorf("a type of five bits: %s, %v", v, err)
	}
}

// TestEnds: a generator that comes to its layout's end refuses, and no field is cut.
func TestEnds(t *testing.T) {
	ms := ids.SnowflakeLayout().End().UnixMilli() - 1
	now := func() time.Time { return time.UnixMilli(ms) }
	g, err := ids.NewSnowflakes(ids.Config{Worker: 1023, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]uint64, 4096)
	if err := g.Fill(t.Context(), all); err != nil || all[4095] != 1<<63-1 {
		t.Errorf("the last id is %d, %v", all[4095], err)
	}
	if v, ok, err := g.TryNext(t.Context()); ok || err != nil {
		t.Errorf("more than 4,096 in a millisecond: %d, %v", v, err)
	}
	ms++
	if v, err := g.Next(t.Context()); !errors.Is(err, ids.ErrEnded) {
		t.Errorf("after the end: %d, %v", v, err)
	}
	l, err := ids.ReadableLayout(1)
	if err != nil {
		t.Fatal(err)
	}
	ms = l.End().UnixMilli() - 1
	r, err := ids.NewReadables(1, ids.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for range 4096 {
		if v, err := r.Next(t.Context(), 1, 1); err != nil || v.Ms() != ms {
			t.Fatalf("the last id is %s, error %v", v, err)
		}
	}
	if v, err := r.Next(t.Context(), 1, 1); !errors.Is(err, ids.ErrEnded) {
		t.Errorf("after the end: %s, %v", v, err)
	}
}

// TestLeaseEnds: after its end a lease gives no id, and the time that End returned is above all that it gave.
func TestLeaseEnds(t *testing.T) {
	refused := errors.New("refused")
	lease, err := ids.NewLease(ids.SnowflakeLayout(), func(context.Context, time.Time) error { return refused })
	if err != nil {
		t.Fatal(err)
	}
	g := ids.LeasedFlakes(lease, nil)
	if _, err := g.Next(t.Context()); !errors.Is(err, refused) {
		t.Errorf("without a grant: %v", err)
	}
	now := time.Now()
	if err := lease.Grant(1024, now, now, now.Add(time.Hour)); err == nil {
		t.Error("a worker of 11 bits was granted")
	}
	if err := lease.Grant(9, now, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var last uint64
	var wait sync.WaitGroup
	started := make(chan struct{})
	wait.Go(func() {
		for i := 0; ; i++ {
			v, err := g.Next(t.Context())
			if err != nil {
				return
			}
			if last = v; i == 10_000 {
				close(started)
			}
		}
	})
	<-started
	next, ok := lease.End()
	wait.Wait()
	if p, err := ids.ParseSnowflake(last); err != nil || !ok || !p.Time.Before(next) {
		t.Errorf("the last id is of %v, and ids end before %v", p.Time, next)
	}
	if _, ok := lease.End(); ok {
		t.Error("it ended twice")
	}
}
