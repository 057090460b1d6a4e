package chat_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A message that is to be sent later is refused at once if its sender may not read what it replies to, or if that was recalled.
func TestScheduledRepliesAreChecked(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newHarness(t, chat.Config{}).node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	other, err := s.OpenDirect(ctx, 1, 3)
	must(t, err)
	seqs := map[id.Conversation]uint64{}
	for n := range uint64(8) {
		for _, in := range []id.Conversation{c, other} {
			if in == c && n > 1 {
				continue // so that the last seq of the other conversation is none here
			}
			d := draftOf(in, 1, n+1, "text")
			must(t, s.Send(ctx, d))
			seqs[in] = d.Seq
		}
	}
	must(t, s.Send(ctx, updateDraft(t, c, 1, 10, recallOf(seqs[c]))))
	for name, to := range map[string]struct {
		by   id.User
		seq  uint64
		want string
	}{
		"a message":                       {2, seqs[c] - 1, ""},
		"a recalled message":              {2, seqs[c], "recalled"},
		"one of another conversation":     {1, seqs[other], "no_message"},
		"the entry with which it begins":  {2, 1, "no_message"},
		"one of a conversation of others": {3, seqs[c] - 1, "no_conversation"},
	} {
		d := updateDraft(t, c, to.by, 20, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "re"}, ReplyTo: &chatv1.Ref{Seq: to.seq}})
		if err := s.CheckScheduled(ctx, d); reasonOf(err) != to.want {
			t.Errorf("a reply to %s: %v, want %q", name, err, to.want)
		}
	}
}
