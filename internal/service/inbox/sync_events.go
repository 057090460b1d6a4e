package inbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// appendEvents appends entries as events until b has end bytes, and returns how many it appended. An event whose message has expired, or was deleted by
// the user, has no body, so that the stream stays a chain.
func (s *Service) appendEvents(ctx context.Context, b []byte, u id.User, entries []timeline.Entry, end int) ([]byte, int, error) {
	entries, refs, known, err := s.messageRefs(ctx, u, entries)
	if err != nil {
		return nil, 0, err
	}
	stored, err := s.readStored(ctx, known, refs)
	if errors.Is(err, timeline.ErrCorrupt) && len(entries) > readBatch {
		return s.appendEvents(ctx, b, u, entries[:readBatch], end)
	}
	if errors.Is(err, timeline.ErrCorrupt) || err == nil && len(stored) != len(refs) {
		stored, err = s.readOneByOne(ctx, known, refs)
		refs = slices.DeleteFunc(refs, func(r timeline.Ref) bool { return r.From < known[id.Conversation(r.Key.ID)].seq }) // expired meanwhile
	}
	var messages []message.Stored
	if err == nil {
		messages, err = s.decodeMessages(ctx, u, refs, stored)
	}
	if errors.Is(err, timeline.ErrTooLarge) { // the entries, or the contents that edits gave them, are larger than the previous ones
		return s.appendEvents(ctx, b, u, entries[:(len(entries)+3)/4], end)
	}
	if err != nil {
		return nil, 0, err
	}
	var scratch, body []byte
	for i := range entries {
		e := &entries[i]
		c, seq, event, _ := message.DecodeInbox(e.Payload)
		if seq >= max(known[c].seq, 1) {
			m := &messages[0]
			messages = messages[1:]
			scratch = scratch[:0]
			switch {
			case m.Conversation == 0: // in a thread that the user has lost with its parent
				body = nil
			case m.Deleted:
				body = body[:0]
			case m.Entry.Content == nil && m.State == nil:
				body = message.AppendBody(body[:0], message.FieldUnreadable, m.AppendPlace(scratch))
			default:
				scratch = m.AppendProto(scratch)
				body = message.AppendBody(body[:0], message.FieldMessage, scratch)
			}
			event = body
		}
		b = message.AppendEventField(b, fieldEvents, message.Position(e.Seq), message.Position(e.Prev), event)
		if len(b) >= end {
			return b, i + 1, nil
		}
	}
	return b, len(entries), nil
}

// decodeMessages decodes the entries of refs, as a user sees them now. Those that are corrupt have neither content nor state.
func (s *Service) decodeMessages(ctx context.Context, u id.User, refs []timeline.Ref, stored []timeline.Entry) (messages []message.Stored, err error) {
	messages = make([]message.Stored, len(refs))
	readable := make([]*message.Stored, 0, len(refs))
	for i := range refs {
		m := &messages[i]
		m.Conversation, m.Seq, m.Counted = id.Conversation(refs[i].Key.ID), refs[i].From, stored[i].Counted
		switch err := m.Entry.Decode(stored[i].Payload); {
		case err == nil:
			readable = append(readable, m)
		case stored[i].Seq != 0:
			if err := s.skipCorrupt(ctx, conversationKey(m.Conversation), m.Seq, errors.Join(timeline.ErrCorrupt, err)); err != nil {
				return nil, err
			}
		}
	}
	if readable, err = s.withoutLostThreads(ctx, u, readable); err != nil {
		return nil, err
	}
	return messages, s.deps.Conversations.Current(ctx, u, readable, nil)
}

// withoutLostThreads drops the messages of threads that a user may not read any more, and sets their conversation to 0.
func (s *Service) withoutLostThreads(ctx context.Context, u id.User, list []*message.Stored) ([]*message.Stored, error) {
	lost := map[id.Conversation]bool{}
	kept := list[:0]
	for _, m := range list {
		if m.Entry.ID.Type() == uint8(chatv1.ConversationKind_CONVERSATION_KIND_THREAD) {
			is, known := lost[m.Conversation]
			if !known {
				_, _, err := s.deps.Conversations.ReadableRange(ctx, u, m.Conversation)
				if is = errs.Is(err, errs.NotFound); err != nil && !is {
					return nil, err
				}
				lost[m.Conversation] = is
			}
			if is {
				m.Conversation = 0
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept, nil
}

// messageRefs returns the messages to which entries of a stream refer, without those that have expired or were cleared by the user. It
// truncates entries at the first that cannot be decoded, and fails if none remains.
func (s *Service) messageRefs(ctx context.Context, u id.User, entries []timeline.Entry) ([]timeline.Entry, []timeline.Ref, retainedByConversation, error) {
	refs := make([]timeline.Ref, 0, len(entries))
	known := retainedByConversation{}
	for i := range entries {
		c, seq, _, err := message.DecodeInbox(entries[i].Payload)
		if err != nil && i == 0 {
			return nil, nil, nil, fmt.Errorf("%w at %d: %w", errStreamCorrupt, entries[i].Seq, err)
		}
		if err != nil {
			entries = entries[:i]
			break
		}
		if seq == 0 {
			continue
		}
		if err := s.retainedFrom(ctx, known, c); err != nil {
			return nil, nil, nil, err
		}
		refs = append(refs, timeline.Ref{Key: conversationKey(c), From: seq, To: seq})
	}
	through, err := s.deps.Conversations.ClearedThrough(ctx, u, slices.Collect(maps.Keys(known)))
	if err != nil {
		return nil, nil, nil, err
	}
	for c, seq := range through {
		k := known[c]
		k.seq = max(k.seq, seq+1)
		known[c] = k
	}
	refs = slices.DeleteFunc(refs, func(r timeline.Ref) bool { return r.From < known[id.Conversation(r.Key.ID)].seq })
	return entries, refs, known, nil
}

// retainedByConversation caches the first retained seq of conversations.
type retainedByConversation map[id.Conversation]retained

// retained is the first retained seq of a conversation, or the error of reading the conversation.
type retained struct {
	seq     uint64
	damaged error
}

// retainedFrom adds a conversation to those that are known.
func (s *Service) retainedFrom(ctx context.Context, k retainedByConversation, c id.Conversation) error {
	if _, ok := k[c]; ok {
		return nil
	}
	first, err := s.deps.Conversations.FirstRetained(ctx, c)
	switch {
	case errors.Is(err, timeline.ErrCorrupt):
		k[c] = retained{damaged: err}
	case err != nil && !errs.Is(err, errs.NotFound):
		return err
	default:
		k[c] = retained{seq: first}
	}
	return nil
}
