package chat_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// An update whose content is corrupt is unreadable. The rest of the page is read, and fan-out can quarantine it.
func TestCorruptUpdatesAreUnreadable(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	number, err := h.messages.Next(1, c)
	must(t, err)
	e := message.Entry{ID: number, Sender: 1, Device: id.Device(101), Updates: d.Seq, Content: []byte{0xff}}
	done := make(chan *timeline.AppendRequest, 1)
	h.log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, Payload: e.Append(nil), NeedsFanout: true, Done: func(a *timeline.AppendRequest) { done <- a }})
	a := <-done
	must(t, a.Err)
	if _, err := applyUpdate(s, c, a.Seq, &e); !errors.Is(err, timeline.ErrCorrupt) {
		t.Errorf("applied with %v, want timeline.ErrCorrupt", err)
	}
	page, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c), After: d.Seq - 1})
	must(t, err)
	if len(page.Messages) != 1 || page.Messages[0].Content.GetText() != "first" || len(page.Unreadable) != 1 || page.Unreadable[0] != a.Seq {
		t.Errorf("read %v, and seqs %v are unreadable; want the first message, and seq %d", page.Messages, page.Unreadable, a.Seq)
	}
}

// A corrupt entry hides neither the other pinned messages, nor the other messages that are read with it.
func TestACorruptMessageHidesNoOthers(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	log := &corruptLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	first, second := draftOf(c, 1, 1, "first"), draftOf(c, 1, 2, "second")
	must(t, s.Send(ctx, first))
	must(t, s.Send(ctx, second))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 3, pinOf(first.Seq, false))))
	must(t, s.Send(ctx, updateDraft(t, c, 1, 4, pinOf(second.Seq, false))))
	log.seqs = []uint64{first.Seq}
	pins, err := s.ListPins(ctx, 2, &chatv1.ListPinsRequest{Conversation: uint64(c)})
	must(t, err)
	if len(pins.Messages) != 1 || pins.Messages[0].Content.GetText() != "second" {
		t.Errorf("the pinned messages are %v, want the second message", pins.Messages)
	}
	found, err := s.GetMessages(ctx, 2, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{first.Seq, second.Seq}})
	must(t, err)
	if len(found.Messages) != 1 || found.Messages[0].Content.GetText() != "second" {
		t.Errorf("read %v, want the second message", found.Messages)
	}
}
