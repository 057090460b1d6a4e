package fanout

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
)

// nobodyEdits has conversations without edits.
type nobodyEdits struct{ Chat }

func (nobodyEdits) MayBeOutdated([]byte) bool { return false }

// A lane records to how many streams, and in which partitions, it has posted an entry, and broadcasts; but no events, and no event streams.
func TestPostsAreRecorded(t *testing.T) {
	recorder := flightrecorder.New(clock.System{}, flightrecorder.Config{})
	w := New(Deps{Log: memlog.New(nil), Bus: membus.New(), Chat: nobodyEdits{}, Directory: nowhere{}, Recorder: recorder})
	stream := timeline.EventStream(2)
	for _, p := range []uint16{2, 4} {
		if err := w.deps.Log.Acquire(t.Context(), p, 1); err != nil {
			t.Fatal(err)
		}
		w.partition(int(p)).active = true
	}
	b := &batch{items: []item{
		{kind: message.DeliverEntry, conversation: 7, seq: 9, members: []id.User{id.User(stream.ID)}},
		{kind: message.DeliverEntry, conversation: 7, seq: 9, members: []id.User{userIn(2), userIn(4), userIn(4)}},
		{kind: message.DeliverEvent, body: []byte{0x22, 0}, members: []id.User{userIn(2)}},
	}}
	if err := w.enqueue(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	large := id.Conversation(1)
	for it := (item{kind: message.DeliverEntry, large: true, conversation: large}); ; it.conversation++ {
		if lane, _ := it.lane(); lane == 0 {
			large = it.conversation
			break
		}
	}
	if err := w.enqueue(t.Context(), &batch{items: []item{{kind: message.DeliverEntry, large: true, conversation: large, seq: 5}, {kind: message.DeliverFrame, large: true, conversation: large}}}); err != nil {
		t.Fatal(err)
	}
	w.lanes[0].work(t.Context())
	var got []flightrecorder.Record
	recorder.Scan(func(r *flightrecorder.Record) {
		if r.AtUs == 0 {
			t.Error("a record has no time")
		}
		r.AtUs = 0
		got = append(got, *r)
	})
	slices.SortFunc(got, func(a, b flightrecorder.Record) int { return int(a.Kind) - int(b.Kind) })
	want := []flightrecorder.Record{
		{Kind: flightrecorder.Posted, Conversation: 7, Seq: 9, User: 3, Device: 1<<2 | 1<<4},
		{Kind: flightrecorder.Broadcast, Conversation: uint64(large), Seq: 5},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
