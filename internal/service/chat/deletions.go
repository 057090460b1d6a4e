package chat

import (
	"context"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Each read of a user needs what the user deleted. A cluster asks the database, with one query for a page. A single node remembers the
// users who deleted nothing, which are most.

// maxWithoutDeletions bounds the users that a single node remembers.
const maxWithoutDeletions = 100_000

// usersWithoutDeletions are users who are known to have deleted nothing.
type usersWithoutDeletions struct {
	mu      sync.Mutex // guards the fields below
	known   map[id.User]struct{}
	changes uint64 // how often a user was removed
}

// has reports whether a user is known, and returns what add needs if a query finds nothing afterwards.
func (w *usersWithoutDeletions) has(u id.User) (known bool, changes uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, known = w.known[u]
	return known, w.changes
}

// add remembers a user, unless somebody deleted something since has: the query may have been before that.
func (w *usersWithoutDeletions) add(u id.User, changes uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changes != changes {
		return
	}
	if w.known == nil || len(w.known) >= maxWithoutDeletions {
		w.known = map[id.User]struct{}{}
	}
	w.known[u] = struct{}{}
}

// remove forgets a user. It is called after the user's deletion was committed, and before it is acknowledged.
func (w *usersWithoutDeletions) remove(u id.User) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	delete(w.known, u)
}

// deletedNothing reports whether a user is known to have deleted nothing for themself.
func (s *Service) deletedNothing(ctx context.Context, u id.User) (bool, error) {
	if !s.deps.SingleNode {
		return false, nil // another node may have stored a deletion
	}
	known, changes := s.withoutDeletions.has(u)
	if known {
		return true, nil
	}
	var some bool
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM cleared WHERE owner = $1) OR EXISTS (SELECT 1 FROM deleted_messages WHERE owner = $1)`, int64(u)).Scan(&some); err != nil || some {
		return false, err
	}
	s.withoutDeletions.add(u, changes)
	return true, nil
}

// ClearedThrough returns up to which seq a user cleared each of some conversations. It omits those that were not cleared.
func (s *Service) ClearedThrough(ctx context.Context, u id.User, list []id.Conversation) (map[id.Conversation]uint64, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if none, err := s.deletedNothing(ctx, u); err != nil || none {
		return nil, err
	}
	through := map[id.Conversation]uint64{}
	for some := range slices.Chunk(list, maxIDsPerQuery) {
		marks, args := sqldb.Placeholders(2, some, func(c id.Conversation) int64 { return int64(c) })
		pairs, err := s.queryPairs(ctx, `SELECT conversation, through_seq FROM cleared WHERE owner = $1 AND conversation IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			through[id.Conversation(p[0])] = p[1]
		}
	}
	return through, nil
}
