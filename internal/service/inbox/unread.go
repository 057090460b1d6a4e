package inbox

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Unread counts are never stored. A conversation's unread count is the running count of its newest entry minus the running count at the
// read cursor, and minus the messages between them that were recalled, or that the user deleted. Own messages move the read cursor, and so does the entry by which a
// user joined.

// applyOwnSends moves a view's read cursor to the user's own last message.
func (s *Service) applyOwnSends(ctx context.Context, v view, u id.User, c id.Conversation) error {
	seq, counted, err := s.deps.Log.LatestByAuthor(ctx, conversationKey(c), uint64(u))
	if err != nil {
		return err
	}
	if seq > v.state.ReadSeq {
		v.state.ReadSeq, v.state.ReadCounted = seq, counted
	}
	return nil
}

// readBaseline returns the read cursor of a user whose first readable entry is e. An entry that does not count, such as the one by which
// the user joined, counts as read.
func readBaseline(e *timeline.Entry) (seq, counted uint64) {
	switch {
	case isHidden(e.Payload), message.IsLimited(e.Payload):
		return e.Seq - 1, e.Counted
	case !message.IsControl(e.Payload):
		return e.Seq - 1, e.Counted - 1
	}
	return e.Seq, e.Counted
}

// subtractRemoved leaves out the messages that were recalled, or deleted by the user, among those that rows count as unread, with one query
// for all.
func (s *Service) subtractRemoved(ctx context.Context, u id.User, rows []*row) error {
	var counted []*row
	var spans []message.Span
	tails := make(map[id.Conversation]timeline.Tail, len(rows))
	for _, r := range rows {
		if r.unread > 0 {
			counted, spans = append(counted, r), append(spans, r.unreadSpan)
			tails[r.Conversation] = r.tail
		}
	}
	if len(spans) == 0 {
		return nil
	}
	removed, err := s.deps.Conversations.CountRemoved(ctx, u, spans, tails)
	if err != nil {
		return err
	}
	for i, r := range counted {
		r.unread -= min(r.unread, removed[i])
	}
	return nil
}

// raiseReadCursor moves the read cursor to at least seq.
func (v view) raiseReadCursor(seq, counted uint64) {
	if v.state.ReadSeq < seq {
		v.state.ReadSeq, v.state.ReadCounted = seq, counted
	}
}

// badge returns the sum of unread messages over conversations that are neither muted nor archived. If more than maxBadgeConversations
// have unread messages, it counts the last active ones. The index says which to load; the logs have the counts.
func (s *Service) badge(ctx context.Context, u id.User, page []*row) (sum uint64, err error) {
	counts := func(r *row) bool { return r.Leave == 0 && !r.view.state.Muted && !r.view.state.Archived }
	known := make(map[id.Conversation]bool, len(page))
	for _, r := range page {
		known[r.Conversation] = true
		if counts(r) {
			sum += r.unread
		}
	}
	list, err := s.activeMemberships(ctx, u, `SELECT conversation FROM views WHERE owner = $1 AND unread_ms > 0 AND NOT muted AND NOT archived ORDER BY unread_ms DESC LIMIT $2`, maxBadgeConversations)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(m Membership) bool { return known[m.Conversation] })
	rows, err := s.loadRows(ctx, u, list)
	if err != nil {
		return 0, err
	}
	var none []*row
	for _, r := range rows {
		if sum += r.unread; r.unread == 0 {
			none = append(none, r) // its unread messages have expired
		}
	}
	return sum, s.saveRows(ctx, u, none, nil)
}
