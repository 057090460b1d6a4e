package gateway

import (
	"sync"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/id"
)

// Bounds of held sends. Beyond them a send is refused.
const (
	maxHeldSends     = 1024    // of a connection
	maxHeldBytes     = 2 << 20 // of them
	maxHeldOfUser    = 2048    // on this node
	maxHeldOfNode    = 32 << 10
	maxHeldNodeBytes = 32 << 20 // a user and a network have shares of what is free
	// heldOverhead is what a held send costs besides its content, in bytes.
	heldOverhead = 1 << 10
)

// heldLimits bounds the held sends of a node. newHeldLimits makes one.
type heldLimits struct {
	bytes *budget.Budget

	mu     sync.Mutex // guards the fields below; nothing but the lock of bytes is locked under it
	number int
	ofUser map[id.User]int
}

func newHeldLimits() *heldLimits {
	return &heldLimits{bytes: budget.New(budget.Config{Bytes: maxHeldNodeBytes, NetworkShare: budget.NetworkOfUsers}), ofUser: map[id.User]int{}}
}

// acquire counts a send as held, and reports whether there is room for it. The caller holds mu.
func (h *heldSends) acquire(one *heldSend) bool {
	if h.number >= maxHeldSends || h.bytes+one.bytes > maxHeldBytes {
		return false
	}
	c, r := h.conn, h.conn.server.heldLimits
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.number >= maxHeldOfNode || r.ofUser[c.caller.User] >= maxHeldOfUser || !one.memory.Set(r.bytes, c.owner(), one.bytes) {
		return false
	}
	r.number++
	r.ofUser[c.caller.User]++
	h.number++
	h.bytes += one.bytes
	c.server.stats.SendsHeld.Add(1)
	c.server.stats.SendsHeldTotal.Add(1)
	return true
}

// release ends what acquire began. The caller holds mu.
func (h *heldSends) release(one *heldSend) {
	c, r := h.conn, h.conn.server.heldLimits
	r.mu.Lock()
	defer r.mu.Unlock()
	one.memory.Release()
	r.number--
	if r.ofUser[c.caller.User]--; r.ofUser[c.caller.User] == 0 {
		delete(r.ofUser, c.caller.User)
	}
	h.number--
	h.bytes -= one.bytes
	c.server.stats.SendsHeld.Add(-1)
}
