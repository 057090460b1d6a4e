package presence

import (
	"math/rand/v2"
	"sync"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/id"
)

// home is what this node knows of a partition as its home: what other nodes told. What is on this node itself is not in it.
//
// Each node that tells has a register, which begins with nothing and has a number drawn for it. Whoever names another number has
// told what this home does not know (any more), and tells all again. So a home may forget at any time, and nothing that is under
// way for too long counts.
type home struct {
	mu        sync.RWMutex // guards all below
	life      uint64       // since Begin; 0: this node is not the partition's home
	since     uint32       // second
	settled   bool         // it was once told all by all
	registers map[string]*register
	watching  map[id.User]*nodes
	following map[id.Conversation]*nodes
	changed   map[id.User]bool // of watching, since the last round; true: also in who may see it
}

// register of a node.
type register struct {
	life   uint64
	number uint64 // of the last announcement
	whole  bool   // it told all there was
	heard  uint32 // second
	met    bool   // it was seen among the living
}

const (
	// settleTime after its beginning a home says that somebody is offline whom no node has named, although some have not told all.
	settleTime = 10 // seconds
	// silentTime without a word after which a node is taken for lost, though it lives: nothing would reach it.
	silentTime = 30 // seconds
)

func newLife() uint64 { return rand.Uint64() | 1 }

func (h *home) lives() uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.life
}

// Begin makes this node the home of a partition's users and conversations. It is called when nobody else can give entries their
// places in the users' streams any more: who is told of here from then on misses none that an earlier home delivered.
func (s *Service) Begin(partition int) {
	s.begun.Add(1)
	s.turn(partition, newLife())
}

// End is told when the partition is this node's no longer.
func (s *Service) End(partition int) { s.turn(partition, 0) }

// turn forgets what was told of a partition.
func (s *Service) turn(partition int, life uint64) {
	if s.parts == nil {
		return
	}
	h := &s.parts[partition].home
	h.mu.Lock()
	h.life, h.since, h.settled = life, s.now(), false
	clear(h.registers)
	clear(h.watching)
	clear(h.following)
	clear(h.changed)
	for i := range s.shards {
		s.forget(&s.shards[i], partition)
	}
	h.mu.Unlock()
	poke(s.parts[partition].edge.moved)
}

// forget takes what other nodes told out of the persons of a shard. When they were last active is kept for those who just left: no
// other node may know.
func (s *Service) forget(sh *shard, partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for u, p := range sh.persons {
		if s.deps.Cluster.Partition(uint64(u)) != partition {
			continue
		}
		if p.leaving && p.gone() {
			s.left = append(s.left, lastActive{user: u, ms: s.wall(p.active.Load())})
		}
		p.away = nil
		if p.gone() && !p.leaving {
			delete(sh.persons, u)
		}
	}
}

// respond answers other nodes.
func (s *Service) respond(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case wireAnnouncement:
		a, err := readAnnouncement(data)
		if err != nil || a.part >= uint64(len(s.parts)) {
			break
		}
		return s.hear(&a)
	case wireStill:
		q, err := readStill(data)
		if err != nil {
			break
		}
		codes := make([]byte, len(q.list))
		for i, p := range q.list {
			codes[i] = s.knows(q.node, p)
		}
		return appendStillAnswer(nil, codes)
	case wireQuestion:
		users, err := readQuestion(data)
		if err != nil {
			break
		}
		a := answer{code: answerTaken, sights: make([]sight, len(users))}
		for i, u := range users {
			a.sights[i] = s.sight(u, false)
		}
		return a.append(nil)
	}
	s.deps.Logger.Error("what another node asks of presence cannot be read")
	return nil
}

// hear takes an announcement.
func (s *Service) hear(a *announcement) []byte {
	h := &s.parts[a.part].home
	h.mu.Lock()
	r := h.registers[a.node]
	switch {
	case h.life == 0:
		h.mu.Unlock()
		return (&answer{code: answerNotMine}).append(nil)
	case a.life == 0:
		s.drop(h, int(a.part), a.node)
		r = &register{life: newLife(), number: a.number, heard: s.now()}
		h.registers[a.node] = r
		h.mu.Unlock()
		s.retold.Add(1)
		return (&answer{code: answerTaken, life: r.life}).append(nil)
	case r == nil || r.life != a.life:
		h.mu.Unlock()
		return (&answer{code: answerStale}).append(nil)
	case a.number <= r.number: // it came late: another has taken its place
		h.mu.Unlock()
		return (&answer{code: answerStale}).append(nil)
	}
	r.number, r.heard = a.number, s.now()
	var changed []change
	var watched []id.User
	for _, e := range a.list {
		switch u := id.User(e.id); e.about {
		case aboutUser:
			if s.put(a.node, e) {
				changed = append(changed, change{u, false})
			}
		case aboutWatch:
			set(h.watching, u, s.sets.put(h.watching[u], a.node, e.on))
			if e.on {
				watched = append(watched, u)
			}
		case aboutFollow:
			c := id.Conversation(e.id)
			set(h.following, c, s.sets.put(h.following[c], a.node, e.on))
		case aboutSight:
			changed = append(changed, change{u, true})
		}
	}
	r.whole = r.whole || a.whole
	h.mu.Unlock()
	s.changeAll(changed)
	out := answer{code: answerTaken, life: a.life, sights: make([]sight, len(watched))}
	for i, u := range watched {
		out.sights[i] = s.sight(u, true)
	}
	return out.append(nil)
}

func set[K comparable](of map[K]*nodes, k K, n *nodes) {
	if n == nil {
		delete(of, k)
	} else {
		of[k] = n
	}
}

func (s *Service) changeAll(list []change) {
	for _, c := range list {
		s.change(c.user, c.all)
	}
}

// put notes whether another node has connections of a user, and tells whether the user was not online before.
func (s *Service) put(node string, e entry) (fresh bool) {
	u := id.User(e.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shard(u)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.persons[u]
	active := s.now() - min(s.now(), e.age)
	if p == nil {
		if !e.on && (e.out || e.age >= s.grace()) {
			if e.age < 2*s.grace() {
				s.left = append(s.left, lastActive{user: u, ms: s.wall(active)})
			}
			return false
		}
		p, fresh = &person{}, true
		sh.persons[u] = p
	}
	p.away = s.sets.put(p.away, node, e.on)
	p.active.Store(max(p.active.Load(), active))
	if p.out = e.out; e.on {
		p.out = false
	}
	if p.gone() {
		p.until = max(p.until, active+s.grace())
		s.leave(u, p)
	}
	return fresh
}

// drop takes out what a node told of a partition. Its users have their grace, to connect elsewhere. The caller holds the home's lock.
func (s *Service) drop(h *home, partition int, node string) {
	r := h.registers[node]
	if r == nil {
		return
	}
	delete(h.registers, node)
	for u, n := range h.watching {
		set(h.watching, u, s.sets.put(n, node, false))
	}
	for c, n := range h.following {
		set(h.following, c, s.sets.put(n, node, false))
	}
	until := s.now() + s.grace()
	for i := range s.shards {
		sh := &s.shards[i]
		s.mu.Lock()
		sh.mu.Lock()
		for u, p := range sh.persons {
			if !p.away.has(node) || s.deps.Cluster.Partition(uint64(u)) != partition {
				continue
			}
			p.away = s.sets.put(p.away, node, false)
			p.active.Store(max(p.active.Load(), r.heard))
			if p.gone() {
				p.until, p.out = until, false
				s.leave(u, p)
			}
		}
		sh.mu.Unlock()
		s.mu.Unlock()
	}
}

// sight gives what this node knows of a user as their home. Sure: one whom a home has not heard of since it became that may have
// their grace still, which only the home before knew.
func (s *Service) sight(u id.User, sure bool) sight {
	if s.parts == nil {
		v := s.look(u, nil)
		v.known = true
		return v
	}
	h := &s.part(uint64(u)).home
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.life == 0 {
		return sight{}
	}
	v := s.look(u, h.registers)
	v.known = v.online || h.settled && (!sure || s.now() >= h.since+s.grace())
	return v
}

// look gives a user as the persons have it. Of a connection to another node is known that its node was heard of.
func (s *Service) look(u id.User, registers map[string]*register) sight {
	sh := s.shard(u)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	p := sh.persons[u]
	if p == nil {
		return sight{}
	}
	active := p.active.Load()
	if p.away != nil {
		for _, n := range p.away.away {
			if r := registers[n]; r != nil {
				active = max(active, r.heard)
			}
		}
	}
	return sight{online: true, ms: s.wall(active)}
}

// Followers gives the nodes on which connections follow a large conversation, where this node is its home. The slice is shared.
func (s *Service) Followers(c id.Conversation) []string {
	here := s.followsHere(c)
	if s.parts == nil {
		return s.list(nil, here)
	}
	h := &s.part(uint64(c)).home
	h.mu.RLock()
	defer h.mu.RUnlock()
	return s.list(h.following[c], here)
}

// lookAround forgets nodes that are gone.
func (s *Service) lookAround() {
	if s.parts == nil {
		return
	}
	live := map[string]bool{}
	for _, n := range s.deps.Cluster.Nodes() {
		live[n] = true
	}
	now := s.now()
	for _, p := range s.parts {
		h := &p.home
		h.mu.Lock()
		for node, r := range h.registers {
			if r.met = r.met || live[node]; r.met && !live[node] || now > r.heard+silentTime {
				s.drop(h, p.number, node)
			}
		}
		if h.life != 0 && !h.settled {
			h.settled = now >= h.since+settleTime
			if !h.settled {
				h.settled = true
				for n := range live {
					r := h.registers[n]
					h.settled = h.settled && (n == s.deps.Node || r != nil && r.whole)
				}
			}
		}
		h.mu.Unlock()
	}
}

// tellWatchers tells each node, in one message, who of those it watches has changed.
func (s *Service) tellWatchers() {
	type parcel struct {
		node string
		data []byte
	}
	open := map[string]*parcel{}
	var list []*parcel
	for _, p := range s.parts {
		h := &p.home
		h.mu.Lock()
		for u, all := range h.changed {
			if h.watching[u] == nil {
				continue
			}
			for _, node := range h.watching[u].away {
				if open[node] == nil || len(open[node].data) > bus.MaxData-16 {
					open[node] = &parcel{node: node}
					list = append(list, open[node])
				}
				open[node].data = appendChange(open[node].data, change{u, all})
			}
		}
		clear(h.changed)
		h.mu.Unlock()
	}
	for _, p := range list {
		if err := s.deps.Cluster.Bus.Publish(changesSubject(p.node), p.data); err != nil {
			s.deps.Logger.Debug("changes of presence were lost; they are asked for again", "node", p.node, "error", err)
		}
	}
}
