package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/backoff"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

const (
	// stayAway is the first close code after which a client does not reconnect (docs/protocol.md).
	stayAway = 4100
	// firstWait and longestWait bound the random delay before a reconnect, which doubles with each attempt.
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
	// dialTime limits opening a connection.
	dialTime = 10 * time.Second
	// silence is the time after which a connection counts as dead: pings are answered every 5 s.
	silence = 35 * time.Second
	// Each client sends a ping once in beatEvery, in one of beatTurns turns: pings of many clients do not come all at once.
	beatEvery = 5 * time.Second
	beatTurns = 250
)

// lostError is a broken connection, or one that the server closed with a code that allows to reconnect.
type lostError struct {
	cause error
	retry time.Duration // minimum delay
}

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// outages measures how long no client had a connection.
type outages struct {
	mu      sync.Mutex // guards all
	up      int
	since   time.Time // zero while a client is connected
	took    time.Duration
	lastErr error
}

func (o *outages) connected() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up++; !o.since.IsZero() {
		o.took += time.Since(o.since)
		o.since = time.Time{}
	}
}

func (o *outages) lost(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastErr = err
	if o.up--; o.up == 0 {
		o.since = time.Now()
	}
}

func (o *outages) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastErr = err
}

// state returns the number of connected clients, how long none has been connected, and the last error.
func (o *outages) state() (up int, none time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		none = time.Since(o.since)
	}
	return o.up, none, o.lastErr
}

// total returns the time without any connection.
func (o *outages) total() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.took
}

// read reads until the load is over, and reconnects after a lost connection. Any other error ends the load.
func (l *load) read(ctx context.Context, c *client) {
	for {
		err := c.run()
		if ctx.Err() != nil {
			return
		}
		lost := (*lostError)(nil)
		if !errors.As(err, &lost) {
			l.fail(fmt.Errorf("connection to %s: %w", l.deploy.endpoints[c.endpointIndex].url, err))
			return
		}
		c.disconnect()
		c.lostAt = time.Now()
		l.outages.lost(fmt.Errorf("%s: %w", l.deploy.endpoints[c.endpointIndex].url, err))
		if !l.reconnect(ctx, c, lost.retry) {
			return
		}
		c.away = max(c.away, time.Since(c.lostAt))
		c.reconnects++
		l.outages.connected()
		if err := c.resume(); err != nil {
			l.fail(err)
			return
		}
	}
}

// disconnect gives up a connection; nothing is written until there is a new one.
func (c *client) disconnect() {
	c.writes.Lock()
	defer c.writes.Unlock()
	c.down = true
	_ = c.sock.close() // it may be closed already
}

// reconnect tries all endpoints in turn, the previous one first, with exponential backoff; it returns false if the load is over.
func (l *load) reconnect(ctx context.Context, c *client, notBefore time.Duration) bool {
	wait := firstWait
	for try := 0; ; try++ {
		if backoff.Sleep(ctx, max(notBefore, rand.N(wait))) != nil { // as docs/protocol.md asks of clients
			return false
		}
		notBefore, wait = 0, min(2*wait, longestWait)
		at := (c.endpointIndex + try) % len(l.deploy.endpoints)
		sock, err := l.redial(ctx, c, at)
		if err == nil {
			c.writes.Lock()
			c.sock, c.endpointIndex = sock, at
			over := ctx.Err() != nil // nobody else would close the new connection
			c.writes.Unlock()
			if over {
				c.disconnect()
			}
			return !over
		}
		l.outages.failed(fmt.Errorf("%s: %w", l.deploy.endpoints[at].url, err))
	}
}

// redial opens a connection within dialTime.
func (l *load) redial(ctx context.Context, c *client, at int) (connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	sock, _, err := l.openFresh(ctx, c.number, c.user, c.device, at, c.position)
	return sock, err
}

// openFresh opens a connection, with a new token if the old one has expired.
func (l *load) openFresh(ctx context.Context, i uint32, u *user, device, at int, after uint64) (connection, *gatewayv1.Hello, error) {
	sock, hello, err := l.open(ctx, i, u, device, at, after)
	if refused := ws.StatusError(0); errors.As(err, &refused) && refused == 401 || errors.Is(err, errBadToken) {
		s, rerr := l.deploy.endpoints[at].accounts.Refresh(ctx, connect.NewRequest(&accountv1.RefreshRequest{RefreshToken: u.sessions[device].RefreshToken}))
		if rerr != nil {
			return nil, nil, fmt.Errorf("refreshing a token: %w", rerr)
		}
		u.sessions[device] = s.Msg
		return l.open(ctx, i, u, device, at, after)
	}
	return sock, hello, err
}

// resume sends messages without a receipt again, oldest first, and requests missed events.
func (c *client) resume() error {
	c.syncing, c.buffered = false, nil
	clear(c.pulling)
	c.writes.Lock()
	c.down, c.sent, c.retryAt = false, c.ackedTo, time.Time{}
	c.sendPending()
	c.writes.Unlock()
	return c.catchUp()
}

// watch runs until ctx ends. It ends the load if no server answered for --patience, sends refused messages again, and detects silent
// connections.
func (l *load) watch(ctx context.Context) {
	tick := time.NewTicker(beatEvery / beatTurns)
	defer tick.Stop()
	for start, turn := time.Now(), 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, none, err := l.outages.state(); none > l.config.patience {
			l.fail(fmt.Errorf("no server has accepted a connection for %v, longer than --patience; the last attempt: %w", none.Round(time.Second), err))
			return
		}
		now := time.Now()
		for ; time.Duration(turn)*(beatEvery/beatTurns) < now.Sub(start); turn++ {
			for i := turn % beatTurns; i < len(l.clients); i += beatTurns {
				l.beat(l.clients[i], now)
			}
		}
		for _, c := range l.clients {
			c.writes.Lock()
			c.retry(now)
			c.writes.Unlock()
		}
	}
}

// beat tells the server that a client is alive, and gives it more time for the next answer if something has come since the last time.
func (l *load) beat(c *client, now time.Time) {
	if err := c.writeFrame(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}}); err != nil {
		l.fail(err)
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	if c.active.Swap(false) {
		_ = c.sock.setDeadline(now.Add(silence)) // it may be closed; then reading fails as well
	}
}
