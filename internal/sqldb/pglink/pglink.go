// Package pglink makes connections to PostgreSQL where one server takes writes and others follow it, so that what is said to be
// committed is on the standby that takes over. A Fence prepares them and owns nothing but its Watch.
//
// What a connection promises: it leads to a primary, of the database that the first one led to, and not to one that another has
// followed (each promotion raises the server's timeline; a server with an older one than was seen is refused, and connections to it
// that are open are Stale). Its commits wait for the standbys that synchronous_standby_names names, and a commit whose wait was ended
// before its end is known to be (Unconfirmed). It sends no request to cancel while it is sealed: such a request would end that wait. It
// shows nothing that a standby does not have: a server that starts again shows the commits that waited when it ended, so the first
// connection to it waits until a commit of its own has come through.
//
// All functions may be called from many goroutines.
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

// Fence keeps connections from leading to a server that another has followed.
type Fence struct {
	hosts   []host
	seen    atomic.Pointer[reign]  // the newest; nil: none yet
	serves  atomic.Int64           // index of the host that was the primary last
	through atomic.Pointer[string] // the start of a server through which a commit has come since

	mu   sync.Mutex     // guards busy and most
	busy map[*Link]bool // those with a deadline
	most int            // of busy, when it is looked through
}

// reign of a primary: a promotion begins a new one.
type reign struct {
	system   string // the database's own number, the same on all that follow it
	timeline uint64
}

// host of an address, with the ways to connect to it (with TLS and without, where the address leaves that open).
type host struct{ ways []*pgconn.FallbackConfig }

func (h host) String() string { return h.ways[0].Host + ":" + strconv.Itoa(int(h.ways[0].Port)) }

// New fence for the servers of an address, as it was parsed.
func New(c *pgconn.Config) *Fence {
	f := &Fence{busy: map[*Link]bool{}}
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	for _, way := range all {
		if n := len(f.hosts); n > 0 && f.hosts[n-1].ways[0].Host == way.Host && f.hosts[n-1].ways[0].Port == way.Port {
			f.hosts[n-1].ways = append(f.hosts[n-1].ways, way)
			continue
		}
		f.hosts = append(f.hosts, host{[]*pgconn.FallbackConfig{way}})
	}
	return f
}

// Several tells whether the address names several servers.
func (f *Fence) Several() bool { return len(f.hosts) > 1 }

// perHost is the patience with one of several servers.
const perHost = 3 * time.Second

// Ready prepares the configuration of one connection, a copy of its own. One that may not cancel is sealed for ever.
func (f *Fence) Ready(c *pgconn.Config, mayCancel bool) {
	l := &Link{fence: f}
	Keep(c)
	if f.Several() {
		f.order(c)
		if c.ConnectTimeout == 0 || c.ConnectTimeout > perHost {
			c.ConnectTimeout = perHost
		}
	}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if l.sealed.Load() {
			return nil, errSealed
		}
		made, err := dial(ctx, network, address)
		if err != nil || l.ready.Load() { // to cancel
			return made, err
		}
		return &limited{made, l}, nil
	}
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := f.check(ctx, conn, l); err != nil {
			return err
		}
		conn.CustomData()[key], l.conn = l, conn
		l.ready.Store(true)
		l.sealed.Store(!mayCancel)
		return nil
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		// "canceling wait for synchronous replication": its words are the server's language, the place that says it is not.
		if n.Routine == "SyncRepWaitForLSN" {
			l.unconfirmed.Store(true)
		}
	}
	c.RuntimeParams = with(c.RuntimeParams, map[string]string{"synchronous_commit": "on", "client_min_messages": "warning"})
}

// Keep has both ends of a connection find out within half a minute that the other has gone without a word, as where a network drops all.
// By itself the server would keep such a connection for hours, with the locks of its session, and the next connection that writes would
// wait for them; and this end would find at its next use, after the patience of that, that it leads nowhere. Ready has it done; it is for
// connections that are made otherwise.
func Keep(c *pgconn.Config) {
	// Over a socket file the server takes these, and has no use for them.
	c.RuntimeParams = with(c.RuntimeParams, map[string]string{
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", // where nothing is under way
		"tcp_user_timeout": "30000", // ms, where an answer is
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

func with(params, more map[string]string) map[string]string {
	all := make(map[string]string, len(params)+len(more))
	for _, m := range []map[string]string{params, more} {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}

// order puts the server that was the primary last first: one before it that is silent would cost each connection its patience.
func (f *Fence) order(c *pgconn.Config) {
	first := int(f.serves.Load())
	var ways []*pgconn.FallbackConfig
	for i := range f.hosts {
		ways = append(ways, f.hosts[(first+i)%len(f.hosts)].ways...)
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = ways[0].Host, ways[0].Port, ways[0].TLSConfig, ways[1:]
}

var (
	errSealed  = errors.New("a connection that may wait for a standby cancels nothing")
	errStandby = errors.New("it is a standby; the address must name the server that takes writes, or all that may")
)

// Link is what is known of a connection.
type Link struct {
	fence       *Fence
	conn        *pgconn.PgConn
	reign       reign
	alone       bool
	ready       atomic.Bool // connected
	sealed      atomic.Bool
	unconfirmed atomic.Bool
	mu          sync.Mutex                // held while until and the deadline of the connection change together
	until       atomic.Pointer[time.Time] // when it ends in any case; nil: never. It has the monotonic clock, which nobody sets
}

const key = "pglink"

// Of a connection that was made with a prepared configuration.
func Of(conn *pgconn.PgConn) *Link {
	l, ok := conn.CustomData()[key].(*Link)
	if !ok {
		panic("pglink: a connection that no fence has prepared")
	}
	return l
}

// Stale tells that the connection leads to a server that another has followed.
func (l *Link) Stale() bool {
	seen := l.fence.seen.Load()
	return seen != nil && l.reign.timeline < seen.timeline
}

// Alone tells that commits wait for no standby: the server names none.
func (l *Link) Alone() bool { return l.alone }

// Unconfirmed tells that a commit on this connection was answered before its standby had it. The connection is not to be used further.
func (l *Link) Unconfirmed() bool { return l.unconfirmed.Load() }

// Seal keeps requests to cancel from being sent, or allows them again.
func (l *Link) Seal(sealed bool) { l.sealed.Store(sealed) }

// Lost tells that the connection has ended.
func (l *Link) Lost() bool { return l.conn.IsClosed() }

// Deadline ends the connection after a time, whatever it does, or as soon as it is stale; 0 takes that back.
func (l *Link) Deadline(in time.Duration) {
	if in == 0 {
		l.fence.forget(l)
		l.end(time.Time{})
		return
	}
	l.end(time.Now().Add(in))
	l.fence.note(l)
	if l.Stale() {
		l.end(time.Unix(1, 0))
	}
}

// gone tells that the connection was closed, to any goroutine.
func (l *Link) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.Conn().SetDeadline(time.Time{}) != nil // it stays what it is: limited has it
}

func (l *Link) end(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.IsZero() {
		l.until.Store(nil)
	} else {
		l.until.Store(&at)
	}
	_ = l.conn.Conn().SetDeadline(at) // of a connection that ended: the next use says so
}

// note that a connection has a deadline. Those that were ended without taking it back are forgotten.
func (f *Fence) note(l *Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[l] = true
	if len(f.busy) < f.most {
		return
	}
	for l := range f.busy {
		if l.gone() {
			delete(f.busy, l)
		}
	}
	f.most = max(2*len(f.busy), 64)
}

func (f *Fence) forget(l *Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.busy, l)
}

// cut ends what is under way on connections to a server that another has followed.
func (f *Fence) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.busy {
		if l.Stale() {
			l.end(time.Unix(1, 0))
		}
	}
}

// limited is a connection whose deadlines are within that of its link.
type limited struct {
	net.Conn
	link *Link
}

func (c *limited) within(t time.Time) time.Time {
	if until := c.link.until.Load(); until != nil && (t.IsZero() || t.After(*until)) {
		return *until
	}
	return t
}

func (c *limited) SetDeadline(t time.Time) error      { return c.Conn.SetDeadline(c.within(t)) }
func (c *limited) SetReadDeadline(t time.Time) error  { return c.Conn.SetReadDeadline(c.within(t)) }
func (c *limited) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.within(t)) }

// Timeline of the newest primary that was seen; 0 where none was.
func (f *Fence) Timeline() uint64 {
	if seen := f.seen.Load(); seen != nil {
		return seen.timeline
	}
	return 0
}

// Follows tells whether a standby that is on a timeline of a system has all that the primary had when it began to be it.
func (f *Fence) Follows(system string, timeline uint64) bool {
	seen := f.seen.Load()
	return seen == nil || seen.system == system && timeline >= seen.timeline
}

// raise takes note of a primary, and refuses one that another has followed.
func (f *Fence) raise(r reign, where string) error {
	for {
		seen := f.seen.Load()
		switch {
		case r.timeline == 0: // the server does not tell
			return nil
		case seen == nil:
		case seen.system != r.system:
			return fmt.Errorf("%s is not the database that this node has used (system identifier %s, not %s); if that is meant, start the node again", where, r.system, seen.system)
		case r.timeline < seen.timeline:
			return fmt.Errorf("%s was the primary once (timeline %d), and another has followed it (timeline %d); stop it", where, r.timeline, seen.timeline)
		case r.timeline == seen.timeline:
			return nil
		}
		if f.seen.CompareAndSwap(seen, &r) {
			f.cut()
			return nil
		}
	}
}
