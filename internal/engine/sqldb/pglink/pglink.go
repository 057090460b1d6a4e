// Package pglink makes connections to a primary of PostgreSQL with synchronous standbys, so that a confirmed commit is also on the standby that is
// promoted. A Fence prepares the connections and owns only its Watch.
//
// A connection guarantees:
//   - It leads to the current primary of the same database as the first connection. Each promotion raises the server's timeline. A server with
//     a lower timeline than one that was seen is refused, and open connections to it are Stale.
//   - Its commits wait for the standbys that synchronous_standby_names names. If that wait was ended early, the commit is Unconfirmed.
//   - It sends no cancel request while BlockCancel is set, since such a request would end that wait.
//   - After the primary was silent for some seconds, its answers are used only once all servers were asked whether another one was promoted.
//   - It shows nothing that a standby does not have. A server that restarts shows the commits that were waiting when it stopped. So the first
//     connection to it waits until a commit of its own is confirmed.
//
// All functions are safe for concurrent use.
package pglink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Fence refuses connections to a former primary.
type Fence struct {
	hosts          []host
	newest         atomic.Pointer[primaryEpoch] // nil: none was seen yet
	lastPrimary    atomic.Int64                 // index of the last known primary among hosts
	confirmedStart atomic.Pointer[string]       // the start of the server whose commits are known to be confirmed
	config         *pgconn.Config               // of the address
	began          time.Time
	lastAnswer     atomic.Int64 // when the primary answered, in nanoseconds since began
	maxSilence     time.Duration
	confirming     sync.Mutex // held while all servers are asked after a silence

	mu           sync.Mutex     // guards limitedLinks and sweepAt
	limitedLinks map[*Link]bool // links with a deadline
	sweepAt      int            // size of limitedLinks at which closed ones are removed
}

// primaryEpoch identifies a primary. Each promotion begins a new one.
type primaryEpoch struct {
	system   string // the system identifier, which a primary and its standbys share
	timeline uint64
}

// host of an address, with the configurations to try (with and without TLS, if the address allows both).
type host struct{ configs []*pgconn.FallbackConfig }

func (h host) String() string { return h.configs[0].Host + ":" + strconv.Itoa(int(h.configs[0].Port)) }

// New makes a fence for the servers of a parsed address.
func New(c *pgconn.Config) *Fence {
	f := &Fence{config: c.Copy(), began: time.Now(), maxSilence: defaultMaxSilence, limitedLinks: map[*Link]bool{}}
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	for _, way := range all {
		if n := len(f.hosts); n > 0 && f.hosts[n-1].configs[0].Host == way.Host && f.hosts[n-1].configs[0].Port == way.Port {
			f.hosts[n-1].configs = append(f.hosts[n-1].configs, way)
			continue
		}
		f.hosts = append(f.hosts, host{[]*pgconn.FallbackConfig{way}})
	}
	return f
}

// HasSeveralHosts reports whether the address names several servers.
func (f *Fence) HasSeveralHosts() bool { return len(f.hosts) > 1 }

// hostTimeout bounds the attempt to connect to one of several servers.
const hostTimeout = 3 * time.Second

// Prepare prepares the configuration of one connection, which must have its own copy. Without mayCancel it never sends a cancel request.
func (f *Fence) Prepare(c *pgconn.Config, mayCancel bool) {
	l := &Link{fence: f}
	EnableKeepalive(c)
	if f.HasSeveralHosts() {
		f.preferLastPrimary(c)
		if c.ConnectTimeout == 0 || c.ConnectTimeout > hostTimeout {
			c.ConnectTimeout = hostTimeout
		}
	}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if l.cancelBlocked.Load() {
			return nil, errCancelBlocked
		}
		made, err := dial(ctx, network, address)
		if err != nil || l.ready.Load() { // a cancel request
			return made, err
		}
		return &deadlineConn{made, l}, nil
	}
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := f.validate(ctx, conn, l); err != nil {
			return err
		}
		conn.CustomData()[key], l.conn = l, conn
		l.ready.Store(true)
		l.cancelBlocked.Store(!mayCancel)
		return nil
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		// "canceling wait for synchronous replication": the text depends on the server's language, the routine does not.
		if n.Routine == "SyncRepWaitForLSN" {
			l.unconfirmed.Store(true)
		}
	}
	c.RuntimeParams = mergeParams(c.RuntimeParams, map[string]string{"synchronous_commit": "on", "client_min_messages": "warning"})
}

// EnableKeepalive makes both ends of a connection notice within half a minute that the other is gone, for example if the network drops all packets. By
// default the server would keep such a connection and the locks of its session for hours, and the next writer would wait for them. This end would
// notice only at the next use. Prepare calls it; other connections call it themselves.
func EnableKeepalive(c *pgconn.Config) {
	// Over a Unix socket the server accepts these and ignores them.
	c.RuntimeParams = mergeParams(c.RuntimeParams, map[string]string{
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", // while idle
		"tcp_user_timeout": "30000", // ms, while data is unacknowledged
	})
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dial(ctx, network, address)
		if t, ok := made.(*net.TCPConn); ok && err == nil {
			err = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3})
			if err != nil {
				return nil, errors.Join(err, t.Close())
			}
		}
		return made, err
	}
}

func mergeParams(params, more map[string]string) map[string]string {
	all := make(map[string]string, len(params)+len(more))
	for _, m := range []map[string]string{params, more} {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}

// preferLastPrimary puts the last known primary first. Otherwise each connection would wait for unreachable servers before it.
func (f *Fence) preferLastPrimary(c *pgconn.Config) {
	first := int(f.lastPrimary.Load())
	var ways []*pgconn.FallbackConfig
	for i := range f.hosts {
		ways = append(ways, f.hosts[(first+i)%len(f.hosts)].configs...)
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = ways[0].Host, ways[0].Port, ways[0].TLSConfig, ways[1:]
}

var (
	errCancelBlocked = errors.New("a connection that may wait for a standby sends no cancel request")
	errStandby       = errors.New("the server is a standby; the address must name the primary, or all servers that may become it")
)

// Link is the state of a connection.
type Link struct {
	fence         *Fence
	conn          *pgconn.PgConn
	epoch         primaryEpoch
	noStandby     bool
	ready         atomic.Bool // connected
	cancelBlocked atomic.Bool
	unconfirmed   atomic.Bool
	mu            sync.Mutex                // held while deadline and that of the connection change together
	deadline      atomic.Pointer[time.Time] // when the connection is closed in any case, by the monotonic clock; nil: never
}

const key = "pglink"

// LinkOf returns the link of a connection that was made with a prepared configuration.
func LinkOf(conn *pgconn.PgConn) *Link {
	l, ok := conn.CustomData()[key].(*Link)
	if !ok {
		panic("pglink: a connection that no fence has prepared")
	}
	return l
}

// Stale reports whether the connection leads to a former primary.
func (l *Link) Stale() bool {
	seen := l.fence.newest.Load()
	return seen != nil && l.epoch.timeline < seen.timeline
}

// NoStandby reports whether commits do not wait for a standby, because the server names none.
func (l *Link) NoStandby() bool { return l.noStandby }

// Unconfirmed reports whether a commit on this connection was answered before its standby had it. The connection must not be used
// further.
func (l *Link) Unconfirmed() bool { return l.unconfirmed.Load() }

// BlockCancel blocks cancel requests, or allows them again.
func (l *Link) BlockCancel(block bool) { l.cancelBlocked.Store(block) }

// Lost reports whether the connection is closed.
func (l *Link) Lost() bool { return l.conn.IsClosed() }

// Deadline closes the connection after a time, whatever it does, or as soon as it is stale. 0 removes the deadline.
func (l *Link) Deadline(in time.Duration) {
	if in == 0 {
		l.fence.untrack(l)
		l.setDeadline(time.Time{})
		return
	}
	l.setDeadline(time.Now().Add(in))
	l.fence.track(l)
	if l.Stale() {
		l.setDeadline(time.Unix(1, 0))
	}
}

// isClosed reports whether the connection was closed. It is safe for concurrent use.
func (l *Link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.Conn().SetDeadline(time.Time{}) != nil // it has no effect: deadlineConn clamps it
}

func (l *Link) setDeadline(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.IsZero() {
		l.deadline.Store(nil)
	} else {
		l.deadline.Store(&at)
	}
	_ = l.conn.Conn().SetDeadline(at) // if the connection is closed, its next use fails
}

// track registers a connection with a deadline. Closed connections whose deadline was not removed are dropped from time to time.
func (f *Fence) track(l *Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limitedLinks[l] = true
	if len(f.limitedLinks) < f.sweepAt {
		return
	}
	for l := range f.limitedLinks {
		if l.isClosed() {
			delete(f.limitedLinks, l)
		}
	}
	f.sweepAt = max(2*len(f.limitedLinks), 64)
}

func (f *Fence) untrack(l *Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.limitedLinks, l)
}

// closeStale ends running statements on connections to a former primary.
func (f *Fence) closeStale() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.limitedLinks {
		if l.Stale() {
			l.setDeadline(time.Unix(1, 0))
		}
	}
}

// deadlineConn is a connection whose deadlines are not after that of its link, and whose answers are those of the primary.
type deadlineConn struct {
	net.Conn
	link *Link
}

func (c *deadlineConn) clamp(t time.Time) time.Time {
	if until := c.link.deadline.Load(); until != nil && (t.IsZero() || t.After(*until)) {
		return *until
	}
	return t
}

func (c *deadlineConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		if err := c.link.confirm(); err != nil {
			return 0, err
		}
	}
	return n, err
}

func (c *deadlineConn) SetDeadline(t time.Time) error     { return c.Conn.SetDeadline(c.clamp(t)) }
func (c *deadlineConn) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(c.clamp(t)) }
func (c *deadlineConn) SetWriteDeadline(t time.Time) error {
	return c.Conn.SetWriteDeadline(c.clamp(t))
}

// Timeline returns the timeline of the newest primary that was seen, or 0.
func (f *Fence) Timeline() uint64 {
	if seen := f.newest.Load(); seen != nil {
		return seen.timeline
	}
	return 0
}

// IsCurrent reports whether a standby on a timeline has everything that the newest primary had when it was promoted.
func (f *Fence) IsCurrent(system string, timeline uint64) bool {
	seen := f.newest.Load()
	return seen == nil || seen.system == system && timeline >= seen.timeline
}

// observe records a primary, and refuses a former one.
func (f *Fence) observe(r primaryEpoch, where string) error {
	for {
		seen := f.newest.Load()
		switch {
		case r.timeline == 0: // unknown
			return nil
		case seen == nil:
		case seen.system != r.system:
			return fmt.Errorf("%s is not the database that this node has used (system identifier %s, not %s); if that is intended, restart the node", where, r.system, seen.system)
		case r.timeline < seen.timeline:
			return fmt.Errorf("%s is a former primary (timeline %d): another server was promoted (timeline %d); stop it", where, r.timeline, seen.timeline)
		case r.timeline == seen.timeline:
			return nil
		}
		if f.newest.CompareAndSwap(seen, &r) {
			f.closeStale()
			return nil
		}
	}
}
