package natsbus

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

// TestGoldenFrames: the form on the wire, which other releases read.
func TestGoldenFrames(t *testing.T) {
	for text, want := range map[string]frame{
		"01" + "0102030405060708" + "000000000000012c" + "6869": {kind: kindMessage, series: 0x0102030405060708, number: 300, data: []byte("hi")},
		"02" + "ffffffffffffffff" + "0000000000000001":          {kind: kindTally, series: 1<<64 - 1, number: 1},
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := parse(b)
		if !ok || got.kind != want.kind || got.series != want.series || got.number != want.number || !bytes.Equal(got.data, want.data) {
			t.Errorf("%s is %+v, %v", text, got, ok)
		}
		if made := want.append(nil); !bytes.Equal(made, b) {
			t.Errorf("%+v becomes %x", want, made)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame{kind: kindMessage, series: 1, number: 2, data: []byte("x")}.append(nil))
	f.Add(frame{kind: kindTally, series: 1, number: 2}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, ok := parse(b); ok && !bytes.Equal(got.append(nil), b) {
			t.Errorf("%x is read as %+v", b, got)
		}
	})
}

// TestEachHoleIsTold: of what some publishers send, some is lost. A subscriber is told before it hears what follows a loss, or by the
// tally after it, and never where nothing was lost.
func TestEachHoleIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := 0
		var heard []byte
		s := &subscription{bus: &Bus{}, last: map[uint64]uint64{}, handle: func(data []byte) { heard = append(heard, data...) }, missed: func() { told++ }}
		const publishers = 3
		var number [publishers]uint64
		var lost [publishers]bool // something since what was heard last
		for range rapid.IntRange(1, 60).Draw(t, "frames") {
			p := rapid.IntRange(0, publishers-1).Draw(t, "publisher")
			f := frame{kind: kindMessage, series: uint64(p + 1), data: []byte{byte(p)}}
			if number[p] > 0 && rapid.Bool().Draw(t, "a tally") {
				f.kind, f.data = kindTally, nil
			} else {
				number[p]++
			}
			f.number = number[p]
			if rapid.IntRange(0, 2).Draw(t, "lost") == 0 {
				lost[p] = lost[p] || f.kind == kindMessage
				continue
			}
			told, heard = 0, nil
			s.receive(&nats.Msg{Data: f.append(nil)})
			if (told == 1) != lost[p] || told > 1 {
				t.Fatalf("told %d times, lost: %v", told, lost[p])
			}
			if !bytes.Equal(heard, f.data) {
				t.Fatalf("heard %v of %v", heard, f.data)
			}
			lost[p] = false
		}
	})
}

// TestOddMessages of a later release are counted, and a hole.
func TestOddMessages(t *testing.T) {
	b := &Bus{}
	told := 0
	s := &subscription{bus: b, last: map[uint64]uint64{}, handle: func([]byte) { t.Error("it is handled") }, missed: func() { told++ }}
	for _, odd := range [][]byte{nil, {kindMessage}, frame{kind: 3, series: 1, number: 1}.append(nil), frame{kind: kindMessage, series: 1}.append(nil)} {
		s.receive(&nats.Msg{Data: odd})
	}
	if told != 4 || b.odd.Load() != 4 {
		t.Errorf("told %d times, %d counted", told, b.odd.Load())
	}
}

// TestManyPublishers: what is remembered of them is bounded, and none of their messages is lost by that.
func TestManyPublishers(t *testing.T) {
	heard, told := 0, 0
	s := &subscription{bus: &Bus{}, last: map[uint64]uint64{}, handle: func([]byte) { heard++ }, missed: func() { told++ }}
	const many = maxFollowed * 2
	for series := range uint64(many) {
		s.receive(&nats.Msg{Data: frame{kind: kindMessage, series: series, number: 1}.append(nil)})
	}
	if heard != many || told != 0 || len(s.last) > maxFollowed {
		t.Errorf("heard %d, told %d times, remembers %d", heard, told, len(s.last))
	}
}
