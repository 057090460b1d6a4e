package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A text that was edited and then recalled stays hidden while its edit outlives it.
func TestEditsOfExpiredMessagesAreHidden(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	h.clock.ms.Add(dayMs)
	edit := updateDraft(t, c, 1, 2, editOf(d.Seq, "secret"))
	must(t, s.Send(ctx, edit))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 3, recallOf(d.Seq))))
	h.completeFanout(t)
	h.clock.ms.Add(1)
	_, err = s.SetRetention(ctx, c, 1, daySeconds)
	must(t, err)
	must(t, chat.Expire(ctx, s))
	m := messageAt(t, s, 2, c, edit.Seq)
	if m.Content.GetEdit() == nil || m.Content.GetEdit().Content != nil {
		t.Errorf("the edit of a recalled message that has expired shows %v", m.Content)
	}
}

// An update may be applied after its message has expired. The next round deletes its rows, even if no other message expires.
func TestUpdatesOfExpiredMessagesAreDeleted(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	h.completeFanout(t)
	h.clock.ms.Add(dayMs + 1)
	_, err = s.SetRetention(ctx, c, 1, daySeconds)
	must(t, err)
	must(t, chat.Expire(ctx, s))
	for _, content := range []*chatv1.Content{editOf(d.Seq, "edited"), reactionOf(d.Seq, "👍", false)} {
		seq, e := h.storeUpdate(t, c, 1, d.Seq, content)
		_, err := applyUpdate(s, c, seq, &e)
		must(t, err)
	}
	must(t, chat.Expire(ctx, s))
	for _, table := range []string{"message_updates", "message_edits", "reactions"} {
		var n int
		must(t, h.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM `+table+` WHERE conversation = $1`, int64(c)).Scan(&n))
		if n != 0 {
			t.Errorf("%s has %d rows of an expired message", table, n)
		}
	}
}
