package directory

import (
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

// owner is what this node knows as the owner of a partition: what other nodes reported. What is on this node itself is not in it.
//
// Each reporting node has a registration, which starts empty. Announcements name the owner's term, the reporting process and a sequence
// number. One with another term or process, or with a number that is not above the last, builds on reports that this owner does not have
// (any more), so the node is asked for a full sync. Thus an owner may forget at any time, and delayed messages have no effect.
type owner struct {
	mu            sync.RWMutex // guards all below
	term          uint64       // of the grant; 0: this node is not the owner
	since         uint32       // the second in which the ownership began
	settled       bool         // all live nodes have completed a full sync once
	registrations map[string]*registration
	heard         map[reporterID]heardSeq // of all processes that announced lately, registered or not
	watchedBy     map[id.User]*nodeSet
	followedBy    map[id.Conversation]*nodeSet
	changed       map[id.User]bool // watched users, since the last round; true: the visibility too
}

// registration of a reporting node.
type registration struct {
	process   uint64
	complete  bool   // the full sync is complete
	lastHeard uint32 // the second of the last message
	seenAlive bool   // it was among the live nodes once
}

// reporterID is a process of a node.
type reporterID struct {
	node    string
	process uint64
}

// heardSeq is the last announcement of a process. It outlives the registration: when an earlier process's late announcement has replaced
// the registration of the present one, a late full sync of the present process must not register it again, without what it reported since.
type heardSeq struct {
	seq uint64
	at  uint32 // the second in which it came
}

// heardFor is how many seconds the last announcement of a process without a registration is remembered. No message is as late.
const heardFor = 60

const (
	// settleSeconds after its start, an owner reports users whom no node registered as offline, even if some nodes have not fully synced.
	settleSeconds = 10
	// silentSeconds without a message from a node end its registration, even if the node is alive: nothing would reach it.
	silentSeconds = 30
)

// current returns the term of the ownership, or 0.
func (o *owner) current() uint64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.term
}

// handleRequest answers a request of another node.
func (s *Service) handleRequest(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case wireAnnouncement:
		a, err := readAnnouncement(data)
		if err != nil || a.part >= uint64(len(s.partitions)) {
			break
		}
		return s.handleAnnouncement(&a)
	case wireStatusQuery:
		users, err := readStatusQuery(data)
		if err != nil {
			break
		}
		a := answer{code: answerAccepted, statuses: make([]Status, len(users))}
		for i, u := range users {
			a.statuses[i] = s.ownedStatus(u, false)
		}
		return a.append(nil)
	case wireDevicesQuery:
		u, err := readDevicesQuery(data)
		if err != nil {
			break
		}
		return (&devicesAnswer{s.devicesHere(u), s.Locate(u)}).append(nil)
	}
	s.deps.Logger.Error("a directory request of another node cannot be decoded")
	return nil
}

// handleAnnouncement applies what another node reports.
func (s *Service) handleAnnouncement(a *announcement) []byte {
	o := &s.partitions[a.part].owner
	o.mu.Lock()
	r, from := o.registrations[a.node], reporterID{a.node, a.process}
	switch {
	case o.term == 0:
		o.mu.Unlock()
		return (&answer{code: answerNotOwner}).append(nil)
	case a.seq <= o.heard[from].seq: // a late duplicate
		o.mu.Unlock()
		return (&answer{code: answerUnregistered}).append(nil)
	case a.term == 0:
		changed := s.dropNode(o, int(a.part), a.node)
		o.registrations[a.node] = &registration{process: a.process, lastHeard: s.now()}
		o.heard[from] = heardSeq{a.seq, s.now()}
		term := o.term
		o.mu.Unlock()
		s.notifyChanges(changed)
		s.fullSyncs.Add(1)
		return (&answer{code: answerAccepted, term: term}).append(nil)
	case a.term != o.term || r == nil || r.process != a.process:
		o.mu.Unlock()
		return (&answer{code: answerUnregistered}).append(nil)
	}
	r.lastHeard = s.now()
	o.heard[from] = heardSeq{a.seq, r.lastHeard}
	var changed []change
	var watched []id.User
	for _, e := range a.entries {
		switch u := id.User(e.id); e.about {
		case aboutUser:
			if s.applyRemote(a.node, e) {
				changed = append(changed, change{u, false})
			}
		case aboutWatch:
			setOrDelete(o.watchedBy, u, s.nodeSets.with(o.watchedBy[u], a.node, e.on))
			if e.on {
				watched = append(watched, u)
			}
		case aboutFollow:
			c := id.Conversation(e.id)
			setOrDelete(o.followedBy, c, s.nodeSets.with(o.followedBy[c], a.node, e.on))
		case aboutVisibility:
			changed = append(changed, change{u, true})
		}
	}
	r.complete = r.complete || a.complete
	o.mu.Unlock()
	s.notifyChanges(changed)
	out := answer{code: answerAccepted, term: a.term, statuses: make([]Status, len(watched))}
	for i, u := range watched {
		out.statuses[i] = s.ownedStatus(u, true)
	}
	return out.append(nil)
}

func setOrDelete[K comparable](of map[K]*nodeSet, k K, n *nodeSet) {
	if n == nil {
		delete(of, k)
	} else {
		of[k] = n
	}
}

func (s *Service) notifyChanges(list []change) {
	for _, c := range list {
		s.change(c.user, c.visibility)
	}
}

// applyRemote records whether a user is connected to another node, and away there. It reports whether the status may have changed at once.
func (s *Service) applyRemote(node string, e entry) (changed bool) {
	u := id.User(e.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shard(u)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.users[u]
	active := s.now() - min(s.now(), e.age)
	if p == nil {
		if !e.on && (e.loggedOut || e.age >= s.grace()) {
			if e.age < 2*s.grace() {
				s.departed = append(s.departed, Departure{User: u, LastActiveMs: s.wall(active)})
			}
			return false
		}
		p, changed = &user{}, true
		sh.users[u] = p
	}
	before, wasIdle := p.isAway(), p.idle.has(node)
	p.remote = s.nodeSets.with(p.remote, node, e.on)
	p.idle = s.nodeSets.with(p.idle, node, e.on && e.away)
	p.lastFrame.Store(max(p.lastFrame.Load(), active))
	if e.away && e.on || !e.on && !wasIdle { // if it was away before it went, this is the last heartbeat
		p.idleSince = max(p.idleSince, active)
	}
	if p.loggedOut = e.loggedOut; e.on {
		p.loggedOut = false
	}
	if p.disconnected() {
		p.graceAway, p.graceSession = e.away, 0
		p.graceEnd = max(p.graceEnd, active+s.grace())
		s.scheduleExpiry(u, p)
	}
	return changed || before != p.isAway()
}

// dropNode removes what a node reported in a partition. Its users have their grace, in which they can connect to another node. The caller
// holds the owner's lock, and afterwards notifies of the changes: users who are away now, since only devices that are remain.
func (s *Service) dropNode(o *owner, partition int, node string) (changed []change) {
	r := o.registrations[node]
	if r == nil {
		return nil
	}
	delete(o.registrations, node)
	for u, n := range o.watchedBy {
		setOrDelete(o.watchedBy, u, s.nodeSets.with(n, node, false))
	}
	for c, n := range o.followedBy {
		setOrDelete(o.followedBy, c, s.nodeSets.with(n, node, false))
	}
	until := s.now() + s.grace()
	for i := range s.shards {
		sh := &s.shards[i]
		s.mu.Lock()
		sh.mu.Lock()
		for u, p := range sh.users {
			if !p.remote.has(node) || s.deps.Cluster.Partition(uint64(u)) != partition {
				continue
			}
			wasAway := p.isAway()
			if !p.idle.has(node) {
				p.idleSince = max(p.idleSince, r.lastHeard)
			}
			p.remote, p.idle = s.nodeSets.with(p.remote, node, false), s.nodeSets.with(p.idle, node, false)
			p.lastFrame.Store(max(p.lastFrame.Load(), r.lastHeard))
			if p.disconnected() {
				p.graceEnd, p.graceAway, p.graceSession, p.loggedOut = until, wasAway, 0, false
				s.scheduleExpiry(u, p)
			} else if wasAway != p.isAway() {
				changed = append(changed, change{u, false})
			}
		}
		sh.mu.Unlock()
		s.mu.Unlock()
	}
	return changed
}

// ownedStatus returns the status of a user whose owner is this node. With sure it is unknown for as long as a user whom no node has
// registered may still be in a grace that only the previous owner knew of.
func (s *Service) ownedStatus(u id.User, sure bool) Status {
	if s.partitions == nil {
		v := s.localStatus(u, nil)
		v.Known = true
		return v
	}
	o := &s.partitionOf(uint64(u)).owner
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.term == 0 {
		return Status{}
	}
	v := s.localStatus(u, o.registrations)
	v.Known = v.Online || o.settled && (!sure || s.now() >= o.since+s.grace())
	return v
}

// localStatus returns a user's status by this node's shards. For connections to other nodes with a device that is not away, the last message
// of the node counts as activity.
func (s *Service) localStatus(u id.User, registrations map[string]*registration) Status {
	sh := s.shard(u)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	p := sh.users[u]
	if p == nil {
		return Status{}
	}
	active := p.lastActive()
	if p.isAway() {
		return Status{Online: true, Away: true, LastActiveMs: s.wall(active)}
	}
	if p.remote != nil {
		for _, n := range p.remote.remote {
			if r := registrations[n]; r != nil && !p.idle.has(n) {
				active = max(active, r.lastHeard)
			}
		}
	}
	return Status{Online: true, LastActiveMs: s.wall(active)}
}

// Followers returns the nodes with connections that follow a large conversation, if this node is its owner. The caller must not change
// the slice.
func (s *Service) Followers(c id.Conversation) []string {
	here := s.followedHere(c)
	if s.partitions == nil {
		return s.nodeList(nil, here)
	}
	o := &s.partitionOf(uint64(c)).owner
	o.mu.RLock()
	defer o.mu.RUnlock()
	return s.nodeList(o.followedBy[c], here)
}

// checkNodes removes the registrations of nodes that are gone.
func (s *Service) checkNodes() {
	if s.partitions == nil {
		return
	}
	live := map[string]bool{}
	for _, n := range s.deps.Cluster.Nodes() {
		live[n] = true
	}
	now := s.now()
	for _, p := range s.partitions {
		o := &p.owner
		var changed []change
		o.mu.Lock()
		for node, r := range o.registrations {
			if r.seenAlive = r.seenAlive || live[node]; r.seenAlive && !live[node] || now > r.lastHeard+silentSeconds {
				changed = append(changed, s.dropNode(o, p.number, node)...)
			}
		}
		for from, h := range o.heard {
			if r := o.registrations[from.node]; now > h.at+heardFor && (r == nil || r.process != from.process) {
				delete(o.heard, from)
			}
		}
		if o.term != 0 && !o.settled {
			o.settled = now >= o.since+settleSeconds
			if !o.settled {
				o.settled = true
				for n := range live {
					r := o.registrations[n]
					o.settled = o.settled && (n == s.deps.Node || r != nil && r.complete)
				}
			}
		}
		o.mu.Unlock()
		s.notifyChanges(changed)
	}
}

// publishChanges sends each node the users who have changed and are watched there, in one message for each node.
func (s *Service) publishChanges() {
	type message struct {
		node string
		data []byte
	}
	open := map[string]*message{}
	var list []*message
	for _, p := range s.partitions {
		o := &p.owner
		o.mu.Lock()
		for u, visibility := range o.changed {
			if o.watchedBy[u] == nil {
				continue
			}
			for _, node := range o.watchedBy[u].remote {
				if open[node] == nil || len(open[node].data) > bus.MaxData-16 {
					open[node] = &message{node: node}
					list = append(list, open[node])
				}
				open[node].data = appendChange(open[node].data, change{u, visibility})
			}
		}
		clear(o.changed)
		o.mu.Unlock()
	}
	for _, p := range list {
		if err := s.deps.Cluster.Bus.Publish(changesSubject(p.node), p.data); err != nil {
			s.deps.Logger.Debug("a notice of changed users was lost; their nodes ask again", "node", p.node, "error", err)
		}
	}
}
