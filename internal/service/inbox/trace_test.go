package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/inbox"
)

// A trace says where a message is in a member's stream, and which devices have it, whatever users hide. It says so if the stream was not searched to the end.
func TestTraceOfAStream(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.open(t, 12, ann, eve)
	h.types[ann] = map[id.Device]string{5: "phone", 6: "web"}
	h.hide(ann)
	h.invisible[ann] = true
	h.receive(t, bob, duo)
	h.ackTo(t, ann, 6)
	h.ackTo(t, ann, 9) // logged out since
	sentMs := h.clock.Now().UnixMilli()
	seq := h.receive(t, bob, duo)
	trace := func(seq uint64, large bool) string {
		t.Helper()
		list, err := h.Trace(t.Context(), duo, seq, sentMs, large, []id.User{ann, bob})
		if err != nil || len(list) != 2 || list[0].User != uint64(ann) || list[1].User != uint64(bob) {
			t.Fatalf("positions %v, want those of the two users; error %v", list, err)
		}
		m := list[0]
		text := fmt.Sprint(m.InStream.String()[len("TRACE_IN_STREAM_"):], m.Position != nil, m.Delivered, m.Read)
		for _, d := range m.Devices {
			text += fmt.Sprintf(" %d:%s:%v", d.Device, d.Type, d.Confirmed)
		}
		return text
	}
	wantTrace := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	wantTrace("before an acknowledgement", trace(seq, false), "YEStrue false false 5:phone:false 6:web:false")
	at := h.ackTo(t, ann, 5)
	wantTrace("after one", trace(seq, false), "YEStrue true false 5:phone:true 6:web:false")
	list, err := h.Trace(t.Context(), duo, seq, 0, false, []id.User{ann})
	if err != nil || message.Position(list[0].Position.Seq) != at || list[0].Position.Epoch != at.Epoch() {
		t.Errorf("the position is %v, want %d: %v", list, at, err)
	}
	h.ackTo(t, ann, 9)
	wantTrace("on a device that is logged out", trace(seq, false), "YEStrue true false 5:phone:true 6:web:false 9::true")
	wantTrace("in a large group", trace(seq, true), "UNSPECIFIEDfalse true false")
	waiting := h.send(t, bob, duo, false)
	wantTrace("not in the stream yet", trace(waiting, false), "NOfalse false false 5:phone:false 6:web:false")
	if _, err := h.MarkNow(t.Context(), ann, duo, 0, seq); err != nil {
		t.Fatal(err)
	}
	wantTrace("read", trace(seq, false), "YEStrue true true 5:phone:true 6:web:false 9::true")
	h.clock.move(time.Hour)
	other := h.send(t, eve, 12, false)
	payloads := make([][]byte, 600)
	for i := range payloads {
		payloads[i] = message.AppendInboxRef(nil, 12, other)
	}
	h.post(t, ann, payloads...)
	wantTrace("far from the end", trace(seq, false), "NOT_SEARCHEDfalse true true 5:phone:true 6:web:false 9::true")
	if list, err := h.Trace(t.Context(), duo, seq, 0, false, nil); err != nil || len(list) != 0 {
		t.Errorf("nobody: %v, %v", list, err)
	}
}
