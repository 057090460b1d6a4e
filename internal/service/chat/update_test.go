package chat_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func editOf(seq uint64, text string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}}}
}

func recallOf(seq uint64) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}}
}

func reactionOf(seq uint64, emoji string, remove bool) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: seq}, Emoji: emoji, Remove: remove}}}
}

func pinOf(seq uint64, remove bool) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: &chatv1.Ref{Seq: seq}, Remove: remove}}}
}

func updateDraft(t tester, c id.Conversation, u id.User, n uint64, content *chatv1.Content) *message.Draft {
	t.Helper()
	d := draftOf(c, u, n, "")
	d.Content = contentOf(t, content)
	return d
}

// messageAt is what a user reads at a seq.
func messageAt(t tester, s *chat.Service, u id.User, c id.Conversation, seq uint64) *chatv1.Message {
	t.Helper()
	r, err := s.GetMessages(context.Background(), u, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{seq}})
	must(t, err)
	if len(r.Messages) != 1 {
		t.Fatalf("got %d messages at %d, want 1", len(r.Messages), seq)
	}
	return r.Messages[0]
}

// storeUpdate stores an update as a process does that stops before it applies it.
func (h *harness) storeUpdate(t *testing.T, c id.Conversation, u id.User, target uint64, content *chatv1.Content) (seq uint64, e message.Entry) {
	t.Helper()
	number, err := h.messages.Next(1, c)
	must(t, err)
	e = message.Entry{ID: number, Sender: u, Device: id.Device(u) + 100, Updates: target, Content: contentOf(t, content)}
	done := make(chan *timeline.AppendRequest, 1)
	h.log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, Payload: e.Append(nil), NeedsFanout: true, Done: func(a *timeline.AppendRequest) { done <- a }})
	a := <-done
	must(t, a.Err)
	return a.Seq, e
}

// applyUpdate is ApplyUpdates for one, which returns its content.
func applyUpdate(s *chat.Service, c id.Conversation, seq uint64, e *message.Entry) ([]byte, error) {
	m := message.Stored{Conversation: c, Seq: seq, Entry: *e}
	rejected, err := s.ApplyUpdates(context.Background(), []*message.Stored{&m})
	if err == nil {
		err = rejected[0]
	}
	return m.Entry.Content, err
}

// A process may stop after it stored an update. Fan-out applies it then, once, in whatever order.
func TestFanoutAppliesUpdates(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	type stored struct {
		seq   uint64
		entry message.Entry
	}
	var list []stored
	for _, content := range []*chatv1.Content{editOf(d.Seq, "second"), editOf(d.Seq, "third"), reactionOf(d.Seq, "👍", false), reactionOf(d.Seq, "👍", true),
		reactionOf(d.Seq, "❤️", true), reactionOf(d.Seq, "❤️", false), pinOf(d.Seq, false), pinOf(d.Seq, true)} {
		seq, e := h.storeUpdate(t, c, 1, d.Seq, content)
		list = append(list, stored{seq, e})
	}
	if m := messageAt(t, s, 2, c, d.Seq); m.Content.GetText() != "first" || m.EditSeq != 0 {
		t.Fatalf("before the updates are applied a user reads %v", m)
	}
	other := h.node(t)
	for _, n := range []int{1, 0, 1, 3, 2, 5, 4, 7, 6, 2, 4} {
		if _, err := applyUpdate(other, c, list[n].seq, &list[n].entry); err != nil {
			t.Fatal(err)
		}
	}
	m := messageAt(t, s, 2, c, d.Seq)
	if m.Content.GetText() != "third" || m.EditSeq != list[1].seq || m.Pinned || m.PinSeq != list[7].seq {
		t.Errorf("a user reads %v", m)
	}
	if got := m.Reactions.GetCounts(); len(got) != 1 || got[0].Emoji != "❤️" || got[0].Count != 1 {
		t.Errorf("the reactions are %v", m.Reactions)
	}
	content, err := applyUpdate(other, c, list[0].seq, &list[0].entry)
	must(t, err)
	var served chatv1.Content
	must(t, proto.Unmarshal(content, &served))
	if got := served.GetEdit().GetContent(); got != nil || served.GetEdit().GetTarget().GetSeq() != d.Seq {
		t.Errorf("the earlier edit is delivered as %v, want its target and no content", &served)
	}
	content, err = applyUpdate(other, c, list[1].seq, &list[1].entry)
	must(t, err)
	must(t, proto.Unmarshal(content, &served))
	if got := served.GetEdit().GetContent().GetText(); got != "third" {
		t.Errorf("the last edit is delivered with %q", got)
	}
}

// However edits and a recall race, nobody reads a text once the recall is acknowledged.
func TestRecallRacesWithEdits(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	c, err := nodes[0].OpenDirect(ctx, 1, 2)
	must(t, err)
	n := uint64(0)
	for round := range 20 {
		n++
		d := draftOf(c, 1, n, "text")
		must(t, nodes[0].Send(ctx, d))
		var all sync.WaitGroup
		for i, s := range nodes {
			n++
			edit := updateDraft(t, c, 1, n, editOf(d.Seq, fmt.Sprint("edit ", round)))
			edit.Device = id.Device(200 + i)
			all.Go(func() {
				if err := s.Send(ctx, edit); err != nil && reasonOf(err) != "recalled" {
					t.Errorf("an edit: %v", err)
				}
			})
		}
		n++
		recall := updateDraft(t, c, 1, n, recallOf(d.Seq))
		recall.Device = 300
		must(t, nodes[1].Send(ctx, recall))
		for _, s := range nodes {
			if m := messageAt(t, s, 2, c, d.Seq); m.Content != nil || m.RecallSeq != recall.Seq {
				t.Errorf("after the recall a user reads %v", m)
			}
		}
		all.Wait()
		for _, s := range nodes {
			history, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c), After: d.Seq - 1})
			must(t, err)
			for _, m := range history.Messages {
				if m.Content.GetText() != "" || m.Content.GetEdit().GetContent() != nil {
					t.Errorf("after recall and edits a user reads %v, want no text and no content of an edit", m)
				}
			}
		}
	}
}

// A sender recalls within the configured time, and an admin at any time.
func TestRecallWithin(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{RecallWithin: time.Hour})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "group", Members: []uint64{2}})
	must(t, err)
	first, second := draftOf(c, 2, 1, "first"), draftOf(c, 2, 2, "second")
	must(t, s.Send(ctx, first))
	must(t, s.Send(ctx, second))
	h.clock.ms.Add(time.Hour.Milliseconds())
	must(t, s.Send(ctx, updateDraft(t, c, 2, 3, recallOf(first.Seq))))
	h.clock.ms.Add(1)
	if err := s.Send(ctx, updateDraft(t, c, 2, 4, recallOf(second.Seq))); reasonOf(err) != "too_late" {
		t.Errorf("a recall after an hour and a millisecond: %v", err)
	}
	must(t, s.Send(ctx, updateDraft(t, c, 1, 1, recallOf(second.Seq))))
}

// What is known of updates expires with their messages.
func TestUpdatesExpire(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	old, kept := draftOf(c, 1, 1, "old"), draftOf(c, 1, 2, "kept")
	must(t, s.Send(ctx, old))
	must(t, s.Send(ctx, updateDraft(t, c, 2, 1, reactionOf(old.Seq, "👍", false))))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 3, editOf(old.Seq, "edited"))))
	h.clock.ms.Add(dayMs)
	kept.ClientSeq = 4
	must(t, s.Send(ctx, kept))
	must(t, s.Send(ctx, updateDraft(t, c, 2, 2, reactionOf(kept.Seq, "👍", false))))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 5, editOf(kept.Seq, "edited"))))
	h.completeFanout(t)
	h.clock.ms.Add(1)
	_, err = s.SetRetention(ctx, c, 1, daySeconds)
	must(t, err)
	must(t, chat.Expire(ctx, s))
	for _, table := range []string{"message_updates", "message_edits", "reactions"} {
		var n, low uint64
		must(t, h.db.Read().QueryRowContext(ctx, `SELECT count(*), min(seq) FROM `+table+` WHERE conversation = $1`, int64(c)).Scan(&n, &low))
		if n != 1 || low != kept.Seq {
			t.Errorf("%s has %d rows, from seq %d on; want 1, of seq %d", table, n, low, kept.Seq)
		}
	}
	if m := messageAt(t, s, 2, c, kept.Seq); m.Content.GetText() != "edited" || len(m.Reactions.GetCounts()) != 1 {
		t.Errorf("a user reads %v", m)
	}
}

// A message has at most 50 different emoji, also if more were accepted before the first was applied. What was refused stays so.
func TestReactionsAtOnce(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "text")
	must(t, s.Send(ctx, d))
	var seqs []uint64
	var entries []message.Entry
	for i := range 60 {
		seq, e := h.storeUpdate(t, c, id.User(2+i/15), d.Seq, reactionOf(d.Seq, fmt.Sprint("e", i), false))
		seqs, entries = append(seqs, seq), append(entries, e)
	}
	apply := func(want int) {
		t.Helper()
		for i := range entries {
			_, err := applyUpdate(s, c, seqs[i], &entries[i])
			must(t, err)
		}
		m := messageAt(t, s, 2, c, d.Seq)
		if own := want - 35; len(m.Reactions.Counts) != want || len(m.Reactions.Mine) != own {
			t.Errorf("there are %d emoji, %d of one's own, want %d and %d", len(m.Reactions.Counts), len(m.Reactions.Mine), want, own)
		}
	}
	apply(50)
	if err := s.Send(ctx, updateDraft(t, c, 2, 1, reactionOf(d.Seq, "more", false))); reasonOf(err) != "too_many_emoji" {
		t.Errorf("an emoji beyond the limit was answered %v, want too_many_emoji", err)
	}
	must(t, s.Send(ctx, updateDraft(t, c, 2, 2, reactionOf(d.Seq, "e0", true))))
	apply(49)
	must(t, s.Send(ctx, updateDraft(t, c, 2, 3, reactionOf(d.Seq, "more", false))))
	apply(50)
}

// Emoji that would cover or turn their neighbours, or look like another, are refused.
func TestEmoji(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "text")
	must(t, s.Send(ctx, d))
	for i, good := range []string{"👍", "❤️", "👨‍👩‍👧‍👦", "👩🏽‍🚀", "🇨🇳", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", ":rocket:"} {
		if err := s.Send(ctx, updateDraft(t, c, 1, uint64(2+i), reactionOf(d.Seq, good, false))); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for i, bad := range []string{"", " ", "👍 ", "👍\n", "\u202e👍", "👍\u2069", "👍\u200b", "\u200f👍", "\u200d", "\ufe0f", "\ufffd", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301", strings.Repeat("👍", 9)} {
		if err := s.Send(ctx, updateDraft(t, c, 2, uint64(1+i), reactionOf(d.Seq, bad, false))); reasonOf(err) != "bad_emoji" && reasonOf(err) != "bad_content" {
			t.Errorf("%q: error %v, want bad_emoji or bad_content", bad, err)
		}
	}
}

// Where the cold tier keeps a message that is recalled, it is told once, however often the recall is applied: each time it stores the segment again.
func TestARecallIsToldOnce(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	deps, told := h.deps(h.db), 0
	deps.OnRecalled = func(context.Context, *sql.Tx, id.Conversation, uint64) error { told++; return nil }
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	seq, e := h.storeUpdate(t, c, 1, d.Seq, recallOf(d.Seq))
	for range 3 {
		if _, err := applyUpdate(s, c, seq, &e); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("the recall was told %d times", told)
	}
}
