package officialaccount_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errBusy  = errs.New(errs.Unavailable, "busy", "")
	errFault = errs.New(errs.Internal, "internal", "")
)

// rows counts what a query counts.
func (w *fixture) rows(query string) (n int) {
	w.t.Helper()
	must(w.t, w.db.Read().QueryRowContext(w.t.Context(), query).Scan(&n))
	return n
}

// A reply that fails too often is dropped, and does not delay those to others.
func TestRepliesAreGivenUp(t *testing.T) {
	for cause, attempts := range map[*errs.Error]int{errBusy: 20, errFault: 5} {
		w := open(t)
		w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
		tried := 0
		w.onSend = func(d *message.Draft) error {
			if d.Conversation != direct(ann, shop) {
				return nil
			}
			tried++
			return cause
		}
		w.write(ann, "hi")
		w.write(ann+1, "hi")
		w.answer()
		w.check(ann+1, "hello")
		for range 30 {
			w.pass(10 * time.Minute)
			must(t, w.SendReplies(t.Context()))
		}
		if got := w.Abandoned().Replies.Load(); tried != attempts || got != 1 || w.rows(`SELECT COUNT(*) FROM official_replies`) != 0 {
			t.Errorf("%s: %d attempts, %d given up, want %d and 1, and no row", cause.Reason, tried, got, attempts)
		}
	}
}

// The delays between the attempts grow: within an hour there are few.
func TestDelaysOfRepliesGrow(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
	var tried []time.Duration // since the first attempt
	passed := time.Duration(0)
	w.onSend = func(*message.Draft) error { tried = append(tried, passed); return errBusy }
	w.write(ann, "hi")
	w.answer()
	for range 360 {
		w.pass(10 * time.Second)
		passed += 10 * time.Second
		must(t, w.SendReplies(t.Context()))
	}
	if len(tried) < 11 || len(tried) > 17 { // after up to 10, 30, 70, 150, 310, 630 s, and then each up to 600 s
		t.Errorf("%d attempts in an hour, want 11 to 17", len(tried))
	}
	longest := 10 * time.Second
	for i := range tried[1:] {
		if delay := tried[i+1] - tried[i]; delay < longest/2 || delay > longest {
			t.Errorf("delay %d was %v, want %v to %v", i+1, delay, longest/2, longest)
		}
		longest = min(2*longest, 10*time.Minute)
	}
}

// An event of an account's stream that cannot be read is skipped after some attempts; those around it are answered.
func TestEventsThatCannotBeReadAreSkipped(t *testing.T) {
	for cause, attempts := range map[*errs.Error]int{errBusy: 20, errFault: 5} {
		w := open(t)
		w.replies(&chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{rule(prefix, "got it", "n")}})
		for i := range 5 {
			w.write(ann, fmt.Sprint("n", i))
		}
		alone := 0
		w.failSync = func(after message.Position, limit int) error { // the third
			if after > 2 || int(after)+limit <= 2 {
				return nil
			}
			if limit == 1 {
				alone++
			}
			return cause
		}
		for range 60 {
			w.answer()
			w.pass(10 * time.Minute)
		}
		w.check(ann, "got it", "got it", "got it", "got it")
		if got := w.Abandoned().Messages.Load(); alone != attempts+1 || got != 1 { // once more to learn what follows
			t.Errorf("%s: the event was read %d times, and %d given up, want %d and 1", cause.Reason, alone, got, attempts+1)
		}
		w.failSync = nil
		w.write(ann, "n5")
		w.answer()
		w.check(ann, "got it", "got it", "got it", "got it", "got it")
	}
}

// A broadcast whose steps fail again and again is paused, and goes on where it was when an operator resumes it.
func TestBroadcastsThatFailArePaused(t *testing.T) {
	w := open(t)
	w.crowd(40)
	w.onSend = func(*message.Draft) error { return errBusy }
	b := w.broadcast(&chatv1.CreateBroadcastRequest{PerMinute: 60})
	for range 40 {
		must(t, w.SendBroadcasts(t.Context()))
		w.pass(10 * time.Minute)
	}
	if got := w.get(b); got.State != chatv1.Broadcast_STATE_PAUSED || w.Abandoned().Broadcasts.Load() != 1 || w.rows(`SELECT COUNT(*) FROM official_broadcasts WHERE pending`) != 0 {
		t.Errorf("the broadcast is %v, want a paused one without a next step", got)
	}
	w.onSend = nil
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RESUME, nil))
	w.steps(60)
	if got := w.get(b); w.reached("sale") != 40 || got.Sent != 40 || got.Failed != 0 || got.State != chatv1.Broadcast_STATE_DONE {
		t.Errorf("after it was resumed it is %v", got)
	}
}

// Of a broadcast that is over, the recipients who cannot be reached have failed in the end.
func TestUnreachableRecipientsFailInTheEnd(t *testing.T) {
	w := open(t)
	w.crowd(2)
	w.onSend = func(*message.Draft) error { return errBusy }
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	for range 170 {
		must(t, w.SendBroadcasts(t.Context()))
		w.pass(10 * time.Minute)
	}
	if got := w.get(b); got.State != chatv1.Broadcast_STATE_DONE || got.Failed != 2 || w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE state = 1`) != 0 || w.rows(`SELECT COUNT(*) FROM official_broadcasts WHERE pending`) != 0 {
		t.Errorf("the broadcast is %v, want two failed messages", got)
	}
}

// A broadcast that is over, and whose steps fail again and again, is given up. Its messages may be stored all the same, so a recall reaches them.
func TestBroadcastsThatAreOverAreGivenUp(t *testing.T) {
	w := open(t)
	w.crowd(2)
	w.afterSend = func(*message.Draft) error { // stored, and nobody learned of it
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failFollowers = errBusy
		return errBusy
	}
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	for range 40 {
		must(t, w.SendBroadcasts(t.Context()))
		w.pass(10 * time.Minute)
	}
	if got := w.get(b); got.State != chatv1.Broadcast_STATE_DONE || got.Failed != 2 || w.Abandoned().Broadcasts.Load() != 1 || w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE state = 1`) != 0 {
		t.Errorf("the broadcast is %v, want two failed messages", got)
	}
	w.failFollowers, w.afterSend = nil, nil
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil))
	w.steps(5)
	if got := w.get(b); w.reached("sale", "recall 1") != 2 || got.Sent != 2 || got.Failed != 0 || got.Updating {
		t.Errorf("after the recall: %v, with %q", got, w.said(ann))
	}
}

// A recipient who cannot be reached neither pauses a broadcast between its waves nor delays others, and gets it when that ends.
func TestAnUnreachableRecipientHoldsUpNoWave(t *testing.T) {
	w := open(t)
	w.crowd(40)
	var unreachable id.Conversation
	w.onSend = func(d *message.Draft) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if unreachable == 0 {
			unreachable = d.Conversation
		}
		if d.Conversation == unreachable {
			return errBusy
		}
		return nil
	}
	b := w.broadcast(&chatv1.CreateBroadcastRequest{Waves: []uint32{50, 100}, WaveSeconds: 5 * 3600})
	w.steps(10)
	first := w.get(b)
	for range 5 * 60 {
		if got := w.get(b); got.Sent != first.Sent || got.State != chatv1.Broadcast_STATE_RUNNING {
			t.Fatalf("between two waves: %v, before: %v", got, first)
		}
		must(t, w.SendBroadcasts(t.Context()))
		w.pass(time.Minute - time.Second)
	}
	w.pass(5 * time.Minute)
	w.steps(10)
	if got := w.get(b); got.Sent != 39 || got.State != chatv1.Broadcast_STATE_DONE {
		t.Errorf("10 s after the second wave began: %v", got)
	}
	w.onSend = nil
	w.pass(10 * time.Minute)
	w.steps(2)
	if got := w.get(b); got.Sent != 40 || w.reached("sale") != 40 || w.Abandoned().Broadcasts.Load() != 0 {
		t.Errorf("at the end: %v", got)
	}
}

// Many unreachable recipients leave half of each step to others, and so do copies that cannot be changed.
func TestUnreachableRecipientsTakeHalfOfAStep(t *testing.T) {
	w := open(t)
	w.crowd(300)
	busy := true
	w.onSend = func(d *message.Draft) error {
		if busy && d.Conversation%2 == 0 {
			return errBusy
		}
		return nil
	}
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.steps(55)
	if got := w.get(b); got.Sent != 150 {
		t.Errorf("within 55 s %d were reached, want 150: %v", got.Sent, got)
	}
	busy = false
	w.steps(150)
	if got := w.get(b); got.Sent != 300 {
		t.Errorf("at the end: %v", got)
	}
	busy = true
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil))
	w.steps(55)
	if n := w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE revision = 2`); n != 150 {
		t.Errorf("within 55 s the recall reached %d, want 150", n)
	}
}

// Copies that cannot be changed for a day are given up. The same recall again reaches them.
func TestCopiesAreGivenUp(t *testing.T) {
	w := open(t)
	w.crowd(4)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.steps(2)
	w.onSend = func(d *message.Draft) error {
		if d.Conversation%2 == 0 {
			return errBusy
		}
		return nil
	}
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil))
	for range 170 {
		must(t, w.SendBroadcasts(t.Context()))
		w.pass(10 * time.Minute)
	}
	if got := w.get(b); got.Updating || w.rows(`SELECT COUNT(*) FROM official_broadcasts WHERE pending`) != 0 || w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE revision = 1`) != 2 {
		t.Errorf("a day later: %v, want two copies that are given up", got)
	}
	w.onSend = nil
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil))
	w.steps(2)
	if n := w.reached("sale", "recall 1"); n != 4 {
		t.Errorf("the second recall reached %d copies, want all 4", n)
	}
}

// A cancelled broadcast is not tried again, and a paused one not before it is resumed.
func TestPausedAndCancelledBroadcastsAreNotRetried(t *testing.T) {
	for action, tries := range map[chatv1.ChangeBroadcastRequest_Action]int{chatv1.ChangeBroadcastRequest_ACTION_PAUSE: 1, chatv1.ChangeBroadcastRequest_ACTION_CANCEL: 2} {
		w := open(t)
		w.crowd(40)
		tried := 0
		w.onSend = func(d *message.Draft) error {
			if d.Conversation != direct(shop, ann) {
				return nil
			}
			tried++
			return errBusy
		}
		b := w.broadcast(&chatv1.CreateBroadcastRequest{})
		w.steps(1)
		must(t, w.change(b, action, nil))
		w.pass(time.Minute)
		w.steps(600)
		if tried != tries {
			t.Errorf("after %v it was tried %d times, want %d", action, tried, tries)
		}
	}
}
