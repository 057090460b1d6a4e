package presence

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
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
	var visible []id.User
	var at []int // in list
	for i, u := range users {
		list[i] = &presencev1.Presence{User: uint64(u), Status: presencev1.Status_STATUS_OFFLINE}
		may, err := s.may(ctx, by, u)
		if err != nil {
			return nil, err
		}
		if may {
			visible, at = append(visible, u), append(at, i)
		}
	}
	sights, err := s.sights(ctx, visible)
	if err != nil {
		return nil, err
	}
	for n, u := range visible {
		if list[at[n]], err = s.presence(ctx, u, sights[n]); err != nil {
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

// presence gives a user's to those who may see it.
func (s *Service) presence(ctx context.Context, u id.User, is sight) (*presencev1.Presence, error) {
	v := &presencev1.Presence{User: uint64(u), Status: presencev1.Status_STATUS_OFFLINE}
	if is.online {
		v.Status, v.LastActiveMs = presencev1.Status_STATUS_ONLINE, is.ms
		return v, nil
	}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT ms FROM last_active WHERE owner = $1`, int64(u)).Scan(&v.LastActiveMs)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, err
}

// Watch replaces the set of users whose changes are pushed to a session, and gives their presence. It lasts until the session's
// last connection is gone.
func (s *Service) Watch(ctx context.Context, by id.User, session id.Session, users []id.User) ([]*presencev1.Presence, error) {
	if len(users) > mostWatched {
		return nil, errs.New(errs.Invalid, "too_many_users", "watch at most 500 users")
	}
	s.follow(by, session, users)
	// After it was noted, so that no change is missed between.
	list, err := s.see(ctx, by, users)
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
		if w.told { // while it was looked at: this answer may be the older, and comes later
			s.note(u, false)
		}
		w.online = list[i].Status == presencev1.Status_STATUS_ONLINE
	}
	return list, nil
}

// follow replaces what a session watches; nothing for one that is gone.
func (s *Service) follow(by id.User, session id.Session, users []id.User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwatch(session)
	sh := s.shard(by)
	sh.mu.RLock()
	p := sh.persons[by]
	here := p != nil && slices.ContainsFunc(p.sessions, func(c connected) bool { return c.session == session })
	sh.mu.RUnlock()
	if !here || len(users) == 0 {
		return
	}
	s.watched[session] = users
	for _, u := range users {
		if s.watchers[u] == nil {
			s.watchers[u] = map[id.Session]*watcher{}
			s.tellHome(key{aboutWatch, uint64(u)})
		}
		s.watchers[u][session] = &watcher{by: by}
	}
}

// unwatch forgets what a session watches. The caller holds mu.
func (s *Service) unwatch(session id.Session) {
	for _, u := range s.watched[session] {
		delete(s.watchers[u], session)
		if len(s.watchers[u]) == 0 {
			delete(s.watchers, u)
			delete(s.seen, u)
			s.tellHome(key{aboutWatch, uint64(u)})
		}
	}
	delete(s.watched, session)
}

// Run shows those who left as offline after their grace, and pushes changes, until ctx ends. Then it keeps when those who are
// online were last active.
func (s *Service) Run(ctx context.Context) error {
	deaf, err := s.listen()
	if err != nil {
		return err
	}
	defer deaf()
	var group sync.WaitGroup
	for _, p := range s.parts {
		group.Go(func() { s.announcing(ctx, p) })
	}
	if s.parts != nil {
		group.Go(func() { s.asking(ctx) })
	}
	keeper, pushes := newKeeper(s), make(chan struct{}, 1)
	group.Go(func() { keeper.run(ctx) })
	group.Go(func() { s.pushing(ctx, pushes) })
	tick := time.NewTicker(s.config.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.lookAround()
			keeper.keep(s.expire(), s.config.Every/2)
			s.tellWatchers()
			poke(pushes)
		case <-ctx.Done():
			group.Wait()
			keeper.end(context.WithoutCancel(ctx), s.everybody())
			return nil
		}
	}
}

// pushing asks the database, so it does nothing else.
func (s *Service) pushing(ctx context.Context, now <-chan struct{}) {
	for {
		select {
		case <-now:
			s.push(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// expire takes out those whose grace is over.
func (s *Service) expire() []lastActive {
	now := s.now()
	s.mu.Lock()
	left, gone := s.left, []lastActive(nil)
	s.left = nil
	kept := s.leaving[:0]
	for _, u := range s.leaving {
		sh := s.shard(u)
		sh.mu.Lock()
		p := sh.persons[u]
		switch {
		case !p.gone(): // came back
			p.leaving = false
		case (p.out || p.until <= now) && s.told(u):
			gone = append(gone, lastActive{user: u, ms: s.wall(p.active.Load()), show: true})
			delete(sh.persons, u)
		default:
			kept = append(kept, u)
		}
		sh.mu.Unlock()
	}
	s.leaving = kept
	s.mu.Unlock()
	if s.parts != nil { // of others it is kept by their home
		gone = slices.DeleteFunc(gone, func(g lastActive) bool { return s.part(uint64(g.user)).home.lives() == 0 })
	}
	return append(left, gone...)
}

// told tells whether a user's home knows that they have left.
func (s *Service) told(u id.User) bool {
	if s.parts == nil {
		return true
	}
	e := &s.part(uint64(u)).edge
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.waits(key{aboutUser, uint64(u)})
}

// push tells watchers what changed in what they may see.
func (s *Service) push(ctx context.Context) {
	s.mu.Lock()
	changed := s.changed
	s.changed = map[id.User]bool{}
	s.mu.Unlock()
	frames := map[id.User]*gatewayv1.ServerFrame{}
	for u, all := range changed {
		if err := s.tell(ctx, u, all, frames); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("a change of presence is pushed later", "user", u, "error", err)
			s.again(u, true)
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

// tell adds a user's presence to the frames of those who were told otherwise. Who may not see it any more is told offline once,
// and nothing after: changes themselves are not for everyone. Where not all are asked for, only those are asked about who would
// be told a change, since asking costs.
func (s *Service) tell(ctx context.Context, u id.User, all bool, frames map[id.User]*gatewayv1.ServerFrame) error {
	is, here := s.sightHere(u)
	if !is.known {
		if here {
			s.again(u, all)
		}
		return nil // what the home tells brings this again
	}
	now, err := s.presence(ctx, u, is)
	if err != nil {
		return err
	}
	hides, err := s.deps.Hides(ctx, u)
	if err != nil {
		return err
	}
	may := map[id.User]bool{}
	for _, w := range s.watchersOf(u, func(w *watcher) bool { return all || w.online != is.online }) {
		if may[w] = w == u; !may[w] && !hides {
			if may[w], err = s.deps.Friends(ctx, w, u); err != nil {
				return err
			}
		}
	}
	told := map[id.User]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers[u] {
		sees, known := may[w.by]
		online := sees && is.online
		if !known || w.online == online {
			continue
		}
		w.online, w.told = online, true
		if told[w.by] {
			continue // a frame goes to all of a user's connections
		}
		told[w.by] = true
		if frames[w.by] == nil {
			frames[w.by] = &gatewayv1.ServerFrame{}
		}
		v := now
		if !sees {
			v = &presencev1.Presence{User: uint64(u), Status: presencev1.Status_STATUS_OFFLINE}
		}
		frames[w.by].Presences = append(frames[w.by].Presences, v)
	}
	return nil
}

// again has a user looked at at the next push.
func (s *Service) again(u id.User, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watchers[u]) > 0 {
		s.note(u, all)
	}
}

func (s *Service) watchersOf(u id.User, which func(*watcher) bool) []id.User {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]id.User, 0, len(s.watchers[u]))
	for _, w := range s.watchers[u] {
		if which(w) && !slices.Contains(list, w.by) {
			list = append(list, w.by)
		}
	}
	return list
}
