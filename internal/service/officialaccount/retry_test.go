package officialaccount_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
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
		if got := w.GivenUp().Replies.Load(); tried != attempts || got != 1 || w.rows(`SELECT COUNT(*) FROM official_replies`) != 0 {
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
		if got := w.GivenUp().Messages.Load(); alone != attempts+1 || got != 1 { // once more to learn what follows
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
	if got := w.get(b); got.State != chatv1.Broadcast_STATE_PAUSED || w.GivenUp().Broadcasts.Load() != 1 || w.rows(`SELECT COUNT(*) FROM official_broadcasts WHERE pending`) != 0 {
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
func TestBroadcastsThatAreOverAreGivenUp(t *testing.T) {
	w := open(t)
	w.crowd(2)
	w.onSend = func(*message.Draft) error { return errBusy }
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	for range 40 {
		must(t, w.SendBroadcasts(t.Context()))
		w.pass(10 * time.Minute)
	}
	if got := w.get(b); got.State != chatv1.Broadcast_STATE_DONE || got.Failed != 2 || w.GivenUp().Broadcasts.Load() != 1 || w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE state = 1`) != 0 {
		t.Errorf("the broadcast is %v, want two failed messages", got)
	}
}
