package chat_test

import (
	"context"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Until an edit or a recall of a message is acknowledged, its text may be pushed without a look at the rows. With several nodes, that is
// over before the acknowledgement; a single node notes it.
func TestEntriesThatMayBeOutdated(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	deps.SingleNode = true
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	stored := func(seq uint64) []byte {
		t.Helper()
		entries, err := h.log.Get(ctx, []timeline.Ref{{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, From: seq, To: seq}})
		must(t, err)
		return entries[0].Payload
	}
	expect := func(what string, seq uint64, want bool) {
		t.Helper()
		if s.MayBeOutdated(stored(seq)) != want {
			t.Errorf("%s may be outdated: %v, want %v", what, !want, want)
		}
	}
	expect("a control entry", 1, false)
	expect("a young message", d.Seq, false)
	h.clock.ms.Add(499)
	expect("a young message", d.Seq, false)
	h.clock.ms.Add(1)
	expect("an older message", d.Seq, true)
	young := draftOf(c, 1, 2, "second")
	must(t, s.Send(ctx, young))
	expect("a young message", young.Seq, false)
	reaction := updateDraft(t, c, 1, 3, reactionOf(young.Seq, "👍", false))
	must(t, s.Send(ctx, reaction))
	expect("a young message with a reaction", young.Seq, false)
	expect("a reaction", reaction.Seq, false)
	edit := updateDraft(t, c, 1, 4, editOf(young.Seq, "third"))
	must(t, s.Send(ctx, edit))
	expect("a young message after an edit", young.Seq, true)
	expect("an edit", edit.Seq, true)
	h.clock.ms.Add(2000)
	later := draftOf(c, 1, 5, "fourth")
	must(t, s.Send(ctx, later))
	expect("a young message some time after an edit", later.Seq, false)
	h.clock.ms.Add(-100)
	expect("a message from the future", later.Seq, true)

	m := &message.Stored{Conversation: c, Seq: young.Seq, Counted: young.Counted}
	must(t, m.Entry.Decode(stored(young.Seq)))
	must(t, s.Refresh(ctx, []*message.Stored{m}))
	if text, _ := message.TextOf(m.Entry.Content); string(text) != "third" || m.State == nil {
		t.Errorf("after a refresh it has %q and the state %x", text, m.State)
	}
}

// A single node acknowledges an edit or a recall when what waited to be pushed is pushed, however old the message is; a reaction at once.
func TestAcknowledgementsAwaitPushes(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	deps.SingleNode = true
	awaited := 0
	deps.AwaitPushes = func(context.Context) error {
		awaited++
		return nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	for i, content := range []*chatv1.Content{reactionOf(d.Seq, "👍", false), editOf(d.Seq, "second"), editOf(d.Seq, "third"), recallOf(d.Seq)} {
		if i == 2 {
			h.clock.ms.Add(10_000)
		}
		must(t, s.Send(ctx, updateDraft(t, c, 1, uint64(i)+2, content)))
		if awaited != i {
			t.Errorf("after update %d, pushes were awaited %d times, want %d", i, awaited, i)
		}
	}
}

// With several nodes, an edit or a recall is acknowledged once its message is older than what is pushed unseen; a reaction at once.
func TestRecallOfAYoungMessageIsAcknowledgedLater(t *testing.T) {
	const age = 200 * time.Millisecond
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	chat.SetMinTextAge(s, age)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	for i, content := range []*chatv1.Content{editOf(d.Seq, "second"), recallOf(d.Seq)} {
		began := time.Now()
		must(t, s.Send(ctx, updateDraft(t, c, 1, uint64(i)+2, content)))
		if waited := time.Since(began); waited < age {
			t.Errorf("update %d was acknowledged after %v", i, waited)
		}
	}
	old := draftOf(c, 1, 10, "old")
	must(t, s.Send(ctx, old))
	h.clock.ms.Add(10_000)
	must(t, s.Send(ctx, updateDraft(t, c, 1, 11, editOf(old.Seq, "edited"))))
	began := time.Now()
	must(t, s.Send(ctx, updateDraft(t, c, 1, 12, recallOf(old.Seq))))
	if waited := time.Since(began); waited < age {
		t.Errorf("the recall of an old message with a young edit was acknowledged after %v", waited)
	}
	chat.SetMinTextAge(s, time.Hour) // nobody would wait so long
	other := draftOf(c, 1, 14, "third")
	must(t, s.Send(ctx, other))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 15, reactionOf(other.Seq, "👍", false))))
	h.clock.ms.Add(time.Hour.Milliseconds())
	must(t, s.Send(ctx, updateDraft(t, c, 1, 16, recallOf(other.Seq))))
}

// Updates that arrive after the service has stopped are answered, and applied by fan-out after the next start.
func TestUpdatesAfterTheStop(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	must(t, s.Run(ended))
	edit := updateDraft(t, c, 1, 2, editOf(d.Seq, "second"))
	if err := s.Send(ctx, edit); reasonOf(err) != "busy" {
		t.Fatalf("an update after the stop was answered with %v", err)
	}
	next := h.node(t)
	if _, err := applyUpdate(next, c, edit.Seq, &message.Entry{ID: edit.ID, Sender: 1, Updates: d.Seq, Content: edit.Content}); err != nil {
		t.Fatal(err)
	}
	if m := messageAt(t, next, 2, c, d.Seq); m.Content.GetText() != "second" {
		t.Errorf("after the next start a user reads %v", m)
	}
}
