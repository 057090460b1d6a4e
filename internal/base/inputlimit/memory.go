package inputlimit

import (
	"math"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/memory"
)

// ErrBusy rejects input for which there is no memory.
var ErrBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server holds too much input that is not complete; try again", Retry: 1e9}

// Memory bounds the incomplete input of all clients: parts of messages and bodies, and the bodies of waiting calls.
type Memory struct {
	// Clients that are not authenticated have a quarter of the memory.
	Authenticated, Unauthenticated *budget.Budget
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

// Streams returns the counter of open streams of HTTP/2: as many of an address as connections, and at most 8,192. Each keeps its headers and
// a goroutine, some 20 KiB, until its client takes the answer.
func (c Config) Streams() *Connections {
	all := c.Connections()
	return NewConnections(all.perNetwork, min(all.limit, 8192))
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
	without := int64(bytes) / 4
	return &Memory{
		Authenticated:   budget.New(budget.Config{Bytes: int64(bytes) - without, NetworkShare: budget.NetworkOfUsers}),
		Unauthenticated: budget.New(budget.Config{Bytes: without, NetworkShare: budget.Share}),
	}
}

// Used returns the held bytes.
func (m *Memory) Used() int64 { return m.Authenticated.Used() + m.Unauthenticated.Used() }

// Refused returns the number of rejected holds.
func (m *Memory) Refused() int64 { return m.Authenticated.Refused() + m.Unauthenticated.Refused() }

// Limit returns the maximum of held bytes.
func (m *Memory) Limit() int64 { return m.Authenticated.Limit() + m.Unauthenticated.Limit() }

// InUse reports whether authenticated, or unauthenticated, clients hold anything.
func (m *Memory) InUse(authenticated bool) bool {
	if authenticated {
		return m.Authenticated.Used() > 0
	}
	return m.Unauthenticated.Used() > 0
}
