package inbox

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// atHand so long drafts (in characters) and last messages (in bytes) are kept while the list is put in order; longer ones are read
// for the page alone.
const atHand = 1000

// row is a conversation in a user's list, before it is described.
type row struct {
	Membership // Join: the first that is kept, where that is later
	view       view
	last       timeline.Entry // the newest that the user may read and is told of; Seq 0 where there is none
	lastMs     int64
	unread     uint64
}

// look finds what the list needs of one conversation.
func (s *Service) look(ctx context.Context, u id.User, m Membership, v view) (*row, error) {
	tail, err := s.deps.Log.Tail(ctx, logOf(m.Conversation))
	if err != nil {
		return nil, err
	}
	return s.lookAt(ctx, u, m, v, tail)
}

// lookAt is look with the log's tail, as it was read since the membership was.
func (s *Service) lookAt(ctx context.Context, u id.User, m Membership, v view, tail timeline.Tail) (r *row, err error) {
	log := logOf(m.Conversation)
	to := tail.Seq
	if m.Leave != 0 {
		to = min(to, m.Leave)
	}
	m.Join = max(m.Join, tail.Head)
	r = &row{Membership: m, view: v}
	if err := s.ahead(ctx, v, u, m.Conversation); err != nil {
		return nil, err
	}
	if m.Join > to { // all has expired
		if m.Leave == 0 {
			v.raise(m.Join-1, tail.Counted)
		}
		r.lastMs, err = s.begun(ctx, m.Conversation)
		return r, err
	}
	var e message.Entry
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: log, From: m.Join, To: m.Join}, {Key: log, From: to, To: to}})
	if err == nil && len(entries) != 2 {
		if err = s.expired(ctx, m.Conversation, m.Join); err == nil {
			return s.look(ctx, u, m, v) // with the log's new head
		}
	}
	if errors.Is(err, timeline.ErrDamaged) || err == nil && e.Decode(entries[1].Payload) != nil {
		entries, err = s.ends(ctx, log, m.Join, to)
	}
	if err != nil {
		return nil, err
	}
	if entries[0].Seq != 0 {
		v.raise(start(&entries[0])) // as shown does, for one whose entry is at hand
	}
	if r.last, err = s.told(ctx, m.Conversation, entries[1], m.Join); err != nil {
		return nil, err
	}
	if r.last.Seq == 0 {
		r.lastMs, err = s.begun(ctx, m.Conversation)
		return r, err
	}
	if err := e.Decode(r.last.Payload); err != nil {
		return nil, err
	}
	r.lastMs = e.ID.Ms()
	if entries[0].Seq != 0 || v.state.ReadSeq >= m.Join { // else nobody knows from where to count
		r.unread = r.last.Counted - min(r.last.Counted, v.state.ReadCounted)
	}
	return r, nil
}

// expired is nil where the log's entries from seq on expired a moment ago; that one is missing for any other reason is damage.
func (s *Service) expired(ctx context.Context, c id.Conversation, seq uint64) error {
	tail, err := s.deps.Log.Tail(ctx, logOf(c))
	if err == nil && tail.Head <= seq {
		err = errDamaged
	}
	return err
}

// begun gives the time of a conversation's first entry, which never expires. A conversation with nothing to show has its place
// in the list by it.
func (s *Service) begun(ctx context.Context, c id.Conversation) (int64, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(c), From: 1, To: 1}})
	var e message.Entry
	if err == nil && (len(entries) == 0 || e.Decode(entries[0].Payload) != nil) {
		err = errDamaged
	}
	if err != nil {
		return 0, s.pass(ctx, logOf(c), 1, err)
	}
	return e.ID.Ms(), nil
}

// told gives the newest entry, from one backwards to seq from, that members are told of; one with Seq 0 where there is none. Entries
// of access are not told: they count nothing, say nothing, and are not to tell of a block by moving a conversation up.
func (s *Service) told(ctx context.Context, c id.Conversation, e timeline.Entry, from uint64) (timeline.Entry, error) {
	if e.Seq == 0 || !isAccess(e.Payload) {
		return e, nil
	}
	for n := fewAtOnce; ; {
		entries, err := s.deps.Log.ReadBack(ctx, logOf(c), e.Seq, n)
		if err != nil {
			return timeline.Entry{}, s.pass(ctx, logOf(c), e.Seq-1, err)
		}
		for i := range entries {
			if e = entries[i]; e.Seq < from {
				return timeline.Entry{}, nil
			}
			if !isAccess(e.Payload) {
				return e, nil
			}
		}
		if len(entries) < n {
			if from > 1 {
				return timeline.Entry{}, nil
			}
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
	if r.view.left {
		v, err := getView(ctx, s.deps.DB.Read(), u, r.Conversation)
		if err != nil {
			return nil, err
		}
		r.view.state.Draft = v.state.Draft
	}
	c.LastSeq, c.State, c.Unread = r.Join-1, r.view.state, r.unread
	if r.last.Seq != 0 && r.last.Payload == nil {
		entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(r.Conversation), From: r.last.Seq, To: r.last.Seq}})
		if err != nil {
			return nil, err // of one that could be read a moment ago
		}
		if len(entries) == 0 {
			if err := s.expired(ctx, r.Conversation, r.last.Seq); err != nil {
				return nil, err
			}
			r.last.Seq = 0
		} else {
			r.last = entries[0]
		}
	}
	if r.last.Seq != 0 {
		m := message.Stored{Conversation: r.Conversation, Seq: r.last.Seq, Counted: r.last.Counted}
		if err := m.Entry.Decode(r.last.Payload); err != nil {
			return nil, err
		}
		c.LastMessage = &chatv1.Message{}
		if err := proto.Unmarshal(m.AppendProto(nil), c.LastMessage); err != nil {
			return nil, err
		}
		c.LastSeq = r.last.Seq
	}
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
	size := 0
	for i, r := range rows {
		c, err := s.finish(ctx, u, r)
		if errors.Is(err, timeline.ErrDamaged) && s.pass(ctx, logOf(r.Conversation), r.last.Seq, err) == nil {
			continue // it is left out: nobody can say who is in it
		}
		if err != nil {
			return nil, err
		}
		out.Conversations = append(out.Conversations, c)
		if size += proto.Size(c); size >= mostPage && i < len(rows)-1 {
			out.Next = token(r)
			break
		}
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
	tails, err := tailsOf(ctx, s.deps.Log, list, func(m Membership) timeline.Key { return logOf(m.Conversation) }, func(t timeline.Tail) timeline.Tail { return t })
	if err != nil {
		return nil, err
	}
	rows := make([]*row, 0, len(list))
	for i, m := range list {
		v, ok := views[m.Conversation]
		if !ok {
			v = view{state: &chatv1.ConversationState{Conversation: uint64(m.Conversation)}}
		}
		r, err := s.lookAt(ctx, u, m, v, tails[i])
		if err != nil {
			return nil, err
		}
		if len(r.last.Payload) > atHand {
			r.last.Payload = nil // finish reads it again, for those of a page
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (s *Service) views(ctx context.Context, u id.User) (map[id.Conversation]view, error) {
	found, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, pinned, muted, archived, CASE WHEN length(draft) <= $1 THEN draft END, read_seq, read_counted, delivered_seq
		FROM views WHERE owner = $2`, atHand, int64(u))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	views := map[id.Conversation]view{}
	for found.Next() {
		v := view{state: &chatv1.ConversationState{}}
		st := v.state
		var draft sql.NullString
		if err := found.Scan(&st.Conversation, &st.Pinned, &st.Muted, &st.Archived, &draft, &st.ReadSeq, &st.ReadCounted, &v.delivered); err != nil {
			return nil, err
		}
		st.Draft, v.left = draft.String, !draft.Valid
		views[id.Conversation(st.Conversation)] = v
	}
	return views, found.Err()
}
