package chat

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// messageState is what updates have made of a message. The zero value is that of a message without updates.
type messageState struct {
	editSeq, recallSeq, pinSeq uint64
	recalledBy                 id.User
	pinned                     bool
	reactions                  *chatv1.Reactions
	thread                     id.Conversation // 0: none was started
	deliveries                 []*chatv1.BridgeDelivery
}

// messageKey names a message.
type messageKey struct {
	conversation id.Conversation
	seq          uint64
}

// maxMessagesPerQuery bounds the messages that one query names.
const maxMessagesPerQuery = 200

// messageStates reads the states of those messages that were updated.
func (s *Service) messageStates(ctx context.Context, keys []messageKey) (map[messageKey]messageState, error) {
	states := map[messageKey]messageState{}
	for some := range conditions(keys, 1) {
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, seq, edit_seq, recall_seq, recalled_by, pin_seq, pinned, reactions, thread, bridges FROM message_updates WHERE `+some.where, some.args...)
		if err != nil {
			return nil, err
		}
		if err := scanStates(rows, states); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func scanStates(rows *sql.Rows, states map[messageKey]messageState) error {
	defer rows.Close()
	for rows.Next() {
		var k messageKey
		var m messageState
		var reactions, bridges []byte
		if err := rows.Scan(&k.conversation, &k.seq, &m.editSeq, &m.recallSeq, &m.recalledBy, &m.pinSeq, &m.pinned, &reactions, &m.thread, &bridges); err != nil {
			return err
		}
		if reactions != nil {
			m.reactions = &chatv1.Reactions{}
			if err := proto.Unmarshal(reactions, m.reactions); err != nil {
				return err
			}
		}
		var err error
		if m.deliveries, err = decodeDeliveries(bridges); err != nil {
			return err
		}
		states[k] = m
	}
	return rows.Err()
}

// condition selects the rows of some messages, and perhaps of others between them.
type condition struct {
	where string
	args  []any
}

// conditions covers messages with conditions whose parameters begin at a number. Messages that are close together are named by a range: it
// costs as much as one of them, since few messages have updates.
func conditions(keys []messageKey, from int) iter.Seq[condition] {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b messageKey) int {
		return cmp.Or(cmp.Compare(a.conversation, b.conversation), cmp.Compare(a.seq, b.seq))
	})
	const maxGap = 16
	return func(yield func(condition) bool) {
		for len(keys) > 0 {
			var c condition
			for n := 0; len(keys) > 0 && n < maxMessagesPerQuery/2; n++ {
				end := 1
				for end < len(keys) && keys[end].conversation == keys[0].conversation && keys[end].seq-keys[end-1].seq <= maxGap {
					end++
				}
				if n > 0 {
					c.where += " OR "
				}
				at := from + len(c.args)
				c.where += fmt.Sprintf("conversation = $%d AND seq >= $%d AND seq <= $%d", at, at+1, at+2)
				c.args = append(c.args, int64(keys[0].conversation), int64(keys[0].seq), int64(keys[end-1].seq))
				keys = keys[end:]
			}
			c.where = "(" + c.where + ")"
			if !yield(c) {
				return
			}
		}
	}
}

// Current replaces the contents of stored entries by the present ones: that of the last edit, and none once a message is recalled. It adds
// reactions and pins. Every read of entries for users goes through it. u sees which reactions are u's own; 0: nobody in particular.
//
// Those that show a message which u deleted are marked; show nothing of them. Updates change as their targets do, so that no old text is left in them. The entries may be of several conversations. It fails with
// timeline.ErrTooLarge, and changes nothing, if the contents of edits exceed a page; those of one entry never do.
//
// tails are those of some of the conversations, read during the same call; they save queries, and may be nil.
func (s *Service) Current(ctx context.Context, u id.User, list []*message.Stored, tails map[id.Conversation]timeline.Tail) (err error) {
	if tails == nil && s.deps.SingleNode { // the log knows them without a query
		if tails, err = s.tails(ctx, list); err != nil {
			return err
		}
	}
	return s.current(ctx, u, list, tails)
}

// tails reads the tails of the entries' conversations.
func (s *Service) tails(ctx context.Context, list []*message.Stored) (map[id.Conversation]timeline.Tail, error) {
	tails := map[id.Conversation]timeline.Tail{}
	var keys []timeline.Key
	for _, m := range list {
		if _, ok := tails[m.Conversation]; !ok {
			tails[m.Conversation] = timeline.Tail{}
			keys = append(keys, logKey(m.Conversation))
		}
	}
	found, err := s.deps.Log.Tails(ctx, keys)
	for i, k := range keys[:len(found)] {
		tails[id.Conversation(k.ID)] = found[i]
	}
	return tails, err
}

// noUpdates reports whether a conversation has no updates after an entry, by the tail of its log. Updates do not count as unread, and
// neither do control entries: without updates, all entries after this one count, or all that do not count are control entries.
func (s *Service) noUpdates(m *message.Stored, tail timeline.Tail) bool {
	after, counted := tail.Seq-m.Seq, tail.Counted-m.Counted
	if after == counted {
		return true
	}
	s.mu.Lock()
	c := s.conversations[m.Conversation]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state != nil && c.state.access <= tail.Access && tail.Seq-tail.Counted == c.state.controls
}

func (s *Service) current(ctx context.Context, u id.User, list []*message.Stored, tails map[id.Conversation]timeline.Tail) error {
	if err := s.markDeleted(ctx, u, list); err != nil {
		return err
	}
	forwards, err := s.presentForwards(ctx, list)
	if err != nil {
		return err
	}
	if err := s.addStates(ctx, u, list, tails); err != nil {
		return err
	}
	for i, content := range forwards {
		if len(list[i].Entry.Content) > 0 { // else the forward itself was recalled
			list[i].Entry.Content = content
		}
	}
	return s.hideErasing(list)
}

// addStates gives messages and updates their present contents and states. What forwards show is not among them.
func (s *Service) addStates(ctx context.Context, u id.User, list []*message.Stored, tails map[id.Conversation]timeline.Tail) error {
	states, err := s.statesOf(ctx, list, tails)
	if err != nil || len(states) == 0 && !slices.ContainsFunc(list, isUpdate) {
		return err
	}
	var edited, reacted []messageKey
	threads := map[id.Conversation]id.Conversation{} // parents by threads
	for _, m := range list {
		k := subject(m)
		st, ok := states[k]
		if ok && st.thread != 0 && m.Entry.Updates == 0 {
			threads[st.thread] = m.Conversation
		}
		if !ok || m.Entry.Control || st.recallSeq != 0 {
			continue
		}
		if st.editSeq != 0 && (m.Entry.Updates == 0 || m.Seq == st.editSeq) {
			edited = append(edited, messageKey{k.conversation, st.editSeq})
		}
		if m.Entry.Updates == 0 && len(st.reactions.GetCounts()) > 0 {
			reacted = append(reacted, k)
		}
	}
	edits, err := s.readEdits(ctx, edited)
	if err != nil {
		return err
	}
	mine, err := s.ownReactions(ctx, u, reacted)
	if err != nil {
		return err
	}
	replies, err := s.threadsNow(ctx, threads)
	if err != nil {
		return err
	}
	readable, err := s.readableFrom(ctx, u, list)
	if err != nil {
		return err
	}
	for _, m := range list {
		k := subject(m)
		st, ok := states[k]
		e := edits[messageKey{k.conversation, st.editSeq}] // without content if it cannot be read
		if k.seq < readable[k.conversation] {
			e = edit{}
		}
		switch {
		case m.Entry.Control:
		case isUpdate(m): // also if no state remains: the target, which may have been recalled, expires before its updates
			err = st.completeUpdate(m, e)
		case ok:
			err = st.complete(m, e, mine[k], replies[st.thread])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// statesOf reads the states of the subjects of entries. It fails if a message has expired whose state was deleted.
func (s *Service) statesOf(ctx context.Context, list []*message.Stored, tails map[id.Conversation]timeline.Tail) (map[messageKey]messageState, error) {
	keys := make([]messageKey, 0, len(list))
	var old []*message.Stored
	latest := s.deps.Clock.Now().UnixMilli() - minRetention*1000/2
	for _, m := range list {
		tail, known := tails[m.Conversation]
		if m.Entry.Control || m.Entry.Updates == 0 && known && s.noUpdates(m, tail) {
			continue
		}
		keys = append(keys, subject(m))
		if m.Entry.Updates == 0 && m.Entry.ID.Ms() < latest {
			old = append(old, m)
		}
	}
	states, err := s.messageStates(ctx, keys)
	if err != nil {
		return nil, err
	}
	return states, s.checkNotExpired(ctx, old, states)
}

// readableFrom returns the first seq that a user may read of each conversation with updates in a list, none for nobody in particular. An edit of a
// message below it has no content to the user: a message from before the user joined stays unreadable when it is edited.
func (s *Service) readableFrom(ctx context.Context, u id.User, list []*message.Stored) (map[id.Conversation]uint64, error) {
	from := map[id.Conversation]uint64{}
	for _, m := range list {
		if _, known := from[m.Conversation]; known || u == 0 || !isUpdate(m) {
			continue
		}
		st, err := s.linearizableState(ctx, m.Conversation)
		if err == nil {
			from[m.Conversation], _, err = s.readableRange(ctx, st, u)
		}
		if errs.Is(err, errs.NotFound) {
			from[m.Conversation], err = math.MaxUint64, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return from, nil
}

// checkNotExpired fails if messages without a state have expired. A state is deleted after its message: one that was read just before may
// have lost its state since, and with it the recall.
func (s *Service) checkNotExpired(ctx context.Context, list []*message.Stored, states map[messageKey]messageState) error {
	list = slices.DeleteFunc(list, func(m *message.Stored) bool {
		_, ok := states[subject(m)]
		return ok
	})
	if len(list) == 0 {
		return nil
	}
	tails, err := s.tails(ctx, list)
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.Seq < tails[m.Conversation].FirstSeq {
			return busy(fmt.Errorf("message %d of conversation %d expired during the read", m.Seq, m.Conversation))
		}
	}
	return nil
}

func isUpdate(m *message.Stored) bool { return m.Entry.Updates != 0 }

// subject returns the message whose state an entry shows: the target of an update, else its own.
func subject(m *message.Stored) messageKey {
	if m.Entry.Updates != 0 {
		return messageKey{m.Conversation, m.Entry.Updates}
	}
	return messageKey{m.Conversation, m.Seq}
}

// complete gives a message its present content and state.
func (t messageState) complete(m *message.Stored, e edit, mine []string, replies *chatv1.Thread) error {
	state := &chatv1.Message{Thread: replies, RecallSeq: t.recallSeq, RecalledBy: uint64(t.recalledBy), PinSeq: t.pinSeq, Pinned: t.pinned && t.recallSeq == 0, BridgeDeliveries: t.deliveries}
	switch {
	case t.recallSeq != 0:
		m.Entry.Content = nil
	case t.editSeq != 0:
		m.Entry.Content, state.EditSeq, state.EditedMs = e.content, t.editSeq, e.ms
	}
	if t.recallSeq == 0 && t.reactions != nil {
		state.Reactions = &chatv1.Reactions{Version: t.reactions.Version, Counts: t.reactions.Counts, Mine: mine}
	}
	var err error
	m.State, err = proto.Marshal(state)
	return err
}

// completeUpdate gives an update what it says now: the last edit has its content, and a reaction all counts. Earlier edits have no content:
// else a thousand small edits and a large one would be a page of a thousand large ones. A corrupt update has no content then.
func (t messageState) completeUpdate(m *message.Stored, e edit) error {
	var content chatv1.Content
	if proto.Unmarshal(m.Entry.Content, &content) != nil {
		m.Entry.Content = nil
		return nil
	}
	switch k := content.Kind.(type) {
	case *chatv1.Content_Edit:
		k.Edit.Content = nil
		if e.content != nil && t.recallSeq == 0 && m.Seq == t.editSeq {
			k.Edit.Content = &chatv1.Content{}
			if err := proto.Unmarshal(e.content, k.Edit.Content); err != nil {
				return err
			}
		}
	case *chatv1.Content_Reaction:
		k.Reaction.Reactions = t.reactions
	}
	var err error
	m.Entry.Content, err = proto.Marshal(&content)
	return err
}

// ownReactions returns the emoji with which a user reacted to some messages.
func (s *Service) ownReactions(ctx context.Context, u id.User, keys []messageKey) (map[messageKey][]string, error) {
	mine := map[messageKey][]string{}
	if u == 0 {
		return mine, nil
	}
	for some := range conditions(keys, 2) {
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, seq, emoji FROM reactions WHERE member = $1 AND active AND `+some.where+` ORDER BY at_seq`, append([]any{int64(u)}, some.args...)...)
		if err != nil {
			return nil, err
		}
		if err := scanReactions(rows, mine); err != nil {
			return nil, err
		}
	}
	return mine, nil
}

func scanReactions(rows *sql.Rows, mine map[messageKey][]string) error {
	defer rows.Close()
	for rows.Next() {
		var k messageKey
		var emoji string
		if err := rows.Scan(&k.conversation, &k.seq, &emoji); err != nil {
			return err
		}
		mine[k] = append(mine[k], emoji)
	}
	return rows.Err()
}

// Span is the messages of a conversation with seqs above After, up to Last.
type Span = message.Span

// CountRemoved returns how many messages of each span were recalled, or deleted by a user for themself. tails are those of the spans'
// conversations.
func (s *Service) CountRemoved(ctx context.Context, u id.User, spans []Span, tails map[id.Conversation]timeline.Tail) ([]uint64, error) {
	counts, err := s.countRecalled(ctx, spans, tails)
	if err != nil {
		return nil, err
	}
	return counts, s.addDeleted(ctx, u, spans, counts)
}

func (s *Service) countRecalled(ctx context.Context, spans []Span, tails map[id.Conversation]timeline.Tail) ([]uint64, error) {
	counts := make([]uint64, len(spans))
	index := map[id.Conversation]int{}
	var where strings.Builder
	var args []any
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, count(*) FROM message_updates WHERE recall_seq > 0 AND NOT limited AND (`+where.String()+`) GROUP BY conversation`, args...)
		where.Reset()
		args = nil
		if err != nil {
			return err
		}
		return eachPair(rows, func(c, n uint64) { counts[index[id.Conversation(c)]] = n })
	}
	for i, span := range spans {
		if tail, ok := tails[span.Conversation]; ok && s.noUpdates(&message.Stored{Conversation: span.Conversation, Seq: span.After, Counted: span.AfterCounted}, tail) {
			continue
		}
		index[span.Conversation] = i
		if len(args) > 0 {
			where.WriteString(" OR ")
		}
		at := len(args) + 1
		fmt.Fprintf(&where, "conversation = $%d AND seq > $%d AND seq <= $%d", at, at+1, at+2)
		args = append(args, int64(span.Conversation), int64(span.After), int64(min(span.Last, 1<<63-1)))
		if len(args) >= 3*maxMessagesPerQuery/2 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return counts, flush()
}

// queryPairs returns the two columns of a query.
func (s *Service) queryPairs(ctx context.Context, query string, args ...any) (list [][2]uint64, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return list, eachPair(rows, func(a, b uint64) { list = append(list, [2]uint64{a, b}) })
}

// eachPair calls f for each row of two columns, and closes the rows.
func eachPair(rows *sql.Rows, f func(a, b uint64)) error {
	defer rows.Close()
	for rows.Next() {
		var a, b uint64
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		f(a, b)
	}
	return rows.Err()
}

// querySeqs returns the single column of a query.
func (s *Service) querySeqs(ctx context.Context, query string, args ...any) (list []uint64, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n uint64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}
