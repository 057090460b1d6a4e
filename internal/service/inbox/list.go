package inbox

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// maxInlineDraft in characters: a longer draft is read separately, if its row is on the page.
	maxInlineDraft = 1000
	// maxPinned bounds a user's pinned conversations, because each page reads them all.
	maxPinned = 100
	// maxBadgeConversations bounds the unread conversations that a badge counts. Each has at least one message, so a lower badge is exact.
	maxBadgeConversations = 100
	// maxIDsPerQuery bounds the ids in one statement.
	maxIDsPerQuery = 256
)

// compareActivity orders conversations by last activity, newest first, then by id.
func compareActivity(a, b Membership) int {
	return cmp.Or(cmp.Compare(b.ActiveMs, a.ActiveMs), cmp.Compare(b.Conversation, a.Conversation))
}

// listPosition is the start of a page: after the last row of the previous page.
type listPosition struct {
	pinned bool
	at     *Cursor // nil: the start
}

// pageToken encodes the position of the last row of a page.
func pageToken(pinned bool, m Membership) string {
	b := []byte{0}
	if pinned {
		b[0] = 1
	}
	b = binary.BigEndian.AppendUint64(b, uint64(m.ActiveMs))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Conversation))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parsePageToken(page string) (listPosition, error) {
	if page == "" {
		return listPosition{pinned: true}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(page)
	if err != nil || len(b) != 17 || b[0] > 1 {
		return listPosition{}, errs.New(errs.Invalid, "bad_page", "give the next of the previous page, or nothing for the first page")
	}
	return listPosition{b[0] == 1, &Cursor{Ms: int64(binary.BigEndian.Uint64(b[1:])), Conversation: id.Conversation(binary.BigEndian.Uint64(b[9:]))}}, nil
}

// ListConversations returns a page of the user's present or former conversations. With the present ones it returns the badge over all of
// them. Its cost does not grow with the number of conversations: an index has the list in order, and refreshList updates it from
// the user's stream.
func (s *Service) ListConversations(ctx context.Context, u id.User, q *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error) {
	from, err := parsePageToken(q.Page)
	if err != nil {
		return nil, err
	}
	if err := s.refreshList(ctx, u); err != nil {
		return nil, err
	}
	pinned, err := s.pinnedMemberships(ctx, u)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.PageSize(q.Limit)
	list, more, err := s.pageMemberships(ctx, u, q.Former, from, pinned, limit)
	if err != nil {
		return nil, err
	}
	isPinned := func(m Membership) bool {
		return !q.Former && slices.ContainsFunc(pinned, func(p Membership) bool { return p.Conversation == m.Conversation })
	}
	rows, err := s.loadRows(ctx, u, list)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListConversationsResponse{}
	if !q.Former {
		if out.Badge, err = s.badge(ctx, u, rows); err != nil {
			return nil, err
		}
	}
	if more {
		out.Next = pageToken(isPinned(list[len(list)-1]), list[len(list)-1])
	}
	var described int
	out.Conversations, described, err = s.describePage(ctx, u, rows, func(error) bool { return false })
	if err != nil {
		return nil, err
	}
	if described < len(rows) {
		out.Next = pageToken(isPinned(list[described-1]), list[described-1])
	}
	return out, nil
}

// describePage describes rows until they fill a page, and returns how many of them are done. It leaves out those whose members are unknown, because
// an entry is corrupt, and those with an error that omit names.
func (s *Service) describePage(ctx context.Context, u id.User, rows []*row, omit func(error) bool) (page []*chatv1.Conversation, done int, err error) {
	size, complete := 0, 0
	for i, r := range rows {
		if size >= outputlimit.MaxPage {
			return page, i, nil
		}
		if i == complete {
			n, err := s.completeRows(ctx, u, rows[i:])
			if err != nil {
				return nil, 0, err
			}
			complete += n
		}
		c, err := s.describeRow(ctx, u, r)
		if err != nil {
			if omit(err) || errors.Is(err, timeline.ErrCorrupt) && s.skipCorrupt(ctx, conversationKey(r.Conversation), r.last.Seq, err) == nil {
				continue
			}
			return nil, 0, err
		}
		page = append(page, c)
		size += outputlimit.Size(ctx, c)
	}
	return page, len(rows), nil
}

// pageMemberships returns the memberships of a page in order, and whether there are more.
func (s *Service) pageMemberships(ctx context.Context, u id.User, former bool, from listPosition, pinned []Membership, limit int) (list []Membership, more bool, err error) {
	at := from.at
	skip := map[id.Conversation]bool{}
	if !former {
		for _, m := range pinned {
			skip[m.Conversation] = true
			if from.pinned && (at == nil || compareActivity(Membership{Conversation: at.Conversation, ActiveMs: at.Ms}, m) < 0) {
				list = append(list, m)
			}
		}
		if from.pinned {
			at = nil
		}
	}
	for len(list) <= limit {
		count := limit + 1 - len(list) + len(skip)
		found, err := s.deps.Conversations.RecentMemberships(ctx, u, former, at, count)
		if err != nil {
			return nil, false, err
		}
		for _, m := range found {
			at = &Cursor{Ms: m.ActiveMs, Conversation: m.Conversation}
			if !skip[m.Conversation] {
				list = append(list, m)
			}
		}
		if len(found) < count {
			break
		}
	}
	if len(list) > limit {
		return list[:limit], true, nil
	}
	return list, false, nil
}

// pinnedMemberships returns the pinned conversations that the user is in, in order.
func (s *Service) pinnedMemberships(ctx context.Context, u id.User) ([]Membership, error) {
	list, err := s.activeMemberships(ctx, u, `SELECT conversation FROM views WHERE owner = $1 AND pinned ORDER BY conversation DESC`)
	list = slices.DeleteFunc(list, func(m Membership) bool { return m.Thread })
	slices.SortFunc(list, compareActivity)
	return list, err
}

// activeMemberships returns the memberships for the conversations of a query, without those that have ended or were deleted.
func (s *Service) activeMemberships(ctx context.Context, u id.User, query string, args ...any) ([]Membership, error) {
	found, err := s.deps.DB.Read().QueryContext(ctx, query, append([]any{int64(u)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var ids []id.Conversation
	for found.Next() {
		var c id.Conversation
		if err := found.Scan(&c); err != nil {
			return nil, err
		}
		ids = append(ids, c)
	}
	if err := found.Err(); err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := s.deps.Conversations.MembershipsIn(ctx, u, ids)
	return slices.DeleteFunc(list, func(m Membership) bool { return m.Leave != 0 || m.Deleted }), err
}

// loadRows loads what a page needs of some conversations, in their order.
func (s *Service) loadRows(ctx context.Context, u id.User, list []Membership) ([]*row, error) {
	if len(list) == 0 {
		return nil, nil
	}
	views, err := s.loadViews(ctx, u, list)
	if err != nil {
		return nil, err
	}
	tails, err := tailsOf(ctx, s.deps.Log, list, func(m Membership) timeline.Key { return conversationKey(m.Conversation) }, func(t timeline.Tail) timeline.Tail { return t })
	if err != nil {
		return nil, err
	}
	rows := make([]*row, 0, len(list))
	for i, m := range list {
		v, ok := views[m.Conversation]
		if !ok {
			v = view{state: &chatv1.ConversationState{Conversation: uint64(m.Conversation)}}
		}
		r, err := s.loadRowAt(ctx, u, m, v, tails[i])
		if err != nil {
			return nil, err
		}
		r.tail = tails[i]
		rows = append(rows, r)
	}
	return rows, s.subtractRemoved(ctx, u, rows)
}

// loadViews loads the user's settings and cursors of some conversations.
func (s *Service) loadViews(ctx context.Context, u id.User, list []Membership) (map[id.Conversation]view, error) {
	views := make(map[id.Conversation]view, len(list))
	for batch := range slices.Chunk(list, maxIDsPerQuery) {
		marks, args := sqldb.Placeholders(3, batch, func(m Membership) int64 { return int64(m.Conversation) })
		found, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, pinned, muted, archived, CASE WHEN length(draft) <= $1 THEN draft END, read_seq, read_counted, delivered_seq, marked_unread
			FROM views WHERE owner = $2 AND conversation IN (`+marks+`)`, append([]any{maxInlineDraft, int64(u)}, args...)...)
		if err != nil {
			return nil, err
		}
		if err := scanViews(found, views); err != nil {
			return nil, err
		}
	}
	return views, nil
}

func scanViews(found *sql.Rows, views map[id.Conversation]view) error {
	defer found.Close()
	for found.Next() {
		v := view{state: &chatv1.ConversationState{}}
		st := v.state
		var draft sql.NullString
		if err := found.Scan(&st.Conversation, &st.Pinned, &st.Muted, &st.Archived, &draft, &st.ReadSeq, &st.ReadCounted, &v.delivered, &st.MarkedUnread); err != nil {
			return err
		}
		st.Draft, v.draftOmitted = draft.String, !draft.Valid
		views[id.Conversation(st.Conversation)] = v
	}
	return found.Err()
}
