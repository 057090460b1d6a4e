package chat_test

import (
	"context"
	"sync"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// picky is a log that refuses some appends, as one whose queue has no room for a big one.
type picky struct {
	timeline.Log
	mu     sync.Mutex // guards refuse
	refuse int        // so many of the next
}

func (l *picky) Append(list ...*timeline.Append) {
	for _, a := range list {
		l.mu.Lock()
		no := l.refuse > 0 && a.Token.Counter != 0 && a.IfAccess < 1<<60
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

// A device's message that is refused for now is stored before those that it counted after it, which come on the same connection: they
// are refused as well, until it has come again, or its sender has let it be. Others go on.
func TestOneThatIsRefusedForNowStaysFirst(t *testing.T) {
	ctx, h := context.Background(), newHouse(t, chat.Config{})
	log := &picky{Log: h.log}
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
			t.Errorf("%d of %d: %v", d.ClientSeq, d.Sender, err)
		}
	}
	refused(draftOf(c, 1, 1, "zero"), false)
	log.refuse = 1
	refused(draftOf(c, 1, 2, "first"), true)
	refused(draftOf(c, 1, 3, "second"), true)
	refused(draftOf(c, 2, 9, "of another"), false)
	refused(&message.Draft{Conversation: c, Sender: 1, Device: 101, ClientMsgID: "own", Content: message.AppendText(nil, "without a count")}, false)
	retry := draftOf(c, 1, 1, "zero") // whose receipt was lost
	if refused(retry, false); !retry.Duplicate {
		t.Error("a retry was stored again")
	}
	refused(draftOf(c, 1, 3, "second"), true)
	log.refuse = 1
	refused(draftOf(c, 1, 2, "first"), true) // once more
	refused(draftOf(c, 1, 3, "second"), true)
	first, second := draftOf(c, 1, 2, "first"), draftOf(c, 1, 3, "second")
	refused(first, false)
	refused(second, false)
	if first.Seq >= second.Seq {
		t.Errorf("the first is at %d, the second at %d", first.Seq, second.Seq)
	}

	log.refuse = 1
	refused(draftOf(c, 1, 4, "given up"), true)
	refused(draftOf(c, 1, 5, "next"), true)
	h.clock.ms.Add((10 * time.Second).Milliseconds())
	refused(draftOf(c, 1, 5, "next"), false)
}
