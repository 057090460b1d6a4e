package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func byClientSeq(n uint64) *chatv1.Ref { return &chatv1.Ref{ClientSeq: n} }

func textOf(s string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}}
}

func editByClientSeq(n uint64, content *chatv1.Content) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: byClientSeq(n), Content: content}}}
}

// The retry of a stored draft gets its receipt, also if what it refers to can no longer be read. Another content does not.
func TestUpdateRetriesGetTheirReceipts(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "group", Members: []uint64{2}})
	must(t, err)
	reply := func(text string) *chatv1.Content { r := textOf(text); r.ReplyTo = byClientSeq(1); return r }
	image := func(caption string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: 7, Name: "name of " + caption, Caption: caption}}}
	}
	contents := []*chatv1.Content{textOf("first"), reply("a reply"), editByClientSeq(2, textOf("edited")), image("before"), editByClientSeq(4, image("after"))}
	others := []*chatv1.Content{textOf("x"), reply("x"), editByClientSeq(2, textOf("x")), image("x"), editByClientSeq(4, image("x"))}
	seqs := make([]uint64, len(contents))
	for i, content := range contents {
		d := updateDraft(t, c, 2, uint64(i+1), content)
		must(t, s.Send(ctx, d))
		seqs[i] = d.Seq
	}
	retry := func(when string) {
		t.Helper()
		for i, content := range contents {
			d := updateDraft(t, c, 2, uint64(i+1), content)
			if err := s.Send(ctx, d); err != nil || !d.Duplicate || d.Seq != seqs[i] {
				t.Errorf("%s, the retry of draft %d has seq %d, want %d: %v", when, i+1, d.Seq, seqs[i], err)
			}
			if err := s.Send(ctx, updateDraft(t, c, 2, uint64(i+1), others[i])); reasonOf(err) != "id_reuse" {
				t.Errorf("%s, the id of draft %d with another content: %v", when, i+1, err)
			}
		}
	}
	retry("as a member")
	must(t, s.Send(ctx, updateDraft(t, c, 1, 1, recallOf(seqs[1]))))
	retry("after the recall of the edited message")
	_, err = s.Remove(ctx, c, 1, []uint64{2})
	must(t, err)
	retry("after the removal")
}

// tailLog calls onTail before each Tail, and fails with its error.
type tailLog struct {
	rejectingLog
	onTail func() error
}

func (l *tailLog) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	if err := l.onTail(); err != nil {
		return timeline.Tail{}, err
	}
	return l.Log.Tail(ctx, k)
}

// queueTogether sends drafts of user 1 that form one batch: while they arrive, a reply of user 2 is being resolved. before is called when
// all are queued. It returns their errors.
func queueTogether(t *testing.T, s *chat.Service, log *tailLog, c id.Conversation, before func(), drafts ...*message.Draft) []error {
	t.Helper()
	resolving, release := make(chan struct{}), make(chan struct{})
	log.onTail = func() error { close(resolving); <-release; return nil }
	first := &message.Draft{Conversation: c, Sender: 2, Device: 102, ClientMsgID: "reply", Content: contentOf(t, &chatv1.Content{ReplyTo: &chatv1.Ref{Seq: 2}, Kind: textOf("reply").Kind})}
	replied := make(chan error, 1)
	first.Done = func(d *message.Draft) { replied <- d.Err }
	s.Submit(first)
	eventually.Receive(t, "the reply is being resolved", resolving)
	results := make([]chan error, len(drafts))
	for i, d := range drafts {
		results[i] = make(chan error, 1)
		d.Done = func(d *message.Draft) { results[i] <- d.Err }
		s.Submit(d)
	}
	before()
	close(release)
	must(t, eventually.Receive(t, "the reply", replied))
	list := make([]error, len(drafts))
	for i := range drafts {
		list[i] = eventually.Receive(t, "a result", results[i])
	}
	return list
}

// A message is rejected and will be retried. So must be the edit of it, which the device sent after it.
func TestAnEditWaitsForTheRetryOfItsMessage(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	log := &tailLog{rejectingLog: rejectingLog{Log: h.log}, onTail: func() error { return nil }}
	h.log = log
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, 1, 1, "zero")))
	got := queueTogether(t, s, log, c, func() { log.onTail = func() error { return nil }; log.refuse = 1 },
		draftOf(c, 1, 2, "first"), updateDraft(t, c, 1, 3, editByClientSeq(2, textOf("second"))))
	if reasonOf(got[0]) != "busy" || reasonOf(got[1]) != "busy" {
		t.Fatalf("the message and its edit: %v; want both busy", got)
	}
	d := draftOf(c, 1, 2, "first")
	must(t, s.Send(ctx, d))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 3, editByClientSeq(2, textOf("second")))))
	if m := messageAt(t, s, 2, c, d.Seq); m.Content.GetText() != "second" {
		t.Errorf("a user reads %v", m)
	}
}

// If the target of an update cannot be read now, the device sends it again. Its later messages must not overtake it.
func TestNoMessageOvertakesAnUpdate(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	log := &tailLog{rejectingLog: rejectingLog{Log: h.log}, onTail: func() error { return nil }}
	h.log = log
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	first := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, first))
	got := queueTogether(t, s, log, c, func() { log.onTail = func() error { return timeline.ErrBusy } },
		updateDraft(t, c, 1, 2, editOf(first.Seq, "second")), draftOf(c, 1, 3, "third"))
	if reasonOf(got[0]) != "busy" || reasonOf(got[1]) != "busy" {
		t.Errorf("the update and the message after it: %v; want both busy", got)
	}
}
