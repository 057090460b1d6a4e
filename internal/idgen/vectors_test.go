package idgen_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/sony/sonyflake/v2"
	"pgregory.net/rapid"
)

// What we make others read, and what others make we read, each to the same parts.
func TestSnowflakesAreThoseOfOthers(t *testing.T) {
	bwmarrin.Epoch = idgen.Epoch
	node, err := bwmarrin.NewNode(709)
	if err != nil {
		t.Fatal(err)
	}
	g := snowflake(t, clock.System{}, 709)
	for range 5000 {
		theirs := node.Generate()
		if p, err := idgen.ParseSnowflake(uint64(theirs)); err != nil || p.Datacenter<<5|p.Worker != 709 || int64(p.Sequence) != theirs.Step() || p.Time.UnixMilli() != theirs.Time() {
			t.Fatalf("%d is %+v, %v", theirs, p, err)
		}
		v, err := g.Next(t.Context())
		ours := bwmarrin.ParseInt64(int64(v))
		p, perr := idgen.ParseSnowflake(v)
		if err != nil || perr != nil || ours.Node() != 709 || ours.Step() != int64(p.Sequence) || ours.Time() != p.Time.UnixMilli() {
			t.Fatalf("%d: %+v, %v, %v", v, p, err, perr)
		}
	}
}

func TestSonyflakesAreThoseOfOthers(t *testing.T) {
	start := time.UnixMilli(idgen.Epoch)
	theirs, err := sonyflake.New(sonyflake.Settings{StartTime: start, MachineID: func() (int, error) { return 54_321, nil }})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := start.Add(time.Duration(rapid.Int64Range(0, 1<<39-1).Draw(t, "time")) * 10 * time.Millisecond)
		sequence, machine := rapid.IntRange(0, 255).Draw(t, "sequence"), rapid.IntRange(0, 65_535).Draw(t, "machine")
		v, err := theirs.Compose(at, sequence, machine)
		if err != nil {
			t.Fatal(err)
		}
		p, err := idgen.ParseSonyflake(uint64(v))
		if err != nil || !p.Time.Equal(at) || int(p.Sequence) != sequence || int(p.Machine) != machine {
			t.Fatalf("%d is %+v, %v", v, p, err)
		}
	})
	ours, err := idgen.NewSonyflake(t.Context(), idgen.Fixed(clock.System{}, 54_321), idgen.SonyflakeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range 600 { // more than 10 ms have
		v, err := ours.Next(t.Context())
		p, perr := idgen.ParseSonyflake(v)
		parts := theirs.Decompose(int64(v))
		if err != nil || perr != nil || parts["machine"] != 54_321 || parts["sequence"] != int64(p.Sequence) || !theirs.ToTime(int64(v)).Equal(p.Time) {
			t.Fatalf("%d: %+v and %v, %v, %v", v, p, parts, err, perr)
		}
	}
}

func TestUUIDsAreThoseOfOthers(t *testing.T) {
	g := idgen.NewUUIDv7(clock.System{})
	for range 2000 {
		v, err := g.Next()
		text := string(idgen.UUIDText(nil, v))
		theirs, perr := uuid.Parse(text)
		_, p, oerr := idgen.ParseUUIDv7(strings.ToUpper(text))
		if err != nil || perr != nil || oerr != nil || [16]byte(theirs) != v || theirs.String() != text || theirs.Version() != 7 || theirs.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is %v: %v, %v, %v", text, theirs, err, perr, oerr)
		}
		if seconds, nanos := theirs.Time().UnixTime(); !p.Time.Equal(time.Unix(seconds, nanos)) {
			t.Fatalf("%s is of %v, or of %v", text, p.Time, time.Unix(seconds, nanos))
		}
		other := uuid.Must(uuid.NewV7())
		back, _, err := idgen.ParseUUIDv7(other.String())
		if err != nil || back != [16]byte(other) {
			t.Fatalf("%s became %x, %v", other, back, err)
		}
	}
	// The example of RFC 9562, appendix A.6.
	if _, p, err := idgen.ParseUUIDv7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"); err != nil || p.Time.UnixMilli() != 1645557742000 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestULIDsAreThoseOfOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v [16]byte
		copy(v[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		text := string(idgen.ULIDText(nil, v))
		theirs, err := ulid.ParseStrict(text)
		if err != nil || theirs != v || theirs.String() != text {
			t.Fatalf("%x is %s, and for others %s, %v", v, text, theirs, err)
		}
		back, p, err := idgen.ParseULID(strings.ToLower(text))
		if err != nil || back != v || p.Time.UnixMilli() != int64(theirs.Time()) {
			t.Fatalf("%s became %x of %v, %v", text, back, p.Time, err)
		}
	})
	v, err := idgen.NewULID(clock.System{}).Next()
	if off := time.Since(ulid.ULID(v).Timestamp()).Abs(); err != nil || off > time.Hour {
		t.Errorf("a ULID of now is %v off, %v", off, err)
	}
}

// Texts that are no such id are refused, and the error says where.
func TestWhatIsNoID(t *testing.T) {
	uuids := func(s string) error { _, _, err := idgen.ParseUUIDv7(s); return err }
	ulids := func(s string) error { _, _, err := idgen.ParseULID(s); return err }
	for _, c := range []struct {
		parse      func(string) error
		text, want string
	}{
		{uuids, "", "36 characters"},
		{uuids, "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "36 characters"},
		{uuids, "017f22e2x79b0-7cc3-98c4-dc0c0c07398f", "character 9 "},
		{uuids, "017f22e2-79b0-7cc3-98c4-dc0c0c07398g", "character 36 "},
		{uuids, "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "version 7"},
		{uuids, "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f", "version 7"},
		{ulids, "01ARZ3NDEKTSV4RRFFQ69G5FA", "26 characters"},
		{ulids, "01ARZ3NDEKTSV4RRFFQ69G5FAU", "character 26 "},
		{ulids, "01ARZ3NDEKTSV4RRFFQ69G5FA\xff", "character 26 "},
		{ulids, "81ARZ3NDEKTSV4RRFFQ69G5FAV", "character 1 "},
	} {
		if err := c.parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want one of %s", c.text, err, c.want)
		}
	}
	if _, err := idgen.ParseSnowflake(1 << 63); err == nil {
		t.Error("a snowflake with a sign")
	}
	if _, err := idgen.ParseSonyflake(1 << 63); err == nil {
		t.Error("a sonyflake with a sign")
	}
}

// UUIDs and ULIDs of many askers differ and rise, also while the clock steps back.
func TestUUIDsAndULIDsRise(t *testing.T) {
	c := &stepping{}
	for name, g := range map[string]interface{ Next() ([16]byte, error) }{"uuidv7": idgen.NewUUIDv7(c), "ulid": idgen.NewULID(c)} {
		const askers, each = 4, 20_000
		all := make([][][16]byte, askers)
		var wait sync.WaitGroup
		for i := range all {
			wait.Go(func() {
				for n := range each {
					if i == 0 && n%1000 == 0 {
						c.step(time.Millisecond)
					}
					v, err := g.Next()
					if err != nil || n > 0 && bytes.Compare(v[:], all[i][n-1][:]) <= 0 {
						t.Errorf("%s: %x after others of the same asker, %v", name, v, err)
						return
					}
					all[i] = append(all[i], v)
				}
			})
		}
		wait.Wait()
		seen := slices.Concat(all...)
		slices.SortFunc(seen, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
		for i := range len(seen) - 1 {
			if seen[i] == seen[i+1] || binary.BigEndian.Uint64(seen[i][8:]) == binary.BigEndian.Uint64(seen[i+1][8:]) {
				t.Fatalf("%s: %x and %x", name, seen[i], seen[i+1])
			}
		}
	}
}
