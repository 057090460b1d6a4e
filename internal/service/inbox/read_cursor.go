package inbox

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/interest"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	cursorBatchDelay = 20 * time.Millisecond // how long cursors gather before they are written together
	cursorBatch      = 500                   // cursors, or positions of streams, in one transaction
	ackInterval      = time.Second           // also the delay of cursors after a failure
	trimInterval     = time.Hour
)

// Mark moves a user's cursors forward, within milliseconds. It drops cursors of users who may not read the conversation.
func (s *Service) Mark(u id.User, c id.Conversation, delivered, read uint64) {
	p := cursorKey{u, c}
	s.mu.Lock()
	m, ok := s.pendingCursors[p]
	if ok || len(s.pendingCursors) < maxPending {
		s.pendingCursors[p] = cursors{max(m.delivered, delivered), max(m.read, read)}
	}
	s.mu.Unlock()
	wakeup.Signal(s.wake)
}

// MarkNow moves a user's cursors forward, and returns the user's view afterwards.
func (s *Service) MarkNow(ctx context.Context, u id.User, c id.Conversation, delivered, read uint64) (*chatv1.ConversationState, error) {
	r, err := s.resolve(ctx, cursorKey{u, c}, cursors{delivered, read})
	if err != nil {
		return nil, err
	}
	if err := s.writeCursors(ctx, []*resolvedCursors{r}); err != nil {
		return nil, err
	}
	v, err := s.effectiveView(ctx, s.deps.DB.Read(), u, c, r.from)
	return v.state, err
}

// Run writes cursors and acknowledgements, trims streams, and pushes new readers, until ctx ends. It writes queued ones before it returns.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runTrim(ctx) }) // concurrently: it reads all streams, and cursors must not wait for it
	group.Go(func() { s.runReaders(ctx) })
	acks := time.NewTicker(ackInterval)
	defer acks.Stop()
	for {
		select {
		case <-s.wake:
			_ = backoff.Sleep(ctx, cursorBatchDelay) // queued cursors are written also when ctx ends
			s.flushCursors(context.WithoutCancel(ctx))
		case <-acks.C:
			s.processAcks(context.WithoutCancel(ctx))
			s.flushCursors(context.WithoutCancel(ctx)) // cursors that were requeued after a failure
		case <-ctx.Done():
			s.flushCursors(context.WithoutCancel(ctx))
			s.processAcks(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func (s *Service) flushCursors(ctx context.Context) {
	s.mu.Lock()
	marks := s.pendingCursors
	s.pendingCursors = map[cursorKey]cursors{}
	s.mu.Unlock()
	var list []*resolvedCursors
	for p, m := range marks {
		r, err := s.resolve(ctx, p, m)
		switch {
		case err == nil:
			list = append(list, r)
		case errs.Is(err, errs.Unavailable) || errs.Is(err, errs.Exhausted):
			s.deps.Logger.Warn("a cursor could not be written; it is retried", "user", p.user, "conversation", p.conversation, "error", err)
			s.requeueCursors(p, m)
		case !errs.Is(err, errs.NotFound):
			s.deps.Logger.Error("a cursor could not be written; it is dropped", "user", p.user, "conversation", p.conversation, "error", err)
		}
	}
	for len(list) > 0 {
		n := min(len(list), cursorBatch)
		if err := s.writeCursors(ctx, list[:n]); err != nil {
			s.deps.Logger.Warn("cursors could not be written; they are retried", "cursors", n, "error", err)
			for _, r := range list[:n] {
				s.requeueCursors(r.cursorKey, r.cursors)
			}
		}
		list = list[n:]
	}
}

// requeueCursors queues cursors again, for the next batch.
func (s *Service) requeueCursors(p cursorKey, m cursors) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.pendingCursors[p]
	s.pendingCursors[p] = cursors{max(m.delivered, o.delivered), max(m.read, o.read)}
}

// resolvedCursors are cursors within the user's readable range, with the running count at the read cursor.
type resolvedCursors struct {
	cursorKey
	cursors
	from    uint64 // the first seq that the user may read
	counted uint64
	peer    id.User // the user to notify; 0: none
	hides   bool
}

func (s *Service) resolve(ctx context.Context, p cursorKey, m cursors) (*resolvedCursors, error) {
	from, to, err := s.deps.Conversations.ReadableRange(ctx, p.user, p.conversation)
	if err != nil {
		return nil, err
	}
	tail, err := s.deps.Log.Tail(ctx, conversationKey(p.conversation))
	if err != nil {
		return nil, err
	}
	to = min(to, tail.Seq)
	// A message that was read counts as delivered.
	r := &resolvedCursors{cursorKey: p, from: from, cursors: cursors{delivered: min(max(m.delivered, m.read), to), read: min(m.read, to)}}
	if r.read < from {
		r.read = 0
	}
	if r.delivered < from {
		r.delivered = 0
	}
	if r.read != 0 {
		if r.counted, err = s.countedAt(ctx, p.conversation, r.read); err != nil {
			return nil, err
		}
	}
	var cannotWrite bool
	if r.peer, cannotWrite, err = s.deps.Conversations.Peer(ctx, p.user, p.conversation); err != nil || r.peer == 0 {
		return r, err
	}
	if cannotWrite {
		r.peer = 0 // must not be notified
		return r, nil
	}
	r.hides, err = s.deps.HidesRead(ctx, p.user)
	return r, err
}

var errCorrupt = errs.Wrap(errs.Internal, "corrupt", "the server's store is corrupt; its operator must run rialto verify", timeline.ErrCorrupt)

// countedAt returns the running count at a seq.
func (s *Service) countedAt(ctx context.Context, c id.Conversation, seq uint64) (uint64, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: seq, To: seq}})
	if err != nil {
		return 0, err
	}
	if len(entries) != 1 {
		if err := s.checkExpired(ctx, c, seq); err != nil {
			return 0, err
		}
		return 0, errs.New(errs.NotFound, "no_message", "this message has expired")
	}
	return entries[0].Counted, nil
}

// writeCursors moves cursors and stores their events, in one transaction.
func (s *Service) writeCursors(ctx context.Context, list []*resolvedCursors) error {
	moved := false
	var read []interest.Change
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		moved, read = false, read[:0]
		for _, r := range list {
			one, before, err := s.writeCursor(ctx, tx, r)
			if err != nil {
				return err
			}
			moved = moved || one
			if one && r.read > before {
				read = append(read, interest.Change{Key: interest.Key(r.conversation), User: r.user, From: before, To: r.read})
			}
		}
		return nil
	})
	if err == nil && moved {
		s.deps.Outbox.Wake()
		s.publishRead(read)
		s.recordReads(read)
	}
	return err
}

// writeCursor moves the cursors of one user in one conversation, and stores their events. It returns the read cursor as it was before.
func (s *Service) writeCursor(ctx context.Context, tx *sql.Tx, r *resolvedCursors) (moved bool, read uint64, err error) {
	var delivered uint64
	err = tx.QueryRowContext(ctx, `SELECT read_seq, delivered_seq FROM views WHERE owner = $1 AND conversation = $2`, int64(r.user), int64(r.conversation)).Scan(&read, &delivered)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, 0, err
	}
	if r.read <= read && r.delivered <= delivered {
		return false, read, nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO views (owner, conversation, read_seq, read_counted, delivered_seq) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (owner, conversation) DO UPDATE SET read_counted = CASE WHEN $3 > views.read_seq THEN $4 ELSE views.read_counted END,
		read_seq = CASE WHEN $3 > views.read_seq THEN $3 ELSE views.read_seq END, delivered_seq = CASE WHEN $5 > views.delivered_seq THEN $5 ELSE views.delivered_seq END,
		unread_ms = CASE WHEN $3 >= views.seen_seq THEN 0 ELSE views.unread_ms END,
		marked_unread = CASE WHEN $3 > views.read_seq THEN FALSE ELSE views.marked_unread END`,
		int64(r.user), int64(r.conversation), int64(r.read), int64(r.counted), int64(r.delivered)); err != nil {
		return false, 0, err
	}
	now := cursors{max(delivered, r.delivered), max(read, r.read)}
	return true, read, s.notifyCursors(ctx, tx, r, now, now.delivered > delivered, now.read > read)
}

// MarkFollowed moves the cursors of a user who begins to follow a channel to its tail, in the transaction of the follower's row: a user who
// follows never has the whole history as unread.
func (s *Service) MarkFollowed(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation, tail timeline.Tail) error {
	_, _, err := s.writeCursor(ctx, tx, &resolvedCursors{cursorKey: cursorKey{u, c}, cursors: cursors{delivered: tail.Seq, read: tail.Seq}, from: max(tail.FirstSeq, 1), counted: tail.Counted})
	return err
}

// notifyCursors stores the events of moved cursors: for the user's own devices, and for the other user of a one-to-one conversation. If
// the user hides read receipts, the event for the other user has no read cursor.
func (s *Service) notifyCursors(ctx context.Context, tx *sql.Tx, r *resolvedCursors, now cursors, deliveredMoved, readMoved bool) error {
	if readMoved {
		v, err := s.effectiveView(ctx, tx, r.user, r.conversation, r.from)
		if err != nil {
			return err
		}
		if err := s.putEvent(ctx, tx, r.user, message.FieldConversation, v.state); err != nil {
			return err
		}
	}
	if r.peer == 0 || r.hides && !deliveredMoved {
		return nil
	}
	m := &chatv1.MemberMark{Conversation: uint64(r.conversation), User: uint64(r.user), DeliveredSeq: now.delivered, ReadSeq: now.read}
	if r.hides {
		m.ReadSeq = 0
	}
	return s.putEvent(ctx, tx, r.peer, message.FieldMark, m)
}

func (s *Service) putEvent(ctx context.Context, tx *sql.Tx, u id.User, field int, m proto.Message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: u, Body: message.AppendBody(nil, field, b)})
}
