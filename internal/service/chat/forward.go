package chat

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A forward refers to the messages that it shows, and has a copy of them (docs/decisions/0074-forwards.md). resolveForward makes the copy
// when the forward is sent; presentForwards makes each read of it show what the messages are now.

const (
	maxForwarded = 100
	// maxForwardSize bounds the copies of several messages. One message may have any size.
	maxForwardSize = 512 << 10
	// maxPageItems bounds the messages in the forwards of a page. One forward has fewer.
	maxPageItems = 1000
	// maxForwardEdits bounds the edits that are read for the forwards of a page, in bytes.
	maxForwardEdits = 4 << 20
)

var (
	errForward      = badContent("a forward names 1 to 100 messages of one conversation by their seqs, and may have a title in one line; the server adds the messages")
	errForwardLarge = errs.New(errs.Invalid, "forward_too_large", "these messages are too large for one forward; forward fewer at once")
)

func validateForward(d *message.Draft, f *chatv1.Forward) error {
	slices.Sort(f.Seqs)
	f.Seqs = slices.Compact(f.Seqs)
	if f.Conversation == 0 || len(f.Seqs) == 0 || len(f.Seqs) > maxForwarded || f.Seqs[0] == 0 || isLong(f.Title) || !message.IsLine(f.Title) || len(f.Items) > 0 {
		return errForward
	}
	d.Refers = true
	return nil
}

// resolveForward copies the messages that a forward names into it, as the sender sees them now. st is the state of the conversation to
// which it is sent.
func (s *Service) resolveForward(ctx context.Context, st *state, u id.User, f *chatv1.Forward) (err error) {
	source := id.Conversation(f.Conversation)
	if source != st.id {
		if st, err = s.linearizableState(ctx, source); err != nil {
			return err
		}
	}
	from, to, err := s.readableRange(ctx, st, u)
	if err != nil {
		return err
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(source))
	if err != nil {
		return err
	}
	if f.Seqs[0] < from || f.Seqs[len(f.Seqs)-1] > min(to, tail.Seq) {
		return errNoTarget
	}
	f.Items = nil
	for rest := f.Seqs; len(rest) > 0; {
		messages, done, err := s.readMessages(ctx, u, source, rest, tail)
		if err != nil {
			return err
		}
		if len(messages) < done {
			return errNoTarget // one expired just now, or is corrupt
		}
		for _, m := range messages {
			items, err := forwarded(m)
			if err != nil {
				return err
			}
			f.Items = append(f.Items, items...)
		}
		if len(f.Items) > maxForwarded {
			return errForward
		}
		if len(f.Items) > 1 && proto.Size(f) > maxForwardSize {
			return errForwardLarge
		}
		rest = rest[done:]
	}
	if s.deps.ChargeCopy == nil {
		return nil
	}
	return s.deps.ChargeCopy(u, proto.Size(f))
}

// forwarded returns the items for a message: those that it has, if it is a forward itself, so that they name the messages' authors.
func forwarded(m *chatv1.Message) ([]*chatv1.Forwarded, error) {
	c := m.Content
	switch {
	case m.RecallSeq != 0:
		return nil, errRecalled
	case c.GetStreamed() != nil:
		return nil, errBeingWritten
	case c.GetKind() == nil, c.GetControl() != nil, c.GetSignal() != nil, targetOf(c) != nil:
		return nil, errNoTarget
	}
	if f := c.GetForward(); f != nil {
		return f.Items, nil
	}
	c.ReplyTo, c.Mentions = nil, nil // they name a message, and members, of that conversation
	return []*chatv1.Forwarded{{Conversation: m.Conversation, Seq: m.Seq, Sender: m.Sender, TimeMs: m.TimeMs, Content: c}}, nil
}

// presentForwards returns the contents of the forwards among some entries as they are now, by their indexes. It fails with
// timeline.ErrTooLarge if they have too many messages, or their edits exceed a page; one entry never does.
func (s *Service) presentForwards(ctx context.Context, list []*message.Stored) (map[int][]byte, error) {
	var contents map[int]*chatv1.Content
	var keys []messageKey
	for i, m := range list {
		if m.Entry.Control || m.Entry.Updates != 0 || !message.IsForward(m.Entry.Content) {
			continue
		}
		c := &chatv1.Content{}
		if proto.Unmarshal(m.Entry.Content, c) != nil || c.GetForward() == nil {
			continue // it is corrupt, which the caller finds
		}
		if contents == nil {
			contents = map[int]*chatv1.Content{}
		}
		contents[i] = c
		for _, item := range c.GetForward().Items {
			keys = append(keys, itemKey(item))
		}
	}
	if len(contents) == 0 {
		return nil, nil
	}
	if len(keys) > maxPageItems {
		return nil, timeline.ErrTooLarge
	}
	states, firsts, err := s.originStates(ctx, keys)
	if err != nil {
		return nil, err
	}
	edits, err := s.forwardedEdits(ctx, keys, states, len(list) == 1)
	if err != nil {
		return nil, err
	}
	present := map[int][]byte{}
	for i, c := range contents {
		for _, item := range c.GetForward().Items {
			k := itemKey(item)
			switch st := states[k]; {
			case st.recallSeq != 0 || k.seq < firsts[k.conversation]:
				item.Content = nil
			case st.editSeq != 0:
				item.Content = edits[messageKey{k.conversation, st.editSeq}] // none if it has expired, or is corrupt
			}
		}
		if present[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(c); err != nil {
			return nil, err
		}
	}
	return present, nil
}

func itemKey(item *chatv1.Forwarded) messageKey {
	return messageKey{id.Conversation(item.Conversation), item.Seq}
}

// originStates returns the states of forwarded messages, and below which seq their conversations have expired. The states come first:
// they are deleted after their messages.
func (s *Service) originStates(ctx context.Context, keys []messageKey) (map[messageKey]messageState, map[id.Conversation]uint64, error) {
	states, err := s.messageStates(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	firsts := map[id.Conversation]uint64{}
	var logs []timeline.Key
	for _, k := range keys {
		if _, ok := firsts[k.conversation]; !ok {
			firsts[k.conversation] = 0
			logs = append(logs, logKey(k.conversation))
		}
	}
	tails, err := s.deps.Log.Tails(ctx, logs)
	if err != nil {
		return nil, nil, err
	}
	for i, k := range logs {
		firsts[id.Conversation(k.ID)] = tails[i].FirstSeq
	}
	return states, firsts, s.raiseToRetained(ctx, firsts)
}

// raiseToRetained raises the first seqs of conversations to the first that have not expired: the log may still have expired messages. Only
// the states of conversations with a retention are loaded.
func (s *Service) raiseToRetained(ctx context.Context, firsts map[id.Conversation]uint64) error {
	if s.retention == 0 && !s.customRetention.Load() {
		return nil
	}
	expire := slices.Collect(maps.Keys(firsts))
	if s.retention == 0 {
		var err error
		if expire, err = s.withOwnRetention(ctx, expire); err != nil {
			return err
		}
	}
	for _, c := range expire {
		first, err := s.FirstRetained(ctx, c)
		if err != nil {
			return err
		}
		firsts[c] = max(firsts[c], first)
	}
	return nil
}

// forwardedEdits reads the last edits of forwarded messages, as forwards show them. It fails with timeline.ErrTooLarge if they exceed
// maxForwardEdits; for a single forward, it leaves the rest out instead.
func (s *Service) forwardedEdits(ctx context.Context, keys []messageKey, states map[messageKey]messageState, single bool) (map[messageKey]*chatv1.Content, error) {
	contents := map[messageKey]*chatv1.Content{}
	var rest []messageKey
	for _, k := range keys {
		edit := messageKey{k.conversation, states[k].editSeq}
		if _, known := contents[edit]; !known && edit.seq != 0 && states[k].recallSeq == 0 {
			contents[edit] = nil
			rest = append(rest, edit)
		}
	}
	for size := 0; len(rest) > 0; {
		some := rest[:min(len(rest), maxForwarded)]
		edits, err := s.readEdits(ctx, some)
		for ; errors.Is(err, timeline.ErrTooLarge) && len(some) > 1; edits, err = s.readEdits(ctx, some) {
			some = some[:(len(some)+3)/4]
		}
		if err != nil {
			return nil, err
		}
		for k, e := range edits {
			if size += len(e.content); size > maxForwardEdits {
				if !single {
					return nil, timeline.ErrTooLarge
				}
				return contents, nil
			}
			c := &chatv1.Content{}
			if proto.Unmarshal(e.content, c) == nil {
				c.ReplyTo, c.Mentions = nil, nil
				contents[k] = c
			}
		}
		rest = rest[len(some):]
	}
	return contents, nil
}
