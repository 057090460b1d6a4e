package chat

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// readMessages reads the messages at some seqs as a user sees them, in the order of the seqs, until they fill a page. It returns how many
// seqs are done. Messages that have expired, or are corrupt, are left out.
func (s *Service) readMessages(ctx context.Context, u id.User, c id.Conversation, seqs []uint64, tail timeline.Tail) (messages []*chatv1.Message, done int, err error) {
	refs := make([]timeline.Ref, len(seqs))
	for i, seq := range seqs {
		refs[i] = timeline.Ref{Key: logKey(c), From: seq, To: seq}
	}
	var entries []timeline.Entry
	for done = len(refs); ; done = (done + 3) / 4 { // one entry is never too large
		if entries, err = s.getEach(ctx, refs[:done]); !errors.Is(err, timeline.ErrTooLarge) {
			break
		}
	}
	if err != nil {
		return nil, 0, err
	}
	entries = slices.DeleteFunc(entries, func(e timeline.Entry) bool { return e.Seq == 0 })
	out, corrupt, fit, err := s.toMessages(ctx, u, c, entries, tail)
	if fit < len(entries) {
		done = slices.Index(seqs, entries[fit].Seq)
	}
	if len(corrupt) > 0 {
		s.deps.Logger.Error("corrupt messages are left out: run rialto verify", "conversation", c, "messages", len(corrupt), "first", corrupt[0])
	}
	return out, done, err
}

// getEach returns the entry at each ref, which names one. Those that have expired, or cannot be read because they are corrupt, have Seq 0.
// It fails with timeline.ErrTooLarge if they exceed a page; one never does.
func (s *Service) getEach(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	entries, err := s.deps.Log.GetLimited(ctx, refs, outputlimit.MaxPage)
	if err == nil && len(entries) == len(refs) {
		return entries, nil
	}
	if err != nil && !errors.Is(err, timeline.ErrCorrupt) {
		return nil, err
	}
	entries = make([]timeline.Entry, len(refs))
	size := 0
	for i := range refs { // entries do not name their keys: which one is missing is known only if each is read alone
		switch one, err := s.deps.Log.Get(ctx, refs[i:i+1]); {
		case errors.Is(err, timeline.ErrCorrupt):
			s.deps.Logger.Error("a corrupt entry is left out: run rialto verify", "conversation", refs[i].Key.ID, "seq", refs[i].From, "error", err)
		case err != nil:
			return nil, err
		case len(one) == 1:
			if size += len(one[0].Payload); size > outputlimit.MaxPage && i > 0 {
				return nil, timeline.ErrTooLarge
			}
			entries[i] = one[0]
		}
	}
	return entries, nil
}

// toMessages converts entries to what a user sees now, until they fill a page. It leaves out what the user deleted. It returns the seqs of
// those that are corrupt, and how many entries are done.
func (s *Service) toMessages(ctx context.Context, u id.User, c id.Conversation, entries []timeline.Entry, tail timeline.Tail) (messages []*chatv1.Message, corrupt []uint64, done int, err error) {
	var list []message.Stored
	for done = len(entries); ; done = (done + 3) / 4 { // one entry is never too large
		if list, err = s.decodeCurrent(ctx, u, c, entries[:done], tail); !errors.Is(err, timeline.ErrTooLarge) {
			break
		}
	}
	if err != nil {
		return nil, nil, 0, err
	}
	size := 0
	for i := range list {
		if size >= outputlimit.MaxPage {
			return messages, corrupt, i, nil
		}
		s.yieldAfter(i)
		m := &list[i]
		if m.Deleted {
			continue
		}
		raw, out := m.AppendProto(nil), &chatv1.Message{}
		if m.Entry.ID == (id.Message{}) || isUpdate(m) && m.Entry.Content == nil || proto.Unmarshal(raw, out) != nil {
			corrupt = append(corrupt, m.Seq)
			continue
		}
		messages = append(messages, out)
		size += len(raw)
	}
	return messages, corrupt, done, nil
}

// decodeCurrent decodes entries as a user sees them now. Those that are corrupt have no id, as the placeholders of readOneByOne.
func (s *Service) decodeCurrent(ctx context.Context, u id.User, c id.Conversation, entries []timeline.Entry, tail timeline.Tail) ([]message.Stored, error) {
	list := make([]message.Stored, len(entries))
	readable := make([]*message.Stored, 0, len(entries))
	for i := range entries {
		m := &list[i]
		m.Conversation, m.Seq, m.Counted = c, entries[i].Seq, entries[i].Counted
		if m.Entry.Decode(entries[i].Payload) != nil {
			m.Entry = message.Entry{}
			continue
		}
		readable = append(readable, m)
	}
	return list, s.current(ctx, u, readable, map[id.Conversation]timeline.Tail{c: tail})
}

// maxGetMessages is the most messages that GetMessages returns at once.
const maxGetMessages = 200

// GetMessages returns the messages at some seqs that a user may read, in rising seq order.
func (s *Service) GetMessages(ctx context.Context, u id.User, r *chatv1.GetMessagesRequest) (*chatv1.GetMessagesResponse, error) {
	if len(r.Seqs) == 0 || len(r.Seqs) > maxGetMessages {
		return nil, errs.New(errs.Invalid, "bad_seqs", "give 1 to 200 seqs")
	}
	c := id.Conversation(r.Conversation)
	within, err := s.readable(ctx, u, c)
	if err != nil {
		return nil, err
	}
	seqs := within.among(r.Seqs)
	messages, done, err := s.readMessages(ctx, u, c, seqs, within.tail)
	return &chatv1.GetMessagesResponse{Messages: messages, More: done < len(seqs)}, err
}
