package gateway

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Pushes of entries to devices are recorded, those of a large conversation in one record. What a slow device is not pushed, and events, are not.
func TestPushesAreRecorded(t *testing.T) {
	c, _ := bench(t)
	recorder := flightrecorder.New(clock.System{}, flightrecorder.Config{})
	c.server.deps.Recorder = recorder
	c.register()
	for _, device := range []id.Device{10, 11} {
		other := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 7, Device: device}, state: stateReady}
		other.needsHint = device == 11 // it is slow
		other.register()
		c.server.hub.follow(other, 5, 1)
	}
	entry := message.Entry{ID: id.MessageOf(1, 0, 2, 5), Sender: 1}
	body := entry.Append(nil)
	target := []message.Target{{User: 7, At: 12, Prev: 11}}
	var data []byte
	for _, d := range []message.Delivery{
		{Kind: message.DeliverEntry, Conversation: 5, Seq: 3, Body: body, Targets: target},
		{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: target},
		{Kind: message.DeliverEntry, Conversation: 5, Seq: 4, Large: true, Body: body},
	} {
		data = d.Append(data)
	}
	d := deliverer{server: c.server}
	d.deliver(data)
	var got []flightrecorder.Record
	recorder.Scan(func(r *flightrecorder.Record) {
		if r.AtUs == 0 {
			t.Error("a record has no time")
		}
		r.AtUs = 0
		got = append(got, *r)
	})
	slices.SortFunc(got, func(a, b flightrecorder.Record) int { return int(a.Seq<<32+a.Device) - int(b.Seq<<32+b.Device) })
	want := []flightrecorder.Record{
		{Kind: flightrecorder.Pushed, Conversation: 5, Seq: 3, User: 7, Device: 8},
		{Kind: flightrecorder.Pushed, Conversation: 5, Seq: 3, User: 7, Device: 10},
		{Kind: flightrecorder.PushedToFollowers, Conversation: 5, Seq: 4, User: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
