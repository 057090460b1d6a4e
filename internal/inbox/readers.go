package inbox

import (
	"context"
	"strconv"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// ListReaders gives, to a message's sender, the members who have read it, or those who have not, by user id. One who keeps to
// themselves how far they have read counts as one who has not.
func (s *Service) ListReaders(ctx context.Context, u id.User, q *chatv1.ListReadersRequest) (*chatv1.ListReadersResponse, error) {
	c := id.Conversation(q.Conversation)
	after := uint64(0)
	if q.Page != "" {
		var err error
		if after, err = strconv.ParseUint(q.Page, 10, 64); err != nil {
			return nil, errs.New(errs.Invalid, "bad_page", "give the next of the page before, or nothing for the first page")
		}
	}
	from, to, err := s.deps.Conversations.May(ctx, u, c)
	if err != nil {
		return nil, err
	}
	tail, err := s.deps.Log.Tail(ctx, logOf(c))
	if err != nil {
		return nil, err
	}
	if q.Seq < from || q.Seq > min(to, tail.Seq) { // a seq is the log's own from here on, and so small
		return nil, errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(c), From: q.Seq, To: q.Seq}})
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	}
	var e message.Entry
	if err := e.Decode(entries[0].Payload); err != nil {
		return nil, err
	}
	if e.Sender != u {
		return nil, errs.New(errs.Denied, "not_sender", "only its sender sees who has read a message")
	}
	members, _, err := s.deps.Conversations.Audience(ctx, c, q.Seq)
	if err != nil {
		return nil, err
	}
	cursors, err := s.cursors(ctx, c)
	if err != nil {
		return nil, err
	}
	_, apart, err := s.deps.Conversations.Peer(ctx, u, c)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListReadersResponse{}
	limit := pageSize(q.Limit)
	for _, m := range members {
		if m == u || uint64(m) <= after {
			continue
		}
		read := false // as far as one is told from whom the other is kept apart
		if !apart {
			if read, err = s.hasRead(ctx, m, c, cursors[m], q.Seq); err != nil {
				return nil, err
			}
		}
		if read == q.Unread {
			continue
		}
		if len(out.Users) == limit {
			out.Next = strconv.FormatUint(out.Users[limit-1], 10)
			break
		}
		out.Users = append(out.Users, uint64(m))
	}
	return out, nil
}

func (s *Service) hasRead(ctx context.Context, u id.User, c id.Conversation, cursor, seq uint64) (bool, error) {
	if cursor < seq {
		own, _, err := s.deps.Log.LastBy(ctx, logOf(c), uint64(u))
		if err != nil || own < seq {
			return false, err
		}
	}
	hides, err := s.deps.HidesRead(ctx, u)
	return !hides, err
}

func (s *Service) cursors(ctx context.Context, c id.Conversation) (map[id.User]uint64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, read_seq FROM views WHERE conversation = $1`, int64(c))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cursors := map[id.User]uint64{}
	for rows.Next() {
		var u id.User
		var seq uint64
		if err := rows.Scan(&u, &seq); err != nil {
			return nil, err
		}
		cursors[u] = seq
	}
	return cursors, rows.Err()
}
