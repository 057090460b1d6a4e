package inbox

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// row is a conversation in a user's list, before it is described.
type row struct {
	Membership
	view   view
	last   timeline.Entry // the newest that the user may read and is told of
	lastMs int64
	unread uint64
}

// look finds what the list needs of one conversation.
func (s *Service) look(ctx context.Context, u id.User, m Membership, v view) (*row, error) {
	r := &row{Membership: m, view: v}
	to := m.Leave
	if to == 0 {
		to = 1<<64 - 1
	}
	tail, err := s.deps.Log.Tail(ctx, logOf(m.Conversation))
	if err != nil {
		return nil, err
	}
	to = min(to, tail.Seq)
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(m.Conversation), From: m.Join, To: m.Join}, {Key: logOf(m.Conversation), From: to, To: to}})
	if err != nil {
		return nil, err
	}
	if len(entries) != 2 {
		return nil, errDamaged
	}
	if r.last, err = s.told(ctx, m.Conversation, entries[1]); err != nil {
		return nil, err
	}
	var e message.Entry
	if err := e.Decode(r.last.Payload); err != nil {
		return nil, err
	}
	r.lastMs = e.ID.Ms()
	if err := s.ahead(ctx, v, u, m.Conversation); err != nil {
		return nil, err
	}
	if v.state.ReadSeq < m.Join { // as shown does, for one whose entry is at hand
		v.state.ReadSeq, v.state.ReadCounted = m.Join, entries[0].Counted
	}
	r.unread = r.last.Counted - min(r.last.Counted, v.state.ReadCounted)
	return r, nil
}

// told gives the newest entry, from one backwards, that members are told of. Entries of access are not: they count nothing, say
// nothing, and are not to tell of a block by moving a conversation up.
func (s *Service) told(ctx context.Context, c id.Conversation, e timeline.Entry) (timeline.Entry, error) {
	if !isAccess(e.Payload) {
		return e, nil
	}
	for n := atOnce; ; n *= 2 {
		entries, err := s.deps.Log.ReadBack(ctx, logOf(c), e.Seq, n)
		if err != nil {
			return e, err
		}
		for i := range entries {
			if e = entries[i]; !isAccess(e.Payload) {
				return e, nil
			}
		}
		if len(entries) < n {
			return e, errDamaged // a conversation begins with another
		}
	}
}

func isAccess(stored []byte) bool {
	var e message.Entry
	var content chatv1.Content
	return message.IsControl(stored) && e.Decode(stored) == nil && proto.Unmarshal(e.Content, &content) == nil &&
		content.GetControl().GetAction() == chatv1.Control_ACTION_ACCESS
}

// finish describes a row.
func (s *Service) finish(ctx context.Context, u id.User, r *row) (*chatv1.Conversation, error) {
	c, err := s.deps.Conversations.Describe(ctx, u, r.Conversation)
	if err != nil {
		return nil, err
	}
	m := message.Stored{Conversation: r.Conversation, Seq: r.last.Seq, Counted: r.last.Counted}
	if err := m.Entry.Decode(r.last.Payload); err != nil {
		return nil, err
	}
	c.LastMessage = &chatv1.Message{}
	if err := proto.Unmarshal(m.AppendProto(nil), c.LastMessage); err != nil {
		return nil, err
	}
	c.LastSeq, c.State, c.Unread = r.last.Seq, r.view.state, r.unread
	peer, apart, err := s.deps.Conversations.Peer(ctx, u, r.Conversation)
	if err != nil || peer == 0 || apart {
		return c, err
	}
	v, err := getView(ctx, s.deps.DB.Read(), peer, r.Conversation)
	if err != nil {
		return nil, err
	}
	if err := s.ahead(ctx, v, peer, r.Conversation); err != nil {
		return nil, err
	}
	hides, err := s.deps.HidesRead(ctx, peer)
	if err != nil {
		return nil, err
	}
	c.PeerDeliveredSeq = max(v.delivered, v.state.ReadSeq)
	if !hides {
		c.PeerReadSeq = v.state.ReadSeq
	}
	return c, nil
}

// GetConversation gives one conversation as the user sees it.
func (s *Service) GetConversation(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error) {
	d, err := s.deps.Conversations.Describe(ctx, u, c)
	if err != nil {
		return nil, err
	}
	v, err := getView(ctx, s.deps.DB.Read(), u, c)
	if err != nil {
		return nil, err
	}
	r, err := s.look(ctx, u, Membership{Conversation: c, Join: d.JoinSeq, Leave: d.LeaveSeq}, v)
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, u, r)
}

// order of the list: pinned first, then by the newest entry, then by id.
func order(a, b *row) int {
	if a.view.state.Pinned != b.view.state.Pinned {
		if a.view.state.Pinned {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.lastMs, a.lastMs), cmp.Compare(b.Conversation, a.Conversation))
}

// token of a page: the place of its last row.
func token(r *row) string {
	b := []byte{0}
	if r.view.state.Pinned {
		b[0] = 1
	}
	b = binary.BigEndian.AppendUint64(b, uint64(r.lastMs))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Conversation))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseToken(page string) (*row, error) {
	b, err := base64.RawURLEncoding.DecodeString(page)
	if err != nil || len(b) != 17 || b[0] > 1 {
		return nil, errs.New(errs.Invalid, "bad_page", "give the next of the page before, or nothing for the first page")
	}
	r := &row{view: view{state: &chatv1.ConversationState{Pinned: b[0] == 1}}, lastMs: int64(binary.BigEndian.Uint64(b[1:]))}
	r.Conversation = id.Conversation(binary.BigEndian.Uint64(b[9:]))
	return r, nil
}

// pageSize of lists: 0 means 50, more than 200 is cut.
func pageSize(limit uint32) int {
	if limit == 0 {
		return 50
	}
	return int(min(limit, 200))
}

// ListConversations gives a page of the user's conversations, and the badge over all of them.
func (s *Service) ListConversations(ctx context.Context, u id.User, q *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error) {
	var after *row
	if q.Page != "" {
		var err error
		if after, err = parseToken(q.Page); err != nil {
			return nil, err
		}
	}
	rows, err := s.rows(ctx, u)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListConversationsResponse{}
	for _, r := range rows {
		if !r.view.state.Muted {
			out.Badge += r.unread
		}
	}
	slices.SortFunc(rows, order)
	if after != nil {
		at, found := slices.BinarySearchFunc(rows, after, order)
		if found {
			at++
		}
		rows = rows[at:]
	}
	if limit := pageSize(q.Limit); len(rows) > limit {
		rows = rows[:limit]
		out.Next = token(rows[limit-1])
	}
	for _, r := range rows {
		c, err := s.finish(ctx, u, r)
		if err != nil {
			return nil, err
		}
		out.Conversations = append(out.Conversations, c)
	}
	return out, nil
}

// rows of all conversations that a user is, or was, in.
func (s *Service) rows(ctx context.Context, u id.User) ([]*row, error) {
	list, err := s.deps.Conversations.Of(ctx, u)
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, u)
	if err != nil {
		return nil, err
	}
	rows := make([]*row, 0, len(list))
	for _, m := range list {
		v, ok := views[m.Conversation]
		if !ok {
			v = view{state: &chatv1.ConversationState{Conversation: uint64(m.Conversation)}}
		}
		r, err := s.look(ctx, u, m, v)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (s *Service) views(ctx context.Context, u id.User) (map[id.Conversation]view, error) {
	found, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, pinned, muted, archived, draft, read_seq, read_counted, delivered_seq FROM views WHERE owner = $1`, int64(u))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	views := map[id.Conversation]view{}
	for found.Next() {
		v := view{state: &chatv1.ConversationState{}}
		st := v.state
		if err := found.Scan(&st.Conversation, &st.Pinned, &st.Muted, &st.Archived, &st.Draft, &st.ReadSeq, &st.ReadCounted, &v.delivered); err != nil {
			return nil, err
		}
		views[id.Conversation(st.Conversation)] = v
	}
	return views, found.Err()
}
