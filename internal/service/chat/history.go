package chat

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// History returns a page of a conversation within what the caller may read. A caller who was never a member gets the answer for a
// conversation that does not exist.
func (s *Service) History(ctx context.Context, u id.User, r *chatv1.HistoryRequest) (*chatv1.HistoryResponse, error) {
	c := id.Conversation(r.Conversation)
	within, err := s.readable(ctx, u, c)
	if err != nil {
		return nil, err
	}
	from, to := within.from, within.to
	if r.Before != 0 && r.After != 0 || r.TimeMs != 0 && (r.Before != 0 || r.After != 0) || r.TimeMs < 0 {
		return nil, errs.New(errs.Invalid, "bad_history", "give only one of before, after and timeMs")
	}
	limit := outputlimit.PageSize(r.Limit)
	at, forward := r.Before, false
	switch {
	case r.TimeMs != 0:
		if at, err = s.lastSeqBefore(ctx, c, from, r.TimeMs); err != nil {
			return nil, err
		}
		forward = true
	case r.After != 0:
		at, forward = r.After, true
	}
	for {
		p := historyPage{forward: forward, limit: limit, from: from, to: to}
		out, reached, err := s.readHistory(ctx, u, c, &p, at, within.tail)
		if err != nil || !out.More || len(out.Messages)+len(out.Unreadable) > 0 {
			return out, err
		}
		at = reached // the user deleted all of this page
	}
}

// readHistory reads the page after or before a seq, and returns the last seq that it has looked at.
func (s *Service) readHistory(ctx context.Context, u id.User, c id.Conversation, p *historyPage, at uint64, tail timeline.Tail) (out *chatv1.HistoryResponse, reached uint64, err error) {
	from, to, forward := p.from, p.to, p.forward
	if forward {
		at = max(at, from-1)
		err = p.collect(func(n int) ([]timeline.Entry, error) {
			if k := len(p.entries); k > 0 {
				at = p.entries[k-1].Seq
			}
			s.yieldAfter(len(p.entries))
			got, err := s.deps.Log.Read(ctx, logKey(c), at, n)
			if errors.Is(err, timeline.ErrCorrupt) {
				return s.readOneByOne(ctx, c, at+1, n, 1)
			}
			return got, err
		})
	} else {
		if to != 1<<64-1 && (at == 0 || at > to+1) {
			at = to + 1
		}
		err = p.collect(func(n int) ([]timeline.Entry, error) {
			if k := len(p.entries); k > 0 {
				at = p.entries[k-1].Seq
			}
			s.yieldAfter(len(p.entries))
			got, err := s.deps.Log.ReadBackward(ctx, logKey(c), at, n)
			if errors.Is(err, timeline.ErrCorrupt) {
				return s.readOneByOne(ctx, c, at-1, n, -1)
			}
			return got, err
		})
	}
	if err != nil {
		return nil, 0, err
	}
	out = &chatv1.HistoryResponse{More: p.more}
	var done int
	if out.Messages, out.Unreadable, done, err = s.toMessages(ctx, u, c, p.entries, tail); err != nil {
		return nil, 0, err
	}
	out.More = out.More || done < len(p.entries)
	if done > 0 {
		reached = p.entries[done-1].Seq
	}
	if !forward {
		slices.Reverse(out.Messages)
		slices.Reverse(out.Unreadable)
	}
	if len(out.Unreadable) > 0 {
		s.deps.Logger.Error("corrupt entries are left out of a history: run rialto verify", "conversation", c, "entries", len(out.Unreadable), "first", out.Unreadable[0])
	}
	return out, reached, nil
}

// yieldAfter yields the processor when n entries of a page are done, after each yieldEntries of them. A page of some hundred entries takes milliseconds. What is
// waited for meanwhile, such as a message's way through several goroutines, would wait as long at each of its steps.
func (s *Service) yieldAfter(n int) {
	if n > 0 && n%yieldEntries == 0 && s.deps.Yield != nil {
		s.deps.Yield()
	}
}

// readOneByOne reads n entries one at a time, up or down from a seq, because some are corrupt. A corrupt entry has no payload. Downwards
// from a seq above all others, it starts at the tail.
func (s *Service) readOneByOne(ctx context.Context, c id.Conversation, seq uint64, n int, step int64) (entries []timeline.Entry, err error) {
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return nil, err
	}
	if step < 0 {
		seq = min(seq, tail.Seq)
	} else {
		seq = max(seq, tail.FirstSeq)
	}
	for ; len(entries) < n && seq >= max(tail.FirstSeq, 1) && seq <= tail.Seq; seq += uint64(step) {
		got, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(c), From: seq, To: seq}})
		switch {
		case err != nil && !errors.Is(err, timeline.ErrCorrupt):
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
	readBatch    = 16 // entries of one read: entries may be large, and those that do not fit into the page are discarded
	yieldEntries = 32 // some 200 µs of work
)

// historyPage collects entries from seq from to seq to.
type historyPage struct {
	forward  bool
	limit    int
	from, to uint64
	entries  []timeline.Entry
	size     int
	more     bool
}

// collect appends what read returns, n entries at a time, until the page is full or there are no more.
func (p *historyPage) collect(read func(n int) ([]timeline.Entry, error)) error {
	for {
		n := min(p.limit+1-len(p.entries), readBatch)
		got, err := read(n)
		if err != nil {
			return err
		}
		for _, e := range got {
			switch {
			case e.Seq < p.from || e.Seq > p.to:
				return nil
			case len(p.entries) == p.limit || p.size >= outputlimit.MaxPage:
				p.more = true
				return nil
			}
			// Entries before a gap expired during the read.
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

// Describe returns a conversation as one user sees it, without the fields of inbox: cursors, unread count, last message. JoinSeq ignores what
// the user cleared: a list has that in its memberships. A former member
// sees it as it was at the end of the membership.
func (s *Service) Describe(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	m, ok, err := s.memberOf(ctx, st, u)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errNoConversation
	}
	info, err := s.channelInfo(ctx, st)
	if err != nil {
		return nil, err
	}
	return s.describe(ctx, st, u, m, info)
}

// DescribeListed is Describe with a membership that was read during the same call, which saves queries in lists.
func (s *Service) DescribeListed(ctx context.Context, u id.User, listed Membership) (*chatv1.Conversation, error) {
	st, err := s.linearizableState(ctx, listed.Conversation)
	if err != nil {
		return nil, err
	}
	m, ok := st.members[u]
	switch {
	case st.kind == thread:
		if m, ok = st.replier(u); !ok {
			return nil, errNoConversation
		}
	case st.role(u) != 0:
	case listed.Follower:
		m = follower
	case !ok:
		return nil, errNoConversation
	}
	return s.describe(ctx, st, u, m, listed.Channel)
}

func (s *Service) describe(ctx context.Context, st *state, u id.User, m member, info ChannelInfo) (v *chatv1.Conversation, err error) {
	v = st.snapshot()
	switch {
	case st.kind == thread:
		v = describeThread(st, u, s.deps.Clock.Now().UnixMilli())
	case m.leaveSeq != 0:
		v = proto.CloneOf(m.snapshotAtLeave)
	default:
		v.MutedAll = st.channel || st.mutedAllMs > s.deps.Clock.Now().UnixMilli()
		v.MemberCount, v.Handle = st.memberCount(info), info.Handle
		v.MutedUntilMs = m.mutedUntilMs
	}
	v.KeptSeconds = s.effectiveRetention(v.RetentionSeconds)
	v.Role, v.LeaveSeq = m.role, m.leaveSeq
	if v.JoinSeq, _, err = s.retainedRange(ctx, st, m); err != nil {
		return nil, err
	}
	if st.kind == direct {
		v.Peer = uint64(st.peer(u))
	}
	return v, nil
}

// Peer returns the other user of a one-to-one conversation, and whether the two may not write to each other. It is 0 in a group, and in a
// user's conversation with oneself.
func (s *Service) Peer(ctx context.Context, u id.User, c id.Conversation) (peer id.User, cannotWrite bool, err error) {
	st, err := s.boundedStaleState(ctx, c)
	if err != nil || st.kind != direct {
		return 0, false, err
	}
	if st.lowUser == st.highUser {
		return 0, false, nil
	}
	return st.peer(u), st.relation.blocked, nil
}

// ReadableRange returns the seqs that a user may read as a member and that have not expired. From is above to if there are none. In a thread,
// they begin where the user began to follow.
func (s *Service) ReadableRange(ctx context.Context, u id.User, c id.Conversation) (from, to uint64, err error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	return s.memberRange(ctx, st, u)
}

// readable is what a user may read of a conversation.
type readable struct {
	from, to uint64 // seqs
	tail     timeline.Tail
}

// has reports whether an entry exists, and the user may read it.
func (r *readable) has(seq uint64) bool { return seq >= r.from && seq <= min(r.to, r.tail.Seq) }

// among returns those of some seqs that have entries which the user may read, each once, in rising order.
func (r *readable) among(seqs []uint64) []uint64 {
	list := slices.Sorted(slices.Values(seqs))
	return slices.DeleteFunc(slices.Compact(list), func(seq uint64) bool { return !r.has(seq) })
}

// readable returns what a user may read of a conversation now.
func (s *Service) readable(ctx context.Context, u id.User, c id.Conversation) (r readable, err error) {
	st, tail, err := s.verifiedState(ctx, c)
	if err != nil {
		return r, err
	}
	if r.from, r.to, err = s.readableRange(ctx, st, u); err != nil {
		return r, err
	}
	if r.tail = tail; s.deps.SingleNode {
		r.tail, err = s.deps.Log.Tail(ctx, logKey(c))
	}
	return r, err
}
