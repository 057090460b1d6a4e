package chat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
)

// A sender who floods the server with updates waits for their own queue. Others do not.
func TestOneSendersUpdatesLeaveRoomForOthers(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := groupWithAdmin(t, s)
	one, other := draftOf(c, 3, 1, "one"), draftOf(c, 4, 1, "other")
	must(t, s.Send(ctx, one))
	must(t, s.Send(ctx, other))
	free, err := chat.OccupySenderSlots(ctx, s, 3)
	must(t, err)
	waits := make(chan error, 1)
	go func() { waits <- s.Send(ctx, updateDraft(t, c, 3, 2, reactionOf(one.Seq, "👍", false))) }()
	must(t, s.Send(ctx, updateDraft(t, c, 4, 2, editOf(other.Seq, "edited"))))
	must(t, s.Send(ctx, updateDraft(t, c, 2, 1, mentioning(mentionOf(1)))))
	select {
	case err := <-waits:
		t.Errorf("beyond a sender's slots an update was applied: %v", err)
	default:
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := chat.OccupySenderSlots(ended, s, 3); err == nil {
		t.Error("there was a slot beyond a sender's")
	}
	free()
	must(t, <-waits)
	if n := chat.SendersWithSlots(s); n != 0 {
		t.Errorf("%d senders are remembered without an update", n)
	}
}

// Retries of recalled messages, and fan-out after a recall, bring no rows back that each list of unread mentions would have to skip.
func TestOutdatedMentionsHaveNoRows(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := groupWithAdmin(t, s)
	content := mentioning(mentionOf(4), mentionOfAdmins())
	d := updateDraft(t, c, 3, 1, content)
	must(t, s.Send(ctx, d))
	rows := func() (n int) {
		t.Helper()
		must(t, h.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM mentions WHERE conversation = $1`, int64(c)).Scan(&n))
		return n
	}
	if n := rows(); n != 3 {
		t.Fatalf("the message has %d rows, want 3", n)
	}
	retry := func() {
		t.Helper()
		again := updateDraft(t, c, 3, 1, content)
		if err := s.Send(ctx, again); err != nil || !again.Duplicate {
			t.Fatalf("the retry: %v", err)
		}
	}
	must(t, s.Send(ctx, updateDraft(t, c, 3, 2, editOf(d.Seq, "nobody"))))
	retry()
	if n := rows(); n != 0 {
		t.Errorf("after an edit and a retry there are %d rows", n)
	}
	must(t, s.Send(ctx, updateDraft(t, c, 3, 3, recallOf(d.Seq))))
	retry()
	first := message.Stored{Conversation: c, Seq: d.Seq, Entry: message.Entry{ID: d.ID, Sender: 3, Content: d.Content}}
	rejected, err := s.ApplyUpdates(ctx, []*message.Stored{&first})
	must(t, err)
	must(t, rejected[0])
	if n := rows(); n != 0 {
		t.Errorf("after a recall and a retry there are %d rows", n)
	}
}

// A forward costs what it copies, and is refused while its sender may not send that much. The retry is stored.
func TestForwardsAreChargedForWhatTheyCopy(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	var charged []int
	allowed := false
	deps.ChargeCopy = func(u id.User, bytes int) error {
		if u != 2 {
			t.Errorf("user %d is charged", u)
		}
		if charged = append(charged, bytes); !allowed {
			return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_requests", Message: "wait", Retry: time.Second}
		}
		return nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	from, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	to, err := s.OpenDirect(ctx, 2, 3)
	must(t, err)
	long := draftOf(from, 1, 1, strings.Repeat("界", 10_000))
	must(t, s.Send(ctx, long))
	send := func() error { return s.Send(ctx, updateDraft(t, to, 2, 1, forwardOf(from, "", long.Seq))) }
	if err := send(); reasonOf(err) != "too_many_requests" {
		t.Errorf("beyond the limit: %v", err)
	}
	allowed = true
	must(t, send())
	if len(charged) != 2 || charged[0] < 30_000 || charged[1] != charged[0] {
		t.Errorf("charged %v bytes, want twice some more than 30,000", charged)
	}
}
