package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func forwardOf(from id.Conversation, title string, seqs ...uint64) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Title: title, Conversation: uint64(from), Seqs: seqs}}}
}

// forwards has a conversation of users 1 and 2 with two messages, "one" and "two", and one of users 2 and 3.
type forwards struct {
	*harness
	*chat.Service
	from, to id.Conversation
	one, two uint64
}

func newForwards(t *testing.T) *forwards {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	f := &forwards{harness: h, Service: h.node(t)}
	var err error
	f.from, err = f.OpenDirect(ctx, 1, 2)
	must(t, err)
	f.to, err = f.OpenDirect(ctx, 2, 3)
	must(t, err)
	for n, at := range []*uint64{&f.one, &f.two} {
		d := draftOf(f.from, 1, uint64(n)+1, []string{"one", "two"}[n])
		must(t, f.Send(ctx, d))
		*at = d.Seq
	}
	return f
}

// send sends a content of user 2, or another, to a conversation, and returns its seq.
func (f *forwards) send(t *testing.T, c id.Conversation, u id.User, n uint64, content *chatv1.Content) uint64 {
	t.Helper()
	d := updateDraft(t, c, u, n, content)
	must(t, f.Send(context.Background(), d))
	return d.Seq
}

// texts are those of a forward's items, as user 3 reads them, with "-" for one without a content.
func (f *forwards) texts(t *testing.T, seq uint64) string {
	t.Helper()
	var list []string
	for _, item := range messageAt(t, f.Service, 3, f.to, seq).Content.GetForward().GetItems() {
		if item.Content == nil {
			list = append(list, "-")
		} else {
			list = append(list, item.Content.GetText())
		}
	}
	return strings.Join(list, " ")
}

// A forward shows messages, with their authors, to people who may not read them; also when it is forwarded on.
func TestForward(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	both := f.send(t, f.to, 2, 1, forwardOf(f.from, "chat", f.two, f.one))
	if got := f.texts(t, both); got != "one two" {
		t.Errorf("the forward shows %q", got)
	}
	item := messageAt(t, f.Service, 3, f.to, both).Content.GetForward().Items[0]
	if item.Sender != 1 || item.Seq != f.one || item.Conversation != uint64(f.from) || item.TimeMs == 0 {
		t.Errorf("the item is %v", item)
	}
	on := f.send(t, f.to, 3, 1, forwardOf(f.to, "", both))
	if again := messageAt(t, f.Service, 2, f.to, on).Content.GetForward().Items; len(again) != 2 || again[0].Sender != 1 {
		t.Errorf("a forward that was forwarded has %v", again)
	}
	retry := updateDraft(t, f.to, 2, 1, forwardOf(f.from, "chat", f.one, f.two))
	if must(t, f.Send(ctx, retry)); !retry.Duplicate || retry.Seq != both {
		t.Errorf("the retry returned %+v", retry)
	}
	other := updateDraft(t, f.to, 2, 1, forwardOf(f.from, "chat", f.one))
	if err := f.Send(ctx, other); reasonOf(err) != "id_reuse" {
		t.Errorf("other messages with the same number: %v", err)
	}
}

// Nobody forwards what they may not read, or what is no message.
func TestForwardsOfUnreadable(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	gone := f.send(t, f.from, 1, 3, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "gone"}})
	recall := f.send(t, f.from, 1, 4, recallOf(gone))
	sent := f.send(t, f.from, 1, 5, signal(&chatv1.Custom{Type: "t"}))
	made := forwardOf(f.from, "", f.one)
	made.GetForward().Items = []*chatv1.Forwarded{{Sender: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "made up"}}}}
	seqs := make([]uint64, 101)
	for i := range seqs {
		seqs[i] = uint64(i) + 1
	}
	for n, test := range []struct {
		name    string
		by      id.User
		content *chatv1.Content
		reason  string
	}{
		{"a conversation that one is not in", 3, forwardOf(f.from, "", f.one), "no_conversation"},
		{"a conversation that does not exist", 3, forwardOf(f.from+99, "", f.one), "no_conversation"},
		{"a seq that does not exist", 2, forwardOf(f.from, "", f.one, 99), "no_message"},
		{"a recalled message", 2, forwardOf(f.from, "", f.one, gone), "recalled"},
		{"a recall", 2, forwardOf(f.from, "", recall), "no_message"},
		{"a signal", 2, forwardOf(f.from, "", sent), "no_message"},
		{"a control entry", 2, forwardOf(f.from, "", 1), "no_message"},
		{"a text that nobody wrote", 2, made, "bad_content"},
		{"nothing", 2, forwardOf(f.from, ""), "bad_content"},
		{"101 messages", 2, forwardOf(f.from, "", seqs...), "bad_content"},
		{"a title of two lines", 2, forwardOf(f.from, "a\nb", f.one), "bad_content"},
	} {
		d := updateDraft(t, f.to, test.by, uint64(n)+10, test.content)
		if err := f.Send(ctx, d); reasonOf(err) != test.reason {
			t.Errorf("%s: error is %v, want %q", test.name, err, test.reason)
		}
	}
}

// From the acknowledgement of an edit or a recall on, no read of a forward shows the old text.
func TestForwardsFollowUpdates(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	both := f.send(t, f.to, 2, 1, forwardOf(f.from, "chat", f.one, f.two))
	f.send(t, f.from, 1, 3, editOf(f.one, "changed"))
	if got := f.texts(t, both); got != "changed two" {
		t.Errorf("after the edit the forward shows %q", got)
	}
	f.send(t, f.from, 1, 4, recallOf(f.two))
	if got := f.texts(t, both); got != "changed -" {
		t.Errorf("after the recall the forward shows %q", got)
	}
	f.send(t, f.to, 2, 2, pinOf(both, false))
	page, err := f.History(ctx, 3, &chatv1.HistoryRequest{Conversation: uint64(f.to)})
	must(t, err)
	pins, err := f.ListPins(ctx, 3, &chatv1.ListPinsRequest{Conversation: uint64(f.to)})
	must(t, err)
	for name, read := range map[string]proto.Message{"history": page, "pins": pins} {
		if raw, err := proto.Marshal(read); err != nil || strings.Contains(string(raw), "two") || strings.Contains(string(raw), "one") {
			t.Errorf("the %s has an old text: %v (%v)", name, read, err)
		}
	}

	// What waits to be pushed is refreshed, however young it is.
	found, err := f.log.Get(ctx, []timeline.Ref{{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(f.to)}, From: both, To: both}})
	must(t, err)
	m := message.Stored{Conversation: f.to, Seq: both}
	must(t, m.Entry.Decode(found[0].Payload))
	if !f.MayBeOutdated(found[0].Payload) {
		t.Error("a forward is pushed as it was stored")
	}
	must(t, f.Refresh(ctx, []*message.Stored{&m}))
	if got := string(m.Entry.Content); strings.Contains(got, "two") || strings.Contains(got, "one") || !strings.Contains(got, "changed") {
		t.Errorf("the push has %q", got)
	}
	f.send(t, f.to, 2, 3, recallOf(both))
	if m := messageAt(t, f.Service, 3, f.to, both); m.Content != nil {
		t.Errorf("the recalled forward shows %v", m.Content)
	}
}

// A message that has expired, and with it the knowledge that it was recalled, is not shown by forwards.
func TestForwardsOfExpired(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	both := f.send(t, f.to, 2, 1, forwardOf(f.from, "", f.one, f.two))
	f.send(t, f.from, 1, 3, recallOf(f.two))
	f.completeFanout(t)
	f.clock.ms.Add(dayMs + 1)
	_, err := f.SetRetention(ctx, f.from, 1, daySeconds)
	must(t, err)
	must(t, chat.Expire(ctx, f.Service))
	if got := f.texts(t, both); got != "- -" {
		t.Errorf("after its messages have expired the forward shows %q", got)
	}
}

// A page ends before forwards with more messages than one page may look up. No forward is left out, and all show the edits.
func TestPagesOfManyForwardedMessages(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	const items, count = 100, 12
	var seqs []uint64
	for n := range uint64(items) {
		seqs = append(seqs, f.send(t, f.from, 2, n+1, textOf("before")))
	}
	for n, seq := range seqs {
		f.send(t, f.from, 2, items+uint64(n)+1, editOf(seq, "after"))
	}
	for n := range uint64(count) {
		f.send(t, f.to, 2, n+1, forwardOf(f.from, "", seqs...))
	}
	found, pages := 0, 0
	for r, after, more := (*chatv1.HistoryResponse)(nil), uint64(1), true; more; more, pages = r.More, pages+1 {
		var err error
		r, err = f.History(ctx, 3, &chatv1.HistoryRequest{Conversation: uint64(f.to), After: after})
		must(t, err)
		for _, m := range r.Messages {
			after = m.Seq
			for _, item := range m.Content.GetForward().GetItems() {
				if found++; item.Content.GetText() != "after" {
					t.Fatalf("an item is %v", item)
				}
			}
		}
	}
	if found != items*count || pages < 2 {
		t.Errorf("%d pages have %d items, want at least 2 and %d", pages, found, items*count)
	}
}
