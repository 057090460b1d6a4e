package chat

import (
	"context"
	"database/sql"
	"math"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

const (
	expireInterval              = time.Hour
	expireShortInterval         = 5 * time.Minute // of conversations whose retention is less than a day
	expireDelayAfterAssignment  = 5 * time.Second // after an assignment; the earlier owner may not have finished
	expireBatchSize             = 500             // entries deleted at once, while changes of the conversation wait
	expireConversationsPerQuery = 500             // conversations in one query
)

// Conversations whose messages the expiry job looks at.
const (
	listAllRetentions   = `SELECT id, retention FROM conversations WHERE id > $1 ORDER BY id LIMIT $2`
	listOwnRetentions   = `SELECT id, retention FROM conversations WHERE id > $1 AND retention > 0 ORDER BY id LIMIT $2`
	listShortRetentions = `SELECT id, retention FROM conversations WHERE id > $1 AND retention > 0 AND retention < 86400 ORDER BY id LIMIT $2`
)

// Run deletes expired messages until ctx ends. It returns when all updates are applied whose senders wait; later ones are answered busy.
func (s *Service) Run(ctx context.Context) error {
	defer s.applying.stop()
	if s.beforeSend != nil {
		defer s.beforeSend.asking.stop()
	}
	defer s.stopHolding()
	var polling sync.WaitGroup
	defer polling.Wait()
	if !s.deps.SingleNode {
		polling.Go(func() { s.pollCustomRetention(ctx) })
	}
	polling.Go(func() { s.runThreadUpdates(ctx) })
	tick := time.NewTicker(expireInterval)
	defer tick.Stop()
	shortTick := time.NewTicker(expireShortInterval)
	defer shortTick.Stop()
	work := s.expire
	for mine := func(uint16) bool { return true }; ; mine = s.ownsPartition { // at its start a node does not know its partitions
		before := s.ExpiredMessages()
		if err := work(ctx, mine); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("expired messages could not be deleted", "error", err)
		}
		if n := s.ExpiredMessages() - before; n > 0 {
			s.deps.Logger.Info("expired messages were deleted", "messages", n)
		}
		work = s.expire
		select {
		case <-tick.C:
		case <-shortTick.C:
			work = s.expireShort
		case <-s.assigned:
			_ = backoff.Sleep(ctx, expireDelayAfterAssignment) // assignments come in bursts; the loop sees the end of ctx
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// ownsPartition reports whether this node deletes the expired messages of a partition's conversations.
func (s *Service) ownsPartition(partition uint16) bool {
	return s.deps.OwnsPartition == nil || s.deps.OwnsPartition(partition)
}

// ExpiredMessages counts the messages deleted since the start.
func (s *Service) ExpiredMessages() uint64 { return s.expired.Load() }

// expire deletes the expired messages of all conversations that have a retention. A conversation that fails does not stop the others.
func (s *Service) expire(ctx context.Context, mine func(partition uint16) bool) error {
	if err := s.detectCustomRetention(ctx); err != nil {
		return err
	}
	if s.retention == 0 {
		return s.expireEach(ctx, listOwnRetentions, mine)
	}
	return s.expireEach(ctx, listAllRetentions, mine)
}

// expireShort is expire for the conversations whose own retention is less than a day: their messages do not wait for the hour.
func (s *Service) expireShort(ctx context.Context, mine func(partition uint16) bool) error {
	return s.expireEach(ctx, listShortRetentions, mine)
}

// expireEach deletes the expired messages of the conversations that a query lists.
func (s *Service) expireEach(ctx context.Context, query string, mine func(partition uint16) bool) error {
	for above := id.Conversation(0); ; {
		list, err := s.listRetentions(ctx, query, above)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, l := range list {
			above = l.conversation
			if !mine(logKey(l.conversation).Partition()) {
				continue
			}
			if err := s.expireConversation(ctx, l.conversation, l.retention); err != nil {
				if ctx.Err() != nil || errs.Is(err, errs.Unavailable) { // the store is unavailable, for all conversations
					return err
				}
				s.deps.Logger.Error("a conversation's expired messages were not deleted", "conversation", l.conversation, "error", err)
			}
		}
	}
}

type conversationRetention struct {
	conversation id.Conversation
	retention    uint32
}

func (s *Service) listRetentions(ctx context.Context, query string, above id.Conversation) ([]conversationRetention, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(above), expireConversationsPerQuery)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []conversationRetention
	for rows.Next() {
		var r conversationRetention
		if err := rows.Scan(&r.conversation, &r.retention); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// expireConversation deletes the expired messages of a conversation, in batches. The row shows whether the log must be read; the state
// has the retention. OnExpired is called each time, so that an interruption does no harm.
func (s *Service) expireConversation(ctx context.Context, c id.Conversation, retention uint32) error {
	cut := s.cutoff(s.effectiveRetention(retention))
	oldest, err := s.oldestEntryTime(ctx, c)
	if err != nil {
		return err
	}
	for more := oldest < cut; more && err == nil; {
		var deleted uint64
		deleted, more, err = s.expireBatch(ctx, c, s.expiryOf)
		s.expired.Add(deleted)
	}
	if err != nil {
		return err
	}
	if err := s.deleteUpdates(ctx, c); err != nil {
		return err
	}
	if s.deps.OnExpired == nil {
		return nil
	}
	if oldest, err = s.oldestEntryTime(ctx, c); err != nil {
		return err
	}
	return s.deps.OnExpired(ctx, c, min(oldest, cut))
}

// oldestEntryTime returns the time of the oldest entry in the log, or the maximum if the log is empty.
func (s *Service) oldestEntryTime(ctx context.Context, c id.Conversation) (ms int64, err error) {
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return 0, err
	}
	entries, err := s.deps.Log.Read(ctx, logKey(c), max(tail.FirstSeq, 1)-1, 1)
	if err != nil || len(entries) == 0 {
		return math.MaxInt64, err
	}
	return entryTime(&entries[0])
}

// cutoff returns the time before which messages with a retention of so many seconds have expired.
func (s *Service) cutoff(retention uint32) int64 {
	return s.deps.Clock.Now().UnixMilli() - int64(retention)*1000
}

// expiryOf returns the time before which the messages of a conversation have expired; 0: they never do.
func (s *Service) expiryOf(st *state) int64 {
	if retention := s.effectiveRetention(st.retention); retention != 0 {
		return s.cutoff(retention)
	}
	return 0
}

// DeleteBefore deletes the messages of a conversation from before a time, in milliseconds since 1970, whatever its retention is. It is for conversations that
// the server has for itself: a retention of their own would make all reads of all conversations ask for theirs.
func (s *Service) DeleteBefore(ctx context.Context, c id.Conversation, ms int64) error {
	for more := true; more; {
		var err error
		if _, more, err = s.expireBatch(ctx, c, func(*state) int64 { return ms }); err != nil {
			return err
		}
	}
	return nil
}

// expireBatch deletes a batch of messages from before a time that depends on the state. Changes of the conversation wait, so that an acknowledged retention always
// applies.
func (s *Service) expireBatch(ctx context.Context, c id.Conversation, before func(*state) int64) (deleted uint64, more bool, err error) {
	r := s.conversation(c)
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return 0, false, err
	}
	r.mu.Lock()
	if r.state != nil && r.state.access < tail.Access {
		r.state = nil // another node changed it
	}
	r.mu.Unlock()
	st, err := s.loadState(ctx, r)
	if err == nil {
		st, err = withParent(ctx, st, s.linearizableState)
	}
	if err != nil {
		return 0, false, err
	}
	cut := before(st)
	if cut == 0 {
		return 0, false, nil
	}
	// Entries that fan-out has not dispatched yet must stay.
	end, err := timeline.FirstPendingFanout(ctx, s.deps.Log, logKey(c), tail.Seq+1)
	if err != nil {
		return 0, false, err
	}
	start := max(tail.FirstSeq, 1)
	entries, err := s.deps.Log.Read(ctx, logKey(c), start-1, expireBatchSize)
	if err != nil {
		return 0, false, err
	}
	firstSeq := start
	var keep []uint64
	for i := range entries {
		e := &entries[i]
		at, err := entryTime(e)
		if err != nil {
			return 0, false, err
		}
		if at >= cut || e.Seq >= end {
			break
		}
		if message.IsControl(e.Payload) {
			keep = append(keep, e.Seq)
		}
		firstSeq = e.Seq + 1
	}
	if firstSeq == start {
		return 0, false, nil
	}
	// Hide the entries from readers before they are deleted.
	n := *st
	n.firstSeq = firstSeq
	r.mu.Lock()
	r.state = &n
	r.mu.Unlock()
	if err := s.deps.Log.Expire(ctx, logKey(c), firstSeq, keep); err != nil {
		return 0, false, err
	}
	return firstSeq - start - uint64(len(keep)), firstSeq == start+expireBatchSize, nil
}

// deleteUpdates deletes what is known of the updates of expired messages, of their mentions, and of who deleted them. It is called each time: an earlier round may have been
// interrupted, and an update may have been applied after its message had expired.
func (s *Service) deleteUpdates(ctx context.Context, c id.Conversation) error {
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return err
	}
	below := tail.FirstSeq
	var some bool
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM message_updates WHERE conversation = $1 AND seq < $2)
		OR EXISTS (SELECT 1 FROM message_edits WHERE conversation = $1 AND seq < $2) OR EXISTS (SELECT 1 FROM reactions WHERE conversation = $1 AND seq < $2)
		OR EXISTS (SELECT 1 FROM mentions WHERE conversation = $1 AND seq < $2) OR EXISTS (SELECT 1 FROM deleted_messages WHERE conversation = $1 AND seq < $2)`,
		int64(c), int64(below)).Scan(&some); err != nil || !some {
		return err
	}
	for _, query := range []string{
		`DELETE FROM message_updates WHERE (conversation, seq) IN (SELECT conversation, seq FROM message_updates WHERE conversation = $1 AND seq < $2 LIMIT $3)`,
		`DELETE FROM message_edits WHERE (conversation, seq, edit_seq) IN (SELECT conversation, seq, edit_seq FROM message_edits WHERE conversation = $1 AND seq < $2 LIMIT $3)`,
		`DELETE FROM reactions WHERE (conversation, seq, emoji, member) IN (SELECT conversation, seq, emoji, member FROM reactions WHERE conversation = $1 AND seq < $2 LIMIT $3)`,
		`DELETE FROM mentions WHERE (conversation, member, seq, edit_seq) IN (SELECT conversation, member, seq, edit_seq FROM mentions WHERE conversation = $1 AND seq < $2 LIMIT $3)`,
		`DELETE FROM deleted_messages WHERE (owner, conversation, seq) IN (SELECT owner, conversation, seq FROM deleted_messages WHERE conversation = $1 AND seq < $2 LIMIT $3)`,
	} {
		for deleted := int64(expireBatchSize); deleted == expireBatchSize; { // a message may have many reactions: a transaction is short
			err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
				done, err := tx.ExecContext(ctx, query, int64(c), int64(below), expireBatchSize)
				if err == nil {
					deleted, err = done.RowsAffected()
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
