package chat_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// rejectingLog rejects some appends, as a full queue rejects a large one.
type rejectingLog struct {
	timeline.Log
	mu     sync.Mutex // guards refuse
	refuse int        // the number of next appends to refuse
}

func (l *rejectingLog) Append(list ...*timeline.AppendRequest) {
	for _, a := range list {
		l.mu.Lock()
		no := l.refuse > 0 && a.Token.Counter != 0 && a.ExpectedAccess < 1<<60
		if no {
			l.refuse--
		}
		l.mu.Unlock()
		if no {
			a.Err = timeline.ErrBusy
			a.Done(a)
			continue
		}
		l.Log.Append(a)
	}
}

// If a device's message gets a retryable rejection, its later messages are rejected too until it is retried or abandoned. This keeps the
// order. Other senders are not affected.
func TestSenderGateKeepsOrder(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	log := &rejectingLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(d *message.Draft, want bool) {
		t.Helper()
		err := s.Send(ctx, d)
		if got := err != nil; got != want || got && (errs.Of(err).Reason != "busy" || errs.Of(err).Retry == 0) {
			t.Errorf("message %d of user %d: %v", d.ClientSeq, d.Sender, err)
		}
	}
	refused(draftOf(c, 1, 1, "zero"), false)
	log.refuse = 1
	refused(draftOf(c, 1, 2, "first"), true)
	refused(draftOf(c, 1, 3, "second"), true)
	refused(draftOf(c, 2, 9, "of another"), false)
	refused(&message.Draft{Conversation: c, Sender: 1, Device: 101, ClientMsgID: "own", Content: message.AppendText(nil, "without a count")}, false)
	retry := draftOf(c, 1, 1, "zero") // its receipt was lost
	if refused(retry, false); !retry.Duplicate {
		t.Error("a retry was stored twice")
	}
	refused(draftOf(c, 1, 3, "second"), true)
	log.refuse = 1
	refused(draftOf(c, 1, 2, "first"), true) // again
	refused(draftOf(c, 1, 3, "second"), true)
	first, second := draftOf(c, 1, 2, "first"), draftOf(c, 1, 3, "second")
	refused(first, false)
	refused(second, false)
	if first.Seq >= second.Seq {
		t.Errorf("the first message is at seq %d, the second at %d", first.Seq, second.Seq)
	}

	log.refuse = 1
	refused(draftOf(c, 1, 4, "given up"), true)
	refused(draftOf(c, 1, 5, "next"), true)
	h.clock.ms.Add((10 * time.Second).Milliseconds())
	refused(draftOf(c, 1, 5, "next"), false)
}
