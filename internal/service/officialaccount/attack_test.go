package officialaccount_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A recipient whose conversation is damaged, or unavailable, holds up neither a broadcast nor its edit. The latter is tried until it is reached.
func TestADamagedConversationHoldsUpNoBroadcast(t *testing.T) {
	w := open(t)
	w.crowd(60)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	damaged, unavailable, edits := direct(shop, ann+3), direct(shop, ann+4), 0
	w.onSend = func(d *message.Draft) error {
		switch {
		case d.Conversation == damaged:
			return errors.New("damaged")
		case d.Conversation == unavailable && edits == 0:
			return &errs.Error{Kind: errs.Unavailable, Reason: "busy", Retry: time.Second}
		}
		return nil
	}
	w.steps(10)
	if got := w.get(b); got.Sent != 58 {
		t.Errorf("after 10 s: %v", got)
	}
	w.steps(150)
	if got := w.get(b); got.Failed != 1 || got.Sent != 58 {
		t.Errorf("after five tries: %v", got)
	}
	edits = 1
	w.steps(160)
	if got := w.get(b); got.Failed != 1 || got.Sent != 59 || got.State != chatv1.Broadcast_STATE_DONE {
		t.Errorf("at the end: %v", got)
	}
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_EDIT, text("dearer")))
	damaged = direct(shop, ann+1)
	w.steps(20)
	if n := w.rows(`SELECT COUNT(*) FROM official_deliveries WHERE revision = 2`); n != 59 {
		t.Errorf("20 s after an edit %d have it, want 59", n)
	}
	w.steps(150)
	if got := w.get(b); got.Updating || len(w.said(ann+2)) != 2 || len(w.said(ann+1)) != 1 {
		t.Errorf("after an edit: %v, %v and %v", got, w.said(ann+1), w.said(ann+2))
	}
}

// What was written while an account was disabled is not answered later.
func TestDisabledAccountsDoNotAnswerLater(t *testing.T) {
	w := open(t)
	w.replies(&chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{rule(chatv1.KeywordRule_MATCH_CONTAINS, "hi", "hello")}})
	put := func(disabled bool) {
		t.Helper()
		_, err := w.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: uint64(shop), Disabled: disabled})
		must(t, err)
	}
	put(true)
	w.write(ann, "hello")
	w.answer()
	put(false)
	w.answer()
	w.check(ann)
	w.write(ann, "hello")
	w.answer()
	put(false) // no change
	w.answer()
	w.check(ann, "hi")
}

// Replies are sent in the order of the messages, also from the ninth to the tenth.
func TestRepliesKeepTheOrder(t *testing.T) {
	w := open(t)
	var rules []*chatv1.KeywordRule
	for _, k := range []string{"a", "b", "c", "d"} {
		rules = append(rules, rule(chatv1.KeywordRule_MATCH_EXACT, "to "+k, k))
	}
	w.replies(&chatv1.OfficialReplies{Rules: rules})
	for _, said := range []string{"-", "-", "-", "-", "-", "-", "-", "-", "a", "b", "c", "d"} {
		w.write(ann, said)
	}
	w.answer()
	w.check(ann, "to a", "to b", "to c", "to d")
}

// A language means the same in any case and length.
func TestLanguagesOfAnAudience(t *testing.T) {
	w := open(t)
	w.crowd(3)
	w.locales[ann], w.locales[ann+1], w.locales[ann+2] = "en-GB", "zh", "de"
	b := w.broadcast(&chatv1.CreateBroadcastRequest{Audience: &chatv1.BroadcastAudience{Languages: []string{"EN", "zho"}}})
	w.steps(3)
	if got := w.get(b).Sent; got != 2 {
		t.Errorf("%d were reached, want those with en and zh", got)
	}
}

// Broadcasts of a disabled account, which send nothing, do not take the rate of others.
func TestDisabledBroadcastsTakeNoRate(t *testing.T) {
	w := open(t)
	w.crowd(60)
	for _, key := range []string{"a", "b", "c", "d"} {
		w.broadcast(&chatv1.CreateBroadcastRequest{Key: key})
	}
	_, err := w.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: uint64(shop), Disabled: true})
	must(t, err)
	b, err := w.CreateBroadcast(t.Context(), rival, &chatv1.CreateBroadcastRequest{User: uint64(rival), Key: "k", Content: text("x")})
	must(t, err)
	w.steps(3)
	if b, err = w.GetBroadcast(t.Context(), rival, b.Id); err != nil || b.Sent != 2+10+10 {
		t.Errorf("in 3 s, with 10 in each, %d were sent, and %v", b.GetSent(), err)
	}
	_, err = w.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: uint64(shop)})
	must(t, err)
	w.pass(time.Minute)
	w.steps(60)
	if n := len(w.said(ann)); n != 4 {
		t.Errorf("after the account is enabled, a follower has %d of 4", n)
	}
}
