package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// feedHints are what connected readers are told of new posts.
type feedHints struct {
	mu         sync.Mutex // guards the fields below
	connected  int
	reconnects uint64
	count      uint64
	times      histogram // from the sending of a post to each hint of it
	early      []earlyHint
}

// earlyHint came before the answer to the post.
type earlyHint struct {
	post uint64
	at   moment
}

// maxEarly bounds the hints that wait for the answers to their posts.
const maxEarly = 100_000

// hint measures a hint.
func (l *feedLoad) hint(post uint64) {
	at := l.now()
	sent, known := l.model.sentAt(post)
	h := &l.hints
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	switch {
	case known:
		h.times.add(time.Duration(at - sent))
	case len(h.early) < maxEarly:
		h.early = append(h.early, earlyHint{post, at})
	}
}

// settle measures the hints that came before the answers.
func (h *feedHints) settle(m *feedModel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.early {
		if sent, known := m.sentAt(e.post); known {
			h.times.add(time.Duration(e.at - sent))
		}
	}
	h.early = nil
}

// listen holds a reader's connection until ctx ends, and reconnects.
func (l *feedLoad) listen(ctx context.Context, user int) {
	for wait, try := firstCallWait, user; ctx.Err() == nil; try++ {
		at := l.deploy.endpoints[try%len(l.deploy.endpoints)]
		begun, err := l.listenAt(ctx, at, user)
		if ctx.Err() != nil {
			return
		}
		if lost := (*lostError)(nil); begun && err != nil && !errors.As(err, &lost) {
			l.fail(fmt.Errorf("connection to %s: %w", at.url, err))
			return
		}
		if begun {
			wait = firstCallWait
		} else if err := l.refresh(ctx, at, user); err != nil && !isTemporary(err) {
			l.fail(err)
			return
		}
		_ = backoff.Sleep(ctx, rand.N(wait))
		wait = min(2*wait, longestCallWait)
	}
}

// listenAt reads one connection until it ends. begun is whether the server accepted it.
func (l *feedLoad) listenAt(ctx context.Context, at *endpoint, user int) (begun bool, err error) {
	dialing, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	sock, err := dial(dialing, at.url, l.token(user), nil, 4<<10)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = sock.net.Close() })
	defer stop()
	defer sock.net.Close()
	if _, err := readHello(sock); err != nil {
		return false, err
	}
	l.hints.change(1)
	defer l.hints.change(-1)
	pinging, end := context.WithCancel(ctx)
	var pings sync.WaitGroup
	defer pings.Wait()
	defer end()
	pings.Go(func() { ping(pinging, sock) })
	for {
		if err := sock.net.SetDeadline(time.Now().Add(silence)); err != nil {
			return true, &lostError{cause: err}
		}
		p, err := sock.next()
		if err != nil {
			return true, err
		}
		var f gatewayv1.ServerFrame
		if err := proto.Unmarshal(p, &f); err != nil {
			return true, err
		}
		for _, h := range f.Posts {
			l.hint(h.Post)
		}
	}
}

// ping keeps a connection open on which nothing else is sent, until ctx ends or the connection does.
func ping(ctx context.Context, sock *socket) {
	for backoff.Sleep(ctx, pingInterval) == nil {
		if sock.write(pingFrame) != nil {
			return // reading fails as well
		}
	}
}

const pingInterval = 5 * time.Second

// pingFrame is an encoded ClientFrame with a Ping.
var pingFrame = []byte{7<<3 | 2, 0}

func (h *feedHints) change(by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.connected += by; by < 0 {
		h.reconnects++
	}
}

// awaitConnected waits until all connections are open.
func (h *feedHints) awaitConnected(ctx context.Context, l *feedLoad) error {
	for begin := time.Now(); l.failure() == nil; {
		h.mu.Lock()
		connected := h.connected
		h.mu.Unlock()
		if connected >= l.config.online {
			return nil
		}
		if time.Since(begin) > l.config.patience {
			return fmt.Errorf("only %d of %d followers could connect within --patience", connected, l.config.online)
		}
		if err := backoff.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return l.failure()
}
