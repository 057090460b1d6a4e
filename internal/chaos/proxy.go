package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Trouble of a link. The zero value is none. TCP loses no bytes: what is held comes when the trouble is over, as after a broken
// cable, unless one of the ends has given up before.
type Trouble struct {
	// Forth and Back hold what goes to the server, and what comes from it. A connection that begins meanwhile brings nothing in
	// either direction, as its first packets do not come through.
	Forth, Back bool
	// Delay of what passes, and up to Jitter more.
	Delay, Jitter time.Duration
	// Rate of bytes in a second in each direction; 0: any.
	Rate int
	// Lose so much of what passes, by chance: it comes when TCP has repeated it, after repeatAfter or longer, and all behind it.
	Lose float64
	// Refuse ends connections as they come.
	Refuse bool
}

// Link is a way between two parts of the deployment. Connections over it have its trouble.
type Link struct {
	Name string

	mu      sync.Mutex // guards all below
	trouble Trouble
	changed chan struct{} // closed and replaced when trouble changes
	open    map[*passage]struct{}
}

// NewLink makes a link without trouble.
func NewLink(name string) *Link {
	return &Link{Name: name, changed: make(chan struct{}), open: map[*passage]struct{}{}}
}

// Set changes what connections go through, from now on.
func (l *Link) Set(t Trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = t
	close(l.changed)
	l.changed = make(chan struct{})
}

// Reset ends all connections, as a firewall that forgot them does.
func (l *Link) Reset() {
	l.mu.Lock()
	open := make([]*passage, 0, len(l.open))
	for p := range l.open {
		open = append(open, p)
	}
	l.mu.Unlock()
	for _, p := range open {
		p.reset()
	}
}

func (l *Link) now() (Trouble, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble, l.changed
}

// inUse tells whether connections are open.
func (l *Link) inUse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0
}

// passable waits until bytes may pass; false when the passage has ended.
func (l *Link) passable(ctx context.Context, held func(Trouble) bool) (Trouble, bool) {
	for {
		t, changed := l.now()
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

// Way to a server: over a link to an address.
type Way struct {
	Link    *Link
	Network string
	Address string
}

// Proxy listens on a port of loopback, and passes each connection on. Run must be running.
type Proxy struct {
	// Ways to try, in order, for a connection from an address.
	ways     func(from net.Addr) []Way
	listener net.Listener
}

// NewProxy listens.
func NewProxy(ways func(from net.Addr) []Way) (*Proxy, error) { return newProxyAt("127.0.0.1:0", ways) }

func newProxyAt(address string, ways func(from net.Addr) []Way) (*Proxy, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Proxy{ways: ways, listener: l}, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Run passes connections until ctx ends, and ends them then.
func (p *Proxy) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	stop := context.AfterFunc(ctx, func() { _ = p.listener.Close() }) // it is closed once
	defer stop()
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of files, perhaps: the next may do
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
	for _, w := range p.ways(c.RemoteAddr()) {
		t, _ := w.Link.now()
		if t.Refuse {
			continue
		}
		// Its first packets must come through both ways. What waits so is a connection that does not open, to its client one that is
		// silent; it ends when the client gives up, or with the proxy.
		pass := &passage{near: c, end: cancel}
		w.Link.enter(pass)
		if _, ok := w.Link.passable(ctx, func(t Trouble) bool { return t.Forth || t.Back }); !ok {
			w.Link.leave(pass)
			return
		}
		far, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, w.Network, w.Address)
		if err != nil {
			w.Link.leave(pass)
			continue
		}
		pass.far = far
		pass.run(ctx, w.Link)
		return
	}
	reset(c)
}

func (l *Link) enter(p *passage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[p] = struct{}{}
}

func (l *Link) leave(p *passage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, p)
}

// passage is a connection over a link.
type passage struct {
	near, far net.Conn
	end       context.CancelFunc
}

func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // it may be closed already
	}
	_ = c.Close()
}

func (p *passage) reset() {
	reset(p.near)
	p.end()
}

func (p *passage) run(ctx context.Context, l *Link) {
	defer l.leave(p)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // wakes who reads or writes
		_ = p.near.Close()
		_ = p.far.Close()
	})
	defer stop()
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		pump(ctx, l, p.near, p.far, func(t Trouble) bool { return t.Forth })
	})
	group.Go(func() {
		defer cancel()
		pump(ctx, l, p.far, p.near, func(t Trouble) bool { return t.Back })
	})
	group.Wait()
}

// chunk of bytes, and when it has come so far.
type chunk struct {
	due   time.Time
	bytes []byte
}

// repeatAfter is how long TCP waits, at least, until it repeats what was not acknowledged; and then twice as long.
const repeatAfter = 200 * time.Millisecond

// inFlight chunks of 16 KiB at most are on a link in one direction; who writes waits then.
const inFlight = 32

// pump carries bytes in one direction until one of the ends closes. The end itself comes behind the bytes, and is held as they are.
func pump(ctx context.Context, l *Link, from, to net.Conn, held func(Trouble) bool) {
	ctx, cancel := context.WithCancel(ctx)
	way := make(chan chunk, inFlight)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		defer close(way)
		buf := make([]byte, 16<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				t, _ := l.now()
				due := time.Now().Add(t.Delay)
				if t.Jitter > 0 {
					due = due.Add(rand.N(t.Jitter))
				}
				for again := repeatAfter; t.Lose > 0 && rand.Float64() < t.Lose; again *= 2 {
					due = due.Add(again)
				}
				select {
				case way <- chunk{due, append([]byte(nil), buf[:n]...)}:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range way {
		t, ok := l.passable(ctx, held)
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
	_, _ = l.passable(ctx, held) // an end that the other does not see yet
	_ = from.Close()             // so that the reader ends
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
