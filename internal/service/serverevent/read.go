package serverevent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// readBatch is how many entries of a stream are read at once, and batchBytes how large their contents may be. A single entry is never too large.
	readBatch  = 128
	batchBytes = 1 << 20
)

// batch is what was read of a stream.
type batch struct {
	events   []*eventv1.ServerEvent
	bytes    int
	position uint64 // of the last entry that is delivered or left out
	scanned  int    // entries
	gap      bool   // entries before these were trimmed
	end      bool   // the stream has no more
}

// bounds of a batch. A batch has at least one event, or ends after scan entries, or at the end of the stream.
type bounds struct {
	events, bytes, scan int
	// last is the position of the last entry that may be read; 0: any.
	last uint64
}

// readStream returns the events of a stream after a position that a consumer receives.
func (s *Service) readStream(ctx context.Context, c *consumer, stream timeline.Key, after uint64, most bounds) (*batch, error) {
	b := &batch{position: after}
	for len(b.events) < most.events && b.bytes < most.bytes && b.scanned < most.scan && !b.end {
		entries, err := s.deps.Log.Read(ctx, stream, b.position, min(readBatch, most.scan-b.scanned))
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			b.end = true
			return b, nil
		}
		b.gap = b.gap || b.scanned == 0 && after != 0 && entries[0].Prev > after
		if most.last != 0 {
			entries = slices.DeleteFunc(entries, func(e timeline.Entry) bool { return e.Seq > most.last })
			if len(entries) == 0 {
				b.end = true
				return b, nil
			}
		}
		if err := s.appendEvents(ctx, c, b, entries, most); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendEvents appends the events that stream entries refer to, as many as fit.
func (s *Service) appendEvents(ctx context.Context, c *consumer, b *batch, entries []timeline.Entry, most bounds) error {
	list, err := s.load(ctx, entries)
	if errors.Is(err, timeline.ErrTooLarge) || errors.Is(err, timeline.ErrCorrupt) && len(entries) > 1 {
		return s.appendEvents(ctx, c, b, entries[:(len(entries)+1)/2], most)
	}
	if errors.Is(err, timeline.ErrCorrupt) {
		list = make([]*message.Stored, 1) // it is unreadable
	} else if err != nil {
		return err
	}
	events := make([]*eventv1.ServerEvent, len(entries))
	var current []*message.Stored
	for i := range entries {
		events[i] = c.eventOf(&entries[i], list[i])
		if events[i] != nil && events[i].Kind != eventv1.EventKind_EVENT_KIND_UNREADABLE && !c.audit {
			current = append(current, list[i])
		}
	}
	if len(current) > 0 {
		if err := s.deps.Chat.Refresh(ctx, current); err != nil {
			return err
		}
	}
	for i, e := range events {
		if e != nil {
			if err := complete(e, list[i]); err != nil {
				return err
			}
			size := proto.Size(e)
			if len(b.events) > 0 && (len(b.events) >= most.events || b.bytes+size > most.bytes) {
				b.bytes = most.bytes // full
				return nil
			}
			b.events, b.bytes = append(b.events, e), b.bytes+size
		}
		b.position = entries[i].Seq
		b.scanned++
	}
	return nil
}

// load returns the conversations' entries that stream entries refer to, by their indexes: nil for an event without a message, and for an entry that has expired.
func (s *Service) load(ctx context.Context, entries []timeline.Entry) ([]*message.Stored, error) {
	list := make([]*message.Stored, len(entries))
	var refs []timeline.Ref
	var indexes []int
	for i := range entries {
		c, seq, _, err := message.DecodeInbox(entries[i].Payload)
		if err != nil {
			return nil, errors.Join(timeline.ErrCorrupt, err)
		}
		if seq == 0 {
			continue
		}
		refs = append(refs, timeline.Ref{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, From: seq, To: seq})
		indexes = append(indexes, i)
	}
	found, err := s.deps.Log.GetLimited(ctx, refs, batchBytes)
	if err != nil {
		return nil, err
	}
	whole := len(found) == len(refs)
	for n, r := range refs {
		one := found
		if whole {
			one = found[n : n+1]
		} else if one, err = s.deps.Log.Get(ctx, []timeline.Ref{r}); err != nil { // absent entries are left out
			return nil, err
		}
		if len(one) == 0 {
			continue
		}
		m := &message.Stored{Conversation: id.Conversation(r.Key.ID), Seq: r.From, Counted: one[0].Counted}
		if err := m.Entry.Decode(one[0].Payload); err != nil {
			return nil, errors.Join(timeline.ErrCorrupt, err)
		}
		list[indexes[n]] = m
	}
	return list, nil
}

// eventOf returns the event of a stream entry, without its message; nil if the consumer does not receive it. m is nil if the entry cannot be read.
func (c *consumer) eventOf(e *timeline.Entry, m *message.Stored) *eventv1.ServerEvent {
	if m == nil {
		conversation, seq, _, err := message.DecodeInbox(e.Payload)
		if err == nil && seq == 0 {
			return nil // an event of a user's inbox that is about no message
		}
		return &eventv1.ServerEvent{Id: fmt.Sprintf("%d-%d", conversation, seq), Kind: eventv1.EventKind_EVENT_KIND_UNREADABLE, Conversation: uint64(conversation), Seq: seq}
	}
	var content chatv1.Content
	kind := eventv1.EventKind_EVENT_KIND_UNREADABLE
	if proto.Unmarshal(m.Entry.Content, &content) == nil {
		kind = kindOf(&content)
	}
	conversationKind := chatv1.ConversationKind(m.Entry.ID.Type())
	if !c.filter.accepts(kind, conversationKind, m.Entry.Sender) || c.filter.bridge != "" && content.GetBridge() == c.filter.bridge || content.GetControl().GetAction() == chatv1.Control_ACTION_ACCESS {
		return nil
	}
	return &eventv1.ServerEvent{Id: fmt.Sprintf("%d-%d", m.Conversation, m.Seq), Kind: kind, Conversation: uint64(m.Conversation), Seq: m.Seq, ConversationKind: conversationKind}
}

func (f *filter) accepts(k eventv1.EventKind, of chatv1.ConversationKind, sender id.User) bool {
	return (k == eventv1.EventKind_EVENT_KIND_UNREADABLE || len(f.kinds) == 0 || slices.Contains(f.kinds, k)) &&
		(len(f.conversations) == 0 || slices.Contains(f.conversations, of)) && !slices.Contains(f.bots, sender)
}

// complete sets the message of an event, and the command in it.
func complete(e *eventv1.ServerEvent, m *message.Stored) error {
	if m == nil || e.Kind == eventv1.EventKind_EVENT_KIND_UNREADABLE {
		return nil
	}
	if len(m.Entry.Content) == 0 && len(m.State) == 0 { // it has expired since it was read
		e.Kind = eventv1.EventKind_EVENT_KIND_UNREADABLE
		return nil
	}
	e.Message = &chatv1.Message{}
	if err := proto.Unmarshal(m.AppendProto(nil), e.Message); err != nil {
		return err
	}
	if e.Kind == eventv1.EventKind_EVENT_KIND_MESSAGE {
		e.Command = commandOf(e.Message.GetContent().GetText())
	}
	return nil
}

// kindOf returns what an entry with a content is.
func kindOf(c *chatv1.Content) eventv1.EventKind {
	switch k := c.Kind.(type) {
	case *chatv1.Content_Control:
		switch k.Control.GetAction() {
		case chatv1.Control_ACTION_CREATED:
			return eventv1.EventKind_EVENT_KIND_CONVERSATION_CREATED
		case chatv1.Control_ACTION_JOINED:
			return eventv1.EventKind_EVENT_KIND_MEMBER_JOINED
		case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
			return eventv1.EventKind_EVENT_KIND_MEMBER_LEFT
		}
		return eventv1.EventKind_EVENT_KIND_CONVERSATION_CHANGED
	case *chatv1.Content_Edit:
		return eventv1.EventKind_EVENT_KIND_EDIT
	case *chatv1.Content_Recall:
		return eventv1.EventKind_EVENT_KIND_RECALL
	case *chatv1.Content_Reaction:
		return eventv1.EventKind_EVENT_KIND_REACTION
	case *chatv1.Content_Pin:
		return eventv1.EventKind_EVENT_KIND_PIN
	case *chatv1.Content_Signal:
		return eventv1.EventKind_EVENT_KIND_SIGNAL
	case *chatv1.Content_BridgeReport:
		return eventv1.EventKind_EVENT_KIND_BRIDGE_REPORT
	case *chatv1.Content_Thread:
		return eventv1.EventKind_EVENT_KIND_CONVERSATION_CHANGED
	}
	return eventv1.EventKind_EVENT_KIND_MESSAGE
}
