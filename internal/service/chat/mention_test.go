package chat_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// mentioning is a text whose first characters mention users: each mention has one of them.
func mentioning(mentions ...*chatv1.Mention) *chatv1.Content {
	c := textOf("你们好, all of you")
	for i, m := range mentions {
		m.Start, m.Length = uint32(i), 1
	}
	c.Mentions = mentions
	return c
}

func mentionOf(u id.User) *chatv1.Mention { return &chatv1.Mention{User: uint64(u)} }

func mentionOfAll() *chatv1.Mention { return &chatv1.Mention{Everybody: true} }

func mentionOfAdmins() *chatv1.Mention { return &chatv1.Mention{Role: roleAdmin} }

const roleAdmin = chatv1.Role_ROLE_ADMIN

// wantMentions checks which messages mention a user.
func wantMentions(t *testing.T, s *chat.Service, u id.User, c id.Conversation, want ...uint64) {
	t.Helper()
	got := unreadMentions(t, s, u, chat.Span{Conversation: c, Last: 1 << 63})
	if !slices.Equal(got, want) {
		t.Errorf("user %d is mentioned in %v, want %v", u, got, want)
	}
}

// unreadMentions returns the unread mentions of one span.
func unreadMentions(t *testing.T, s *chat.Service, u id.User, span chat.Span) []uint64 {
	t.Helper()
	mentions, err := s.UnreadMentions(context.Background(), u, []chat.Span{span})
	must(t, err)
	return mentions[0]
}

// group of the owner 1, the admin 2 and the members 3 and 4.
func groupWithAdmin(t *testing.T, s *chat.Service) id.Conversation {
	t.Helper()
	ctx := context.Background()
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "group", Members: []uint64{2, 3, 4}})
	must(t, err)
	_, err = s.SetRole(ctx, c, 1, 2, roleAdmin)
	must(t, err)
	return c
}

// Once a message is acknowledged, those whom it mentions are known; a recall and an edit change that.
func TestMentionsOfMessages(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := groupWithAdmin(t, s)
	send := func(u id.User, n uint64, content *chatv1.Content) uint64 {
		t.Helper()
		d := updateDraft(t, c, u, n, content)
		must(t, s.Send(ctx, d))
		return d.Seq
	}
	one := send(3, 1, mentioning(mentionOf(4), mentionOf(2), mentionOf(4)))
	all := send(1, 1, mentioning(mentionOfAll(), mentionOf(4)))
	admins := send(3, 2, mentioning(mentionOfAdmins()))
	send(3, 3, textOf("@4, without a mention"))
	wantMentions(t, s, 4, c, one, all)
	wantMentions(t, s, 2, c, one, all, admins)
	wantMentions(t, s, 1, c, all, admins)
	if got := messageAt(t, s, 4, c, admins).Content.Mentions[0].Users; !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("the mention of admins names %v", got)
	}
	if got := unreadMentions(t, s, 2, chat.Span{Conversation: c, After: one, Last: all}); !slices.Equal(got, []uint64{all}) {
		t.Errorf("between the first and the second: %v", got)
	}

	later, err := s.SetRole(ctx, c, 1, 4, roleAdmin)
	must(t, err)
	wantMentions(t, s, 4, c, one, all) // whoever becomes an admin was not mentioned
	again := updateDraft(t, c, 3, 2, mentioning(mentionOfAdmins()))
	if err := s.Send(ctx, again); err != nil || !again.Duplicate || again.Seq != admins || later < admins {
		t.Errorf("the retry has seq %d: %v", again.Seq, err)
	}
	wantMentions(t, s, 4, c, one, all)

	edited := editOf(one, "now only 1")
	edited.GetEdit().Content = mentioning(mentionOf(1))
	send(3, 4, edited)
	send(1, 2, recallOf(all))
	wantMentions(t, s, 4, c)
	wantMentions(t, s, 2, c, admins)
	wantMentions(t, s, 1, c, one, admins)
	send(3, 5, editOf(one, "and now nobody"))
	wantMentions(t, s, 1, c, admins)
	often := messageAt(t, s, 4, c, send(3, 6, mentioning(mentionOfAdmins(), mentionOfAdmins()))).Content.Mentions
	if !slices.Equal(often[0].Users, []uint64{1, 2, 4}) || len(often[1].Users) != 0 {
		t.Errorf("mentions of admins name %v and %v, want 1, 2 and 4, and then nobody", often[0].Users, often[1].Users)
	}
}

// One query has the mentions of several conversations: of each those of its span, the lowest 100.
func TestUnreadMentionsOfAPage(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	n := uint64(0)
	mention := func(c id.Conversation, times int) (seqs []uint64) {
		t.Helper()
		for range times {
			n++
			d := updateDraft(t, c, 3, n, mentioning(mentionOf(4)))
			must(t, s.Send(ctx, d))
			seqs = append(seqs, d.Seq)
		}
		return seqs
	}
	few, none, many := groupWithAdmin(t, s), groupWithAdmin(t, s), groupWithAdmin(t, s)
	fewSeqs, manySeqs := mention(few, 3), mention(many, 102)
	got, err := s.UnreadMentions(ctx, 4, []chat.Span{
		{Conversation: many, After: manySeqs[0], Last: manySeqs[101]}, {Conversation: none, Last: 1 << 63}, {Conversation: few, Last: fewSeqs[1]},
	})
	must(t, err)
	for i, want := range [][]uint64{manySeqs[1:101], nil, fewSeqs[:2]} {
		if !slices.Equal(got[i], want) {
			t.Errorf("span %d has the mentions %v, want %v", i, got[i], want)
		}
	}
}

func TestMentionsAreRefused(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := groupWithAdmin(t, s)
	_, err := s.Remove(ctx, c, 1, []uint64{4})
	must(t, err)
	chatOfTwo, err := s.OpenDirect(ctx, 1, 3)
	must(t, err)
	first := draftOf(c, 3, 1, "first")
	must(t, s.Send(ctx, first))
	at := func(start, length uint32) *chatv1.Content {
		m := mentioning(mentionOf(1))
		m.Mentions[0].Start, m.Mentions[0].Length = start, length
		return m
	}
	overlapping := mentioning(mentionOf(1), mentionOf(2))
	overlapping.Mentions[1].Start = 0
	many := make([]*chatv1.Mention, 101)
	for i := range many {
		many[i] = &chatv1.Mention{User: 1, Start: uint32(i), Length: 1}
	}
	edit := editOf(first.Seq, "x")
	edit.GetEdit().Content = mentioning(mentionOf(4))
	onEdit := editOf(first.Seq, "x")
	onEdit.Mentions = []*chatv1.Mention{{User: 1, Length: 1}}
	card := &chatv1.Content{Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "card"}}, Mentions: []*chatv1.Mention{{User: 1, Length: 1}}}
	long := textOf(strings.Repeat("x", 200))
	long.Mentions = many
	for i, tc := range []struct {
		in      id.Conversation
		by      id.User
		content *chatv1.Content
		reason  string
	}{
		{c, 3, mentioning(mentionOf(4)), "no_member"}, {c, 3, mentioning(mentionOf(9)), "no_member"}, {c, 3, edit, "no_member"},
		{c, 9, mentioning(mentionOf(4)), "no_conversation"}, {c, 4, mentioning(mentionOf(9)), "no_conversation"},
		{c, 3, mentioning(mentionOfAll()), "not_allowed"}, {chatOfTwo, 1, mentioning(mentionOf(3)), "bad_mention"},
		{c, 3, mentioning(&chatv1.Mention{}), "bad_mention"}, {c, 3, mentioning(&chatv1.Mention{User: 1, Everybody: true}), "bad_mention"},
		{c, 3, mentioning(&chatv1.Mention{Role: chatv1.Role_ROLE_OWNER}), "bad_mention"}, {c, 3, mentioning(&chatv1.Mention{User: 1, Users: []uint64{2}}), "bad_mention"},
		{c, 3, at(0, 0), "bad_mention"}, {c, 3, at(15, 1), "bad_mention"}, {c, 3, at(14, 2), "bad_mention"}, {c, 3, at(1<<32-1, 1<<32-1), "bad_mention"},
		{c, 3, overlapping, "bad_mention"}, {c, 3, long, "bad_mention"}, {c, 3, onEdit, "bad_mention"}, {c, 3, card, "bad_mention"},
	} {
		if err := s.Send(ctx, updateDraft(t, tc.in, tc.by, uint64(100+i), tc.content)); reasonOf(err) != tc.reason {
			t.Errorf("case %d: %v, want %s", i, err, tc.reason)
		}
	}
	must(t, s.Send(ctx, updateDraft(t, c, 3, 200, at(14, 1)))) // the last character
}

// A process may stop after it stored a message and its edits. Fan-out writes their mentions then, in whatever order.
func TestFanoutAppliesMentions(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := groupWithAdmin(t, s)
	number, err := h.messages.Next(2, c)
	must(t, err)
	first := message.Entry{ID: number, Sender: 3, Device: 103, Content: contentOf(t, mentioning(mentionOf(4), mentionOf(2)))}
	done := make(chan *timeline.AppendRequest, 1)
	h.log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, Payload: first.Append(nil), Counts: true, NeedsFanout: true,
		Done: func(a *timeline.AppendRequest) { done <- a }})
	a := <-done
	must(t, a.Err)
	if !message.HasEffect(first.Content) || message.HasEffect(contentOf(t, textOf("x"))) || message.HasEffect(nil) {
		t.Fatal("a content with mentions is not known by its bytes")
	}
	edit := func(who id.User) (uint64, message.Entry) {
		content := editOf(a.Seq, "x")
		content.GetEdit().Content = mentioning(mentionOf(who))
		return h.storeUpdate(t, c, 3, a.Seq, content)
	}
	later := message.Entry{ID: number, Sender: 3, Content: contentOf(t, mentioning(&chatv1.Mention{}))} // of a version with another kind of mention
	if rejected, err := h.node(t).ApplyUpdates(ctx, []*message.Stored{{Conversation: c, Seq: a.Seq, Entry: later}}); err != nil || rejected[0] != nil {
		t.Errorf("mentions of nobody are applied with %v, %v", rejected, err)
	}
	toOne, one := edit(1)
	toTwo, two := edit(2)
	other := h.node(t)
	for range 2 {
		for _, m := range []message.Stored{
			{Conversation: c, Seq: toTwo, Entry: two}, {Conversation: c, Seq: a.Seq, Entry: first}, {Conversation: c, Seq: toOne, Entry: one},
		} {
			rejected, err := other.ApplyUpdates(ctx, []*message.Stored{&m})
			must(t, errors.Join(err, rejected[0]))
		}
		wantMentions(t, s, 1, c)
		wantMentions(t, s, 2, c, a.Seq)
		wantMentions(t, s, 4, c)
	}
	// A transaction that began before the edit commits after it.
	must(t, h.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO mentions (conversation, member, seq, edit_seq) VALUES ($1, 4, $2, 0)`, int64(c), int64(a.Seq))
		return err
	}))
	wantMentions(t, s, 4, c)
}
