package chat

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// ExportConversations returns a page of all conversations by their ids: threads, or all others. Tickets of help desks are left out.
func (s *Service) ExportConversations(ctx context.Context, r *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error) {
	out := &operationv1.ExportConversationsResponse{}
	if r.After == 0 {
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM conversations WHERE ticket = 0 AND (parent > 0) = $1`, r.Threads).Scan(&out.Total); err != nil {
			return nil, err
		}
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, kind, coalesce(create_key, ''), channel, parent, root FROM conversations WHERE id > $1 AND ticket = 0 AND (parent > 0) = $2 ORDER BY id LIMIT $3`,
		int64(r.After), r.Threads, outputlimit.LargePageSize(r.Limit))
	out.Conversations, err = sqldb.Collect(rows, err, func(scan func(...any) error) (*operationv1.InterchangeConversation, error) {
		var kind chatv1.ConversationKind
		var createKey string
		c := &operationv1.InterchangeConversation{}
		err := scan(&c.Conversation, &kind, &createKey, &c.Channel, &c.Parent, &c.RootSeq)
		c.Direct, c.Key = kind == direct, importKeyOf(createKey)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range out.Conversations {
		tail, err := s.deps.Log.Tail(ctx, logKey(id.Conversation(c.Conversation)))
		if err != nil {
			return nil, err
		}
		c.LastSeq = tail.Seq
	}
	return out, nil
}

// ExportEntries returns a page of the entries of a conversation, as they are stored. What was recalled or erased has no content; what has expired, and
// what serves the server only, is left out.
func (s *Service) ExportEntries(ctx context.Context, r *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error) {
	c := id.Conversation(r.Conversation)
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	first, err := s.firstRetained(ctx, st)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.LargePageSize(r.Limit)
	entries, err := s.deps.Log.Read(ctx, logKey(c), r.After, limit)
	if err != nil {
		return nil, err
	}
	out := &operationv1.ExportEntriesResponse{Next: r.After, More: len(entries) == limit}
	size := 0
	for i := range entries {
		if size += len(entries[i].Payload); size > outputlimit.LargePageBytes && i > 0 {
			entries, out.More = entries[:i], true
			break
		}
	}
	if len(entries) == 0 {
		return out, nil
	}
	out.Next = entries[len(entries)-1].Seq
	out.Entries, err = s.exportedEntries(ctx, c, entries, first)
	return out, err
}

func (s *Service) exportedEntries(ctx context.Context, c id.Conversation, entries []timeline.Entry, first uint64) ([]*operationv1.ExportedEntry, error) {
	list := make([]*message.Stored, len(entries))
	keys := make([]messageKey, len(entries))
	for i := range entries {
		list[i] = &message.Stored{Conversation: c, Seq: entries[i].Seq, Counted: entries[i].Counted}
		if err := list[i].Entry.Decode(entries[i].Payload); err != nil {
			return nil, errors.Join(errCorrupt, err)
		}
		keys[i] = subject(list[i])
	}
	states, err := s.messageStates(ctx, keys)
	if err != nil {
		return nil, err
	}
	if err := s.hideErasing(list); err != nil {
		return nil, err
	}
	var out []*operationv1.ExportedEntry
	for i, m := range list {
		e := &operationv1.ExportedEntry{Seq: m.Seq, TimeMs: m.Entry.ID.Ms(), Sender: uint64(m.Entry.Sender)}
		st := states[keys[i]]
		if len(m.Entry.Content) > 0 {
			e.Content = &chatv1.Content{}
			if err := proto.Unmarshal(m.Entry.Content, e.Content); err != nil {
				return nil, errors.Join(errCorrupt, err)
			}
			if st.recallSeq != 0 && m.Entry.Updates == 0 {
				e.Content = &chatv1.Content{ExternalId: e.Content.ExternalId}
			}
		}
		expired := !m.Entry.Control && keys[i].seq < first
		if expired || !isExported(m, e.Content, st) {
			continue
		}
		if e.Content.GetStreamed() != nil {
			if err := s.exportStreamed(ctx, m, e.Content); err != nil {
				return nil, err
			}
		}
		if e.Content != nil {
			e.Content.LinkPreview, e.Content.BrokenOff = nil, nil
			if e.Content.GetReplyTo().GetSeq() < first {
				e.Content.ReplyTo = nil
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// isExported reports whether an entry says something to somebody.
func isExported(m *message.Stored, c *chatv1.Content, target messageState) bool {
	if m.Entry.Limited {
		return false // what is imported is for all members
	}
	if m.Entry.Control {
		switch c.GetControl().GetAction() {
		case chatv1.Control_ACTION_ACCESS, chatv1.Control_ACTION_LARGE, chatv1.Control_ACTION_SMALL, chatv1.Control_ACTION_TICKET:
			return false
		}
		return true
	}
	if m.Entry.Updates == 0 {
		return true
	}
	if c.GetKind() == nil || c.GetEdit().GetEnds() {
		return false // erased, or part of a streamed message
	}
	return target.recallSeq == 0 || c.GetRecall() != nil || c.GetThread() != nil
}

// exportStreamed replaces the content of a streamed message by its text.
func (s *Service) exportStreamed(ctx context.Context, m *message.Stored, to *chatv1.Content) error {
	now := *m
	if err := s.current(ctx, 0, []*message.Stored{&now}, nil); err != nil {
		return err
	}
	var c chatv1.Content
	if err := proto.Unmarshal(now.Entry.Content, &c); err != nil {
		return errors.Join(errCorrupt, err)
	}
	to.Kind, to.Mentions = c.Kind, c.Mentions
	if c.GetStreamed() != nil || c.GetText() == "" {
		to.Kind = &chatv1.Content_Text{Text: "…"} // it is being written
	}
	return nil
}
