// Package presence knows who is connected to which node, since when others were not, who watches whom, and which nodes follow
// which large conversations.
//
// It is soft state, in memory; only the time at which somebody was last active is kept, when they go. A connection that
// breaks shows only after a grace period without another, which runs from the last frame: who notices a break late has not to be
// waited for twice. A logout shows at once. Only friends see each other, and nobody
// sees one who hides. Changes are pushed to watchers at most once a second for each user, whatever a network does.
//
// Where there are several nodes, each knows its own connections: that is the truth. The node that has a user's partition is the
// user's home: it is told which nodes have connections of the user, and which watch the user, and is asked by them. The one that
// has a conversation's partition is told which nodes follow it. What homes know is made again from what nodes tell them whenever
// they, the partitions or the nodes come or go (announce.go, home.go). A user whose home is this node costs no message.
//
// It may touch sqldb and the bus. All methods may be called from many goroutines; all but Get, Watch, Announced, Followed and Run
// do not block.
package presence

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
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
	// Transient delivers the bytes of a ServerFrame to users who are connected to this node.
	Transient func(users []id.User, frame []byte)
	Clock     clock.Clock
	Logger    *slog.Logger
	// Node is this node's name. Cluster is nil where no other node is.
	Node    string
	Cluster *Cluster
}

// Cluster is what a Service needs to know of other nodes.
type Cluster struct {
	Bus bus.Bus
	// Partition of a user or a conversation, 0 to Partitions-1.
	Partition  func(of uint64) int
	Partitions int
	// Holder gives the node that has a partition, "" for none.
	Holder func(partition int) string
	// Nodes that live, as far as this one knows.
	Nodes func() []string
	// Recheck is called after a home has been told all that this node has of a partition, where it did not know it before: what
	// was delivered meanwhile may have passed this node's connections. It must not block.
	Recheck func(partition int)
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
	began  time.Time
	shards [shardCount]shard
	sets   sets
	parts  []*part // of the partitions; none where no other node is

	begun, retold atomic.Uint64 // for HomesBegun and HomesTold

	followed sync.RWMutex // guards follows
	follows  map[id.Conversation]bool

	// Locks are taken in this order: a home's, mu, a shard's, an edge's.
	mu       sync.Mutex // guards all below
	watchers map[id.User]map[id.Session]*watcher
	watched  map[id.Session][]id.User
	changed  map[id.User]bool  // since the last push; true: also in who may see it
	leaving  []id.User         // each person whose field leaving is set, once
	seen     map[id.User]sight // of those who are watched here and have their home elsewhere
	left     []lastActive      // of those who had their home here until now
}

type shard struct {
	mu      sync.RWMutex // guards persons, and all of a person but active
	persons map[id.User]*person
}

// person is somebody who is online, or was a moment ago: here, or at home here.
type person struct {
	sessions []connected   // to this node
	away     *nodes        // with connections, as they told this one, the user's home
	active   atomic.Uint32 // second of the last frame
	until    uint32        // without a connection: the second at which others see it
	out      bool          // logged out: no grace
	leaving  bool          // in Service.leaving
}

// gone tells whether no connection is left.
func (p *person) gone() bool { return len(p.sessions) == 0 && p.away == nil }

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
	s := &Service{deps: deps, config: config, here: []string{deps.Node}, watchers: map[id.User]map[id.Session]*watcher{}, watched: map[id.Session][]id.User{}, changed: map[id.User]bool{},
		seen: map[id.User]sight{}, follows: map[id.Conversation]bool{}, sets: sets{own: deps.Node}}
	s.began = time.Now().Add(-time.Duration(deps.Clock.Now().Nanosecond())) // where a second of the wall clock begins
	for i := range s.shards {
		s.shards[i].persons = map[id.User]*person{}
	}
	if c := deps.Cluster; c != nil {
		for number := range c.Partitions {
			s.parts = append(s.parts, newPart(number))
		}
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
	first := len(p.sessions) == 0
	p.add(c.Session)
	p.out = false
	p.active.Store(s.now())
	sh.mu.Unlock()
	if first {
		s.tellHome(key{aboutUser, uint64(c.User)})
	}
	if fresh {
		s.change(c.User, false)
	}
}

// began is the second at which counting begins: long after 0, so that there are seconds before it.
const began = 1 << 24

// now is a second of the room's own counting, which does not follow the wall clock when that is set.
func (s *Service) now() uint32 { return began + uint32(time.Since(s.began)/time.Second) }

// wall gives the wall clock's milliseconds of one of the room's seconds.
func (s *Service) wall(second uint32) int64 {
	return (s.deps.Clock.Now().Unix() - int64(s.now()) + int64(second)) * 1000
}

func (s *Service) grace() uint32 { return uint32(s.config.Grace.Seconds()) }

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
	if s.disconnect(c) {
		s.tellHome(key{aboutUser, uint64(c.User)})
	}
}

// disconnect tells whether it was the user's last connection here.
func (s *Service) disconnect(c id.Caller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shard(c.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.persons[c.User]
	if p == nil {
		return false
	}
	known, last := p.drop(c.Session)
	if last {
		s.unwatch(c.Session)
	}
	if !known || len(p.sessions) > 0 {
		return false
	}
	p.until = p.active.Load() + s.grace()
	if p.away == nil {
		s.leave(c.User, p)
	}
	return true
}

// leave has a person looked at when they may have to be shown as offline. The caller holds both locks.
func (s *Service) leave(u id.User, p *person) {
	if !p.leaving {
		p.leaving = true
		s.leaving = append(s.leaving, u)
	}
}

// LoggedOut has a user shown offline as soon as no connection is left. Where there are several nodes, each is told.
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
		p.active.Store(s.now())
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

// Locate gives the nodes on which a user has connections, where this node is the user's home. The slice is shared.
func (s *Service) Locate(u id.User) []string {
	sh := s.shard(u)
	var away *nodes
	here := false
	sh.mu.RLock()
	if p := sh.persons[u]; p != nil {
		away, here = p.away, len(p.sessions) > 0
	}
	sh.mu.RUnlock()
	return s.list(away, here)
}

// Online is the number of users who are connected to this node, or were a moment ago.
func (s *Service) Online() int {
	n := 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		n += len(sh.persons)
		if s.parts != nil {
			for _, p := range sh.persons {
				if p.away != nil && len(p.sessions) == 0 {
					n--
				}
			}
		}
		sh.mu.RUnlock()
	}
	return n
}

// Changed has those who watch a user told, soon, if that is now seen in another way: also after settings or friends changed.
func (s *Service) Changed(u id.User) {
	if s.parts == nil {
		s.change(u, true)
	} else {
		s.tellHome(key{aboutSight, uint64(u)})
	}
}

// change has the user's watchers looked at, where this node is the user's home.
func (s *Service) change(u id.User, all bool) {
	if s.parts != nil {
		h := &s.part(uint64(u)).home
		h.mu.Lock()
		if h.life != 0 && h.watching[u] != nil {
			h.changed[u] = h.changed[u] || all
		}
		is := h.life != 0
		h.mu.Unlock()
		if !is {
			return // they are told by the home
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watchers[u]) > 0 {
		s.note(u, all)
	}
}

// note has the next push look at a user. The caller holds mu.
func (s *Service) note(u id.User, all bool) { s.changed[u] = s.changed[u] || all }
