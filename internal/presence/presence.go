// Package presence knows who is connected to this node, since when others were not, and who watches whom.
//
// It is soft state, in memory; only the time at which somebody was last active is kept, when they go. A connection that
// breaks shows only after a grace period without another, which runs from the last frame: who notices a break late has not to be
// waited for twice. A logout shows at once. Only friends see each other, and nobody
// sees one who hides. Changes are pushed to watchers at most once a second for each user, whatever a network does.
//
// It may touch sqldb. All methods may be called from many goroutines; Connected, Disconnected, LoggedOut, Active, Locate and
// Nodes do not block.
package presence

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// Deps are what a Service needs.
type Deps struct {
	DB *sqldb.DB
	// Friends tells whether two users are friends.
	Friends func(ctx context.Context, a, b id.User) (bool, error)
	// Hides tells whether a user hides.
	Hides func(ctx context.Context, u id.User) (bool, error)
	// Transient delivers the bytes of a ServerFrame to users who are connected.
	Transient func(users []id.User, frame []byte)
	Clock     clock.Clock
	Logger    *slog.Logger
	Node      string
}

// Config of presence; the zero value is the documented default.
type Config struct {
	// Grace after a user's last frame, where the last connection broke, before others see it; 0 is 30 s. As long as a connection is
	// open its user is online: one that breaks without a sign is closed after gateway.grace.
	Grace time.Duration `yaml:"grace"`
	// Every so often changes are pushed; 0 is 1 s.
	Every time.Duration `yaml:"every"`
}

const shardCount = 64

// Service is the room.
type Service struct {
	deps   Deps
	config Config
	here   []string // this node, as Locate gives it
	shards [shardCount]shard

	mu       sync.Mutex // guards all below; taken before a shard's
	watchers map[id.User]map[id.Session]*watcher
	watched  map[id.Session][]id.User
	changed  map[id.User]bool // since the last push; true: also in who may see it
	leaving  []id.User        // each person whose field leaving is set, once
}

type shard struct {
	mu      sync.RWMutex // guards persons, and all of a person but active
	persons map[id.User]*person
}

// person is somebody who is online, or was a moment ago.
type person struct {
	sessions []connected
	active   atomic.Int64 // second of the last frame
	until    int64        // without a connection: the second at which others see it
	out      bool         // logged out: no grace
	leaving  bool         // in Service.leaving
}

// connected counts the connections of a session, which are more than one where a broken one was not noticed yet.
type connected struct {
	session id.Session
	n       int32
}

// watcher is a session's interest in somebody.
type watcher struct {
	by     id.User
	online bool // what it was told last
	told   bool // by a push
}

var steps = []string{`CREATE TABLE last_active (owner BIGINT PRIMARY KEY, ms BIGINT NOT NULL)`}

// New opens the room.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.Grace == 0 {
		config.Grace = 30 * time.Second
	}
	if config.Every == 0 {
		config.Every = time.Second
	}
	s := &Service{deps: deps, config: config, here: []string{deps.Node}, watchers: map[id.User]map[id.Session]*watcher{}, watched: map[id.Session][]id.User{}, changed: map[id.User]bool{}}
	for i := range s.shards {
		s.shards[i].persons = map[id.User]*person{}
	}
	return s, deps.DB.Migrate(ctx, "presence", steps)
}

func (s *Service) shard(u id.User) *shard { return &s.shards[uint64(u)*0x9e3779b97f4a7c15>>58] }

// Connected is told of each connection, after its authentication.
func (s *Service) Connected(c id.Caller) {
	sh := s.shard(c.User)
	sh.mu.Lock()
	p := sh.persons[c.User]
	fresh := p == nil
	if fresh {
		p = &person{}
		sh.persons[c.User] = p
	}
	p.add(c.Session)
	p.out = false
	p.active.Store(s.deps.Clock.Now().Unix())
	sh.mu.Unlock()
	if fresh {
		s.change(c.User, false)
	}
}

func (p *person) add(session id.Session) {
	for i := range p.sessions {
		if p.sessions[i].session == session {
			p.sessions[i].n++
			return
		}
	}
	// Most have one session: no room is kept for more.
	p.sessions = append(p.sessions[:len(p.sessions):len(p.sessions)], connected{session, 1})
}

// drop takes one connection out, and tells whether it was there, and whether it was its session's last.
func (p *person) drop(session id.Session) (known, last bool) {
	for i := range p.sessions {
		if p.sessions[i].session == session {
			p.sessions[i].n--
			if last = p.sessions[i].n == 0; last {
				p.sessions = slices.Delete(p.sessions, i, i+1)
			}
			return true, last
		}
	}
	return false, false
}

// Disconnected is told when a connection that Connected was told of is gone.
func (s *Service) Disconnected(c id.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shard(c.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.persons[c.User]
	if p == nil {
		return
	}
	known, last := p.drop(c.Session)
	if last {
		s.unwatch(c.Session)
	}
	if known && len(p.sessions) == 0 {
		p.until = p.active.Load() + int64(s.config.Grace.Seconds())
		s.leave(c.User, p)
	}
}

// leave has a person looked at when they may have to be shown as offline. The caller holds both locks.
func (s *Service) leave(u id.User, p *person) {
	if !p.leaving {
		p.leaving = true
		s.leaving = append(s.leaving, u)
	}
}

// LoggedOut has a user shown offline as soon as no connection is left.
func (s *Service) LoggedOut(u id.User) {
	sh := s.shard(u)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if p := sh.persons[u]; p != nil {
		p.out = true // who has no connection any more is in leaving already
	}
}

// Active is told of a user's frames, at most about once a second for each connection.
func (s *Service) Active(u id.User) {
	sh := s.shard(u)
	sh.mu.RLock()
	p, out := sh.persons[u], false
	if p != nil {
		p.active.Store(s.deps.Clock.Now().Unix())
		out = p.out
	}
	sh.mu.RUnlock()
	if !out {
		return
	}
	sh.mu.Lock() // another device than the one that logged out
	p.out = false
	sh.mu.Unlock()
}

// Locate gives the nodes on which a user has connections. The slice is shared.
func (s *Service) Locate(u id.User) []string {
	sh := s.shard(u)
	sh.mu.RLock()
	p := sh.persons[u]
	on := p != nil && len(p.sessions) > 0
	sh.mu.RUnlock()
	if on {
		return s.here
	}
	return nil
}

// Nodes gives all nodes with connections.
func (s *Service) Nodes() []string { return s.here }

// Online is the number of users who are online.
func (s *Service) Online() int {
	n := 0
	for i := range s.shards {
		s.shards[i].mu.RLock()
		n += len(s.shards[i].persons)
		s.shards[i].mu.RUnlock()
	}
	return n
}

// Changed has those who watch a user told, soon, if that is now seen in another way: also after settings or friends changed.
func (s *Service) Changed(u id.User) { s.change(u, true) }

func (s *Service) change(u id.User, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watchers[u]) > 0 {
		s.note(u, all)
	}
}

// note has the next push look at a user. The caller holds mu.
func (s *Service) note(u id.User, all bool) { s.changed[u] = s.changed[u] || all }
