package natsbus

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

// The wire format, which other releases read.
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
			t.Errorf("decode %s: got %+v, %v", text, got, ok)
		}
		if made := want.append(nil); !bytes.Equal(made, b) {
			t.Errorf("encode %+v: got %x", want, made)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame{kind: kindMessage, series: 1, number: 2, data: []byte("x")}.append(nil))
	f.Add(frame{kind: kindTally, series: 1, number: 2}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, ok := parse(b); ok && !bytes.Equal(got.append(nil), b) {
			t.Errorf("decode %x: got %+v, which is encoded differently", b, got)
		}
	})
}

// Some messages of several publishers are lost. A subscriber is notified before it receives the message after a loss, or by the next
// tally, and never without a loss.
func TestEachGapIsReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reported := 0
		var received []byte
		s := &subscription{bus: &Bus{}, last: map[uint64]uint64{}, handle: func(data []byte) { received = append(received, data...) }, missed: func() { reported++ }}
		const publishers = 3
		var number [publishers]uint64
		var lost [publishers]bool // a message was lost since the last received one
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
			reported, received = 0, nil
			s.receive(&nats.Msg{Data: f.append(nil)})
			if (reported == 1) != lost[p] || reported > 1 {
				t.Fatalf("got %d notifications, message lost: %v", reported, lost[p])
			}
			if !bytes.Equal(received, f.data) {
				t.Fatalf("got message %v of %v", received, f.data)
			}
			lost[p] = false
		}
	})
}

// Messages of a later release are counted, and reported as gaps.
func TestUnknownMessagesCountAsGaps(t *testing.T) {
	b := &Bus{}
	reported := 0
	s := &subscription{bus: b, last: map[uint64]uint64{}, handle: func([]byte) { t.Error("an unknown message was handled") }, missed: func() { reported++ }}
	for _, odd := range [][]byte{nil, {kindMessage}, frame{kind: 3, series: 1, number: 1}.append(nil), frame{kind: kindMessage, series: 1}.append(nil)} {
		s.receive(&nats.Msg{Data: odd})
	}
	if reported != 4 || b.odd.Load() != 4 {
		t.Errorf("got %d notifications and %d unknown messages, want 1 and 1", reported, b.odd.Load())
	}
}

// The number of remembered publishers is bounded, and none of their messages is lost.
func TestManyPublishers(t *testing.T) {
	received, reported := 0, 0
	s := &subscription{bus: &Bus{}, last: map[uint64]uint64{}, handle: func([]byte) { received++ }, missed: func() { reported++ }}
	const many = maxFollowed * 2
	for series := range uint64(many) {
		s.receive(&nats.Msg{Data: frame{kind: kindMessage, series: series, number: 1}.append(nil)})
	}
	if received != many || reported != 0 || len(s.last) > maxFollowed {
		t.Errorf("got %d messages, %d notifications, %d remembered publishers", received, reported, len(s.last))
	}
}
