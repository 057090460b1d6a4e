// Package presence knows who is connected to this node, since when others were not, and who watches whom.
//
// It is soft state, in memory; only the time at which somebody was last active is kept, when they go. A connection that
// breaks shows only after a grace period without another; a logout shows at once. Only friends see each other, and nobody
// sees one who hides. Changes are pushed to watchers at most about twice a second for each user, whatever a network does.
//
// It may touch sqldb. All methods may be called from many goroutines; Connected, Disconnected, LoggedOut, Active, Locate and
// Nodes do not block.
package presence

import (
	"context"
	"log/slog"
	"sync"
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
	// Grace after a user's last connection broke, before others see it; 0 is 30 s.
	Grace time.Duration `yaml:"grace"`
	// Every so often changes are pushed; 0 is 500 ms.
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
	watchers map[id.User]map[id.Session]id.User
	watched  map[id.Session][]id.User
	changed  map[id.User]struct{} // since the last push
	leaving  []leaving            // in the order of their ends
}

type shard struct {
	mu      sync.RWMutex // guards persons
	persons map[id.User]*person
}

// person is somebody who is online, or was a moment ago.
type person struct {
	connections int32
	active      int64 // second of the last frame
	out         bool  // logged out: no grace
}

type leaving struct {
	user id.User
	at   time.Time
}

var steps = []string{`CREATE TABLE last_active (owner BIGINT PRIMARY KEY, ms BIGINT NOT NULL)`}

// New opens the room.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.Grace == 0 {
		config.Grace = 30 * time.Second
	}
	if config.Every == 0 {
		config.Every = 500 * time.Millisecond
	}
	s := &Service{deps: deps, config: config, here: []string{deps.Node}, watchers: map[id.User]map[id.Session]id.User{}, watched: map[id.Session][]id.User{}, changed: map[id.User]struct{}{}}
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
	p.connections++
	p.out = false
	p.active = s.deps.Clock.Now().Unix()
	sh.mu.Unlock()
	if fresh {
		s.change(c.User)
	}
}

// Disconnected is told when a connection that Connected was told of is gone.
func (s *Service) Disconnected(c id.Caller) {
	s.unwatch(c.Session)
	now := s.deps.Clock.Now()
	sh := s.shard(c.User)
	sh.mu.Lock()
	p := sh.persons[c.User]
	if p == nil {
		sh.mu.Unlock()
		return
	}
	p.connections--
	last := p.connections == 0
	at := now.Add(s.config.Grace)
	if p.out {
		at = now
	}
	sh.mu.Unlock()
	if last {
		s.mu.Lock()
		s.leaving = append(s.leaving, leaving{c.User, at})
		s.mu.Unlock()
	}
}

// LoggedOut has a user shown offline as soon as no connection is left.
func (s *Service) LoggedOut(u id.User) {
	now := s.deps.Clock.Now()
	sh := s.shard(u)
	sh.mu.Lock()
	p := sh.persons[u]
	gone := p != nil && p.connections == 0
	if p != nil {
		p.out = true
	}
	sh.mu.Unlock()
	if gone {
		s.mu.Lock()
		s.leaving = append(s.leaving, leaving{u, now})
		s.mu.Unlock()
	}
}

// Active is told of a user's frames, at most about once a second for each connection.
func (s *Service) Active(u id.User) {
	sh := s.shard(u)
	sh.mu.Lock()
	if p := sh.persons[u]; p != nil {
		p.active = s.deps.Clock.Now().Unix()
		p.out = false
	}
	sh.mu.Unlock()
}

// Locate gives the nodes on which a user has connections. The slice is shared.
func (s *Service) Locate(u id.User) []string {
	sh := s.shard(u)
	sh.mu.RLock()
	p := sh.persons[u]
	on := p != nil && p.connections > 0
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

func (s *Service) change(u id.User) {
	s.mu.Lock()
	if len(s.watchers[u]) > 0 {
		s.changed[u] = struct{}{}
	}
	s.mu.Unlock()
}
