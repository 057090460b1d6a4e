package chat_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// oldTexts is a conversation with two messages to which two others reply. The first was edited, and the second edited and recalled: nothing that a
// user reads of it says "secret" any more.
func oldTexts(t *testing.T) (s *chat.Service, c id.Conversation, quoted []uint64) {
	t.Helper()
	ctx := context.Background()
	s = newHarness(t, chat.Config{}).node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for n, text := range []string{"a secret", "another secret"} {
		d := draftOf(c, 1, uint64(n)+1, text)
		must(t, s.Send(ctx, d))
		quoted = append(quoted, d.Seq)
	}
	for n, content := range []*chatv1.Content{
		{Kind: &chatv1.Content_Text{Text: "to the first"}, ReplyTo: &chatv1.Ref{Seq: quoted[0]}},
		{Kind: &chatv1.Content_Text{Text: "to the second"}, ReplyTo: &chatv1.Ref{Seq: quoted[1]}},
	} {
		must(t, s.Send(ctx, updateDraft(t, c, 2, uint64(n)+1, content)))
	}
	for n, content := range []*chatv1.Content{editOf(quoted[0], "a new text"), editOf(quoted[1], "a second secret"), recallOf(quoted[1])} {
		must(t, s.Send(ctx, updateDraft(t, c, 1, uint64(n)+3, content)))
	}
	return s, c, quoted
}

// What a client shows of the message that another one answers, it reads by its seq: the text after the last edit, and nothing of a recalled one.
func TestQuotesHaveNoOldTexts(t *testing.T) {
	t.Parallel()
	s, c, quoted := oldTexts(t)
	for u := range id.User(2) {
		r, err := s.GetMessages(t.Context(), u+1, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: quoted})
		must(t, err)
		if len(r.Messages) != 2 || r.Messages[0].Content.GetText() != "a new text" || r.Messages[1].Content != nil || r.Messages[1].RecallSeq == 0 {
			t.Errorf("user %d reads %v of the messages that were answered", u+1, r.Messages)
		}
		if text := protojson.Format(r); strings.Contains(text, "secret") {
			t.Errorf("user %d reads %s", u+1, text)
		}
	}
}

// A user's export has the texts after the last edits, and none of what was recalled. That of a whole deployment has the edits of a message, which whoever
// imports them applies, but neither the text nor the edits of a recalled one.
func TestExportsHaveNoOldTexts(t *testing.T) {
	t.Parallel()
	s, c, quoted := oldTexts(t)
	for u := range id.User(2) {
		got := record{}
		must(t, s.UserData().ExportUser(t.Context(), u+1, got))
		text := strings.Join(got["messages"], "\n")
		if strings.Contains(text, "secret") || !strings.Contains(text, "a new text") || !strings.Contains(text, "to the second") {
			t.Errorf("the export of user %d is %s", u+1, text)
		}
	}
	r, err := s.ExportEntries(t.Context(), &operationv1.ExportEntriesRequest{Conversation: uint64(c)})
	must(t, err)
	var seqs []uint64
	for _, e := range r.Entries {
		text := protojson.Format(e)
		if strings.Contains(text, "secret") && !strings.Contains(text, "a secret") {
			t.Errorf("the export of the conversation has %s", text)
		}
		if strings.Contains(text, "a new text") || e.Seq == quoted[1] {
			seqs = append(seqs, e.Seq)
		}
	}
	if len(seqs) != 2 || !slices.Contains(seqs, quoted[1]) {
		t.Errorf("the export of the conversation has the recalled message and the edit of the other at %v: %v", seqs, r.Entries)
	}
}
