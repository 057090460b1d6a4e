package chat

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

const (
	expireEvery = time.Hour
	expireTaken = 5 * time.Second // after partitions were taken: what their earlier node may not have done
	expirePage  = 500             // entries removed at once, while changes of the conversation wait
	expireRooms = 500             // conversations looked up at once
	backlog     = 1000
)

// Run removes what has expired, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var looking sync.WaitGroup
	defer looking.Wait()
	if !s.deps.Alone {
		looking.Go(func() { s.lookAgain(ctx) })
	}
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for mine := func(uint16) bool { return true }; ; mine = s.mine { // at its start a node does not know yet what is its own
		before := s.Removed()
		if err := s.expire(ctx, mine); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("expired messages could not be removed", "error", err)
		}
		if n := s.Removed() - before; n > 0 {
			s.deps.Logger.Info("expired messages were removed", "messages", n)
		}
		select {
		case <-tick.C:
		case <-s.taken:
			select {
			case <-time.After(expireTaken): // more may come together
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// mine tells whether this node removes what has expired of a partition's conversations.
func (s *Service) mine(partition uint16) bool { return s.deps.Mine == nil || s.deps.Mine(partition) }

// Removed counts the messages that were removed since the start.
func (s *Service) Removed() uint64 { return s.removed.Load() }

// expire goes over all conversations that do not keep their messages for ever. One that fails does not keep the others.
func (s *Service) expire(ctx context.Context, mine func(partition uint16) bool) error {
	if err := s.lookForSome(ctx); err != nil {
		return err
	}
	query := `SELECT id, retention FROM conversations WHERE id > $1 ORDER BY id LIMIT $2`
	if s.days == 0 {
		query = `SELECT id, retention FROM conversations WHERE id > $1 AND retention > 0 ORDER BY id LIMIT $2`
	}
	for above := id.Conversation(0); ; {
		list, err := s.retentions(ctx, query, above)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, l := range list {
			above = l.conversation
			if !mine(key(l.conversation).Partition()) {
				continue
			}
			if err := s.expireOne(ctx, l.conversation, l.days); err != nil {
				if ctx.Err() != nil || errs.Is(err, errs.Unavailable) { // as on a full disk: so it would be with each
					return err
				}
				s.deps.Logger.Error("a conversation's expired messages were not removed", "conversation", l.conversation, "error", err)
			}
		}
	}
}

type retention struct {
	conversation id.Conversation
	days         uint32
}

func (s *Service) retentions(ctx context.Context, query string, above id.Conversation) ([]retention, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(above), expireRooms)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []retention
	for rows.Next() {
		var r retention
		if err := rows.Scan(&r.conversation, &r.days); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// expireOne removes what has expired of a conversation, in steps. The rows say whether it is worth a look, the state how many
// days it is. Whoever keeps the files is told each time, so that an end in between does no harm.
func (s *Service) expireOne(ctx context.Context, c id.Conversation, days uint32) error {
	cut := s.cut(s.keptDays(days))
	oldest, err := s.oldest(ctx, c)
	if err != nil {
		return err
	}
	for more := oldest < cut; more && err == nil; {
		more, err = s.expireSome(ctx, c)
	}
	if err != nil || s.deps.Expired == nil {
		return err
	}
	if oldest, err = s.oldest(ctx, c); err != nil {
		return err
	}
	return s.deps.Expired(ctx, c, min(oldest, cut))
}

// oldest is the time of the oldest entry that has not expired, far in the future where there is none.
func (s *Service) oldest(ctx context.Context, c id.Conversation) (ms int64, err error) {
	tail, err := s.deps.Log.Tail(ctx, key(c))
	if err != nil {
		return 0, err
	}
	entries, err := s.deps.Log.Read(ctx, key(c), max(tail.Head, 1)-1, 1)
	if err != nil || len(entries) == 0 {
		return math.MaxInt64, err
	}
	return timeOf(&entries[0])
}

// cut is the time before which messages that are kept for so many days have expired.
func (s *Service) cut(days uint32) int64 {
	return s.deps.Clock.Now().UnixMilli() - int64(days)*dayMs
}

// expireSome removes a page of what has expired. Changes of the conversation wait: a retention that was answered as changed is
// the one that counts here.
func (s *Service) expireSome(ctx context.Context, c id.Conversation) (more bool, err error) {
	r := s.room(c)
	r.changing.Lock()
	defer r.changing.Unlock()
	tail, err := s.deps.Log.Tail(ctx, key(c))
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	if r.state != nil && r.state.access < tail.Access {
		r.state = nil // another node changed it
	}
	r.mu.Unlock()
	st, err := s.fill(ctx, r)
	if err != nil {
		return false, err
	}
	days := s.keptDays(st.retention)
	if days == 0 {
		return false, nil
	}
	// What is still to be carried to members' streams waits there.
	end, err := s.uncarried(ctx, key(c), tail.Seq+1)
	if err != nil {
		return false, err
	}
	cut := s.cut(days)
	start := max(tail.Head, 1)
	entries, err := s.deps.Log.Read(ctx, key(c), start-1, expirePage)
	if err != nil {
		return false, err
	}
	head := start
	var keep []uint64
	for i := range entries {
		e := &entries[i]
		at, err := timeOf(e)
		if err != nil {
			return false, err
		}
		if at >= cut || e.Seq >= end {
			break
		}
		if message.IsControl(e.Payload) {
			keep = append(keep, e.Seq)
		}
		head = e.Seq + 1
	}
	if head == start {
		return false, nil
	}
	// Readers look no further back before the entries go.
	n := *st
	n.head = head
	r.mu.Lock()
	r.state = &n
	r.mu.Unlock()
	if err := s.deps.Log.Expire(ctx, key(c), head, keep); err != nil {
		return false, err
	}
	s.removed.Add(head - start - uint64(len(keep)))
	return head == start+expirePage, nil
}

// uncarried gives the first seq of a key, below end, that fan-out has not carried yet, and end where there is none. Where much
// waits to be carried, nothing has been.
func (s *Service) uncarried(ctx context.Context, k timeline.Key, end uint64) (uint64, error) {
	at, err := s.deps.Log.Checkpoint(ctx, k.Partition())
	if err != nil {
		return 0, err
	}
	records, err := timeline.AwaitRecords(ctx, s.deps.Log, k.Partition(), at, backlog)
	if err != nil || len(records) == backlog {
		return 0, err
	}
	for _, r := range records {
		for _, ref := range r.Refs {
			if ref.Key == k {
				end = min(end, ref.From)
			}
		}
	}
	return end, nil
}
