package chat

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// History of a conversation, within what the caller may read. One who was never in it gets the answer of one that does not exist.
func (s *Service) History(ctx context.Context, u id.User, r *chatv1.HistoryRequest) (*chatv1.HistoryResponse, error) {
	c := id.Conversation(r.Conversation)
	st, err := s.current(ctx, c)
	if err != nil {
		return nil, err
	}
	from, to, err := s.readable(ctx, st, u)
	if err != nil {
		return nil, err
	}
	if r.Before != 0 && r.After != 0 || r.TimeMs != 0 && (r.Before != 0 || r.After != 0) || r.TimeMs < 0 {
		return nil, errs.New(errs.Invalid, "bad_history", "give one of before, after and time_ms")
	}
	limit := pageSize(r.Limit)
	after, forward := r.After, r.After != 0
	if r.TimeMs != 0 {
		if after, err = s.seqBefore(ctx, c, from, r.TimeMs); err != nil {
			return nil, err
		}
		forward = true
	}
	p := page{forward: forward, limit: limit, from: from, to: to}
	if forward {
		at := max(after, from-1)
		err = p.fill(func(n int) ([]timeline.Entry, error) {
			if k := len(p.entries); k > 0 {
				at = p.entries[k-1].Seq
			}
			got, err := s.deps.Log.Read(ctx, key(c), at, n)
			if errors.Is(err, timeline.ErrDamaged) {
				return s.singly(ctx, c, at+1, n, 1)
			}
			return got, err
		})
	} else {
		at := r.Before
		if to != 1<<64-1 && (at == 0 || at > to+1) {
			at = to + 1
		}
		err = p.fill(func(n int) ([]timeline.Entry, error) {
			if k := len(p.entries); k > 0 {
				at = p.entries[k-1].Seq
			}
			got, err := s.deps.Log.ReadBack(ctx, key(c), at, n)
			if errors.Is(err, timeline.ErrDamaged) {
				return s.singly(ctx, c, at-1, n, -1)
			}
			return got, err
		})
		slices.Reverse(p.entries)
	}
	if err != nil {
		return nil, err
	}
	out := &chatv1.HistoryResponse{More: p.more}
	for _, e := range p.entries {
		m, err := View(c, &e)
		if err != nil { // also of what singly stands in for
			out.Unreadable = append(out.Unreadable, e.Seq)
			continue
		}
		out.Messages = append(out.Messages, m)
	}
	if len(out.Unreadable) > 0 {
		s.deps.Logger.Error("entries of a history are damaged, and are left out: run rialto verify", "conversation", c, "entries", len(out.Unreadable), "first", out.Unreadable[0])
	}
	return out, nil
}

// singly reads n entries from a seq on, up or down, one by one, where some are damaged: for those it gives entries without a payload. From
// the seq that no conversation has, downwards, it begins at the tail.
func (s *Service) singly(ctx context.Context, c id.Conversation, seq uint64, n int, step int64) (entries []timeline.Entry, err error) {
	tail, err := s.deps.Log.Tail(ctx, key(c))
	if err != nil {
		return nil, err
	}
	if step < 0 {
		seq = min(seq, tail.Seq)
	} else {
		seq = max(seq, tail.Head)
	}
	for ; len(entries) < n && seq >= max(tail.Head, 1) && seq <= tail.Seq; seq += uint64(step) {
		got, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: key(c), From: seq, To: seq}})
		switch {
		case err != nil && !errors.Is(err, timeline.ErrDamaged):
			return nil, err
		case err == nil && len(got) == 1:
			entries = append(entries, got[0])
		default:
			entries = append(entries, timeline.Entry{Seq: seq})
		}
	}
	return entries, nil
}

const (
	mostPage = 1 << 20 // bytes of messages after which a page ends
	atOnce   = 16      // entries read at once: what a page does not take was read in vain, and entries may be large
)

// page of entries from seq from to seq to.
type page struct {
	forward  bool
	limit    int
	from, to uint64
	entries  []timeline.Entry
	size     int
	more     bool
}

// fill takes what read gives, n entries at once, until there is enough or no more.
func (p *page) fill(read func(n int) ([]timeline.Entry, error)) error {
	for {
		n := min(p.limit+1-len(p.entries), atOnce)
		got, err := read(n)
		if err != nil {
			return err
		}
		for _, e := range got {
			switch {
			case e.Seq < p.from || e.Seq > p.to:
				return nil
			case len(p.entries) == p.limit || p.size >= mostPage:
				p.more = true
				return nil
			}
			// What lies before a hole expired while it was read.
			if k := len(p.entries); k > 0 && p.forward && e.Seq != p.entries[k-1].Seq+1 {
				p.entries, p.size = p.entries[:0], 0
			} else if k > 0 && !p.forward && e.Seq != p.entries[k-1].Seq-1 {
				return nil
			}
			p.entries = append(p.entries, e)
			p.size += len(e.Payload)
		}
		if len(got) < n {
			return nil
		}
	}
}

// View gives an entry as members see it.
func View(c id.Conversation, e *timeline.Entry) (*chatv1.Message, error) {
	stored := message.Stored{Conversation: c, Seq: e.Seq, Counted: e.Counted}
	if err := stored.Entry.Decode(e.Payload); err != nil {
		return nil, err
	}
	m := &chatv1.Message{}
	return m, proto.Unmarshal(stored.AppendProto(nil), m)
}

// Membership of a user in a conversation.
type Membership struct {
	Conversation id.Conversation
	Join, Leave  uint64
	Large        bool
}

// Of gives all conversations that a user is, or was, in. Where messages expire, Join is the first that may be read.
func (s *Service) Of(ctx context.Context, u id.User) ([]Membership, error) {
	if err := s.settling.wait(ctx); err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT m.conversation, m.join_seq, m.leave_seq, c.large > 0, c.retention FROM members m JOIN conversations c ON c.id = m.conversation WHERE m.member = $1 ORDER BY m.conversation`, int64(u))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Membership
	var expire []int // places in list
	for rows.Next() {
		var m Membership
		var days uint32
		if err := rows.Scan(&m.Conversation, &m.Join, &m.Leave, &m.Large, &days); err != nil {
			return nil, err
		}
		if s.keptDays(days) != 0 {
			expire = append(expire, len(list))
		}
		list = append(list, m)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, i := range expire {
		st, err := s.current(ctx, list[i].Conversation)
		if err != nil {
			return nil, err
		}
		first, err := s.kept(ctx, st)
		if err != nil {
			return nil, err
		}
		list[i].Join = max(list[i].Join, first)
	}
	return list, nil
}

// largeAtOnce bounds the users in one statement.
const largeAtOnce = 256

// LargeOf gives the large groups that each of some users is in, in the order of the users. It asks for nothing but the rows: doors
// compare each connection with them. It gives all or fails.
func (s *Service) LargeOf(ctx context.Context, users []id.User) ([][]id.Conversation, error) {
	if err := s.settling.wait(ctx); err != nil {
		return nil, err
	}
	lists := make([][]id.Conversation, 0, len(users))
	for some := range slices.Chunk(users, largeAtOnce) {
		of, err := s.largeOf(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, u := range some {
			lists = append(lists, of[u])
		}
	}
	return lists, nil
}

// largeOf asks for some at once. There are few statements: the last user is asked for again until there are as many as one has.
func (s *Service) largeOf(ctx context.Context, users []id.User) (map[id.User][]id.Conversation, error) {
	args := []any{int64(users[0])}
	marks := strings.Builder{}
	marks.WriteString("$1")
	for n := 1; n < 1<<bits.Len(uint(len(users)-1)); n++ {
		args = append(args, int64(users[min(n, len(users)-1)]))
		marks.WriteString(", $" + strconv.Itoa(n+1))
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT m.member, m.conversation FROM members m JOIN conversations c ON c.id = m.conversation
		WHERE m.member IN (`+marks.String()+`) AND m.leave_seq = 0 AND c.large > 0`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	lists := map[id.User][]id.Conversation{}
	for rows.Next() {
		var u id.User
		var c id.Conversation
		if err := rows.Scan(&u, &c); err != nil {
			return nil, err
		}
		lists[u] = append(lists[u], c)
	}
	return lists, rows.Err()
}

// Describe gives a conversation as one user sees it, but for what the inbox room adds: cursors, unread, last message. One who left
// sees it as it was then.
func (s *Service) Describe(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error) {
	st, err := s.current(ctx, c)
	if err != nil {
		return nil, err
	}
	m, ok := st.members[u]
	if !ok {
		return nil, errNoConversation
	}
	v := st.shown()
	if m.leave != 0 {
		v = proto.CloneOf(m.left)
	} else {
		v.MutedAll = st.mutedAllMs > s.deps.Clock.Now().UnixMilli()
	}
	v.KeptDays = s.keptDays(v.RetentionDays)
	v.Role, v.LeaveSeq = m.role, m.leave
	if v.JoinSeq, _, err = s.readable(ctx, st, u); err != nil {
		return nil, err
	}
	if st.kind == direct {
		v.Peer = uint64(st.peer(u))
	}
	return v, nil
}

// Peer gives the other of a one-to-one conversation, 0 in a group, and whether the two are kept apart: they may not write to each
// other.
func (s *Service) Peer(ctx context.Context, u id.User, c id.Conversation) (peer id.User, apart bool, err error) {
	st, err := s.recent(ctx, c)
	if err != nil || st.kind != direct {
		return 0, false, err
	}
	return st.peer(u), st.blocked, nil
}

// May gives the seqs that a user may read, of what is kept. From is above to where nothing is.
func (s *Service) May(ctx context.Context, u id.User, c id.Conversation) (from, to uint64, err error) {
	st, err := s.current(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	return s.readable(ctx, st, u)
}
