package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

// Impairment of a link. The zero value is none. No bytes are lost: held bytes arrive when the impairment ends, as after a broken cable,
// unless one of the ends has given up.
type Impairment struct {
	// HoldToServer and HoldFromServer hold the bytes to the server and from it. A connection that is opened meanwhile transfers nothing in either
	// direction, because its handshake does not complete.
	HoldToServer, HoldFromServer bool
	// Delay of bytes, and up to Jitter more.
	Delay, Jitter time.Duration
	// Rate in bytes a second in each direction; 0 is unlimited.
	Rate int
	// LossShare is the share of chunks that are lost: TCP retransmits them after repeatAfter or longer, and all later bytes wait for them.
	// Seed selects them by their number on the link.
	LossShare float64
	Seed      uint64
	// Refuse resets new connections at once.
	Refuse bool
}

// Link is a connection path between two parts of the cluster. All its connections have its impairment.
type Link struct {
	Name string

	chunks atomic.Uint64 // number of chunks since the impairment was set

	mu         sync.Mutex // guards the fields below
	impairment Impairment
	changed    chan struct{} // closed and replaced when the impairment changes
	open       map[*proxiedConn]struct{}
}

// NewLink returns a link without impairment.
func NewLink(name string) *Link {
	return &Link{Name: name, changed: make(chan struct{}), open: map[*proxiedConn]struct{}{}}
}

// Set changes the impairment, also for open connections.
func (l *Link) Set(t Impairment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.impairment = t
	l.chunks.Store(0)
	close(l.changed)
	l.changed = make(chan struct{})
}

// Reset resets all connections, as a firewall that lost its state does.
func (l *Link) Reset() {
	l.mu.Lock()
	open := make([]*proxiedConn, 0, len(l.open))
	for p := range l.open {
		open = append(open, p)
	}
	l.mu.Unlock()
	for _, p := range open {
		p.reset()
	}
}

func (l *Link) current() (Impairment, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.impairment, l.changed
}

// inUse reports whether there are open connections.
func (l *Link) inUse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0
}

// awaitOpen waits until bytes may pass; it returns false when the connection has ended.
func (l *Link) awaitOpen(ctx context.Context, held func(Impairment) bool) (Impairment, bool) {
	for {
		t, changed := l.current()
		if !held(t) {
			return t, ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return t, false
		}
	}
}

// Route to a server: a link and an address.
type Route struct {
	Link    *Link
	Network string
	Address string
}

// Proxy listens on loopback and forwards each connection. Run must be running.
type Proxy struct {
	// routes returns the routes to try, in order, for a connection from an address.
	routes   func(from net.Addr) []Route
	listener net.Listener
}

// NewProxy starts to listen.
func NewProxy(routes func(from net.Addr) []Route) (*Proxy, error) {
	return newProxyAt("127.0.0.1:0", routes)
}

func newProxyAt(address string, routes func(from net.Addr) []Route) (*Proxy, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Proxy{routes: routes, listener: l}, nil
}

// Addr is the address that it listens on.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Run forwards connections until ctx ends, and then closes them.
func (p *Proxy) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	stop := context.AfterFunc(ctx, func() { _ = p.listener.Close() }) // it is closed only once
	defer stop()
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // perhaps out of file descriptors: the next one may succeed
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		group.Go(func() { p.pass(ctx, c) })
	}
}

// pass connects c to the first server that answers.
func (p *Proxy) pass(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.Close() //nolint:errcheck // it may be closed already
	for _, w := range p.routes(c.RemoteAddr()) {
		t, _ := w.Link.current()
		if t.Refuse {
			continue
		}
		// The handshake needs both directions. While it waits, the connection seems silent to its client; it ends when the client gives
		// up, or with the proxy.
		pass := &proxiedConn{near: c, end: cancel}
		w.Link.add(pass)
		if _, ok := w.Link.awaitOpen(ctx, func(t Impairment) bool { return t.HoldToServer || t.HoldFromServer }); !ok {
			w.Link.remove(pass)
			return
		}
		far, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, w.Network, w.Address)
		if err != nil {
			w.Link.remove(pass)
			continue
		}
		pass.far = far
		pass.run(ctx, w.Link)
		return
	}
	reset(c)
}

func (l *Link) add(p *proxiedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[p] = struct{}{}
}

func (l *Link) remove(p *proxiedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, p)
}

// proxiedConn is a connection over a link.
type proxiedConn struct {
	near, far net.Conn
	end       context.CancelFunc
}

func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // it may be closed already
	}
	_ = c.Close()
}

func (p *proxiedConn) reset() {
	reset(p.near)
	p.end()
}

func (p *proxiedConn) run(ctx context.Context, l *Link) {
	defer l.remove(p)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // wakes readers and writers
		_ = p.near.Close()
		_ = p.far.Close()
	})
	defer stop()
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		pump(ctx, l, p.near, p.far, func(t Impairment) bool { return t.HoldToServer })
	})
	group.Go(func() {
		defer cancel()
		pump(ctx, l, p.far, p.near, func(t Impairment) bool { return t.HoldFromServer })
	})
	group.Wait()
}

// chunk of bytes and its time of arrival.
type chunk struct {
	due   time.Time
	bytes []byte
}

// repeatAfter is TCP's minimum retransmission timeout, which doubles with each retry.
const repeatAfter = 200 * time.Millisecond

// inFlight is the number of chunks of at most 16 KiB on a link in one direction; beyond it, writers wait.
const inFlight = 32

// pump copies bytes in one direction until one end closes. The end of the stream follows the bytes, and is held like them.
func pump(ctx context.Context, l *Link, from, to net.Conn, held func(Impairment) bool) {
	ctx, cancel := context.WithCancel(ctx)
	inTransit := make(chan chunk, inFlight)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		defer close(inTransit)
		buf := make([]byte, 16<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				t, _ := l.current()
				due := time.Now().Add(t.Delay)
				if t.Jitter > 0 {
					due = due.Add(rand.N(t.Jitter))
				}
				for again := repeatAfter; t.LossShare > 0 && isLost(directionSeed(t.Seed, l.Name), l.chunks.Add(1)-1, t.LossShare); again *= 2 {
					due = due.Add(again)
				}
				select {
				case inTransit <- chunk{due, append([]byte(nil), buf[:n]...)}:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range inTransit {
		t, ok := l.awaitOpen(ctx, held)
		if wait := time.Until(c.due); ok && wait > 0 {
			ok = pause(ctx, wait)
		}
		if ok && t.Rate > 0 {
			ok = pause(ctx, time.Duration(len(c.bytes))*time.Second/time.Duration(t.Rate))
		}
		if !ok {
			break
		}
		if _, err := to.Write(c.bytes); err != nil {
			break
		}
	}
	_, _ = l.awaitOpen(ctx, held) // hold the end of the stream as well
	_ = from.Close()              // ends the reader
}

// pause sleeps for d; it returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool { return backoff.Sleep(ctx, d) == nil }
