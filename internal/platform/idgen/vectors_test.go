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
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/sdk/go/ids"
	"github.com/sony/sonyflake/v2"
	"pgregory.net/rapid"
)

// Other libraries parse our ids, and we parse theirs, into the same parts.
func TestSnowflakesMatchOtherLibraries(t *testing.T) {
	bwmarrin.Epoch = ids.Epoch
	node, err := bwmarrin.NewNode(709)
	if err != nil {
		t.Fatal(err)
	}
	g := snowflake(t, clock.System{}, 709)
	for range 5000 {
		otherID := node.Generate()
		if p, err := ids.ParseSnowflake(uint64(otherID)); err != nil || p.Datacenter<<5|p.Worker != 709 || int64(p.Sequence) != otherID.Step() || p.Time.UnixMilli() != otherID.Time() {
			t.Fatalf("%d was parsed as %+v, %v", otherID, p, err)
		}
		v, err := g.Next(t.Context())
		ownID := bwmarrin.ParseInt64(int64(v))
		p, perr := ids.ParseSnowflake(v)
		if err != nil || perr != nil || ownID.Node() != 709 || ownID.Step() != int64(p.Sequence) || ownID.Time() != p.Time.UnixMilli() {
			t.Fatalf("%d is read as %+v, error %v; the other library: error %v", v, p, err, perr)
		}
	}
}

func TestSonyflakesMatchOtherLibraries(t *testing.T) {
	start := time.UnixMilli(ids.Epoch)
	otherID, err := sonyflake.New(sonyflake.Settings{StartTime: start, MachineID: func() (int, error) { return 54_321, nil }})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := start.Add(time.Duration(rapid.Int64Range(0, 1<<39-1).Draw(t, "time")) * 10 * time.Millisecond)
		sequence, machine := rapid.IntRange(0, 255).Draw(t, "sequence"), rapid.IntRange(0, 65_535).Draw(t, "machine")
		v, err := otherID.Compose(at, sequence, machine)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ids.ParseSonyflake(uint64(v))
		if err != nil || !p.Time.Equal(at) || int(p.Sequence) != sequence || int(p.Machine) != machine {
			t.Fatalf("%d was parsed as %+v, %v", v, p, err)
		}
	})
	ownID, err := idgen.NewSonyflake(t.Context(), idgen.Fixed(clock.System{}, 54_321), idgen.SonyflakeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range 600 { // more than 10 ms have
		v, err := ownID.Next(t.Context())
		p, perr := ids.ParseSonyflake(v)
		parts := otherID.Decompose(int64(v))
		if err != nil || perr != nil || parts["machine"] != 54_321 || parts["sequence"] != int64(p.Sequence) || !otherID.ToTime(int64(v)).Equal(p.Time) {
			t.Fatalf("%d: %+v and %v, %v, %v", v, p, parts, err, perr)
		}
	}
}

func TestUUIDsMatchOtherLibraries(t *testing.T) {
	g := ids.NewUUIDv7(clock.System{}.Now)
	for range 2000 {
		v, err := g.Next()
		text := string(v.Append(nil))
		otherID, perr := uuid.Parse(text)
		_, p, oerr := ids.ParseUUIDv7(strings.ToUpper(text))
		if err != nil || perr != nil || oerr != nil || ids.UUID(otherID) != v || otherID.String() != text || otherID.Version() != 7 || otherID.Variant() != uuid.RFC4122 {
			t.Fatalf("%s was parsed as %v: %v, %v, %v", text, otherID, err, perr, oerr)
		}
		if seconds, nanos := otherID.Time().UnixTime(); !p.Time.Equal(time.Unix(seconds, nanos)) {
			t.Fatalf("the time of %s is %v, or %v", text, p.Time, time.Unix(seconds, nanos))
		}
		other := uuid.Must(uuid.NewV7())
		back, _, err := ids.ParseUUIDv7(other.String())
		if err != nil || back != ids.UUID(other) {
			t.Fatalf("%s became %x, %v", other, back, err)
		}
	}
	// The example of RFC 9562, appendix A.6.
	if _, p, err := ids.ParseUUIDv7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"); err != nil || p.Time.UnixMilli() != 1645557742000 {
		t.Errorf("the UUID of the RFC is read as %+v, error %v; want the time 1645557742000", p, err)
	}
}

func TestULIDsMatchOtherLibraries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v ids.ULID
		copy(v[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		text := string(v.Append(nil))
		otherID, err := ulid.ParseStrict(text)
		if err != nil || ids.ULID(otherID) != v || otherID.String() != text {
			t.Fatalf("%x is %s, but %s for the other library, %v", v, text, otherID, err)
		}
		back, p, err := ids.ParseULID(strings.ToLower(text))
		if err != nil || back != v || p.Time.UnixMilli() != int64(otherID.Time()) {
			t.Fatalf("%s became %x of %v, %v", text, back, p.Time, err)
		}
	})
	v, err := ids.NewULIDs(clock.System{}.Now).Next()
	if off := time.Since(ulid.ULID(v).Timestamp()).Abs(); err != nil || off > time.Hour {
		t.Errorf("a ULID of now is %v off, %v", off, err)
	}
}

// Texts that are not ids are rejected, and the error says where.
func TestInvalidIDsAreRejected(t *testing.T) {
	uuids := func(s string) error { _, _, err := ids.ParseUUIDv7(s); return err }
	ulids := func(s string) error { _, _, err := ids.ParseULID(s); return err }
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
	if _, err := ids.ParseSnowflake(1 << 63); err == nil {
		t.Error("a snowflake with a sign")
	}
	if _, err := ids.ParseSonyflake(1 << 63); err == nil {
		t.Error("a sonyflake with a sign")
	}
}

// UUIDs and ULIDs of many callers differ and increase, also while the clock steps back.
func TestUUIDsAndULIDsRise(t *testing.T) {
	c := &stepping{}
	for name, next := range map[string]func() ([16]byte, error){"uuidv7": raw(ids.NewUUIDv7(c.Now).Next), "ulid": raw(ids.NewULIDs(c.Now).Next)} {
		const callers, each = 4, 20_000
		all := make([][][16]byte, callers)
		var wait sync.WaitGroup
		for i := range all {
			wait.Go(func() {
				for n := range each {
					if i == 0 && n%1000 == 0 {
						c.step(time.Millisecond)
					}
					v, err := next()
					if err != nil || n > 0 && bytes.Compare(v[:], all[i][n-1][:]) <= 0 {
						t.Errorf("%s: %x is not above the same caller's earlier ids, %v", name, v, err)
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
