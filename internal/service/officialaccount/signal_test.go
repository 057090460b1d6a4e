package officialaccount_test

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A signal makes the service read the streams of accounts that it is about, and no others.
func TestOnlyChangedStreamsAreRead(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
	w.answer() // from now on it knows who answers
	reads := func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.tailsRead }
	before := reads()
	w.write(ann, "hi")
	w.StreamChanged(ann)
	w.StreamChanged(rival) // has no replies
	must(t, w.AnswerChanged(t.Context()))
	if got := reads() - before; got != 0 {
		t.Errorf("%d streams were read that are of no account that answers", got)
	}
	w.StreamChanged(shop)
	w.StreamChanged(shop)
	must(t, w.AnswerChanged(t.Context()))
	must(t, w.AnswerChanged(t.Context()))
	must(t, w.SendReplies(t.Context()))
	w.check(ann, "hello")
	if got := reads() - before; got != 1 {
		t.Errorf("%d streams were read after two signals about one account, want 1", got)
	}
}

// Another node tells the coordinator about accounts whose streams changed, which then answers.
func TestOtherNodesSignalTheCoordinator(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
	signals := make(chan []byte, 100)
	stop, err := w.bus.Subscribe("official_accounts", func(data []byte) {
		select {
		case signals <- append([]byte(nil), data...):
		default: // enough of them
		}
	}, nil)
	must(t, err)
	defer stop()
	other := w.node(func() bool { return false })
	ctx, cancel := context.WithCancel(t.Context())
	var nodes sync.WaitGroup
	defer eventually.Done(t, "the nodes stop", &nodes)
	defer cancel()
	nodes.Go(func() { _ = other.Run(ctx) })
	eventually.True(t, "the other node knows who answers, and signals", func() bool {
		other.StreamChanged(shop)
		return len(signals) > 0
	})
	if got := <-signals; len(got) != 8 || binary.BigEndian.Uint64(got) != uint64(shop) {
		t.Errorf("the signal is %v, want the account", got)
	}
	w.answer()
	nodes.Go(func() { _ = w.Run(ctx) })
	w.write(ann, "hi")
	eventually.True(t, "the coordinator answers", func() bool {
		other.StreamChanged(shop)
		return len(w.said(ann)) == 1
	})
}
