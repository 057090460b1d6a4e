package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/synclist"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// listedWords refuses bad, and flags odd.
type listedWords struct{ flagged synclist.List[string] }

func (w *listedWords) HasWords() bool { return true }

func (w *listedWords) CheckText(texts ...string) (string, error) {
	all := strings.Join(texts, " ")
	if strings.Contains(all, "bad") {
		return "", errs.New(errs.Denied, "refused_by_rules", "")
	}
	if strings.Contains(all, "odd") {
		return "odd", nil
	}
	return "", nil
}

func (w *listedWords) FlagMessage(m *chatv1.Message, word string) {
	w.flagged.Add(m.Content.GetText() + m.Content.GetImage().GetCaption() + " " + word)
}

func (w *listedWords) FlagGroup(_ id.Conversation, title, word string) {
	w.flagged.Add(title + " " + word)
}

// A text with a refused word is not stored, in whatever form it is sent, but a retry of one that is stored gets its receipt. What is stored with a flagged word is said, once.
func TestWordsOfMessages(t *testing.T) {
	h, w := newHarness(t, chat.Config{}), &listedWords{}
	deps := h.deps(h.db)
	s, err := chat.New(t.Context(), deps, h.config)
	must(t, err)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{2}})
	must(t, err)
	must(t, s.Send(t.Context(), draftOf(c, 1, 1, "bad, before the list")))
	deps.Words = w
	s, err = chat.New(t.Context(), deps, h.config)
	must(t, err)
	send := func(n uint64, content *chatv1.Content) error {
		b, err := proto.Marshal(content)
		must(t, err)
		return s.Send(t.Context(), &message.Draft{Conversation: c, Sender: 1, Device: 101, ClientSeq: n, Content: b})
	}
	text := func(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
	edit := func(s string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: h.tail(t, c).Seq}, Content: text(s)}}}
	}
	again := draftOf(c, 1, 1, "bad, before the list")
	if err := s.Send(t.Context(), again); err != nil || !again.Duplicate {
		t.Errorf("a retry of a stored message: duplicate %v, %v", again.Duplicate, err)
	}
	must(t, send(2, text("good")))
	for n, content := range []*chatv1.Content{text("a bad one"), edit("now bad"),
		{Kind: &chatv1.Content_Location{Location: &chatv1.Location{Label: "a bad place"}}}, {Kind: &chatv1.Content_Location{Location: &chatv1.Location{Address: "Bad bad street"}}},
		{Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "bad", Url: "https://example.com"}}}, {Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "good", Url: "https://example.com/bad"}}},
		{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Title: "a bad discussion", Conversation: uint64(c), Seqs: []uint64{2}}}},
	} {
		if err := send(uint64(103+n), content); reasonOf(err) != "refused_by_rules" {
			t.Errorf("%v is answered with %v", content, err)
		}
	}
	odd := draftOf(c, 1, 5, "an odd one")
	must(t, s.Send(t.Context(), odd))
	retry := draftOf(c, 1, 5, "an odd one")
	must(t, s.Send(t.Context(), retry))
	must(t, send(6, edit("odd again")))
	for title, want := range map[string]string{"a bad title": "refused_by_rules", "an odd title": ""} {
		if _, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: title}); reasonOf(err) != want {
			t.Errorf("a group with %s is answered with %v", title, err)
		}
	}
	renamed := "a bad name"
	if _, err := s.UpdateGroup(t.Context(), c, 1, &chatv1.UpdateGroupRequest{Title: &renamed}); reasonOf(err) != "refused_by_rules" {
		t.Errorf("a new title is answered with %v", err)
	}
	renamed = "odd name"
	_, err = s.UpdateGroup(t.Context(), c, 1, &chatv1.UpdateGroupRequest{Title: &renamed})
	must(t, err)
	if got, want := w.flagged.All(), []string{"an odd one odd", "odd again odd", "an odd title odd", "odd name odd"}; !slices.Equal(got, want) {
		t.Errorf("flagged are %q, want %q", got, want)
	}
	if got := h.textsIn(t, c); !slices.Equal(got, []string{"bad, before the list", "good", "an odd one"}) {
		t.Errorf("stored %q", got)
	}
}

// Moderators recall any message, once, and whoever sent it sees that it was none of the members.
func TestRecallForModerators(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s, err := chat.New(t.Context(), h.deps(h.db), h.config)
	must(t, err)
	c, err := s.OpenDirect(t.Context(), 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "a message")
	must(t, s.Send(t.Context(), d))
	for range 2 {
		must(t, s.RecallForModerators(t.Context(), c, d.Seq))
	}
	page, err := s.GetMessages(t.Context(), 2, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{d.Seq}})
	must(t, err)
	if m := page.Messages[0]; m.Content != nil || m.RecallSeq != d.Seq+1 || m.RecalledBy != 0 {
		t.Errorf("the recalled message is %v", m)
	}
	if h.tail(t, c).Seq != d.Seq+1 {
		t.Errorf("the log has %d entries", h.tail(t, c).Seq)
	}
	for _, seq := range []uint64{d.Seq + 1, d.Seq + 9} { // an update, and none
		if err := s.RecallForModerators(t.Context(), c, seq); reasonOf(err) != "no_message" {
			t.Errorf("entry %d is answered with %v", seq, err)
		}
	}
}
