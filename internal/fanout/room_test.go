package fanout

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// mute is a bus on which nobody answers.
type mute struct{ bus.Bus }

func (mute) Request(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	<-ctx.Done()
	return nil, bus.ErrNoAnswer
}

// TestWhatWaitsIsBoundedByBytes: for a node that does not answer, and in a lane that nobody works. One batch that is larger than all
// room goes where nothing waits, and what is done is not kept.
func TestWhatWaitsIsBoundedByBytes(t *testing.T) {
	body := make([]byte, laneBytes/16)
	notice := func(times int) *batch {
		b := &batch{}
		for range times {
			b.items = append(b.items, item{kind: message.DeliverEvent, body: body, members: []id.User{7}})
		}
		return b
	}
	w := New(Deps{Node: "here", Bus: mute{}, Holder: func(uint16) string { return "there" }, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	defer w.others.stop()
	defer stop()
	w.others.start(ctx)
	n := 0
	for err := error(nil); err == nil && n < 64; n++ {
		b := notice(1)
		if err = w.give(ctx, b); err != nil && !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		for _, l := range w.lanes { // as if they had worked
			for len(l.batches) > 0 {
				b := <-l.batches
				l.room.Release(b.room())
				b.finish()
			}
		}
	}
	if n < 8 || n > 32 { // with those that are on their way
		t.Errorf("%d sixteenths of the room were taken", n)
	}
	l := w.lanes[0]
	for range 64 {
		b := notice(1)
		b.weigh()
		l.offer(b)
	}
	if n := len(l.batches); n < 8 || n > 16 {
		t.Errorf("%d sixteenths of a lane's room were taken", n)
	}
	large := notice(20)
	large.weigh()
	put := make(chan error, 1)
	go func() { put <- l.put(ctx, large) }()
	var last *batch
	for last != large {
		last = <-l.batches
		l.room.Release(last.room())
	}
	if err := <-put; err != nil {
		t.Error(err)
	}
	large.left.Store(1)
	if large.finish(); large.items != nil {
		t.Error("a batch that is done keeps what it had")
	}
}
