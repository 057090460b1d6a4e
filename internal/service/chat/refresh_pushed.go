package chat

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Fan-out pushes what it read some time ago. From the acknowledgement of an edit or a recall on, nobody may be pushed the old text, however
// long the message has waited. So right before the push fan-out asks MayBeOutdated, and has those entries refreshed:
//
//   - An entry older than pushWindow: it has waited. Usually the log's tail shows that no update followed it (see noUpdates).
//   - A younger one cannot be outdated in a cluster: there an edit or a recall is acknowledged only once what it replaces, a message or an edit, is older than minTextAge.
//     The difference to pushWindow is how much the clocks of two nodes may differ.
//   - On a single node nobody waits for that. Instead, for minTextAge after an edit or a recall of a young message, all entries are refreshed. What was
//     checked before, and waits to be pushed to many, is waited for (AwaitPushes).

const (
	pushWindow = message.PushWindow
	minTextAge = 2 * pushWindow
)

// MayBeOutdated reports whether a stored entry may have another text by now.
func (s *Service) MayBeOutdated(stored []byte) bool {
	switch {
	case message.IsControl(stored):
		return false
	case message.IsUpdate(stored):
		return isEdit(stored) // its text may be recalled, or replaced, at any time
	case message.IsForwardEntry(stored):
		return true // what it forwards may be old
	}
	now := s.deps.Clock.Now().UnixMilli()
	if age := now - message.StoredMs(stored); age < 0 || age >= pushWindow.Milliseconds() {
		return true
	}
	last := s.textChangedMs.Load()
	return last != 0 && max(now-last, last-now) <= minTextAge.Milliseconds()
}

func isEdit(stored []byte) bool {
	var e message.Entry
	var content chatv1.Content
	return e.Decode(stored) == nil && proto.Unmarshal(e.Content, &content) == nil && content.GetEdit() != nil
}

// Refresh gives entries that are about to be pushed the contents and states that members see now. An entry that has expired becomes empty.
func (s *Service) Refresh(ctx context.Context, list []*message.Stored) error {
	tails, err := s.tails(ctx, list)
	if err != nil {
		return err
	}
	if list, err = s.emptyExpired(ctx, list); err != nil {
		return err
	}
	return inParts(list, func(part []*message.Stored) error { return s.current(ctx, 0, part, tails) })
}

// emptyExpired empties the entries that have expired, and returns the others.
func (s *Service) emptyExpired(ctx context.Context, list []*message.Stored) (kept []*message.Stored, err error) {
	firsts := map[id.Conversation]uint64{}
	for _, m := range list {
		firsts[m.Conversation] = 0
	}
	if err := s.raiseToRetained(ctx, firsts); err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Seq < firsts[m.Conversation] {
			m.Entry = message.Entry{}
		} else {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// stopOldPushes returns when no node pushes the text any more that an applied edit or recall has replaced.
func (s *Service) stopOldPushes(ctx context.Context, m *message.Stored) error {
	var content chatv1.Content
	if err := proto.Unmarshal(m.Entry.Content, &content); err != nil || content.GetEdit() == nil && content.GetRecall() == nil {
		return err
	}
	replaced, err := s.replacedBy(ctx, m)
	if err != nil {
		return err
	}
	ms, expired, err := s.entryTimeAt(ctx, m.Conversation, replaced)
	if expired != 0 || errors.Is(err, timeline.ErrCorrupt) {
		return nil // it cannot be pushed
	}
	if err != nil {
		return err
	}
	now := s.deps.Clock.Now().UnixMilli()
	wait := s.minTextAge - time.Duration(now-ms)*time.Millisecond
	switch {
	case s.deps.SingleNode:
		if wait > 0 {
			s.textChangedMs.Store(now)
		}
		if s.deps.AwaitPushes == nil {
			return nil
		}
		return s.deps.AwaitPushes(ctx)
	case wait <= 0:
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replacedBy returns the seq of the entry whose text an applied edit or recall has replaced: the edit before it, or else the message itself.
func (s *Service) replacedBy(ctx context.Context, m *message.Stored) (uint64, error) {
	edits, err := s.querySeqs(ctx, `SELECT edit_seq FROM message_edits WHERE conversation = $1 AND seq = $2 AND edit_seq < $3 ORDER BY edit_seq DESC LIMIT 1`,
		int64(m.Conversation), int64(m.Entry.Updates), int64(m.Seq))
	if err != nil || len(edits) == 0 {
		return m.Entry.Updates, err
	}
	return edits[0], nil
}
