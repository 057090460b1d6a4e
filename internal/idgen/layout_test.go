package idgen_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/idgen"
	"pgregory.net/rapid"
)

// standing is a clock that stands for ever.
type standing int64

func (a standing) Now() time.Time { return time.UnixMilli(int64(a)) }

// What is no layout is refused, and the message says why.
func TestWhatIsNoLayout(t *testing.T) {
	for want, l := range map[string]idgen.Layout{
		"there are 63":     {TimeBits: 41, DatacenterBits: 5, WorkerBits: 6, SequenceBits: 12},
		"time and of":      {WorkerBits: 10, SequenceBits: 12},
		"time and":         {TimeBits: 41, WorkerBits: 10},
		"at most 20 bits":  {TimeBits: 41, DatacenterBits: 20, WorkerBits: 1, SequenceBits: 1},
		"whole millisec":   {Unit: time.Microsecond},
		"1 ms to 1 minute": {Unit: time.Hour},
		"since 1970":       {Epoch: -1},
		"whose time lasts": {TimeBits: 50, WorkerBits: 1, SequenceBits: 12},
	} {
		_, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(clock.System{}, 0), idgen.SnowflakeConfig{Layout: l})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
		if _, err := l.Parse(1); err == nil {
			t.Errorf("an id of %+v", l)
		}
	}
}

// Ids of any layout have the parts that were put in, within one call to Fill and from call to call, and no millisecond has more or
// fewer than its sequence has numbers.
func TestAnyLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := idgen.Layout{SequenceBits: rapid.Uint8Range(1, 10).Draw(t, "sequence"), WorkerBits: rapid.Uint8Range(0, 10).Draw(t, "worker"),
			DatacenterBits: rapid.Uint8Range(0, 10).Draw(t, "datacenter"), TimeBits: rapid.Uint8Range(30, 33).Draw(t, "time"),
			Unit: time.Duration(rapid.Int64Range(1, 20).Draw(t, "unit")) * time.Millisecond, Epoch: 1_800_000_000_000 - 1_000_000}
		worker := rapid.Uint64Range(0, 1<<(l.WorkerBits+l.DatacenterBits)-1).Draw(t, "number")
		c := newByHand()
		g, err := idgen.NewSnowflake(context.Background(), idgen.Fixed(c, worker), idgen.SnowflakeConfig{Layout: l})
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for range 4 {
			c.move(l.Unit)
			all := make([]uint64, 1<<l.SequenceBits)
			if err := g.Fill(context.Background(), all); err != nil {
				t.Fatal(err)
			}
			for i, v := range all {
				p, err := l.Parse(v)
				if err != nil || v <= last || p.Datacenter<<l.WorkerBits|p.Worker != worker || p.Sequence != uint64(i) || c.Now().Sub(p.Time) >= l.Unit || p.Time.After(c.Now()) {
					t.Fatalf("%d after %d: %+v at %v, %v", v, last, p, c.Now(), err)
				}
				last = v
			}
			if v, ok, err := g.TryNext(context.Background()); ok || err != nil {
				t.Fatalf("one more is %d, %v", v, err)
			}
		}
	})
}

// Fill waits for as many milliseconds as it needs, and gives none where it cannot give all.
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
			t.Errorf("%v", err)
		}
		if all[0] != 0 {
			t.Error("some were given")
		}
		c.step(50*time.Millisecond - time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := g.Next(ctx); !errs.Is(err, errs.Unavailable) {
			t.Errorf("who does not wait so long: %v", err)
		}
	})
}

// Before its epoch and after its end a generator does not start, and one that comes to its end refuses: no field is cut.
func TestTimesBeyondTheBits(t *testing.T) {
	l := idgen.Layout{TimeBits: 41, WorkerBits: 10, SequenceBits: 12}
	const end = idgen.Epoch + 1<<41
	for _, ms := range []standing{idgen.Epoch - 1, end, end + 1<<41} {
		if _, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(ms, 0), idgen.SnowflakeConfig{Layout: l}); err == nil {
			t.Errorf("it starts at %d", ms)
		}
	}
	c := newByHand()
	c.ms.Store(end - 1)
	g := snowflake(t, c, 0)
	last := make([]uint64, 4096)
	if err := g.Fill(t.Context(), last); err != nil || last[4095]>>22 != 1<<41-1 {
		t.Errorf("the last id is %d, %v", last[4095], err)
	}
	if years := g.YearsLeft(); years < 0 || years > 1e-6 {
		t.Errorf("%v years are left", years)
	}
	c.move(time.Millisecond)
	if v, err := g.Next(t.Context()); errs.Of(err).Reason != "ids_ended" {
		t.Errorf("%d, %v", v, err)
	}
	if years := snowflake(t, standing(end-1<<40), 0).YearsLeft(); years < 34.8 || years > 34.9 {
		t.Errorf("%v years are left of half of 69.7", years)
	}
	const messagesEnd = 1 << 42
	c.ms.Store(messagesEnd - 1)
	m := messages(t, c)
	for range 4096 {
		if v, err := m.Next(1, 1); err != nil || v.Ms() != messagesEnd-1 {
			t.Fatalf("%s, %v", v, err)
		}
	}
	if v, err := m.Next(1, 1); errs.Of(err).Reason != "ids_ended" {
		t.Errorf("%s, %v", v, err)
	}
}

// UUIDs and ULIDs end in 2159: they do not begin again.
func TestMomentsBeyondTheBits(t *testing.T) {
	c := newByHand()
	for name, next := range map[string]func() ([16]byte, error){"uuidv7": idgen.NewUUIDv7(c).Next, "ulid": idgen.NewULID(c).Next} {
		const end = 1577836800000 + 1<<42
		c.ms.Store(end - 1)
		first, err := next()
		if ms := int64(binary.BigEndian.Uint64(first[:]) >> 16); err != nil || ms != end-1 {
			t.Errorf("%s: the last millisecond is %d, %v", name, ms, err)
		}
		c.ms.Store(end)
		if v, err := next(); errs.Of(err).Reason != "ids_ended" {
			t.Errorf("%s: %x, %v", name, v, err)
		}
		c.ms.Store(0) // as good as 2020
		if v, err := next(); err != nil || bytes.Compare(v[:], first[:]) <= 0 {
			t.Errorf("%s: %x after %x, %v", name, v, first, err)
		}
	}
}

func TestTypesBeyondTheBits(t *testing.T) {
	if v, err := messages(t, clock.System{}).Next(16, 1); !errs.Is(err, errs.Invalid) {
		t.Errorf("%s, %v", v, err)
	}
	for _, ranges := range []uint64{3, 8192} {
		if _, err := idgen.NewMessages(t.Context(), idgen.Fixed(clock.System{}, 0), idgen.MessagesConfig{Ranges: ranges}); err == nil {
			t.Errorf("%d ranges", ranges)
		}
	}
}

// Each generator has spins of its own, all of them and no others.
func TestRangesOfSpins(t *testing.T) {
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
