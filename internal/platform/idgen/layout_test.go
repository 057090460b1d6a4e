package idgen_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/sdk/go/ids"
	"pgregory.net/rapid"
)

// standing is a clock that never advances.
type standing int64

func (a standing) Now() time.Time { return time.UnixMilli(int64(a)) }

// TestEachLayoutFillsEveryBit draws all ids of a unit of time, several times. Each has its worker id and the next sequence number, and
// there are no more than the sequence bits allow.
func TestEachLayoutFillsEveryBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := idgen.Layout{Sequence: rapid.Uint8Range(1, 10).Draw(t, "sequence"), Worker: rapid.Uint8Range(0, 20).Draw(t, "worker"),
			Time: 32, Unit: time.Duration(rapid.Int64Range(20, 40).Draw(t, "unit")) * time.Millisecond}
		worker := rapid.Uint64Range(0, 1<<l.Worker-1).Draw(t, "number")
		c := clocktest.NewManual()
		g, err := idgen.NewSnowflakeOf(context.Background(), idgen.Fixed(c, worker), l)
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for range 4 {
			c.Advance(l.Unit)
			all := make([]uint64, 1<<l.Sequence)
			if err := g.Fill(context.Background(), all); err != nil {
				t.Fatal(err)
			}
			for i, v := range all {
				began, of, sequence := l.Parse(v)
				if v <= last || of != worker || sequence != uint64(i) || c.Now().Sub(began) >= l.Unit || began.After(c.Now()) {
					t.Fatalf("%d follows %d at %v: it has worker %d, sequence %d and time %v", v, last, c.Now(), of, sequence, began)
				}
				last = v
			}
			if v, ok, err := g.TryNext(context.Background()); ok || err != nil {
				t.Fatalf("after all ids of a unit of time: %d, %v", v, err)
			}
		}
	})
}

// Fill waits for as many milliseconds as it needs. If it cannot return all ids, it returns none.
func TestFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * 30 * 24 * time.Hour)
		c := &stepping{}
		g := snowflake(t, c, 5)
		all, began := make([]uint64, 10_000), time.Now()
		if err := g.Fill(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		for i := range len(all) - 1 {
			if all[i] >= all[i+1] {
				t.Fatalf("%d after %d", all[i+1], all[i])
			}
		}
		if took := time.Since(began); took < 2*time.Millisecond || took > 4*time.Millisecond {
			t.Errorf("10,000 of 4,096 a millisecond took %v", took)
		}
		c.step(time.Minute)
		clear(all)
		err := g.Fill(t.Context(), all)
		if e := errs.Of(err); e == nil || e.Reason != "clock_back" || e.Retry < 59*time.Second || e.Retry > time.Minute+time.Second {
			t.Errorf("error %v, want clock_back with a retry after a minute", err)
		}
		if all[0] != 0 {
			t.Error("Fill returned some of the ids")
		}
		c.step(50*time.Millisecond - time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := g.Next(ctx); !errs.Is(err, errs.Unavailable) {
			t.Errorf("a caller with a deadline got %v", err)
		}
	})
}

// Before its epoch and after its end a generator does not start. One that reaches its end fails: no field overflows.
func TestIDsBeyondTheirEndAreRefused(t *testing.T) {
	const end = ids.Epoch + 1<<41
	for _, ms := range []standing{ids.Epoch - 1, end, end + 1<<41} {
		if _, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(ms, 0), idgen.SnowflakeConfig{}); err == nil {
			t.Errorf("a generator started at %d", ms)
		}
	}
	c := clocktest.NewManual()
	c.Set(time.UnixMilli(end - 1))
	g := snowflake(t, c, 0)
	last := make([]uint64, 4096)
	if err := g.Fill(t.Context(), last); err != nil || last[4095]>>22 != 1<<41-1 {
		t.Errorf("the last id is %d, %v", last[4095], err)
	}
	if years := g.YearsLeft(); years < 0 || years > 1e-6 {
		t.Errorf("%v years are left", years)
	}
	c.Advance(time.Millisecond)
	if v, err := g.Next(t.Context()); errs.Of(err).Reason != "ids_ended" {
		t.Errorf("after the last time of the layout Next returned %d, %v, want ids_ended", v, err)
	}
	if years := snowflake(t, standing(end-1<<40), 0).YearsLeft(); years < 34.8 || years > 34.9 {
		t.Errorf("%v years are left of half of 69.7", years)
	}
	const messagesEnd = 1 << 42
	c.Set(time.UnixMilli(messagesEnd - 1))
	m := messages(t, c)
	for range 4096 {
		if v, err := m.Next(1, 1); err != nil || v.Ms() != messagesEnd-1 {
			t.Fatalf("an id of the last millisecond is %s, %v, want that time", v, err)
		}
	}
	if v, err := m.Next(1, 1); errs.Of(err).Reason != "ids_ended" {
		t.Errorf("after the last millisecond Next returned %s, %v, want ids_ended", v, err)
	}
}

// raw returns the bytes of ids.
func raw[T ~[16]byte](next func() (T, error)) func() ([16]byte, error) {
	return func() ([16]byte, error) {
		v, err := next()
		return v, err
	}
}

// UUIDs and ULIDs end in 2159 and do not wrap around.
func TestUUIDsAndULIDsEndIn2159(t *testing.T) {
	c := clocktest.NewManual()
	for name, next := range map[string]func() ([16]byte, error){"uuidv7": raw(ids.NewUUIDv7(c.Now).Next), "ulid": raw(ids.NewULIDs(c.Now).Next)} {
		const end = 1577836800000 + 1<<42
		c.Set(time.UnixMilli(end - 1))
		first, err := next()
		if ms := int64(binary.BigEndian.Uint64(first[:]) >> 16); err != nil || ms != end-1 {
			t.Errorf("%s: the last millisecond is %d, %v", name, ms, err)
		}
		c.Set(time.UnixMilli(end))
		if v, err := next(); !errors.Is(err, ids.ErrEnded) {
			t.Errorf("%s: id %x, error %v; want %v", name, v, err, ids.ErrEnded)
		}
		c.Set(time.UnixMilli(0)) // as good as 2020
		if v, err := next(); err != nil || bytes.Compare(v[:], first[:]) <= 0 {
			t.Errorf("%s: %x after %x, %v", name, v, first, err)
		}
	}
}

func TestInvalidTypesAndRangesAreRefused(t *testing.T) {
	if v, err := messages(t, clock.System{}).Next(16, 1); !errs.Is(err, errs.Invalid) {
		t.Errorf("an id of type 16 is %s, %v, want it refused as invalid", v, err)
	}
	for _, ranges := range []uint64{3, 8192} {
		if _, err := idgen.NewMessages(t.Context(), idgen.Fixed(clock.System{}, 0), idgen.MessagesConfig{Ranges: ranges}); err == nil {
			t.Errorf("%d ranges", ranges)
		}
	}
}

// Each generator uses exactly the spins of its own range.
func TestEachGeneratorUsesItsRangeOfSpins(t *testing.T) {
	const ranges = 64
	seen := map[id.Message]bool{}
	for slot := range uint64(ranges) {
		m, err := idgen.NewMessages(t.Context(), idgen.Fixed(standing(1_800_000_000_000), slot), idgen.MessagesConfig{Ranges: ranges})
		if err != nil {
			t.Fatal(err)
		}
		for range 4096 / ranges {
			v, err := m.Next(1, 3)
			if err != nil || seen[v] || v.Ms() != 1_800_000_000_000 {
				t.Fatalf("%s of range %d, %v", v, slot, err)
			}
			seen[v] = true
		}
	}
	if len(seen) != 4096 {
		t.Errorf("%d spins", len(seen))
	}
}
