package inbox

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// row is a conversation in a user's list, before it is described.
type row struct {
	Membership // Join is at least the first retained seq
	view       view
	last       timeline.Entry // the newest visible entry; Seq 0 if there is none
	lastMs     int64
	to         uint64 // the last seq that the user may read
	unread     uint64
	unreadSpan message.Span  // what unread counts
	tail       timeline.Tail // of the log, when the row was loaded
	// After completeRows: the seqs of the unread messages that mention the user, and last as the user sees it now, or why that cannot be read.
	mentions []uint64
	lastNow  *message.Stored
	lastErr  error
}

// loadRow loads what the list needs of one conversation. Its unread messages may have been recalled.
func (s *Service) loadRow(ctx context.Context, u id.User, m Membership, v view) (*row, error) {
	tail, err := s.deps.Log.Tail(ctx, conversationKey(m.Conversation))
	if err != nil {
		return nil, err
	}
	return s.loadRowAt(ctx, u, m, v, tail)
}

// loadRowAt is loadRow with the tail of the log, read after the membership.
func (s *Service) loadRowAt(ctx context.Context, u id.User, m Membership, v view, tail timeline.Tail) (r *row, err error) {
	log := conversationKey(m.Conversation)
	to := tail.Seq
	if m.Leave != 0 {
		to = min(to, m.Leave)
	}
	m.Join = max(m.Join, tail.FirstSeq)
	r = &row{Membership: m, view: v, to: to, tail: tail}
	if err := s.applyOwnSends(ctx, v, u, m.Conversation); err != nil {
		return nil, err
	}
	if m.Join > to { // all messages have expired
		if m.Leave == 0 {
			v.raiseReadCursor(m.Join-1, tail.Counted)
		}
		r.lastMs, err = s.creationTime(ctx, m.Conversation)
		return r, err
	}
	var e message.Entry
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: log, From: m.Join, To: m.Join}, {Key: log, From: to, To: to}})
	if err == nil && len(entries) != 2 {
		if err = s.checkExpired(ctx, m.Conversation, m.Join); err == nil {
			return s.loadRow(ctx, u, m, v) // with the log's new first seq
		}
	}
	if errors.Is(err, timeline.ErrCorrupt) || err == nil && e.Decode(entries[1].Payload) != nil {
		entries, err = s.readEndsSkippingCorrupt(ctx, log, m.Join, to)
	}
	if err != nil {
		return nil, err
	}
	if entries[0].Seq != 0 {
		v.raiseReadCursor(readBaseline(&entries[0])) // as effectiveView does
	}
	if r.last, err = s.lastVisible(ctx, u, m, entries[1]); err != nil {
		return nil, err
	}
	if r.last.Seq == 0 {
		r.lastMs, err = s.creationTime(ctx, m.Conversation)
		return r, err
	}
	if err := e.Decode(r.last.Payload); err != nil {
		return nil, err
	}
	r.lastMs = e.ID.Ms()
	if entries[0].Seq != 0 || v.state.ReadSeq >= m.Join { // else the start of the count is unknown
		n := entries[1].Counted
		r.unread = n - min(n, v.state.ReadCounted)
		r.unreadSpan = message.Span{Conversation: m.Conversation, After: v.state.ReadSeq, AfterCounted: v.state.ReadCounted, Last: to}
	}
	return r, nil
}

// checkExpired returns nil if entries from seq on expired just now. An entry that is missing for another reason is corrupt.
func (s *Service) checkExpired(ctx context.Context, c id.Conversation, seq uint64) error {
	tail, err := s.deps.Log.Tail(ctx, conversationKey(c))
	if err == nil && tail.FirstSeq <= seq {
		err = errCorrupt
	}
	return err
}

// creationTime returns the time of a conversation's first entry, which never expires. It orders a conversation without visible messages.
func (s *Service) creationTime(ctx context.Context, c id.Conversation) (int64, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: 1, To: 1}})
	var e message.Entry
	if err == nil && (len(entries) == 0 || e.Decode(entries[0].Payload) != nil) {
		err = errCorrupt
	}
	if err != nil {
		return 0, s.skipCorrupt(ctx, conversationKey(c), 1, err)
	}
	return e.ID.Ms(), nil
}

// lastVisible returns the newest entry, from e back to the first seq, that a member sees; Seq 0 if there is none.
func (s *Service) lastVisible(ctx context.Context, u id.User, m Membership, e timeline.Entry) (timeline.Entry, error) {
	c, from := m.Conversation, m.Join
	if e.Seq == 0 || !isHiddenFrom(u, m, e.Payload) {
		return e, nil
	}
	tail := e
	for n := smallReadBatch; ; {
		entries, err := s.deps.Log.ReadBackward(ctx, conversationKey(c), e.Seq, n)
		if err != nil {
			return timeline.Entry{}, s.skipCorrupt(ctx, conversationKey(c), e.Seq-1, err)
		}
		for i := range entries {
			if e = entries[i]; e.Seq < from {
				return timeline.Entry{}, nil
			}
			if !isHiddenFrom(u, m, e.Payload) {
				return e, nil
			}
		}
		if tail.Seq-e.Seq > maxHiddenRead {
			return s.lastCounted(ctx, c, tail, from)
		}
		if len(entries) < n {
			if from > 1 || m.Thread {
				return timeline.Entry{}, nil
			}
			return e, errCorrupt // a conversation never starts with an access change
		}
	}
}

// maxHiddenRead is how many hidden entries at the end of a conversation are read to find the one before them.
const maxHiddenRead = 256

// lastCounted returns the newest message that counts as unread, from a tail back to seq from; Seq 0 if there is none. It finds it by the
// running number, in a few reads however many reactions came after it.
func (s *Service) lastCounted(ctx context.Context, c id.Conversation, tail timeline.Entry, from uint64) (found timeline.Entry, err error) {
	for low, high := from, tail.Seq; low <= high; {
		mid := low + (high-low)/2
		entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: mid, To: mid}})
		if err == nil && len(entries) == 0 {
			err = errCorrupt
		}
		if err != nil {
			return timeline.Entry{}, s.skipCorrupt(ctx, conversationKey(c), mid, err)
		}
		if entries[0].Counted == tail.Counted {
			found, high = entries[0], mid-1
		} else {
			low = mid + 1
		}
	}
	if isHidden(found.Payload) || message.IsControl(found.Payload) { // all messages before it have expired
		return timeline.Entry{}, nil
	}
	return found, nil
}

// isHiddenFrom reports whether the list of a user does not show an entry of a conversation as its last. In a thread, who begins to follow is not shown.
func isHiddenFrom(u id.User, m Membership, stored []byte) bool {
	return isHidden(stored) || m.Thread && message.IsControl(stored) || isForOthers(u, stored)
}

// isForOthers reports whether a user does not see an entry because only its sender does.
func isForOthers(u id.User, stored []byte) bool {
	var e message.Entry
	return message.IsLimited(stored) && (e.Decode(stored) != nil || !e.IsFor(u))
}

// isHidden reports whether no list shows an entry. Changes of access are hidden: a conversation that moves up the list would reveal a block.
// Updates are shown at the messages that they change, and signals nowhere.
func isHidden(stored []byte) bool {
	return message.IsUpdate(stored) || message.IsSignalEntry(stored) || isAccessChange(stored)
}

func isAccessChange(stored []byte) bool {
	var e message.Entry
	var content chatv1.Content
	return message.IsControl(stored) && e.Decode(stored) == nil && proto.Unmarshal(e.Content, &content) == nil &&
		content.GetControl().GetAction() == chatv1.Control_ACTION_ACCESS
}

// completeRows gives rows what is read with the same queries for all. It returns how many rows are done: at least one, and no more than fit into
// a page.
func (s *Service) completeRows(ctx context.Context, u id.User, rows []*row) (done int, err error) {
	if done, err = s.completeLast(ctx, u, rows); err != nil {
		return done, err
	}
	return done, s.completeMentions(ctx, u, rows[:done])
}

// completeMentions gives rows the unread messages that mention the user.
func (s *Service) completeMentions(ctx context.Context, u id.User, rows []*row) error {
	var unread []*row
	var spans []message.Span
	for _, r := range rows {
		if r.unread > 0 {
			unread, spans = append(unread, r), append(spans, message.Span{Conversation: r.Conversation, After: r.view.state.ReadSeq, Last: r.to})
		}
	}
	if len(spans) == 0 {
		return nil
	}
	mentions, err := s.deps.Conversations.UnreadMentions(ctx, u, spans)
	if err != nil {
		return err
	}
	for i, r := range unread {
		r.mentions = mentions[i]
	}
	return nil
}

// completeLast gives rows their last messages as the user sees them now, with the same queries for all. It returns how many rows are done:
// at least one, and no more than fit into a page.
func (s *Service) completeLast(ctx context.Context, u id.User, rows []*row) (done int, err error) {
	tails := make(map[id.Conversation]timeline.Tail, len(rows))
	for done = len(rows); ; done = (done + 3) / 4 {
		list := make([]*message.Stored, 0, done)
		for _, r := range rows[:done] {
			if r.lastNow, r.lastErr = s.decodeLast(ctx, r); r.lastNow != nil && r.lastErr == nil {
				list, tails[r.Conversation] = append(list, r.lastNow), r.tail
			}
		}
		if err = s.deps.Conversations.Current(ctx, u, list, tails); done == 1 || !errors.Is(err, timeline.ErrTooLarge) {
			break
		}
	}
	for _, r := range rows[:done] {
		if err == nil && r.lastNow != nil && r.lastNow.Deleted {
			err = s.lastBeforeDeleted(ctx, u, r)
		}
	}
	return done, err
}

// maxDeletedRead is how many entries are read to find the last message before those that the user deleted.
const maxDeletedRead = 1024

// lastBeforeDeleted gives a row the newest message that the user did not delete, none if that is far away.
func (s *Service) lastBeforeDeleted(ctx context.Context, u id.User, r *row) error {
	deleted, err := s.deps.Conversations.DeletedMessages(ctx, u, r.Conversation, r.Join, r.last.Seq)
	if err != nil {
		return err
	}
	r.lastNow = nil
	for at, read := r.last.Seq, 0; read < maxDeletedRead; read += readBatch {
		entries, err := s.deps.Log.ReadBackward(ctx, conversationKey(r.Conversation), at, readBatch)
		if err != nil {
			return s.skipCorrupt(ctx, conversationKey(r.Conversation), at-1, err)
		}
		for i := range entries {
			if at = entries[i].Seq; at < r.Join {
				return nil
			}
			if _, gone := slices.BinarySearch(deleted, at); gone || isHiddenFrom(u, r.Membership, entries[i].Payload) {
				continue
			}
			r.last = entries[i]
			if r.lastNow, err = s.decodeLast(ctx, r); err != nil || r.lastNow == nil {
				return err
			}
			return s.deps.Conversations.Current(ctx, u, []*message.Stored{r.lastNow}, nil)
		}
		if len(entries) < readBatch {
			return nil
		}
	}
	return nil
}

// decodeLast returns the row's last message as it is stored, nil if there is none.
func (s *Service) decodeLast(ctx context.Context, r *row) (*message.Stored, error) {
	if r.last.Seq != 0 && r.last.Payload == nil {
		entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(r.Conversation), From: r.last.Seq, To: r.last.Seq}})
		if err != nil {
			return nil, err // it was readable before
		}
		if len(entries) == 0 {
			if err := s.checkExpired(ctx, r.Conversation, r.last.Seq); err != nil {
				return nil, err
			}
			r.last.Seq = 0
		} else {
			r.last = entries[0]
		}
	}
	if r.last.Seq == 0 {
		return nil, nil
	}
	m := &message.Stored{Conversation: r.Conversation, Seq: r.last.Seq, Counted: r.last.Counted}
	return m, m.Entry.Decode(r.last.Payload)
}

// describeRow converts a row of a list to the answer.
func (s *Service) describeRow(ctx context.Context, u id.User, r *row) (*chatv1.Conversation, error) {
	c, err := s.deps.Conversations.DescribeListed(ctx, u, r.Membership)
	if err != nil {
		return nil, err
	}
	return c, s.completeRow(ctx, u, r, c)
}

// completeRow adds what this package knows to a description.
func (s *Service) completeRow(ctx context.Context, u id.User, r *row, c *chatv1.Conversation) error {
	if r.view.draftOmitted {
		v, err := getView(ctx, s.deps.DB.Read(), u, r.Conversation)
		if err != nil {
			return err
		}
		r.view.state.Draft = v.state.Draft
	}
	c.JoinSeq = max(c.JoinSeq, r.Join)
	c.LastSeq, c.State, c.Unread = r.Join-1, r.view.state, r.unread
	c.Mentions = r.mentions
	if r.lastErr != nil {
		return r.lastErr
	}
	if r.lastNow != nil {
		c.LastMessage = &chatv1.Message{}
		if err := proto.Unmarshal(r.lastNow.AppendProto(nil), c.LastMessage); err != nil {
			return err
		}
		c.LastSeq = r.lastNow.Seq
	}
	peer, cannotWrite, err := s.deps.Conversations.Peer(ctx, u, r.Conversation)
	if err != nil || peer == 0 || cannotWrite {
		return err
	}
	v, err := getView(ctx, s.deps.DB.Read(), peer, r.Conversation)
	if err != nil {
		return err
	}
	if err := s.applyOwnSends(ctx, v, peer, r.Conversation); err != nil {
		return err
	}
	hides, err := s.deps.HidesRead(ctx, peer)
	if err != nil {
		return err
	}
	c.PeerDeliveredSeq = max(v.delivered, v.state.ReadSeq)
	if !hides {
		c.PeerReadSeq = v.state.ReadSeq
	}
	return nil
}

// GetConversation returns one conversation as the user sees it.
func (s *Service) GetConversation(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error) {
	d, err := s.deps.Conversations.Describe(ctx, u, c)
	if err != nil {
		return nil, err
	}
	v, err := getView(ctx, s.deps.DB.Read(), u, c)
	if err != nil {
		return nil, err
	}
	m := Membership{Conversation: c, Join: d.JoinSeq, Leave: d.LeaveSeq, Thread: d.Kind == chatv1.ConversationKind_CONVERSATION_KIND_THREAD}
	if m.Thread { // what was said before the user followed can be read, but is not unread
		if m.Join, _, err = s.deps.Conversations.ReadableRange(ctx, u, c); err != nil {
			return nil, err
		}
	}
	through, err := s.deps.Conversations.ClearedThrough(ctx, u, []id.Conversation{c})
	if err != nil {
		return nil, err
	}
	m.Join = max(m.Join, through[c]+1)
	r, err := s.loadRow(ctx, u, m, v)
	if err != nil {
		return nil, err
	}
	if m.Thread && d.Role == 0 { // nothing is unread in a thread that one does not follow
		r.unread = 0
	}
	rows := []*row{r}
	if err := s.subtractRemoved(ctx, u, rows); err != nil {
		return nil, err
	}
	if _, err := s.completeRows(ctx, u, rows); err != nil {
		return nil, err
	}
	if err := s.completeRow(ctx, u, r, d); err != nil || !m.Thread {
		return d, err
	}
	return d, s.deps.Conversations.AddRoots(ctx, u, []*chatv1.Conversation{d})
}
