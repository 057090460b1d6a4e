package officialaccount_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (w *fixture) crowd(n int) {
	for i := range n {
		w.followers = append(w.followers, ann+id.User(i))
	}
}

func (w *fixture) broadcast(r *chatv1.CreateBroadcastRequest) *chatv1.Broadcast {
	w.t.Helper()
	r.User = uint64(shop)
	if r.Key == "" {
		r.Key = "sale"
	}
	if r.Content == nil {
		r.Content = text("sale")
	}
	b, err := w.CreateBroadcast(w.t.Context(), clerk, r)
	must(w.t, err)
	return b
}

func (w *fixture) get(b *chatv1.Broadcast) *chatv1.Broadcast {
	w.t.Helper()
	b, err := w.GetBroadcast(w.t.Context(), clerk, b.Id)
	must(w.t, err)
	return b
}

func (w *fixture) change(b *chatv1.Broadcast, action chatv1.ChangeBroadcastRequest_Action, content *chatv1.Content) error {
	_, err := w.ChangeBroadcast(w.t.Context(), clerk, &chatv1.ChangeBroadcastRequest{Broadcast: b.Id, Action: action, Content: content})
	return err
}

// steps makes the rounds of so many seconds.
func (w *fixture) steps(n int) {
	w.t.Helper()
	for range n {
		must(w.t, w.SendBroadcasts(w.t.Context()))
		w.pass(time.Second)
	}
}

// reached counts the followers who were told exactly this, and fails if any was told something else.
func (w *fixture) reached(want ...string) (n int) {
	w.t.Helper()
	for _, u := range w.followers {
		switch got := w.said(u); {
		case slices.Equal(got, want):
			n++
		case len(got) > 0:
			w.t.Errorf("%d was told %q, want %q or nothing", u, got, want)
		}
	}
	return n
}

// Each wave reaches its share and waits; the last reaches all. Nobody gets a broadcast twice.
func TestWavesReachAllFollowersOnce(t *testing.T) {
	w := open(t)
	w.crowd(100)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{Waves: []uint32{10, 50, 100}, WaveSeconds: 600})
	if again := w.broadcast(&chatv1.CreateBroadcastRequest{}); again.Id != b.Id {
		t.Errorf("a retry made another broadcast: %v", again)
	}
	w.steps(60)
	first := w.reached("sale")
	if first == 0 || first > 25 || w.get(b).Wave != 1 {
		t.Errorf("the first wave reached %d: %v", first, w.get(b))
	}
	w.pass(9 * time.Minute)
	w.steps(60)
	second := w.reached("sale")
	if second < 30 || second > 70 {
		t.Errorf("two waves reached %d", second)
	}
	w.pass(10 * time.Minute)
	w.steps(60)
	if got := w.get(b); w.reached("sale") != 100 || got.Sent != 100 || got.Failed != 0 || got.State != chatv1.Broadcast_STATE_DONE {
		t.Errorf("it reached %d: %v", w.reached("sale"), got)
	}
}

// A step sends at most what the deployment and the broadcast allow, and not before the start.
func TestBroadcastsKeepTheirRate(t *testing.T) {
	w := open(t)
	w.crowd(50)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{StartMs: w.nowMs + 5_000, PerMinute: 240})
	w.steps(5)
	if n := w.reached("sale"); n != 0 {
		t.Errorf("%d were reached before the start", n)
	}
	w.steps(3)
	if n := w.reached("sale"); n != 12 {
		t.Errorf("%d were reached in 3 s, want 12", n)
	}
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_CANCEL, nil))
	w.steps(1) // it is over
	fast := w.broadcast(&chatv1.CreateBroadcastRequest{Key: "fast", Content: text("fast")})
	w.steps(2)
	if got := w.get(fast).Sent; got != 20 {
		t.Errorf("%d were sent in 2 s, want 20", got)
	}
}

// A node that dies while it sends leaves the rest to another one, which sends to nobody a second time.
func TestACrashRepeatsNoBroadcast(t *testing.T) {
	w := open(t)
	w.crowd(30)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	ctx, crash := context.WithCancel(t.Context())
	w.afterSend = func(d *message.Draft) error {
		if d.Conversation == direct(shop, ann+14) {
			crash()
			return ctx.Err()
		}
		return nil
	}
	w.steps(1)
	if err := w.SendBroadcasts(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want none or %v", err, context.Canceled)
	}
	w.afterSend = nil
	w.Service = w.another()
	w.pass(10 * time.Second)
	w.steps(10)
	if got := w.get(b); w.reached("sale") != 30 || got.Sent != 30 || got.Failed != 0 {
		t.Errorf("it reached %d: %v", w.reached("sale"), got)
	}
}

// Of two nodes that send at the same time, none repeats what the other sends.
func TestTwoNodesRepeatNoBroadcast(t *testing.T) {
	w := open(t)
	w.crowd(30)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	other := w.another()
	w.onSend = func(*message.Draft) error { // the other node makes a round in the middle of this one's
		w.mu.Lock()
		nested := other
		other = nil
		w.mu.Unlock()
		if nested != nil {
			return nested.SendBroadcasts(t.Context())
		}
		return nil
	}
	w.steps(10)
	if got := w.get(b); w.reached("sale") != 30 || got.Sent != 30 {
		t.Errorf("it reached %d: %v", w.reached("sale"), got)
	}
}

// Who no longer follows gets nothing, also if a step that died had stored the delivery.
func TestWhoUnfollowsGetsNothing(t *testing.T) {
	w := open(t)
	w.crowd(15)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.onSend = func(*message.Draft) error { return errs.New(errs.Unavailable, "busy", "") }
	w.steps(1)
	w.followers = w.followers[5:]
	w.onSend = nil
	w.pass(10 * time.Second)
	w.steps(5)
	if got := w.get(b); w.reached("sale") != 10 || got.Sent != 10 || got.Failed != 0 {
		t.Errorf("it reached %d: %v", w.reached("sale"), got)
	}
	for i := range 5 {
		w.check(ann + id.User(i))
	}
}

// A copy that was stored by a step that died is recalled, also from a user who no longer follows.
func TestCopiesOfWhoUnfollowsAreRecalled(t *testing.T) {
	w := open(t)
	w.crowd(5)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.afterSend = func(*message.Draft) error { return errs.New(errs.Internal, "dead", "") } // stored, and nobody learned of it
	w.steps(1)
	w.afterSend = nil
	all := w.followers
	w.followers = w.followers[2:]
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil))
	w.pass(10 * time.Second)
	w.steps(5)
	w.followers = all
	if n := w.reached("sale", "recall 1"); n != 5 || w.get(b).Sent != 5 {
		t.Errorf("the recall reached %d copies: %v", n, w.get(b))
	}
}

// An edit reaches copies and what is not sent yet; a recall takes all copies back.
func TestEditsAndRecallsReachAllCopies(t *testing.T) {
	w := open(t)
	w.crowd(20)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.steps(1)
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_EDIT, text("big sale")))
	if !w.get(b).Updating {
		t.Error("the edit is not shown as under way")
	}
	w.steps(5)
	for _, u := range w.followers[:10] {
		w.check(u, "sale", "edit 1 big sale")
	}
	for _, u := range w.followers[10:] {
		w.check(u, "big sale")
	}
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil))
	w.steps(5)
	for _, u := range w.followers {
		if got := w.said(u); got[len(got)-1] != "recall 1" {
			t.Errorf("%d was told %q", u, got)
		}
	}
	if got := w.get(b); got.Updating || got.State != chatv1.Broadcast_STATE_RECALLED || got.Revision != 3 {
		t.Errorf("after the recall: %v", got)
	}
	if err := w.change(b, chatv1.ChangeBroadcastRequest_ACTION_EDIT, text("no")); reason(err) != "broadcast_over" {
		t.Errorf("an edit after the recall: %v", err)
	}
	if w.endless != 0 {
		t.Errorf("%d sends had no deadline, so one recipient could hold up all others", w.endless)
	}
}

// A copy that was stored by a step that died is found again after an edit or a recall, whose content differs.
func TestCopiesOfADeadStepAreUpdated(t *testing.T) {
	for _, action := range []chatv1.ChangeBroadcastRequest_Action{chatv1.ChangeBroadcastRequest_ACTION_EDIT, chatv1.ChangeBroadcastRequest_ACTION_RECALL} {
		w := open(t)
		w.crowd(5)
		b := w.broadcast(&chatv1.CreateBroadcastRequest{})
		w.afterSend = func(*message.Draft) error { return errs.New(errs.Internal, "dead", "") } // stored, and nobody learned of it
		w.steps(1)
		w.afterSend = nil
		must(t, w.change(b, action, text("big sale")))
		w.pass(10 * time.Second)
		w.steps(5)
		want := "edit 1 big sale"
		if action == chatv1.ChangeBroadcastRequest_ACTION_RECALL {
			want = "recall 1"
		}
		if n := w.reached("sale", want); n != 5 || w.get(b).Sent != 5 {
			t.Errorf("%v reached %d copies: %v", action, n, w.get(b))
		}
	}
}

// A paused broadcast sends nothing until it is resumed; a cancelled one never does.
func TestPauseResumeAndCancel(t *testing.T) {
	w := open(t)
	w.crowd(30)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.steps(1)
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_PAUSE, nil))
	w.steps(5)
	if n := w.reached("sale"); n != 10 {
		t.Errorf("%d were reached while it was paused", n)
	}
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RESUME, nil))
	w.steps(1)
	must(t, w.change(b, chatv1.ChangeBroadcastRequest_ACTION_CANCEL, nil))
	w.steps(5)
	if n := w.reached("sale"); n != 20 {
		t.Errorf("%d were reached until it was cancelled", n)
	}
	if err := w.change(b, chatv1.ChangeBroadcastRequest_ACTION_RESUME, nil); reason(err) != "broadcast_over" {
		t.Errorf("resuming a cancelled one: %v", err)
	}
}

// An audience is those with one of the labels and one of the languages.
func TestAudiencesByLabelAndLanguage(t *testing.T) {
	w := open(t)
	w.crowd(12)
	label := func(label string, remove bool, users ...id.User) {
		t.Helper()
		r := &chatv1.SetFollowerLabelRequest{User: uint64(shop), Label: label, Remove: remove}
		for _, u := range users {
			r.Followers = append(r.Followers, uint64(u))
		}
		must(t, w.SetLabel(t.Context(), clerk, r))
	}
	label("vip", false, ann, ann+1, ann+2, 9999) // the last does not follow
	label("new", false, ann+3)
	label("vip", true, ann+2)
	w.locales[ann], w.locales[ann+1], w.locales[ann+3] = "zh-Hans", "en", "zh"
	b := w.broadcast(&chatv1.CreateBroadcastRequest{Audience: &chatv1.BroadcastAudience{Labels: []string{"vip", "new"}, Languages: []string{"zh"}}})
	w.steps(5)
	if got := w.get(b); got.Sent != 2 {
		t.Errorf("it reached %d", got.Sent)
	}
	w.check(ann, "sale")
	w.check(ann+3, "sale")
	a, err := w.Get(t.Context(), clerk, &chatv1.GetOfficialAccountRequest{User: uint64(shop)})
	must(t, err)
	if !slices.Equal(a.Labels, []string{"new", "vip"}) {
		t.Errorf("the labels are %q", a.Labels)
	}
	list, err := w.ListFollowers(t.Context(), clerk, &chatv1.ListOfficialFollowersRequest{User: uint64(shop), Label: "vip", Limit: 1})
	must(t, err)
	if len(list.Followers) != 1 || list.Followers[0].User != uint64(ann) || list.Next != fmt.Sprint(uint64(ann)) {
		t.Errorf("the first page of the label is %v", list)
	}
}

// Blocked recipients are counted as failed, and hold up nobody.
func TestRefusedDeliveriesAreCounted(t *testing.T) {
	w := open(t)
	w.crowd(12)
	w.onSend = func(d *message.Draft) error {
		if d.Conversation == direct(shop, ann+3) {
			return errs.New(errs.Denied, "blocked", "")
		}
		return nil
	}
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.steps(4)
	if got := w.get(b); got.Sent != 11 || got.Failed != 1 || got.State != chatv1.Broadcast_STATE_DONE {
		t.Errorf("the progress is %v", got)
	}
}

// A broadcast is sent once each of its recipients was tried: until then it runs, also when all of them are claimed.
func TestABroadcastRunsUntilItsLastRecipientWasTried(t *testing.T) {
	w := open(t)
	w.crowd(2)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	var mu sync.Mutex
	var during []chatv1.Broadcast_State
	w.onSend = func(*message.Draft) error {
		mu.Lock()
		defer mu.Unlock()
		during = append(during, w.get(b).State)
		return nil
	}
	w.steps(1)
	if want := []chatv1.Broadcast_State{chatv1.Broadcast_STATE_RUNNING, chatv1.Broadcast_STATE_RUNNING}; !slices.Equal(during, want) {
		t.Errorf("while it is sent, its states are %v", during)
	}
	if got := w.get(b); got.State != chatv1.Broadcast_STATE_DONE || got.Sent != 2 {
		t.Errorf("afterwards: %v, %d sent", got.State, got.Sent)
	}
}
