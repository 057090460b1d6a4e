package presence

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// Watch replaces the set of users whose changes are pushed to a session, and returns their presence. It lasts until the session's last
// connection is gone.
func (s *Service) Watch(ctx context.Context, by id.User, session id.Session, users []id.User) ([]*presencev1.Presence, error) {
	if len(users) > maxWatched {
		return nil, errs.New(errs.Invalid, "too_many_users", "watch at most 500 users")
	}
	if err := s.replaceWatched(ctx, by, session, users); err != nil {
		return nil, err
	}
	// Read after the watchers were recorded, so that no change is missed in between.
	list, err := s.visiblePresences(ctx, by, users)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, u := range users {
		w := s.watchers[u][session]
		if w == nil {
			continue
		}
		w.shown = fingerprint(list[i])
		if w.missed { // meanwhile; this answer may be older, also in whether the user may be seen
			s.markChanged(u, true)
		}
		if w.pushed { // meanwhile; which of the two the client gets last is not known
			s.markChanged(u, true)
			w.shown = unknown
		}
	}
	return list, nil
}

// replaceWatched replaces what a session watches. It does nothing for a session without connections, and fails if the connection that asks has
// ended: the session may have a new one, which has not asked.
func (s *Service) replaceWatched(ctx context.Context, by id.User, session id.Session, users []id.User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	generation, connected := s.deps.Directory.Generation(by, session)
	if err := ctx.Err(); err != nil { // only now: a connection's context ends before its session's generation does
		return err
	}
	s.unwatch(session)
	if len(users) == 0 || !connected {
		return nil
	}
	s.watched[session] = watchList{users, generation}
	for _, u := range users {
		if s.watchers[u] == nil {
			s.watchers[u] = map[id.Session]*watcher{}
			s.deps.Directory.Subscribe(u)
		}
		s.watchers[u][session] = &watcher{by: by}
	}
	return nil
}

// SessionEnded is called by the directory when the last connection of a session is gone. The session may be back already, in a later
// generation, and watch again: what that one watches stays.
func (s *Service) SessionEnded(c id.Caller, generation uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[c.Session].generation == generation {
		s.unwatch(c.Session)
	}
}

// unwatch removes what a session watches. The caller holds mu.
func (s *Service) unwatch(session id.Session) {
	for _, u := range s.watched[session].users {
		delete(s.watchers[u], session)
		if len(s.watchers[u]) == 0 {
			delete(s.watchers, u)
			s.deps.Directory.Unsubscribe(u)
		}
	}
	delete(s.watched, session)
}
