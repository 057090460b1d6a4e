package inputlimit

import (
	"math"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/memory"
)

const (
	// Each hold, all holds of one user together, and those of one network, have at most an eighth of the free bytes. Large holds
	// thus leave capacity for small ones (a dynamic threshold, as in switches that share a buffer between ports). An office or a mobile
	// operator may have many authenticated users behind one address, so an authenticated network has a quarter.
	share                     = 8
	authenticatedNetworkShare = 4
	// smallHold is granted while the budget has any free bytes, even beyond the owner's share.
	smallHold = 4 << 10
)

// ErrBusy rejects input for which there is no memory.
var ErrBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server holds too much input that is not complete; try again", Retry: 1e9}

// Owner is charged for its holds: a user, a network, or both, each of which has its own share. The zero Owner has no share: programs
// on this machine, and servers with an API key.
type Owner struct {
	User    uint64
	Network netip.Prefix
}

// Budget bounds the bytes of all its holders together.
type Budget struct {
	limit        int64
	networkShare int64
	used         atomic.Int64 // written under mu
	refused      atomic.Int64

	mu       sync.Mutex // guards the fields below
	users    map[uint64]int64
	networks map[netip.Prefix]int64
}

// NewBudget returns a budget of authenticated input.
func NewBudget(bytes int) *Budget {
	return &Budget{limit: int64(bytes), networkShare: authenticatedNetworkShare}
}

// Hold is one holder's part of a budget. Its methods are not called concurrently. The zero value holds nothing.
type Hold struct {
	budget *Budget
	owner  Owner
	bytes  int64
}

// Set changes a hold to a number of bytes of a budget, for an owner. It first releases a hold of another budget or owner. If the limit does
// not allow it, the hold is unchanged, and the caller must drop its input.
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
	if more > 0 {
		free := b.limit - b.used.Load() + before // without this hold
		if after > free || exceeds(after, free, share) ||
			owner.User != 0 && exceeds(b.users[owner.User]+more, free+b.users[owner.User]-before, share) ||
			owner.Network.IsValid() && exceeds(b.networks[owner.Network]+more, free+b.networks[owner.Network]-before, b.networkShare) {
			return false
		}
	}
	b.used.Add(more)
	if owner.User != 0 {
		b.users = charge(b.users, owner.User, more)
	}
	if owner.Network.IsValid() {
		b.networks = charge(b.networks, owner.Network, more)
	}
	return true
}

// exceeds reports whether bytes are more than a share of the free bytes without them. A small hold never is.
func exceeds(bytes, free, share int64) bool { return bytes > smallHold && bytes > free/share }

// charge adds to an owner's bytes. Owners without any bytes have no entry.
func charge[K comparable, N int | int64](held map[K]N, owner K, n N) map[K]N {
	if held == nil {
		held = map[K]N{}
	}
	if held[owner] += n; held[owner] == 0 {
		delete(held, owner)
	}
	return held
}

// Memory bounds the incomplete input of all clients: parts of messages and bodies, and the bodies of waiting calls.
type Memory struct {
	// Clients that are not authenticated have a quarter of the memory.
	Authenticated, Unauthenticated Budget
}

// Bounds of a Memory that is not configured: a part of the memory of the process.
const (
	memoryPart  = 16
	leastMemory = 16 << 20
	maxMemory   = 1 << 30
)

// Config of the limits; the zero value is the documented default.
type Config struct {
	// Memory in bytes for the incomplete input of all clients; 0 is a sixteenth of the memory that the process may use (of the
	// machine, its control group, GOMEMLIMIT), at least 16 MiB and at most 1 GiB. Clients without credentials have a quarter of it.
	Memory int `yaml:"memory"`
	// UnauthenticatedPerAddress bounds the unauthenticated connections of one network address, or IPv6 network of 64 bits; 0 is 1,000. An
	// IPv6 network of 48 bits may have four times as many. Those of programs on this machine count only in UnauthenticatedConnections, and so
	// do those of a proxy; clients behind it count by X-Forwarded-For.
	UnauthenticatedPerAddress int `yaml:"unauthenticated_per_address"`
	// UnauthenticatedConnections bounds all such connections together; 0 is half of the files that the process may open.
	UnauthenticatedConnections int `yaml:"unauthenticated_connections"`
}

// OpenFiles is how many files the process may open; 0 if unknown.
func OpenFiles() int64 { return int64(min(openFiles(), math.MaxInt64)) }

// Files returns the counter of concurrent requests for files and pages: a quarter of the connections, and at most 4,096. With HTTP/2 one
// connection can make a hundred requests, and each needs memory and an open file even if its client reads nothing.
func (c Config) Files() *Connections {
	all := c.Connections()
	return NewConnections(max(all.perNetwork/4, 1), min(max(all.limit/4, 1), 4096))
}

// Connections returns the counter of connections for these limits.
func (c Config) Connections() *Connections {
	if c.UnauthenticatedPerAddress == 0 {
		c.UnauthenticatedPerAddress = 1000
	}
	if c.UnauthenticatedConnections == 0 {
		c.UnauthenticatedConnections = 50_000
		if n := openFiles(); n > 0 {
			c.UnauthenticatedConnections = int(min(n, 100_000) / 2)
		}
	}
	return NewConnections(c.UnauthenticatedPerAddress, c.UnauthenticatedConnections)
}

// NewMemory creates a memory of a number of bytes; 0 is the default of Config.
func NewMemory(bytes int) *Memory {
	if bytes == 0 {
		bytes = int(min(max(memory.Available()/memoryPart, leastMemory), maxMemory))
	}
	m := &Memory{}
	m.Unauthenticated.limit = int64(bytes) / 4
	m.Authenticated.limit = int64(bytes) - m.Unauthenticated.limit
	m.Unauthenticated.networkShare, m.Authenticated.networkShare = share, authenticatedNetworkShare
	return m
}

// Used returns the held bytes.
func (m *Memory) Used() int64 { return m.Authenticated.used.Load() + m.Unauthenticated.used.Load() }

// Refused returns the number of rejected holds.
func (m *Memory) Refused() int64 {
	return m.Authenticated.refused.Load() + m.Unauthenticated.refused.Load()
}

// Limit returns the maximum of held bytes.
func (m *Memory) Limit() int64 { return m.Authenticated.limit + m.Unauthenticated.limit }

// InUse reports whether authenticated, or unauthenticated, clients hold anything.
func (m *Memory) InUse(authenticated bool) bool {
	if authenticated {
		return m.Authenticated.used.Load() > 0
	}
	return m.Unauthenticated.used.Load() > 0
}
