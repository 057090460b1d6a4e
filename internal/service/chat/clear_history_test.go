package chat_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A user who clears the history reads nothing of it any more, on any node; the other user reads all.
func TestClearHistory(t *testing.T) {
	for _, single := range []bool{true, false} {
		t.Run(fmt.Sprintf("single node %v", single), func(t *testing.T) {
			ctx, f := context.Background(), newForwards(t)
			deps := f.deps(f.db)
			deps.SingleNode = single
			outbox, err := job.NewOutbox(ctx, f.db, slog.New(slog.DiscardHandler))
			must(t, err)
			deps.Outbox = outbox
			s, err := chat.New(ctx, deps, f.config)
			must(t, err)
			other := s
			if !single {
				other = f.node(t)
			}
			f.send(t, f.from, 1, 3, pinOf(f.one, false))
			if got := seqsOf(t, other, 2, f.from); !slices.Equal(got, between(1, 4)) {
				t.Errorf("before, %v are read", got)
			}
			d, err := s.ClearHistory(ctx, 2, &chatv1.ClearHistoryRequest{Conversation: uint64(f.from), ThroughSeq: f.one})
			must(t, err)
			if d.ThroughSeq != f.one || d.ThroughCounted != 1 || d.Deleted {
				t.Errorf("the deletion is %v", d)
			}
			if got := seqsOf(t, other, 2, f.from); !slices.Equal(got, []uint64{f.two}) { // not the pin of a cleared message
				t.Errorf("afterwards %v are read", got)
			}
			if got := seqsOf(t, other, 1, f.from); !slices.Equal(got, between(1, 4)) {
				t.Errorf("the other user reads %v", got)
			}
			for name, read := range map[string]func() (int, error){
				"GetMessages": func() (int, error) {
					r, err := other.GetMessages(ctx, 2, &chatv1.GetMessagesRequest{Conversation: uint64(f.from), Seqs: []uint64{f.one}})
					return len(r.GetMessages()), err
				},
				"ListPins": func() (int, error) {
					r, err := other.ListPins(ctx, 2, &chatv1.ListPinsRequest{Conversation: uint64(f.from)})
					return len(r.GetMessages()), err
				},
			} {
				if n, err := read(); n != 0 || err != nil {
					t.Errorf("%s returns %d cleared messages, %v", name, n, err)
				}
			}
			for name, content := range map[string]*chatv1.Content{"a reply to": replyTo(f.one), "a forward of": forwardOf(f.from, "", f.one)} {
				if err := other.Send(ctx, updateDraft(t, f.from, 2, 50, content)); reasonOf(err) != "no_message" {
					t.Errorf("%s a cleared message returned %v", name, err)
				}
			}
			_, err = s.ClearHistory(ctx, 3, &chatv1.ClearHistoryRequest{Conversation: uint64(f.from)})
			if reasonOf(err) != "no_conversation" {
				t.Errorf("clearing a conversation of others returned %v", err)
			}
		})
	}
}

func replyTo(seq uint64) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: "re"}, ReplyTo: &chatv1.Ref{Seq: seq}}
}

// A watermark never goes back. A deleted conversation is off the list until a message is counted after it.
func TestDeleteConversation(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	clearTo := func(through uint64, andDelete bool) *chatv1.Deletion {
		t.Helper()
		d, err := f.ClearHistory(ctx, 2, &chatv1.ClearHistoryRequest{Conversation: uint64(f.from), ThroughSeq: through, Delete: andDelete})
		must(t, err)
		return d
	}
	listed := func() bool {
		t.Helper()
		list, err := f.RecentMemberships(ctx, 2, false, nil, 10)
		must(t, err)
		return slices.ContainsFunc(list, func(m chat.Membership) bool { return m.Conversation == f.from })
	}
	restore := func(counted uint64) {
		t.Helper()
		must(t, f.db.Write(ctx, func(tx *sql.Tx) error { return f.Restore(ctx, tx, 2, f.from, counted) }))
	}
	if d := clearTo(f.one, true); d.Deleted || !listed() {
		t.Errorf("a conversation with a message after what was seen is deleted: %v", d)
	}
	d := clearTo(0, true)
	if !d.Deleted || d.ThroughSeq != f.two || d.ThroughCounted != 2 || listed() {
		t.Errorf("the deletion is %v, and the conversation is listed: %v", d, listed())
	}
	if again := clearTo(f.one, false); again.ThroughSeq != f.two || !again.Deleted {
		t.Errorf("an earlier watermark changed it to %v", again)
	}
	if again := clearTo(0, false); !again.Deleted {
		t.Errorf("clearing the history of a deleted conversation changed it to %v", again)
	}
	if restore(2); listed() {
		t.Error("the conversation came back without a message")
	}
	list, err := f.MembershipsIn(ctx, 2, []id.Conversation{f.from})
	must(t, err)
	if len(list) != 1 || !list[0].Deleted || list[0].Join != f.two+1 || list[0].ClearedCounted != 2 {
		t.Errorf("the memberships are %+v", list)
	}
	f.send(t, f.from, 1, 3, textOf("three"))
	if restore(3); !listed() {
		t.Error("the conversation did not come back with a message")
	}
	if got := seqsOf(t, f.Service, 2, f.from); !slices.Equal(got, []uint64{f.two + 1}) {
		t.Errorf("afterwards %v are read", got)
	}
	if d := clearTo(0, false); d.Deleted || !listed() {
		t.Errorf("clearing the history deleted the conversation: %v", d)
	}
}

// Later edits of cleared messages are not read either, whether the user had deleted those one by one before or not.
func TestEditsOfClearedMessages(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	last := f.send(t, f.from, 1, 3, textOf("three"))
	f.delete(t, 2, f.one)
	for n, seq := range []uint64{f.one, f.two, last} {
		f.send(t, f.from, 1, uint64(n)+4, editOf(seq, "changed"))
	}
	_, err := f.ClearHistory(ctx, 2, &chatv1.ClearHistoryRequest{Conversation: uint64(f.from), ThroughSeq: f.two})
	must(t, err)
	if got := seqsOf(t, f.Service, 2, f.from); !slices.Equal(got, []uint64{last, last + 3}) {
		t.Errorf("the user reads %v, want the last message and its edit", got)
	}
	if got := seqsOf(t, f.Service, 1, f.from); !slices.Equal(got, between(1, last+3)) {
		t.Errorf("the other user reads %v", got)
	}
}

// arriving is a log to which a message is appended after each tail that is read.
type arriving struct {
	timeline.Log
	append func()
}

func (l *arriving) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	tail, err := l.Log.Tail(ctx, k)
	l.append()
	return tail, err
}

// A message that arrives while its conversation is being deleted keeps it on the list. Those that come after a user left do not.
func TestMessageDuringADeletion(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	other := h.node(t)
	c, err := other.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	must(t, err)
	must(t, other.Send(ctx, draftOf(c, 1, 1, "x")))
	_, err = other.Leave(ctx, c, 3)
	must(t, err)
	n := uint64(1)
	deps := h.deps(h.db)
	deps.Log = &arriving{h.log, func() { n++; must(t, other.Send(ctx, draftOf(c, 1, n, "late"))) }}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	for u, want := range map[id.User]bool{2: false, 3: true} {
		d, err := s.ClearHistory(ctx, u, &chatv1.ClearHistoryRequest{Conversation: uint64(c), Delete: true})
		must(t, err)
		list, err := other.MembershipsIn(ctx, u, []id.Conversation{c})
		must(t, err)
		if d.Deleted != want || len(list) != 1 || list[0].Deleted != want {
			t.Errorf("user %d: the deletion is %v, the memberships %+v", u, d, list)
		}
	}
	if last := h.tail(t, c).Seq; !slices.Contains(seqsOf(t, other, 2, c), last) {
		t.Errorf("the late message %d is not read", last)
	}
}
