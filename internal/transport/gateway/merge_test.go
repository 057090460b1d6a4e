package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// deflate compresses a message.
func deflate(p []byte) (compressed []byte, ok bool) {
	b, ok := appendDeflated(nil, opBinary, p)
	if !ok {
		return nil, false
	}
	r := bytes.NewReader(b)
	if _, err := ws.ReadHeader(r); err != nil {
		return nil, false
	}
	return b[len(b)-r.Len():], true
}

// textEvent is the body of an event with a text of n characters.
func textEvent(seq uint64, n int) *payload {
	m := message.Stored{Conversation: 5, Seq: seq}
	m.Entry.Content = message.AppendText(nil, strings.Repeat("rialto ", n/7+1)[:n])
	return &payload{proto: message.AppendBody(nil, message.FieldMessage, m.AppendProto(nil))}
}

// describe lists what frames have, in order: r1 is a receipt, e1 an event, a1 an answer.
func describe(frames []*gatewayv1.ServerFrame) (list []string) {
	for _, f := range frames {
		for _, r := range f.Receipts {
			list = append(list, fmt.Sprintf("r%d", r.ClientSeq))
		}
		for _, e := range f.Events {
			list = append(list, fmt.Sprintf("e%d", e.GetMessage().GetSeq()))
		}
		if f.Request != 0 {
			list = append(list, fmt.Sprintf("a%d", f.Request))
		}
	}
	return list
}

// Receipts and events that wait are merged into few frames. Whatever their order and size, each arrives once, in frames of bounded size:
// the receipts in order, the events in order, and both in order with the answers between them. So they do if they are compressed.
func TestMergedFramesKeepTheOrder(t *testing.T) {
	refusal := errs.New(errs.Denied, "blocked", "no")
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		c, _ := bench(t)
		c.json, c.deflate = seed%2 == 0, seed%4 < 2
		c.prefixed = seed%8 == 3 // over TCP
		var want []string
		size := []int{1, 100, 3000, 30_000}[random.IntN(4)]
		for n := uint64(1); n <= 1+random.Uint64N(40); n++ {
			switch random.IntN(6) {
			case 0:
				c.sendReceipt(&message.Draft{Conversation: 5, ClientSeq: n})
				want = append(want, fmt.Sprintf("r%d", n))
			case 1:
				c.sendReceipt(&message.Draft{Conversation: 5, ClientSeq: n, Err: refusal})
				want = append(want, fmt.Sprintf("r%d", n))
			case 2:
				c.sendFrame(&gatewayv1.ServerFrame{Request: n})
				want = append(want, fmt.Sprintf("a%d", n))
			default:
				if c.pending() > hintAbove {
					continue
				}
				length := 1 + random.IntN(size)
				if random.IntN(30) == 0 {
					length = maxMergedFrame + random.IntN(10_000)
				}
				c.pushEvent(message.Position(1<<32+n), message.Position(1<<32+n-1), textEvent(n, length))
				want = append(want, fmt.Sprintf("e%d", n))
			}
		}
		frames := sent(t, c)
		for _, kinds := range []string{"ra", "ea"} { // in a frame of protobuf, all receipts are before all events
			got := slices.DeleteFunc(describe(frames), func(s string) bool { return !strings.Contains(kinds, s[:1]) })
			want := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.Contains(kinds, s[:1]) })
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: sent %q, want %q", seed, got, want)
			}
		}
		for _, f := range frames {
			if n := len(f.Receipts) + len(f.Events); n > 1 && proto.Size(f) > maxMergedFrame {
				t.Errorf("seed %d: a frame of %d receipts and events has %d bytes", seed, n, proto.Size(f))
			}
		}
	}
}

// Events that wait for a client are one frame in either encoding, and compressed as one if the client accepts it.
func TestEventsAreMergedAndCompressed(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		sizes := map[bool]int{}
		for _, packs := range []bool{false, true} {
			c, _ := bench(t)
			c.json, c.deflate = asJSON, packs
			for n := uint64(1); n <= 100; n++ {
				c.pushEvent(message.Position(1<<32+n), message.Position(1<<32+n-1), textEvent(n, 200))
			}
			out := deflateFramesIf(packs, c.takeOutput())
			h, err := ws.ReadHeader(bytes.NewReader(out.b))
			if err != nil || h.Rsv1() != packs || int(h.Length) < len(out.b)-10 {
				t.Fatalf("JSON %v, compressed %v: the first frame has %d of %d bytes (%v)", asJSON, packs, h.Length, len(out.b), err)
			}
			sizes[packs] = len(out.b)
		}
		if 4*sizes[true] > sizes[false] {
			t.Errorf("JSON %v: %d bytes are %d after compression", asJSON, sizes[false], sizes[true])
		}
	}
}

func deflateFramesIf(packs bool, b *buffer) *buffer {
	if packs {
		return deflateFrames(b)
	}
	return b
}

// A client gets what was pushed during its sync merged too, as valid JSON.
func TestWithheldEventsAreMerged(t *testing.T) {
	c, _ := bench(t)
	c.json = true
	c.withhold()
	for n := uint64(1); n <= 3; n++ {
		c.pushEvent(message.Position(1<<32+n), message.Position(1<<32+n-1), textEvent(n, 10))
	}
	c.releaseWithheld()
	out := c.takeOutput()
	var f struct{ Events []json.RawMessage }
	if err := json.Unmarshal(out.b[4:], &f); err != nil || len(f.Events) != 3 {
		t.Errorf("%d events in %q: %v", len(f.Events), out.b, err)
	}
}

// Compression changes the form of frames only. The frames are the server's own; the payloads are anything.
func FuzzDeflateFrames(f *testing.F) {
	f.Add([]byte("short"), bytes.Repeat([]byte("rialto "), 1000), uint8(3))
	f.Add([]byte{}, bytes.Repeat([]byte{0}, 70_000), uint8(1))
	f.Fuzz(func(t *testing.T, a, b []byte, n uint8) {
		in := &buffer{}
		var want [][]byte
		for range n%8 + 1 {
			for _, p := range [][]byte{a, b} {
				in.b = append(appendHeader(in.b, opBinary, len(p), false), p...)
				want = append(want, p)
			}
		}
		before := len(in.b)
		out := deflateFrames(in)
		if len(out.b) > before {
			t.Fatalf("%d bytes became %d", before, len(out.b))
		}
		r := bytes.NewReader(out.b)
		for i, p := range want {
			h, err := ws.ReadHeader(r)
			if err != nil || int(h.Length) > r.Len() {
				t.Fatalf("frame %d: %v, %d bytes of %d", i, err, h.Length, r.Len())
			}
			got := out.b[len(out.b)-r.Len():][:h.Length]
			r.Seek(h.Length, 1) //nolint:errcheck // a bytes.Reader
			if h.Rsv1() {
				if got, err = inflatedBytes(got); errors.Is(err, errTooLarge) && len(p) > maxFrame {
					continue
				}
			}
			if err != nil || !bytes.Equal(got, p) {
				t.Fatalf("frame %d: %v; %d bytes became %d", i, err, len(p), len(got))
			}
		}
		if r.Len() != 0 {
			t.Fatalf("%d bytes follow the frames", r.Len())
		}
	})
}
