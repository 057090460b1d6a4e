package streamedmessage

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
)

const (
	// pushesPerSecond bounds what a node pushes: one for each reader, and pushCost for each message.
	pushesPerSecond = 6000
	pushCost        = 4
	// maxWeight bounds how much a message with very many readers slows the others down. It is pushed less often itself.
	maxWeight = 200
	// ownPushesPerSecond bounds what is pushed for one message.
	ownPushesPerSecond = 3000
	// atOnce bounds the messages whose readers are looked up at the same time.
	atOnce = 8
)

// interval is the time between two pushes of a message. It grows with the messages and readers of this node.
func (s *Service) interval() time.Duration {
	return max(pushInterval, time.Duration(s.weight.Load())*time.Second/pushesPerSecond)
}

// interval is that of Service, or longer with many readers. The caller holds mu.
func (h *held) interval(ofAll time.Duration) time.Duration {
	return max(ofAll, time.Duration(h.weight)*time.Second/ownPushesPerSecond)
}

// Push pushes what was added to messages whose time has come.
func (s *Service) Push(ctx context.Context) {
	began, due := s.now(), s.dueToPush()
	if len(due) == 0 {
		return
	}
	var rows map[key]struct{} // nil on a single node: OnStreamed tells it of each recall
	if s.deps.IsAlive != nil {
		var err error
		if rows, err = s.heldRows(ctx); err != nil {
			s.deps.Logger.Warn("parts of streamed messages are pushed later", "error", err)
			s.putBack(due)
			return
		}
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, h := range due {
		if _, mine := rows[h.key]; rows != nil && !mine { // it was recalled or has ended, or has another holder
			s.drop(h)
			continue
		}
		group.Go(func() error { s.pushOne(ctx, h, began); return nil })
	}
	_ = group.Wait() // no function fails
}

// dueToPush takes the messages whose time has come.
func (s *Service) dueToPush() (due []*held) {
	now, ofAll := s.now(), s.interval()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, h := range s.changed {
		h.mu.Lock()
		if now.Sub(h.lastPush) >= h.interval(ofAll) || now.Before(h.lastPush) {
			due = append(due, h)
			delete(s.changed, k)
		}
		h.mu.Unlock()
	}
	return due
}

func (s *Service) putBack(list []*held) {
	for _, h := range list {
		s.setChanged(h)
	}
}

// pushOne pushes what was added to a message, after it has found that its sender may still write. If not, it breaks the message off.
func (s *Service) pushOne(ctx context.Context, h *held, began time.Time) {
	h.mu.Lock()
	written := len(h.text)
	h.mu.Unlock()
	readers, err := s.deps.Chat.StreamedReaders(ctx, h.conversation, h.seq, h.sender)
	switch {
	case err != nil && isRefused(err):
		s.breakOffLogged(ctx, h, chatv1.BrokenOff_CAUSE_DENIED)
		return
	case err != nil:
		if ctx.Err() == nil {
			s.deps.Logger.Warn("parts of a streamed message are pushed later", "conversation", h.conversation, "seq", h.seq, "error", errs.Of(err))
		}
		s.setChanged(h)
		return
	}
	if s.pushAdded(h, written, readers, began) {
		s.setChanged(h)
	}
}

// pushAdded pushes what was added to a message. It reports whether something is left.
func (s *Service) pushAdded(h *held, written int, to message.StreamedReaders, began time.Time) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return false
	}
	h.allowed = max(h.allowed, written)
	now := s.now()
	if s.deps.IsAlive != nil && now.Sub(began) > message.PushWindow/2 { // it may have been recalled since
		return true
	}
	end, text := written, &chatv1.StreamedText{Conversation: uint64(h.conversation), Seq: h.seq, State: h.state}
	if !to.HideParts {
		end = h.endOfPush(written)
		added := h.text[h.pushed.bytes:end]
		text.Offset, text.Text, text.Note = uint32(h.pushed.characters), string(added), h.note
		h.pushed = place{end, h.pushed.characters + utf8.RuneCount(added)}
	}
	h.lastPush = now
	weight := int64(to.Count + pushCost)
	s.weight.Add(min(weight, maxWeight) - min(h.weight, maxWeight))
	h.weight = weight
	s.push(to, h.key, text) // with mu held, so that nothing is pushed once the message is gone
	return end < written
}

// endOfPush returns how far the next push goes: to the end of a character, and not too far. The caller holds mu.
func (h *held) endOfPush(written int) int {
	if written-h.pushed.bytes <= maxPushed {
		return written
	}
	end := h.pushed.bytes + maxPushed
	for !utf8.RuneStart(h.text[end]) {
		end--
	}
	return end
}

// breakOffLogged breaks off a message that nobody has asked to stop. If that fails, its row is left for the coordinator.
func (s *Service) breakOffLogged(ctx context.Context, h *held, cause chatv1.BrokenOff_Cause) {
	_, err := s.breakOffHeld(ctx, h, &chatv1.BrokenOff{Cause: cause})
	if err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("a streamed message is broken off later", "conversation", h.conversation, "seq", h.seq, "error", err)
	}
	s.drop(h)
}
