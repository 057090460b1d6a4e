package gateway

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/message"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func inflatedBytes(p []byte) ([]byte, error) {
	var out bytes.Buffer
	err := inflate(&out, p)
	return out.Bytes(), err
}

// sent gives the frames that a connection is to write now, without control frames.
func sent(t *testing.T, c *conn) (list []*gatewayv1.ServerFrame) {
	t.Helper()
	c.mu.Lock()
	out := c.takeOutput()
	c.mu.Unlock()
	if out == nil {
		return nil
	}
	if c.deflate {
		out = deflateFrames(out)
	}
	defer out.free()
	if c.prefixed {
		return prefixedFrames(t, out.b)
	}
	for r := bytes.NewReader(out.b); r.Len() > 0; {
		h, err := ws.ReadHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(r, payload); err != nil {
			t.Fatal(err)
		}
		if h.Rsv1() {
			if payload, err = inflatedBytes(payload); err != nil {
				t.Fatal(err)
			}
		}
		if h.OpCode.IsControl() {
			continue
		}
		f := &gatewayv1.ServerFrame{}
		if h.OpCode == ws.OpText {
			err = protojson.Unmarshal(payload, f)
		} else {
			err = proto.Unmarshal(payload, f)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// A client that does not read holds a bounded amount of memory, however many events are pushed. When it reads again, it gets the waiting
// events, without a gap, then one hint that more were dropped, even if no new event arrives, and then new events.
func TestDroppedEventsAreFollowedByAHint(t *testing.T) {
	for _, json := range []bool{false, true} {
		c, _ := bench(t)
		c.json = json
		text := message.AppendText(nil, strings.Repeat("x", 1000))
		at := message.Position(1<<32 | 1)
		push := func() {
			m := message.Stored{Conversation: 5, Seq: uint64(uint32(at)), Entry: message.Entry{Sender: 1, Content: text}}
			c.pushEvent(at, at-1, &payload{proto: message.AppendBody(nil, message.FieldMessage, m.AppendProto(nil))})
			at++
		}
		first, most := at, 0
		for range 10_000 {
			push()
			most = max(most, c.pending())
		}
		if most > hintAbove+4096 {
			t.Errorf("json %v: %d bytes waited for a client that does not read", json, most)
		}
		prev, events := first-1, 0
		for _, f := range sent(t, c) {
			if f.Hint != nil {
				t.Errorf("json %v: a hint precedes the waiting events", json)
			}
			for _, e := range f.Events {
				if e.Prev != uint64(prev) || e.Seq != uint64(prev)+1 || e.GetMessage() == nil {
					t.Fatalf("json %v: event %d has prev %d, want %d", json, e.Seq, e.Prev, prev)
				}
				prev, events = message.Position(e.Seq), events+1
			}
		}
		if events < 100 || events == 10_000 {
			t.Errorf("json %v: %d of 10,000 events waited", json, events)
		}
		if list := sent(t, c); len(list) != 1 || list[0].Hint == nil {
			t.Errorf("json %v: after the events comes %v, want one hint", json, list)
		}
		push()
		if list := sent(t, c); len(list) != 1 || len(list[0].Events) != 1 || list[0].Events[0].Prev != uint64(at)-2 {
			t.Errorf("json %v: after the hint comes %v, want one event", json, list)
		}
	}
}

// The same holds for messages of large groups. These have no position; in protobuf they are encoded once and shared.
func TestDroppedLargeGroupMessagesAreFollowedByAHint(t *testing.T) {
	for _, json := range []bool{false, true} {
		c, _ := bench(t)
		c.json = json
		c.server.hub.follow(c, 5, 1)
		for seq := range uint64(10_000) {
			c.deliverLarge(seq + 2)
		}
		events, hints := 0, 0
		for list := sent(t, c); list != nil; list = sent(t, c) {
			for _, f := range list {
				for _, e := range f.Events {
					if hints > 0 || e.GetMessage().GetSeq() != uint64(events)+2 {
						t.Fatalf("JSON %v: %v after %d events and %d hints", json, e, events, hints)
					}
					events++
				}
				if f.Hint != nil {
					hints++
				}
			}
		}
		if events < 100 || events == 10_000 || hints != 1 {
			t.Errorf("JSON %v: %d of 10,000 events, and %d hints", json, events, hints)
		}
	}
}

// Answers cannot be dropped: a client that keeps making requests and reads no answers is disconnected.
func TestUnreadAnswersEndTheConnection(t *testing.T) {
	c, _ := bench(t)
	n := 0
	for ; c.state < stateAborted && n < 1<<20; n++ {
		c.sendEncoded(opPong, make([]byte, 125))
	}
	if most := maxPending / 125; n > most+1 || c.server.stats.Slow.Load() != 1 {
		t.Errorf("disconnected after %d answers, want at most %d; counted %d times", n, most, c.server.stats.Slow.Load())
	}
	c.sendEncoded(opPong, nil)
	if c.pending() > maxPending+256 {
		t.Errorf("%d bytes wait after the disconnect", c.pending())
	}
}
