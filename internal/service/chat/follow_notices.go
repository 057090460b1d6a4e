package chat

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// maxFollowFailures bounds the users for whom a call of addNotices fails, so that it ends soon while the database takes no writes.
	maxFollowFailures = 3
	// followBatchSize is how many users begin to follow the notices in one transaction, and followTimeout bounds it.
	followBatchSize = 64
	followTimeout   = 5 * time.Second
)

// noticeFollower is a user who begins to follow the notices.
type noticeFollower struct {
	user   id.User
	before timeline.Tail // at the registration
	added  bool          // a row was written
	err    error
}

// followBatches gather users who begin to follow the notices while a transaction is under way. Each changes the row of the channel, so that it
// would be a queue of one transaction for each user who connects.
type followBatches struct {
	committing chan struct{} // has room for the batch whose transaction runs

	mu   sync.Mutex // guards next
	next map[id.Conversation]*followBatch
}

func (b *followBatches) init() {
	b.committing, b.next = make(chan struct{}, 1), map[id.Conversation]*followBatch{}
}

// followBatch is the users of one transaction.
type followBatch struct {
	users []*noticeFollower // guarded by the mu of followBatches until the transaction begins
	done  chan struct{}
	err   error // of all
}

// join adds users to the next batch. leads: the caller commits it.
func (b *followBatches) join(c id.Conversation, users []*noticeFollower) (batch *followBatch, leads bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch = b.next[c]
	if batch == nil || len(batch.users)+len(users) > followBatchSize {
		batch, leads = &followBatch{done: make(chan struct{})}, true
		b.next[c] = batch // a full one has its leader
	}
	batch.users = append(batch.users, users...)
	return batch, leads
}

// closeBatch makes later users join another batch.
func (b *followBatches) closeBatch(c id.Conversation, batch *followBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next[c] == batch {
		delete(b.next, c)
	}
}

// addNotices adds the notices for everybody to the large groups of users, and makes those follow them who do not yet. A user for whom that fails
// does not keep the others from it. While the database takes no writes, users connect and sync without them, and a later call tries again.
func (s *Service) addNotices(ctx context.Context, users []id.User, of map[id.User][]id.Conversation) error {
	for _, c := range of[0] {
		var list []*noticeFollower
		failures := 0
		var failed id.User
		var last error
		for _, u := range users {
			if u == 0 || slices.Contains(of[u], c) {
				continue
			}
			before, err := s.tailAtRegistration(ctx, c, u)
			if err == nil {
				list = append(list, &noticeFollower{user: u, before: before})
				continue
			}
			failed, last = u, err
			if failures++; failures == maxFollowFailures {
				break
			}
		}
		for batch := range slices.Chunk(list, followBatchSize) {
			err := s.followNotices(ctx, c, batch)
			for _, f := range batch {
				switch {
				case err != nil:
					failed, last = f.user, err
				case f.err != nil:
					failed, last = f.user, f.err
				default:
					of[f.user] = append(of[f.user], c)
				}
			}
			if err != nil {
				break
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last != nil {
			s.deps.Logger.Warn("users could not be added to a channel of notices yet; it is retried later", "conversation", c, "user", failed, "error", last)
		}
	}
	return nil
}

// followNoticesNow makes one user follow the notices for everybody.
func (s *Service) followNoticesNow(ctx context.Context, c id.Conversation, u id.User) error {
	before, err := s.tailAtRegistration(ctx, c, u)
	if err != nil {
		return err
	}
	f := &noticeFollower{user: u, before: before}
	if err := s.followNotices(ctx, c, []*noticeFollower{f}); err != nil {
		return err
	}
	return f.err
}

// followNotices writes the rows by which users, at most followBatchSize, follow the notices for everybody. They read none that are older than the
// registration: as if they had cleared them. Later ones are unread. Those who call at the same time share a transaction.
func (s *Service) followNotices(ctx context.Context, c id.Conversation, users []*noticeFollower) error {
	b := &s.followBatches
	batch, leads := b.join(c, users)
	if !leads {
		select {
		case <-batch.done:
			return batch.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer close(batch.done)
	select {
	case b.committing <- struct{}{}:
		defer func() { <-b.committing }()
	case <-ctx.Done():
		batch.err = ctx.Err()
	}
	b.closeBatch(c, batch)
	if batch.err == nil { // for all: it does not end with the caller that leads
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), followTimeout)
		defer cancel()
		batch.err = s.commitFollowers(within, c, batch.users)
	}
	return batch.err
}

// commitFollowers writes the rows of a batch, and notifies the connections of its users.
func (s *Service) commitFollowers(ctx context.Context, c id.Conversation, users []*noticeFollower) error {
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return err
	}
	activeMs, _, err := s.entryTimeAt(ctx, c, tail.Seq)
	if err != nil && !errors.Is(err, timeline.ErrCorrupt) {
		return err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.writeFollowers(ctx, tx, c, users, activeMs) })
	if errors.Is(err, errDissolved) { // in the meantime
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range users {
		if f.added {
			s.withoutDeletions.remove(f.user)
			s.followersChanged(c, tail.Seq, f.user, true)
		}
	}
	return nil
}

// writeFollowers counts the followers first, so that all transactions lock the channel's row before the followers'.
func (s *Service) writeFollowers(ctx context.Context, tx *sql.Tx, c id.Conversation, users []*noticeFollower, activeMs int64) error {
	if err := countFollowers(ctx, tx, c, len(users)); err != nil {
		return err
	}
	without := 0
	for _, f := range users {
		f.err = insertFollower(ctx, tx, c, f.user, activeMs)
		f.added = f.err == nil
		switch {
		case f.added:
			if err := s.putNoticesFollowed(ctx, tx, c, f); err != nil {
				return err
			}
			continue
		case errors.Is(f.err, errFollows): // in the meantime
			f.err = nil
		case !errors.Is(f.err, errBanned):
			return f.err
		}
		without++
	}
	if without == 0 {
		return nil
	}
	return countFollowers(ctx, tx, c, -without)
}

// putNoticesFollowed writes what goes with a new follower's row.
func (s *Service) putNoticesFollowed(ctx context.Context, tx *sql.Tx, c id.Conversation, f *noticeFollower) error {
	if err := s.putFollowChange(ctx, tx, c, f.user, true); err != nil || f.before.Seq == 0 {
		return err
	}
	if _, err := storeCleared(ctx, tx, f.user, &chatv1.Deletion{Conversation: uint64(c), ThroughSeq: f.before.Seq, ThroughCounted: f.before.Counted}); err != nil || s.deps.MarkFollowed == nil {
		return err
	}
	return s.deps.MarkFollowed(ctx, tx, f.user, c, f.before)
}
