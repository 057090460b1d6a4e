// Package directory tracks which user is connected, with which session, to which node, and which nodes follow which large conversations.
//
// It is soft state, in memory. Each node registers its own connections; that is the truth. On several nodes, the node that has taken a
// partition owns the directory of that partition's users and conversations: reporters of the other nodes tell it which users are connected
// to them, which users they watch, and which conversations they follow, and it answers what it knows. An owner may forget everything at any
// time, because it is rebuilt from the reporters whenever an owner, a partition or a node comes or goes (reporter.go, owner.go). A user
// whose owner is the user's own node costs no message.
//
// A user counts as online for a grace period after the last frame, so that a broken connection that is replaced is not visible. After a
// logout there is no grace. What others may see of a user, and when users were last active, is the business of package presence.
//
// It may use the bus. All methods are safe for concurrent use; all but Statuses, Announced, Followed and Run do not block.
package directory

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

// Deps are the dependencies of a Service. The functions may be nil. They are called without locks.
type Deps struct {
	// StatusChanged is called when the status of a user may have changed, if the user is watched on this node. visibility means that who
	// may see the user may have changed too. It must not block.
	StatusChanged func(u id.User, visibility bool)
	// SessionEnded is called when the last connection of a session to this node is gone, with the generation of the session that ended:
	// the session may have new connections by then, and another generation. It must not block.
	SessionEnded func(c id.Caller, generation uint32)
	// Departed is called in each round with the users who have gone offline since the last one, also if there are none. ctx ends after
	// half of the interval.
	Departed func(ctx context.Context, list []Departure)
	Clock    clock.Clock
	Logger   *slog.Logger
	// Node is this node's name. Cluster is nil for a single node.
	Node    string
	Cluster *Cluster
}

// Cluster describes the other nodes.
type Cluster struct {
	Bus bus.Bus
	// Partition returns the partition of a user or a conversation, 0 to Partitions-1.
	Partition  func(of uint64) int
	Partitions int
	// Owner returns the node that owns a partition, or "".
	Owner func(partition int) string
	// Nodes returns the live nodes, as far as this one knows.
	Nodes func() []string
	// Recheck is called when the owner of a partition knows all connections of this node again: deliveries in between may have missed some.
	// It must not block.
	Recheck func(partition int)
}

// Config of the directory. Zero values mean the documented defaults.
type Config struct {
	// Grace is how long after the last frame a user stays online if the last connection broke; 0 means 30 s. A user with an open
	// connection is online; a connection that breaks silently is closed after gateway.grace.
	Grace time.Duration `yaml:"grace"`
	// PushInterval is the time between two rounds in which changes are pushed to those who watch; 0 means 1 s.
	PushInterval time.Duration `yaml:"push_interval"`
}

// Departure is a user who has gone offline.
type Departure struct {
	User         id.User
	LastActiveMs int64
	// Notify asks the receiver to call PublishChange once the departure is stored.
	Notify bool
}

// shardCount shards hold users. One more holds delivery canaries, which are nobody's figures.
const shardCount = 64

// Service is the directory of this node.
type Service struct {
	deps       Deps
	config     Config
	process    uint64   // distinguishes this process from one that had the node's name before
	onlyHere   []string // only this node
	began      time.Time
	shards     [shardCount + 1]shard // the last is of canaries
	nodeSets   nodeSets
	partitions []*partition // empty for a single node

	takeovers, fullSyncs atomic.Uint64
	generations          atomic.Uint32 // of sessions

	followed sync.RWMutex // guards follows
	follows  map[id.Conversation]bool

	// Locks are acquired in this order: an owner's, mu, a shard's, a reporter's.
	mu       sync.Mutex         // guards all below
	watched  map[id.User]Status // the users watched here; zero if unknown, or if this node is their owner
	expiring []id.User          // users whose field expiring is set, once each
	departed []Departure        // users whose owner this node was until now
}

type shard struct {
	mu    sync.RWMutex // guards users, and all of a user but lastFrame
	users map[id.User]*user
}

// user is a user who is online or in their grace, and is connected to this node, or has this node as their owner.
type user struct {
	sessions     []connected   // on this node
	remote       *nodeSet      // other nodes with connections, as reported to this node, the user's owner
	idle         *nodeSet      // those of remote on which all devices are away
	graceSession id.Session    // without a connection: whose was the last one, if it was to this node, else 0
	lastFrame    atomic.Uint32 // the second of the last frame
	graceEnd     uint32        // without a connection: the second at which the user goes offline
	idleSince    uint32        // the second in which a device that is away on another node, or has gone, was last active
	graceAway    bool          // without a connection: the user was away when the last one broke
	loggedOut    bool          // no grace
	expiring     bool          // is in Service.expiring
}

// disconnected reports whether no connection is left.
func (p *user) disconnected() bool { return len(p.sessions) == 0 && p.remote == nil }

// connected counts the connections of a session. There is more than one while a broken connection has not been noticed.
type connected struct {
	session    id.Session
	n          int32
	generation uint32 // another one each time that the session has its first connection
	lastActive uint32 // the second of the last frame before the device was away; atomic
	idle       int32  // how many of the connections are away, as windows of a browser in the background
}

// away reports whether the device is idle or in the background, as it says on all its connections.
func (n *connected) away() bool { return n.idle == n.n }

// New returns a directory without connections.
func New(deps Deps, config Config) *Service {
	if config.Grace == 0 {
		config.Grace = 30 * time.Second
	}
	if config.PushInterval == 0 {
		config.PushInterval = time.Second
	}
	if deps.StatusChanged == nil {
		deps.StatusChanged = func(id.User, bool) {}
	}
	if deps.SessionEnded == nil {
		deps.SessionEnded = func(id.Caller, uint32) {}
	}
	if deps.Departed == nil {
		deps.Departed = func(context.Context, []Departure) {}
	}
	s := &Service{deps: deps, config: config, process: rand.Uint64(), onlyHere: []string{deps.Node}, watched: map[id.User]Status{},
		follows: map[id.Conversation]bool{}, nodeSets: nodeSets{local: deps.Node}}
	s.began = time.Now().Add(-time.Duration(deps.Clock.Now().Nanosecond())) // the start of a second of the wall clock
	for i := range s.shards {
		s.shards[i].users = map[id.User]*user{}
	}
	if c := deps.Cluster; c != nil {
		for number := range c.Partitions {
			s.partitions = append(s.partitions, newPartition(number))
		}
	}
	return s
}

// Run removes users after their grace, exchanges messages with other nodes, and calls Departed, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.listen()
	if err != nil {
		return err
	}
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	for _, p := range s.partitions {
		group.Go(func() { s.runReporter(ctx, p) })
	}
	tick := time.NewTicker(s.config.PushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.checkNodes()
			s.reportDepartures(ctx)
			s.publishChanges()
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Service) reportDepartures(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.config.PushInterval/2)
	defer cancel()
	s.deps.Departed(ctx, s.expire())
}

func (s *Service) shard(u id.User) *shard {
	if u.IsCanary() {
		return &s.shards[shardCount]
	}
	return &s.shards[id.Hash(uint64(u))%shardCount]
}

// Connected registers a connection, after its authentication. It reports whether the connection counts as away until it says what it is.
func (s *Service) Connected(c id.Caller) (away bool) {
	sh := s.shard(c.User)
	sh.mu.Lock()
	p := sh.users[c.User]
	created := p == nil
	if created {
		p = &user{}
		sh.users[c.User] = p
	}
	first, wasAwayHere, wasAway := len(p.sessions) == 0, p.isAwayHere(), p.isAway()
	away = s.addSession(p, c.Session)
	p.loggedOut = false
	p.lastFrame.Store(s.now())
	report, changed := first || wasAwayHere != p.isAwayHere(), created || wasAway != p.isAway()
	sh.mu.Unlock()
	if report {
		s.report(key{aboutUser, uint64(c.User)})
	}
	if changed {
		s.change(c.User, false)
	}
	return away
}

// began is the number of the first second. It is far above 0, so that earlier seconds have numbers too.
const began = 1 << 24

// now returns the current second by the directory's own count, which is unaffected when the wall clock is set.
func (s *Service) now() uint32 { return began + uint32(time.Since(s.began)/time.Second) }

// wall converts a second of the directory's count to milliseconds of the wall clock.
func (s *Service) wall(second uint32) int64 {
	return (s.deps.Clock.Now().Unix() - int64(s.now()) + int64(second)) * 1000
}

func (s *Service) grace() uint32 { return uint32(s.config.Grace.Seconds()) }

// addSession counts a connection, and reports whether it counts as away. The caller holds the shard's lock.
func (s *Service) addSession(p *user, session id.Session) (away bool) {
	for i := range p.sessions {
		if n := &p.sessions[i]; n.session == session {
			if away = n.away(); away { // it may replace one whose break has not been noticed
				n.idle++
			}
			n.n++
			return away
		}
	}
	// Most users have one session, so no capacity is reserved for more.
	n := connected{session: session, n: 1, generation: s.generations.Add(1), lastActive: s.now()}
	if away = p.disconnected() && p.graceAway && p.graceSession == session; away { // a flapping network is not visible
		n.idle, n.lastActive = 1, p.idleSince
	}
	p.sessions = append(p.sessions[:len(p.sessions):len(p.sessions)], n)
	return away
}

// drop removes one connection. It reports whether it was registered, and if it was its session's last one, the generation that ended.
func (p *user) drop(session id.Session, away bool) (known, last bool, generation uint32) {
	for i := range p.sessions {
		if p.sessions[i].session == session {
			p.sessions[i].n--
			if away {
				p.sessions[i].idle--
			}
			generation = p.sessions[i].generation
			if last = p.sessions[i].n == 0; last {
				p.sessions = slices.Delete(p.sessions, i, i+1)
			}
			return true, last, generation
		}
	}
	return false, false, 0
}

// Disconnected removes a connection that Connected has registered. away is what SetAway said of it last, or else Connected.
func (s *Service) Disconnected(c id.Caller, away bool) {
	sessionEnded, report, changed, generation := s.disconnect(c, away)
	if sessionEnded {
		s.deps.SessionEnded(c, generation)
	}
	if report {
		s.report(key{aboutUser, uint64(c.User)})
	}
	if changed {
		s.change(c.User, false)
	}
}

// disconnect reports whether it was the session's last connection here, whether the user's owner has to learn of it, and whether the user is
// away from now on.
func (s *Service) disconnect(c id.Caller, away bool) (sessionEnded, report, changed bool, generation uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shard(c.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.users[c.User]
	if p == nil {
		return false, false, false, 0
	}
	wasAwayHere, wasAway, lastActive := p.isAwayHere(), p.isAway(), p.lastActiveHere()
	known, last, generation := p.drop(c.Session, away)
	if !known || len(p.sessions) > 0 {
		return last, wasAwayHere != p.isAwayHere(), wasAway != p.isAway(), generation
	}
	p.graceAway, p.graceSession, p.idleSince = wasAwayHere, c.Session, max(p.idleSince, lastActive)
	p.graceEnd = p.lastFrame.Load() + s.grace()
	if p.remote == nil {
		s.scheduleExpiry(c.User, p)
	}
	return last, true, wasAway != p.isAway(), generation
}

// scheduleExpiry makes expire check a user. The caller holds mu and the shard's lock.
func (s *Service) scheduleExpiry(u id.User, p *user) {
	if !p.expiring {
		p.expiring = true
		s.expiring = append(s.expiring, u)
	}
}

// LoggedOut ends a user's grace: the user is offline as soon as no connection is left. It must be called on every node.
func (s *Service) LoggedOut(u id.User) {
	sh := s.shard(u)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if p := sh.users[u]; p != nil {
		p.loggedOut = true // a user without connections is expiring already
	}
}

// Active records a frame of a session. It is called at most about once a second for each connection.
func (s *Service) Active(c id.Caller) {
	sh := s.shard(c.User)
	sh.mu.RLock()
	p, out := sh.users[c.User], false
	if p != nil {
		now := s.now()
		p.lastFrame.Store(now)
		for i := range p.sessions {
			if n := &p.sessions[i]; n.session == c.Session && !n.away() {
				atomic.StoreUint32(&n.lastActive, now)
			}
		}
		out = p.loggedOut
	}
	sh.mu.RUnlock()
	if !out {
		return
	}
	sh.mu.Lock() // another device than the one that logged out
	p.loggedOut = false
	sh.mu.Unlock()
}

// Locate returns the nodes to which a user is connected, if this node is the user's owner. The caller must not change the slice.
func (s *Service) Locate(u id.User) []string {
	sh := s.shard(u)
	var remote *nodeSet
	here := false
	sh.mu.RLock()
	if p := sh.users[u]; p != nil {
		remote, here = p.remote, len(p.sessions) > 0
	}
	sh.mu.RUnlock()
	return s.nodeList(remote, here)
}

// Online returns the number of users who are connected to this node or in their grace.
func (s *Service) Online() int {
	n := 0
	for i := range s.shards[:shardCount] {
		sh := &s.shards[i]
		sh.mu.RLock()
		n += len(sh.users)
		if s.partitions != nil {
			for _, p := range sh.users {
				if p.remote != nil && len(p.sessions) == 0 {
					n--
				}
			}
		}
		sh.mu.RUnlock()
	}
	return n
}

// VisibilityChanged notifies those who watch a user, on all nodes, that who may see the user may have changed.
func (s *Service) VisibilityChanged(u id.User) {
	if s.partitions == nil {
		s.change(u, true)
	} else {
		s.report(key{aboutVisibility, uint64(u)})
	}
}

// PublishChange notifies those who watch a user, on all nodes, that the user's status has changed. Only the user's owner does so.
func (s *Service) PublishChange(u id.User) { s.change(u, false) }

func (s *Service) change(u id.User, visibility bool) {
	if s.partitions != nil {
		o := &s.partitionOf(uint64(u)).owner
		o.mu.Lock()
		if o.term != 0 && o.watchedBy[u] != nil {
			o.changed[u] = o.changed[u] || visibility
		}
		is := o.term != 0
		o.mu.Unlock()
		if !is {
			return // the owner notifies them
		}
	}
	s.deps.StatusChanged(u, visibility)
}

// Generation returns the generation of a session that has a connection to this node. A session gets another one each time that it has its
// first connection.
func (s *Service) Generation(u id.User, session id.Session) (generation uint32, connected bool) {
	sh := s.shard(u)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if p := sh.users[u]; p != nil {
		for i := range p.sessions { // no copy: Active changes lastActive under the same kind of lock
			if c := &p.sessions[i]; c.session == session {
				return c.generation, true
			}
		}
	}
	return 0, false
}
