package chat_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// rejectingLog rejects some appends, as a full queue rejects a large one.
type rejectingLog struct {
	timeline.Log
	mu     sync.Mutex    // guards refuse
	refuse int           // the number of next appends to refuse
	hold   chan struct{} // the next append waits for it; nil: it does not
}

// holdNext has the next append wait until release is called.
func (l *rejectingLog) holdNext() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hold := make(chan struct{})
	l.hold = hold
	return func() { close(hold) }
}

func (l *rejectingLog) Append(list ...*timeline.AppendRequest) {
	for _, a := range list {
		l.mu.Lock()
		hold := l.hold
		l.hold = nil
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
		if hold != nil {
			go func() { // ends when the test releases it
				<-hold
				l.Log.Append(a)
			}()
			continue
		}
		l.Log.Append(a)
	}
}

// rejectingGroup returns a node whose log rejects what it is told to, and a group of the users 1, 2 and 3.
func rejectingGroup(t *testing.T) (*harness, *rejectingLog, *chat.Service, id.Conversation) {
	t.Helper()
	h := newHarness(t, chat.Config{})
	log := &rejectingLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	return h, log, s, c
}

// If a device's message gets a retryable rejection, its later messages are rejected too until it is retried or abandoned. This keeps the
// order. Other senders are not affected.
func TestSenderGateKeepsOrder(t *testing.T) {
	ctx := context.Background()
	h, log, s, c := rejectingGroup(t)
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
	h.clock.ms.Add((time.Minute).Milliseconds())
	refused(draftOf(c, 1, 5, "next"), false)
}

// Several messages of a device may be rejected at once. Each holds back what the device sent after it: a later one is not stored before any of them has come again, or
// was given up. A device whose rejected messages are given up one after another is not stuck.
func TestTheGateKnowsEachRejectedMessage(t *testing.T) {
	ctx := context.Background()
	h, log, s, c := rejectingGroup(t)
	var stored []string
	send := func(seq uint64, text string, isStored bool) {
		t.Helper()
		err := s.Send(ctx, draftOf(c, 1, seq, text))
		if err == nil {
			stored = append(stored, text)
		}
		if (err == nil) != isStored || err != nil && errs.Of(err).Retry == 0 {
			t.Errorf("message %d: %v", seq, err)
		}
	}
	send(1, "zero", true)
	log.refuse = 1
	send(2, "a", false)
	send(3, "b", false) // by the gate
	send(5, "d", false)
	send(2, "a", true)
	send(6, "e", false) // before b and d
	send(5, "d", false)
	log.refuse = 1
	send(3, "b", false) // once more, by the log
	send(5, "d", false)
	send(3, "b", true)
	send(4, "c", true) // it is behind none that was rejected
	send(5, "d", true)
	send(6, "e", true)
	if want := []string{"zero", "a", "b", "c", "d", "e"}; !slices.Equal(stored, want) {
		t.Errorf("stored %q, want %q", stored, want)
	}
	log.refuse = 1
	send(7, "given up", false)
	send(8, "given up too", false)
	send(9, "kept", false)
	h.clock.ms.Add((time.Minute).Milliseconds())
	send(9, "kept", true)
	for n := range uint64(1000) { // more than are remembered
		log.refuse = int(1 - min(n, 1))
		send(10+n, "many", false)
	}
	send(1010, "behind them", false)
	send(10, "the first", true)
	send(1010, "behind them", false)
}

// A message of which one copy is stored and another one was rejected is not expected again: what the device sends after it is stored at once.
func TestTheGateForgetsWhatWasStored(t *testing.T) {
	ctx := context.Background()
	_, log, s, c := rejectingGroup(t)
	if err := s.Send(ctx, draftOf(c, 1, 1, "zero")); err != nil {
		t.Fatal(err)
	}
	// Both copies pass the gate before the log has answered the first.
	release := log.holdNext()
	first, second := draftOf(c, 1, 2, "first"), draftOf(c, 1, 2, "first")
	done := make(chan *message.Draft, 2)
	first.Done, second.Done = func(d *message.Draft) { done <- d }, func(d *message.Draft) { done <- d }
	s.Submit(first)
	log.refuse = 1
	s.Submit(second)
	if d := <-done; d != second || d.Err == nil {
		t.Fatalf("the second copy ends with %v", d.Err)
	}
	release()
	if d := <-done; d.Err != nil {
		t.Fatalf("the first copy ends with %v", d.Err)
	}
	if err := s.Send(ctx, draftOf(c, 1, 3, "next")); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

// A conversation that expects a retry stays in memory, while others are evicted: without its gate, later messages would be stored before the retry.
func TestEvictionKeepsSenderGates(t *testing.T) {
	ctx := t.Context()
	_, log, s, c := rejectingGroup(t)
	const others = 12
	chat.SetMaxCached(s, 4)
	log.refuse = 1
	if err := s.Send(ctx, draftOf(c, 1, 1, "rejected")); errs.Of(err).Retry == 0 {
		t.Fatalf("the first message: %v, want a rejection that may be retried", err)
	}
	for i := range uint64(others) {
		other, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "other", Members: []uint64{2}})
		if err == nil {
			err = s.Send(ctx, draftOf(other, 1, i+2, "elsewhere"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const last = others + 2
	if err := s.Send(ctx, draftOf(c, 1, last, "later")); errs.Of(err).Retry == 0 {
		t.Errorf("a message after the rejected one: %v, want a rejection that may be retried", err)
	}
	for _, d := range []*message.Draft{draftOf(c, 1, 1, "rejected"), draftOf(c, 1, last, "later")} {
		if err := s.Send(ctx, d); err != nil {
			t.Errorf("message %d again: %v", d.ClientSeq, err)
		}
	}
}
