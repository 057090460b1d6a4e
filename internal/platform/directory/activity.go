package directory

import (
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/id"
)

// SetAway records that a connection is away from now on, or no longer. It is called once for each change. A device is away while all its
// connections are.
func (s *Service) SetAway(c id.Caller, away bool) {
	sh := s.shard(c.User)
	sh.mu.Lock()
	p := sh.users[c.User]
	if p == nil {
		sh.mu.Unlock()
		return
	}
	before := p.isAwayHere()
	for i := range p.sessions {
		n := &p.sessions[i]
		if n.session != c.Session {
			continue
		}
		if !n.away() {
			n.lastActive = s.now()
		}
		if away {
			n.idle++
		} else {
			n.idle, n.lastActive = n.idle-1, s.now()
		}
	}
	changed := before != p.isAwayHere()
	sh.mu.Unlock()
	if changed {
		s.report(key{aboutUser, uint64(c.User)})
		s.change(c.User, false)
	}
}

// isAwayHere reports whether all devices that are connected to this node are away, and there are some. The caller holds the shard's lock.
func (p *user) isAwayHere() bool {
	for i := range p.sessions {
		if !p.sessions[i].away() {
			return false
		}
	}
	return len(p.sessions) > 0
}

// isAway reports whether all devices on all nodes are away, or were when the last connection broke. The caller holds the shard's lock.
func (p *user) isAway() bool {
	if p.disconnected() {
		return p.graceAway
	}
	if len(p.sessions) > 0 && !p.isAwayHere() {
		return false
	}
	if p.remote != nil {
		for _, node := range p.remote.remote {
			if !p.idle.has(node) {
				return false
			}
		}
	}
	return true
}

// lastActive returns the second in which a user was last active: that of the last frame, or if all devices are away, of the last one before.
// The caller holds the shard's lock.
func (p *user) lastActive() uint32 {
	if p.isAway() {
		return max(p.idleSince, p.lastActiveHere())
	}
	return p.lastFrame.Load()
}

// lastActiveHere returns the second in which a device on this node was last active. The caller holds the shard's lock.
func (p *user) lastActiveHere() (last uint32) {
	for i := range p.sessions {
		last = max(last, atomic.LoadUint32(&p.sessions[i].lastActive))
	}
	return last
}
