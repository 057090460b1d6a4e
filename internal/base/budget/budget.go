// Package budget divides bytes among their holders, so that a few holders cannot use all of them: incomplete input, and answers that wait to be
// read.
//
// All methods are safe for concurrent use, except those of a Hold.
package budget

import (
	"cmp"
	"net/netip"
	"sync"
	"sync/atomic"
)

const (
	// Share of the free bytes: each hold, all holds of one user together, and those of one network, have at most an eighth. Large holds
	// thus leave capacity for small ones (a dynamic threshold, as in switches that share a buffer between ports).
	Share = 8
	// NetworkOfUsers is the share of a network whose users are authenticated, a quarter: an office or a mobile operator may have many
	// behind one address.
	NetworkOfUsers = 4
	// Small holds are granted while the budget has any free bytes, even beyond the owner's share.
	Small = 4 << 10
)

// Owner is charged for its holds: a user, a network, or both, each of which has its own share. The zero Owner has no share: programs
// on this machine, and servers with an API key.
type Owner struct {
	User    uint64
	Network netip.Prefix
}

// Config of a Budget.
type Config struct {
	// Bytes of all owners together.
	Bytes int64
	// NetworkShare is the divisor of the free bytes for a network: NetworkOfUsers, or 0 for Share.
	NetworkShare int64
	// User bounds the bytes of one user besides its share; 0: only the share does.
	User int64
}

// Budget bounds the bytes of all its owners together.
type Budget struct {
	config  Config
	used    atomic.Int64 // written under mu
	refused atomic.Int64

	mu       sync.Mutex // guards the fields below
	users    map[uint64]int64
	networks map[netip.Prefix]int64
}

// New creates a budget.
func New(c Config) *Budget {
	c.NetworkShare = cmp.Or(c.NetworkShare, Share)
	return &Budget{config: c, users: map[uint64]int64{}, networks: map[netip.Prefix]int64{}}
}

// Limit returns the maximum of held bytes.
func (b *Budget) Limit() int64 { return b.config.Bytes }

// Used returns the held bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused returns the number of rejected holds.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Owners returns how many users, and how many networks, hold something.
func (b *Budget) Owners() (users, networks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.users), len(b.networks)
}

// Acquire charges an owner for more bytes, if the limits allow it.
func (b *Budget) Acquire(owner Owner, bytes int) bool {
	if !b.change(owner, 0, int64(bytes)) {
		b.refused.Add(1)
		return false
	}
	return true
}

// Release returns bytes that Acquire charged.
func (b *Budget) Release(owner Owner, bytes int) {
	b.change(owner, int64(bytes), 0)
}

// Fits reports whether the limits would allow an owner more bytes now.
func (b *Budget) Fits(owner Owner, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allows(owner, 0, int64(bytes))
}

// Hold is one holder's part of a budget. Its methods are not called concurrently. The zero value holds nothing.
type Hold struct {
	budget *Budget
	owner  Owner
	bytes  int64
}

// Set changes a hold to a number of bytes of a budget, for an owner. It first releases a hold of another budget or owner. If the limit does
// not allow it, the hold is unchanged, and the caller must drop what it holds.
func (h *Hold) Set(b *Budget, owner Owner, bytes int) bool {
	n := int64(bytes)
	if h.budget != b || h.owner != owner {
		if h.bytes == 0 && n == 0 {
			return true
		}
		h.Release()
		h.budget, h.owner = b, owner
	}
	if n == h.bytes {
		return true
	}
	if !b.change(owner, h.bytes, n) {
		b.refused.Add(1)
		return false
	}
	h.bytes = n
	return true
}

// Release releases the hold.
func (h *Hold) Release() {
	if h.bytes != 0 {
		h.budget.change(h.owner, h.bytes, 0)
	}
	*h = Hold{}
}

// change replaces one hold of before bytes by one of after bytes, if the limits allow it.
func (b *Budget) change(owner Owner, before, after int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	more := after - before
	if more > 0 && !b.allows(owner, before, after) {
		return false
	}
	b.used.Add(more)
	if owner.User != 0 {
		charge(b.users, owner.User, more)
	}
	if owner.Network.IsValid() {
		charge(b.networks, owner.Network, more)
	}
	return true
}

// allows reports whether a hold of before bytes may grow to after bytes. The caller holds mu.
func (b *Budget) allows(owner Owner, before, after int64) bool {
	free := b.config.Bytes - b.used.Load() + before // without this hold
	if after > free || exceeds(after, free, Share) {
		return false
	}
	if owner.User != 0 {
		held := b.users[owner.User]
		total := held - before + after
		if b.config.User != 0 && total > b.config.User || exceeds(total, free+held-before, Share) {
			return false
		}
	}
	if !owner.Network.IsValid() {
		return true
	}
	held := b.networks[owner.Network]
	return !exceeds(held-before+after, free+held-before, b.config.NetworkShare)
}

// exceeds reports whether bytes are more than a share of the free bytes without them. A small hold never is.
func exceeds(bytes, free, share int64) bool { return bytes > Small && bytes > free/share }

// charge adds to an owner's bytes. Owners without any bytes have no entry.
func charge[K comparable](held map[K]int64, owner K, n int64) {
	if held[owner] += n; held[owner] == 0 {
		delete(held, owner)
	}
}
