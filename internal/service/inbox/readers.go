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
	after, err := parsePage(q.Page)
	if err != nil {
		return nil, err
	}
	if err := s.checkSender(ctx, u, c, q.Seq); err != nil {
		return nil, err
	}
	_, blocked, err := s.deps.Conversations.Peer(ctx, u, c)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListReadersResponse{}
	l := audienceList{by: u, conversation: c, seq: q.Seq, after: after, limit: outputlimit.PageSize(q.Limit), step: maxIDsPerQuery, steps: maxExaminedMembers / maxIDsPerQuery}
	out.Users, out.Next, err = s.listAudience(ctx, l, func(members []id.User) (map[id.User]bool, error) {
		read := map[id.User]bool{} // a block hides read receipts from both users
		if !blocked {
			if read, err = s.showAsRead(ctx, c, members, q.Seq); err != nil {
				return nil, err
			}
		}
		listed := make(map[id.User]bool, len(members))
		for _, m := range members {
			listed[m] = read[m] != q.Unread
		}
		return listed, nil
	})
	return out, err
}

func parsePage(page string) (after id.User, err error) {
	if page == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(page, 10, 64)
	if err != nil {
		return 0, errs.New(errs.Invalid, "bad_page", "give the next of the previous page, or nothing for the first page")
	}
	return id.User(n), nil
}

// audienceList is a page of the users who received a message.
type audienceList struct {
	by           id.User // the sender, who is left out
	conversation id.Conversation
	seq          uint64
	after        id.User
	limit        int // users of the page
	step, steps  int // members that are examined together, and how often at most
	// exhausted, if not nil, ends the page early after a step.
	exhausted func() bool
}

// listAudience returns a page of the users who received a message and whom listed selects, and the next page's token.
func (s *Service) listAudience(ctx context.Context, l audienceList, listed func(members []id.User) (map[id.User]bool, error)) (users []uint64, next string, err error) {
	for range l.steps {
		members, nextUser, err := s.deps.Conversations.AudiencePage(ctx, l.conversation, l.seq, l.after, l.step)
		if err != nil {
			return nil, "", err
		}
		members = slices.DeleteFunc(members, func(m id.User) bool { return m == l.by })
		var selected map[id.User]bool
		if len(members) > 0 {
			if selected, err = listed(members); err != nil {
				return nil, "", err
			}
		}
		for _, m := range members {
			if !selected[m] {
				continue
			}
			if len(users) == l.limit {
				return users, strconv.FormatUint(users[l.limit-1], 10), nil
			}
			users = append(users, uint64(m))
		}
		if l.after = nextUser; nextUser == 0 {
			return users, "", nil
		}
		if l.exhausted != nil && l.exhausted() {
			break
		}
	}
	return users, l.after.String(), nil
}

// showAsRead returns the members who have read up to seq and show it.
func (s *Service) showAsRead(ctx context.Context, c id.Conversation, members []id.User, seq uint64) (map[id.User]bool, error) {
	cursors, err := s.memberCursors(ctx, c, members, seq)
	if err != nil {
		return nil, err
	}
	shows := make([]bool, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMemberLookups)
	for i, m := range members {
		if cursors[m].read < seq {
			continue
		}
		group.Go(func() error {
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
	_, err := s.sentMessage(ctx, u, c, seq)
	return err
}

// sentMessage returns the id of the message at seq. It fails unless the user sent it and may still read it.
func (s *Service) sentMessage(ctx context.Context, u id.User, c id.Conversation, seq uint64) (id.Message, error) {
	var none id.Message
	from, to, err := s.deps.Conversations.ReadableRange(ctx, u, c)
	if err != nil {
		return none, err
	}
	tail, err := s.deps.Log.Tail(ctx, conversationKey(c))
	if err != nil {
		return none, err
	}
	notFound := errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	if seq < from || seq > min(to, tail.Seq) { // so that only a seq of the log goes to the engine
		return none, notFound
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: seq, To: seq}})
	if err != nil {
		return none, err
	}
	if len(entries) == 0 {
		return none, notFound
	}
	var e message.Entry
	if err := e.Decode(entries[0].Payload); err != nil {
		return none, err
	}
	if e.Sender != u {
		return none, errs.New(errs.Denied, "not_sender", "only the sender of a message can ask who has received or read it")
	}
	return e.ID, nil
}

// memberCursors returns the cursors of some members of a conversation, as far as they matter for seq: sending a later message counts as reading
// up to it.
func (s *Service) memberCursors(ctx context.Context, c id.Conversation, members []id.User, seq uint64) (map[id.User]cursors, error) {
	list, err := s.storedCursors(ctx, c, members)
	if err != nil {
		return nil, err
	}
	own := make([]uint64, len(members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMemberLookups)
	for i, m := range members {
		if list[m].read >= seq {
			continue
		}
		group.Go(func() (err error) {
			own[i], _, err = s.deps.Log.LatestByAuthor(ctx, conversationKey(c), uint64(m))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, m := range members {
		read := max(list[m].read, own[i])
		list[m] = cursors{delivered: max(list[m].delivered, read), read: read}
	}
	return list, nil
}

// storedCursors returns the stored cursors of some members of a conversation.
func (s *Service) storedCursors(ctx context.Context, c id.Conversation, members []id.User) (map[id.User]cursors, error) {
	marks, args := sqldb.Placeholders(2, members, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, read_seq, delivered_seq FROM views WHERE conversation = $1 AND owner IN (`+marks+`)`, append([]any{int64(c)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := map[id.User]cursors{}
	for rows.Next() {
		var u id.User
		var at cursors
		if err := rows.Scan(&u, &at.read, &at.delivered); err != nil {
			return nil, err
		}
		list[u] = at
	}
	return list, rows.Err()
}
