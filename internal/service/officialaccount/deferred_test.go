package officialaccount_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// prefixRules answer what begins with n.
func (w *fixture) prefixRules() {
	w.t.Helper()
	w.replies(&chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{rule(prefix, "got 0", "n0"), rule(prefix, "got 1", "n1"), rule(prefix, "got it", "n")}})
}

// A conversation that does not answer holds up no other conversation of the account, and its messages are answered when it answers again: each once,
// also if later ones were answered before.
func TestOneConversationHoldsUpNoOther(t *testing.T) {
	for _, cause := range []error{errBusy, errFault} {
		w := open(t)
		w.prefixRules()
		w.failPeer = map[id.Conversation]error{direct(ann, shop): cause}
		w.write(ann+1, "n")
		w.write(ann, "n0")
		w.write(ann+2, "n")
		w.answer()
		w.check(ann+1, "got it")
		w.check(ann+2, "got it")
		w.check(ann)
		w.failPeer = nil
		w.write(ann, "n1")
		w.answer()
		w.check(ann, "got 1")
		w.pass(10 * time.Second)
		w.Service = w.another() // a restart forgets nothing
		w.answer()
		w.answer()
		w.check(ann, "got 1", "got 0")
		if n := w.rows(`SELECT COUNT(*) FROM official_deferred`); n != 0 || w.Abandoned().Messages.Load() != 0 {
			t.Errorf("%d events are deferred at the end, and %d given up", n, w.Abandoned().Messages.Load())
		}
		if w.endless != 0 {
			t.Errorf("%d calls had no deadline, so one conversation could hold up all others", w.endless)
		}
	}
}

// Two nodes that try a deferred event at once answer it once.
func TestTwoNodesAnswerADeferredEventOnce(t *testing.T) {
	w := open(t)
	w.prefixRules()
	w.failPeer = map[id.Conversation]error{direct(ann, shop): errBusy}
	w.write(ann, "n0")
	w.answer()
	w.failPeer = nil
	w.pass(10 * time.Second)
	other := w.another()
	nested := false
	w.failSync = func(message.Position, int) error { // the other node answers and sends while this one reads
		if !nested {
			nested = true
			w.mu.Unlock()
			defer w.mu.Lock()
			must(t, other.AnswerDeferred(t.Context()))
			must(t, other.SendReplies(t.Context()))
		}
		return nil
	}
	must(t, w.AnswerDeferred(t.Context()))
	w.failSync = nil
	w.answer()
	w.check(ann, "got 0")
}

// An account defers a bounded number of events. While it has as many, it waits, and it answers all of them afterwards.
func TestDeferredEventsAreBounded(t *testing.T) {
	w := open(t)
	w.prefixRules()
	w.failPeer = map[id.Conversation]error{}
	for i := range id.User(120) {
		w.failPeer[direct(ann+i, shop)] = errBusy
		w.write(ann+i, "n")
	}
	w.write(ann+500, "n")
	w.answer()
	w.pass(time.Minute)
	w.answer()
	if n := w.rows(`SELECT COUNT(*) FROM official_deferred`); n != 100 {
		t.Errorf("%d events are deferred, want 100", n)
	}
	w.check(ann + 500)
	w.failPeer = nil
	for range 60 {
		w.pass(10 * time.Second)
		w.answer()
	}
	for _, u := range []id.User{ann, ann + 119, ann + 500} {
		w.check(u, "got it")
	}
}

// What is deferred when an account is disabled, or ceases to answer, is not answered later.
func TestDeferredEventsOfAccountsThatCeaseToAnswer(t *testing.T) {
	for name, stop := range map[string]func(w *fixture){
		"disabled": func(w *fixture) {
			_, err := w.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: uint64(shop), Disabled: true})
			must(t, err)
		},
		"without replies": func(w *fixture) { w.replies(&chatv1.OfficialReplies{}) },
	} {
		w := open(t)
		w.prefixRules()
		w.failPeer = map[id.Conversation]error{direct(ann, shop): errBusy}
		w.write(ann, "n0")
		w.answer()
		w.failPeer = nil
		stop(w)
		w.pass(10 * time.Second)
		w.answer()
		if w.check(ann); w.rows(`SELECT COUNT(*) FROM official_deferred`) != 0 {
			t.Errorf("%s: an event is still deferred", name)
		}
	}
}

// A reply that is tried again keeps its place before the next ones of its conversation, and delays none of another.
func TestRepliesKeepTheOrderWhenTheyAreTriedAgain(t *testing.T) {
	w := open(t)
	w.prefixRules()
	busy := true
	w.onSend = func(d *message.Draft) error {
		if busy && d.Conversation == direct(ann, shop) {
			return errBusy
		}
		return nil
	}
	for i := range 3 {
		w.write(ann, fmt.Sprint("n", i))
	}
	w.write(ann+1, "n")
	w.answer()
	w.check(ann+1, "got it")
	busy = false
	w.answer()
	w.check(ann)
	w.pass(10 * time.Second)
	w.answer()
	w.check(ann, "got 0", "got 1", "got it")
}

// An account whose stream cannot be read holds up no other account.
func TestOneAccountHoldsUpNoOther(t *testing.T) {
	w := open(t)
	w.prefixRules()
	_, err := w.Update(t.Context(), rival, &chatv1.UpdateOfficialAccountRequest{User: uint64(rival), Replies: &chatv1.OfficialReplies{Fallback: text("hello")}})
	must(t, err)
	w.failTails = rival
	w.write(ann, "n0")
	if err := w.AnswerMessages(t.Context()); reason(err) != "busy" {
		t.Errorf("the account that cannot be read: %v", err)
	}
	must(t, w.SendReplies(t.Context()))
	w.check(ann, "got 0")
}
