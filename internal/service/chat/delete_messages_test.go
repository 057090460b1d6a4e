package chat_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (f *forwards) exec(statement string) error {
	return f.db.Write(context.Background(), func(tx *sql.Tx) error { _, err := tx.Exec(statement); return err })
}

func (f *forwards) delete(t *testing.T, u id.User, seqs ...uint64) *chatv1.Deletion {
	t.Helper()
	d, err := f.DeleteMessages(context.Background(), u, &chatv1.DeleteMessagesRequest{Conversation: uint64(f.from), Seqs: seqs})
	must(t, err)
	return d
}

// A message that a user deleted is in no read of that user, with its updates, on any node. Others see no difference.
func TestDeleteMessages(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	edit := f.send(t, f.from, 1, 3, editOf(f.one, "changed"))
	f.send(t, f.from, 1, 4, pinOf(f.one, false))
	others := []*chat.Service{f.node(t)}
	if got := f.delete(t, 2, f.two+90, f.one, 1, edit, f.one).Seqs; !slices.Equal(got, []uint64{f.one}) {
		t.Errorf("deleted are %v, want the message alone", got)
	}
	for _, s := range append(others, f.Service) {
		if got := seqsOf(t, s, 2, f.from); !slices.Equal(got, []uint64{1, f.two}) {
			t.Errorf("the user reads %v", got)
		}
		if got := seqsOf(t, s, 1, f.from); len(got) != 5 {
			t.Errorf("the other user reads %v", got)
		}
		some, err := s.GetMessages(ctx, 2, &chatv1.GetMessagesRequest{Conversation: uint64(f.from), Seqs: []uint64{f.one, f.two}})
		must(t, err)
		pins, err := s.ListPins(ctx, 2, &chatv1.ListPinsRequest{Conversation: uint64(f.from)})
		must(t, err)
		if len(some.Messages) != 1 || len(pins.Messages) != 0 {
			t.Errorf("the user gets %d of two messages, and %d pins", len(some.Messages), len(pins.Messages))
		}
		if err := s.Send(ctx, updateDraft(t, f.to, 2, 77, forwardOf(f.from, "", f.one))); reasonOf(err) != "no_message" {
			t.Errorf("forwarding a deleted message returned %v", err)
		}
		for u, want := range map[id.User]string{1: "", 2: "no_message"} {
			_, err := s.ListEdits(ctx, u, &chatv1.ListEditsRequest{Conversation: uint64(f.from), Seq: f.one})
			_, err2 := s.ListReactions(ctx, u, &chatv1.ListReactionsRequest{Conversation: uint64(f.from), Seq: f.one, Emoji: "👍"})
			if reasonOf(err) != want || reasonOf(err2) != want {
				t.Errorf("the edits and reactions are listed for user %d with %v and %v, want %q", u, err, err2, want)
			}
		}
	}
	for _, test := range []struct {
		by   id.User
		seqs []uint64
		want string
	}{{3, []uint64{f.one}, "no_conversation"}, {2, nil, "bad_seqs"}, {2, between(1, 101), "bad_seqs"}} {
		if _, err := f.DeleteMessages(ctx, test.by, &chatv1.DeleteMessagesRequest{Conversation: uint64(f.from), Seqs: test.seqs}); reasonOf(err) != test.want {
			t.Errorf("deleting %d messages as user %d returned %v, want %s", len(test.seqs), test.by, err, test.want)
		}
	}
}

// A page of a history is not empty while more follow, although the user deleted all messages of the page, in both directions.
func TestHistoryOverDeletedMessages(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	var middle []uint64
	for n := range uint64(40) {
		middle = append(middle, f.send(t, f.from, 1, n+3, textOf("x")))
	}
	last := f.send(t, f.from, 1, 50, textOf("last"))
	f.delete(t, 2, middle...)
	for _, test := range []struct {
		request *chatv1.HistoryRequest
		want    uint64
	}{{&chatv1.HistoryRequest{Before: last}, f.two}, {&chatv1.HistoryRequest{After: f.two}, last}} {
		test.request.Conversation, test.request.Limit = uint64(f.from), 10
		page, err := f.History(ctx, 2, test.request)
		must(t, err)
		if len(page.Messages) == 0 || !slices.ContainsFunc(page.Messages, func(m *chatv1.Message) bool { return m.Seq == test.want }) {
			t.Errorf("the page of %v has %v, more %v", test.request, page.Messages, page.More)
		}
	}
}

// Deleted messages do not count as unread, and neither do they mention. A recalled one is counted out once.
func TestDeletedMessagesAreNotCounted(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	must(t, err)
	var seqs []uint64
	for n := range uint64(4) {
		content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "@2"}, Mentions: []*chatv1.Mention{{Length: 2, User: 2}}}
		d := updateDraft(t, c, 1, n+1, content)
		must(t, s.Send(ctx, d))
		seqs = append(seqs, d.Seq)
	}
	must(t, s.Send(ctx, updateDraft(t, c, 1, 9, recallOf(seqs[0]))))
	_, err = s.DeleteMessages(ctx, 2, &chatv1.DeleteMessagesRequest{Conversation: uint64(c), Seqs: seqs[:2]})
	must(t, err)
	for u, want := range map[id.User]uint64{2: 2, 3: 1} {
		tails := map[id.Conversation]timeline.Tail{c: h.tail(t, c)}
		got, err := s.CountRemoved(ctx, u, []message.Span{{Conversation: c, After: seqs[0] - 1, Last: seqs[3]}}, tails)
		if err != nil || got[0] != want {
			t.Errorf("%d messages are removed for user %d, %v; want %d", got, u, err, want)
		}
	}
	mentions := unreadMentions(t, s, 2, chat.Span{Conversation: c, Last: 100})
	if !slices.Equal(mentions, seqs[2:]) {
		t.Errorf("messages %v mention the user, want %v", mentions, seqs[2:])
	}
}

// What users deleted is forgotten when it expires, or is cleared.
func TestRowsOfDeletedMessagesEnd(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	rows := func() (n int) {
		t.Helper()
		must(t, f.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM deleted_messages`).Scan(&n))
		return n
	}
	f.delete(t, 1, f.one, f.two)
	f.delete(t, 2, f.one)
	_, err := f.ClearHistory(ctx, 1, &chatv1.ClearHistoryRequest{Conversation: uint64(f.from), ThroughSeq: f.one})
	must(t, err)
	if n := rows(); n != 2 {
		t.Errorf("after clearing the history %d rows are left, want 2", n)
	}
	f.completeFanout(t)
	f.clock.ms.Add(dayMs + 1)
	_, err = f.SetRetention(ctx, f.from, 1, daySeconds)
	must(t, err)
	must(t, chat.Expire(ctx, f.Service))
	if n := rows(); n != 0 {
		t.Errorf("after the messages expired %d rows are left", n)
	}
}

// A user deletes a bounded number of messages one by one.
func TestTooManyDeletedMessages(t *testing.T) {
	ctx, f := context.Background(), newForwards(t)
	for from := 1000; from < 1000+chat.MaxDeletedMessages; from += 500 {
		var values string
		for seq := from; seq < from+500; seq++ {
			values += fmt.Sprintf(", (2, %d, %d)", f.from, seq)
		}
		must(t, f.exec(`INSERT INTO deleted_messages (owner, conversation, seq) VALUES `+values[2:]))
	}
	_, err := f.DeleteMessages(ctx, 2, &chatv1.DeleteMessagesRequest{Conversation: uint64(f.from), Seqs: []uint64{f.one}})
	if reasonOf(err) != "too_many_deleted" {
		t.Errorf("one too many returned %v", err)
	}
	if got := seqsOf(t, f.Service, 2, f.from); !slices.Contains(got, f.one) {
		t.Errorf("a refused deletion leaves %v", got)
	}
}
