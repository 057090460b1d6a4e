package gateway

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gobwas/ws"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// sent reads what a connection is to write now, but for control frames.
func sent(t *testing.T, c *conn) (list []*gatewayv1.ServerFrame) {
	t.Helper()
	c.mu.Lock()
	out := c.take()
	c.mu.Unlock()
	if out == nil {
		return nil
	}
	defer out.free()
	for r := bytes.NewReader(out.b); r.Len() > 0; {
		h, err := ws.ReadHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(r, payload); err != nil {
			t.Fatal(err)
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

// One who takes nothing holds a bounded amount of memory, however much there is for them. Then they get what waits, a chain
// without a hole, and a hint that there is more, also when nothing new comes; and from there on events again.
func TestWhatIsLeftOutIsHintedAt(t *testing.T) {
	for _, json := range []bool{false, true} {
		c, _ := bench(t)
		c.json = json
		text := message.AppendText(nil, strings.Repeat("x", 1000))
		at := message.Position(1<<32 | 1)
		push := func() {
			m := message.Stored{Conversation: 5, Seq: uint64(uint32(at)), Entry: message.Entry{Sender: 1, Content: text}}
			c.event(at, at-1, &payload{proto: message.AppendBody(nil, message.FieldMessage, m.AppendProto(nil))})
			at++
		}
		first, most := at, 0
		for range 10_000 {
			push()
			most = max(most, c.pending())
		}
		if most > hintPending+4096 {
			t.Errorf("json %v: %d bytes waited for one who took nothing", json, most)
		}
		prev, events := first-1, 0
		for _, f := range sent(t, c) {
			if f.Hint != nil {
				t.Errorf("json %v: a hint before what waited", json)
			}
			for _, e := range f.Events {
				if e.Prev != uint64(prev) || e.Seq != uint64(prev)+1 || e.GetMessage() == nil {
					t.Fatalf("json %v: event %d names %d, after %d", json, e.Seq, e.Prev, prev)
				}
				prev, events = message.Position(e.Seq), events+1
			}
		}
		if events < 100 || events == 10_000 {
			t.Errorf("json %v: %d of 10,000 events waited", json, events)
		}
		if list := sent(t, c); len(list) != 1 || list[0].Hint == nil {
			t.Errorf("json %v: after them %v, and not one hint", json, list)
		}
		push()
		if list := sent(t, c); len(list) != 1 || len(list[0].Events) != 1 || list[0].Events[0].Prev != uint64(at)-2 {
			t.Errorf("json %v: after the hint %v", json, list)
		}
	}
}

// Answers cannot be left out: one who asks and asks and takes none of them is let go.
func TestAnswersThatNobodyTakesEndTheConnection(t *testing.T) {
	c, _ := bench(t)
	n := 0
	for ; !c.hungUp && n < 1<<20; n++ {
		c.raw(opPong, make([]byte, 125))
	}
	if most := maxPending / 125; n > most+1 || c.server.stats.Slow.Load() != 1 {
		t.Errorf("hung up after %d answers, want at most %d; counted %d times", n, most, c.server.stats.Slow.Load())
	}
	c.raw(opPong, nil)
	if c.pending() > maxPending+256 {
		t.Errorf("%d bytes wait for one who was let go", c.pending())
	}
}
