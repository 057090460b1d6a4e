package presence

import (
	"context"
	"database/sql"
	"errors"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"google.golang.org/protobuf/proto"
)

const (
	mostWatched = 500
	mostAsked   = 200
)

// Get gives the presence of users as one user may see it: whom they may not see is offline.
func (s *Service) Get(ctx context.Context, by id.User, users []id.User) ([]*presencev1.Presence, error) {
	if len(users) > mostAsked {
		return nil, errs.New(errs.Invalid, "too_many_users", "ask for at most 200 users at once")
	}
	return s.see(ctx, by, users)
}

func (s *Service) see(ctx context.Context, by id.User, users []id.User) ([]*presencev1.Presence, error) {
	list := make([]*presencev1.Presence, len(users))
	for i, u := range users {
		list[i] = &presencev1.Presence{User: uint64(u), Status: presencev1.Status_STATUS_OFFLINE}
		may, err := s.may(ctx, by, u)
		if err != nil {
			return nil, err
		}
		if !may {
			continue
		}
		if list[i], err = s.now(ctx, u); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Service) may(ctx context.Context, by, u id.User) (bool, error) {
	if by == u {
		return true, nil
	}
	friends, err := s.deps.Friends(ctx, by, u)
	if err != nil || !friends {
		return false, err
	}
	hides, err := s.deps.Hides(ctx, u)
	return !hides, err
}

// now gives a user's presence to those who may see it.
func (s *Service) now(ctx context.Context, u id.User) (*presencev1.Presence, error) {
	v := &presencev1.Presence{User: uint64(u), Status: presencev1.Status_STATUS_OFFLINE}
	sh := s.shard(u)
	sh.mu.RLock()
	p := sh.persons[u]
	if p != nil {
		v.Status, v.LastActiveMs = presencev1.Status_STATUS_ONLINE, p.active*1000
	}
	sh.mu.RUnlock()
	if p != nil {
		return v, nil
	}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT ms FROM last_active WHERE owner = $1`, int64(u)).Scan(&v.LastActiveMs)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, err
}

// Watch replaces the set of users whose changes are pushed to a session, and gives their presence.
func (s *Service) Watch(ctx context.Context, by id.User, session id.Session, users []id.User) ([]*presencev1.Presence, error) {
	if len(users) > mostWatched {
		return nil, errs.New(errs.Invalid, "too_many_users", "watch at most 500 users")
	}
	s.unwatch(session)
	s.mu.Lock()
	s.watched[session] = users
	for _, u := range users {
		if s.watchers[u] == nil {
			s.watchers[u] = map[id.Session]id.User{}
		}
		s.watchers[u][session] = by
	}
	s.mu.Unlock()
	// After it was noted, so that no change is missed between.
	return s.see(ctx, by, users)
}

func (s *Service) unwatch(session id.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.watched[session] {
		delete(s.watchers[u], session)
		if len(s.watchers[u]) == 0 {
			delete(s.watchers, u)
		}
	}
	delete(s.watched, session)
}

// Run shows those who left as offline after their grace, and pushes changes, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(s.config.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.leave(ctx)
			s.push(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// leave takes out those whose grace is over.
func (s *Service) leave(ctx context.Context) {
	now := s.deps.Clock.Now()
	s.mu.Lock()
	var due []id.User
	kept := s.leaving[:0]
	for _, l := range s.leaving {
		if l.at.After(now) {
			kept = append(kept, l)
		} else {
			due = append(due, l.user)
		}
	}
	s.leaving = kept
	s.mu.Unlock()
	active := map[id.User]int64{}
	for _, u := range due {
		sh := s.shard(u)
		sh.mu.Lock()
		// One who came back meanwhile, and left again, has another end.
		if p := sh.persons[u]; p != nil && p.connections == 0 && (p.out || now.Unix()-p.active >= int64(s.config.Grace.Seconds())) {
			active[u] = p.active * 1000
			delete(sh.persons, u)
		}
		sh.mu.Unlock()
	}
	if len(active) == 0 {
		return
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for u, ms := range active {
			if _, err := tx.ExecContext(ctx, `INSERT INTO last_active (owner, ms) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET ms = $2`, int64(u), ms); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("times of last activity were lost", "users", len(active), "error", err)
	}
	for u := range active {
		s.change(u)
	}
}

// push tells watchers what changed.
func (s *Service) push(ctx context.Context) {
	s.mu.Lock()
	if len(s.changed) == 0 {
		s.mu.Unlock()
		return
	}
	to := map[id.User][]id.User{}
	for u := range s.changed {
		seen := map[id.User]bool{}
		for _, w := range s.watchers[u] {
			if !seen[w] {
				seen[w] = true
				to[u] = append(to[u], w)
			}
		}
	}
	clear(s.changed)
	s.mu.Unlock()
	frames := map[id.User]*gatewayv1.ServerFrame{}
	for u, watchers := range to {
		v, err := s.now(ctx, u)
		if err != nil {
			s.deps.Logger.Warn("a change of presence was not pushed", "user", u, "error", err)
			continue
		}
		for _, w := range watchers {
			may, err := s.may(ctx, w, u)
			if err != nil {
				s.deps.Logger.Warn("a change of presence was not pushed", "user", u, "error", err)
			}
			if !may {
				continue
			}
			if frames[w] == nil {
				frames[w] = &gatewayv1.ServerFrame{}
			}
			frames[w].Presences = append(frames[w].Presences, v)
		}
	}
	for w, f := range frames {
		b, err := proto.Marshal(f)
		if err != nil {
			s.deps.Logger.Error("a frame cannot be encoded", "error", err)
			continue
		}
		s.deps.Transient([]id.User{w}, b)
	}
}
