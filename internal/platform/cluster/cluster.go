// Package cluster tracks which nodes are alive, and assigns shared work to them: one node at a time owns each part of the work,
// such as a fan-out partition.
//
// It owns tables in the SQL database. About once a second a node sends a heartbeat: one transaction increments a number in the
// node's row, and reads the other nodes' numbers and the owner of each part. A node considers another one dead if that node's number
// has not changed for NodeTimeout, and takes over its parts. It measures this time with its own monotonic clock, so the clocks of
// different machines are never compared. A node that cannot send heartbeats gives up its parts well before NodeTimeout, even if the
// database does not answer. Parts are distributed evenly, and few of them move when a node joins or leaves. A node takes a part by
// compare-and-set on the part's term. Nodes probe each other on the bus (Prober). If some are alive but cannot reach each other, only a
// connected subset owns parts (reachability.go).
//
// A node holds a part by a Grant: the part, its term, and a context that is cancelled when the node loses the part. A process that was
// paused may still act on a grant that has ended. Therefore the stores that the owner writes to compare the grant's term
// (timeline.Log.Acquire). Two owners at the same moment then delay each other, but corrupt nothing.
//
// A heartbeat also brings what clients are told of the node: its addresses, its region and its load (gateway.go).
//
// It may use sqldb and bus. Owner, Nodes and Gateways are safe for concurrent use, and do not block.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/lease"
	"golang.org/x/time/rate"
)

// Node of a cluster.
type Node struct {
	// Name is unique among running nodes. Other nodes use it to address this one on the bus.
	Name string
	// Since is the start time, in milliseconds since 1970.
	Since int64
	// Address of the node's bus for other nodes; "" if they do not connect to it.
	Address string
	// Idle nodes own no parts.
	Idle bool
	// Version of the node's build.
	Version
}

// Work is divided into numbered parts. Run calls the functions one at a time. They must not block, because that would delay
// heartbeats. All of them may be nil.
type Work struct {
	Kind  string
	Parts int
	// Assigned is called when this node becomes the owner of a part.
	Assigned func(Grant)
	// Revoked is called when this node is no longer the owner of a part. The grant's context is already cancelled.
	Revoked func(part int)
	// OwnerChanged is called when a part's owner changes on any node; node is "" while nobody owns the part.
	OwnerChanged func(part int, node string)
}

// Deps are the dependencies of a Service.
type Deps struct {
	// DB is the database that the nodes share; nil for a single node, which owns all parts.
	DB     *sqldb.DB
	Logger *slog.Logger
	// Work to assign. All nodes of one version have the same.
	Work []Work
	// OnMembers is called by Run with the live nodes, including this one, whenever they change. It must not block. It may be nil.
	OnMembers func(nodes []Node)
	// Unreachable returns the names of nodes that this one cannot reach on the bus, even if they are alive. It must not block. It may
	// be nil.
	Unreachable func() []string
	// Gateway returns what clients are told of this node. It must not block, and is called from many goroutines. If nil, they are told nothing.
	Gateway func() Gateway
}

// Config of a node as a member of the cluster. Zero values mean the documented defaults.
type Config struct {
	// Node is the node's name, without dots or spaces. It is required.
	Node string `yaml:"-"`
	// Address of this node's bus for other nodes.
	Address string `yaml:"-"`
	// Idle nodes own no parts.
	Idle bool `yaml:"-"`
	// Version of this build; zero means the version of the running binary.
	Version Version `yaml:"-"`
	// HeartbeatInterval is the time between two heartbeats of a node; 0 means 1 s.
	HeartbeatInterval time.Duration `yaml:"heartbeat_interval"`
	// NodeTimeout is how long a node may send no heartbeat before other nodes take over its parts; 0 means 5 s. It must be at least
	// four times HeartbeatInterval.
	NodeTimeout time.Duration `yaml:"node_timeout"`
}

// Service is this node's membership in the cluster.
type Service struct {
	decisions // used by Run's goroutine only
	deps      Deps
	store     store

	// Used by Run's goroutine only:
	owners  map[part]string
	members []Node // as last passed to OnMembers

	unreadGateways rate.Sometimes // limits the log

	view     atomic.Pointer[view]
	announce chan struct{} // has a value when the next heartbeat must not wait
}

// part identifies one part of one kind of work.
type part struct {
	kind   string
	number int
}

var errNameTaken = errors.New("another process uses this node's name; give each node its own name")

// New creates missing tables. It fails if a live node runs a release that is incompatible with this build, or if the nodes already
// use a protocol that this build does not know; the error says which node to upgrade first. No parts are assigned before Run.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.HeartbeatInterval == 0 {
		config.HeartbeatInterval = time.Second
	}
	if config.NodeTimeout == 0 {
		config.NodeTimeout = 5 * time.Second
	}
	if config.Node == "" {
		return nil, errors.New("cluster: the node has no name")
	}
	if config.NodeTimeout < 4*config.HeartbeatInterval {
		return nil, fmt.Errorf("cluster: node_timeout is %v; set it to at least four times heartbeat_interval (%v)", config.NodeTimeout, config.HeartbeatInterval)
	}
	if config.Version == (Version{}) {
		config.Version = thisBuild()
	}
	var incarnation [8]byte
	rand.Read(incarnation[:]) //nolint:errcheck // it never fails
	s := &Service{deps: deps, owners: map[part]string{}, announce: make(chan struct{}, 1), unreadGateways: rate.Sometimes{First: 1, Interval: time.Minute}}
	validity := lease.NewValidity()
	real := clocks{now: time.Now, moment: func() lease.Moment { return validity.Now(time.Now()) }}
	s.decisions = newDecisions(config, deps.Work, deps.Logger, real, binary.BigEndian.Uint64(incarnation[:])>>1)
	s.validity = validity
	s.me.Since = time.Now().UnixMilli()
	s.view.Store(&view{})
	if deps.DB == nil {
		s.store = &localStore{}
		return s, nil
	}
	s.store = withTimeouts(sqlStore{deps.DB})
	if err := deps.DB.Migrate(ctx, "cluster", migrations); err != nil {
		return nil, err
	}
	return s, s.awaitCompatible(ctx)
}

// view is a snapshot for other goroutines.
type view struct {
	nodes    []Node
	gateways []leasedGateway // of the same nodes
	owners   map[part]string
	protocol int
}

// Nodes returns the live nodes, ordered by name.
func (s *Service) Nodes() []Node { return s.view.Load().nodes }

// Owner returns the owner of a part as of this node's last heartbeat, or "" if there was none.
func (s *Service) Owner(kind string, number int) string {
	return s.view.Load().owners[part{kind, number}]
}
