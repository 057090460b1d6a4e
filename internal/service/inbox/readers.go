package inbox

import (
	"context"
	"slices"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
)

// A page of readers examines a bounded number of members, regardless of the size of the group and of how few are listed.
const (
	maxExaminedMembers = 4 * maxIDsPerQuery
	maxMemberLookups   = 16 // at once, for a page
)

// ListReaders returns to a message's sender the members who have read it, or those who have not, by user id. A member who hides read
// receipts counts as one who has not. A page may have fewer users than the limit, or none, although another page follows.
func (s *Service) ListReaders(ctx context.Context, u id.User, q *chatv1.ListReadersRequest) (*chatv1.ListReadersResponse, error) {
	c := id.Conversation(q.Conversation)
	after := id.User(0)
	if q.Page != "" {
		n, err := strconv.ParseUint(q.Page, 10, 64)
		if err != nil {
			return nil, errs.New(errs.Invalid, "bad_page", "give the next of the previous page, or nothing for the first page")
		}
		after = id.User(n)
	}
	if err := s.checkSender(ctx, u, c, q.Seq); err != nil {
		return nil, err
	}
	_, blocked, err := s.deps.Conversations.Peer(ctx, u, c)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListReadersResponse{}
	limit := outputlimit.PageSize(q.Limit)
	for range maxExaminedMembers / maxIDsPerQuery {
		members, next, err := s.deps.Conversations.AudiencePage(ctx, c, q.Seq, after, maxIDsPerQuery)
		if err != nil {
			return nil, err
		}
		members = slices.DeleteFunc(members, func(m id.User) bool { return m == u })
		read := map[id.User]bool{} // a block hides read receipts from both users
		if !blocked && len(members) > 0 {
			if read, err = s.showAsRead(ctx, c, members, q.Seq); err != nil {
				return nil, err
			}
		}
		for _, m := range members {
			if read[m] == q.Unread {
				continue
			}
			if len(out.Users) == limit {
				out.Next = strconv.FormatUint(out.Users[limit-1], 10)
				return out, nil
			}
			out.Users = append(out.Users, uint64(m))
		}
		if after = next; after == 0 {
			return out, nil
		}
	}
	out.Next = after.String()
	return out, nil
}

// showAsRead returns the members who have read up to seq and show it. Sending a message counts as reading up to it.
func (s *Service) showAsRead(ctx context.Context, c id.Conversation, members []id.User, seq uint64) (map[id.User]bool, error) {
	cursors, err := s.readCursors(ctx, c, members)
	if err != nil {
		return nil, err
	}
	shows := make([]bool, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMemberLookups)
	for i, m := range members {
		group.Go(func() error {
			if cursors[m] < seq {
				own, _, err := s.deps.Log.LatestByAuthor(ctx, conversationKey(c), uint64(m))
				if err != nil || own < seq {
					return err
				}
			}
			hides, err := s.deps.HidesRead(ctx, m)
			shows[i] = !hides
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	read := make(map[id.User]bool, len(members))
	for i, m := range members {
		read[m] = shows[i]
	}
	return read, nil
}

// checkSender fails unless the user sent the message at seq and may still read it.
func (s *Service) checkSender(ctx context.Context, u id.User, c id.Conversation, seq uint64) error {
	from, to, err := s.deps.Conversations.ReadableRange(ctx, u, c)
	if err != nil {
		return err
	}
	tail, err := s.deps.Log.Tail(ctx, conversationKey(c))
	if err != nil {
		return err
	}
	notFound := errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	if seq < from || seq > min(to, tail.Seq) { // so that only a seq of the log goes to the engine
		return notFound
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: seq, To: seq}})
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return notFound
	}
	var e message.Entry
	if err := e.Decode(entries[0].Payload); err != nil {
		return err
	}
	if e.Sender != u {
		return errs.New(errs.Denied, "not_sender", "only the sender of a message can list its readers")
	}
	return nil
}

// readCursors returns the read cursors of some members of a conversation.
func (s *Service) readCursors(ctx context.Context, c id.Conversation, members []id.User) (map[id.User]uint64, error) {
	marks, args := sqldb.Placeholders(2, members, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, read_seq FROM views WHERE conversation = $1 AND owner IN (`+marks+`)`, append([]any{int64(c)}, args...)...)
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
