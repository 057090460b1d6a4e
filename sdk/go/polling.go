package rialto

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

const (
	// pollEvery is how long a poll waits for an event at the server, or else the time between two polls.
	pollEvery = 5 * time.Second
	// mostLarge is the number of large groups of which a poll that waits names how far they are.
	mostLarge = 500
)

// polling takes the place of the socket while none opens: calls may get through where no socket does. They wait for events at the server (long polling),
// unless the network breaks calls that wait. Tries to open a socket go on meanwhile. The goroutine of polling calls Config.Handler in place of Run's, never beside it.
type polling struct {
	client *Client

	// Of the goroutine that calls start and stop.
	cancel  context.CancelFunc // nil unless it runs
	running sync.WaitGroup

	// Of the polling goroutine.
	broken bool                // calls that wait do not get through
	synced bool                // the last call waited, and has the stream up to its end
	large  []*chatv1.LargeTail // how far the large groups are, as the server said last
}

// start polls until stop, or until ctx ends.
func (p *polling) start(ctx context.Context) {
	if p.cancel != nil {
		return
	}
	ctx, p.cancel = context.WithCancel(ctx)
	p.broken, p.synced, p.large = false, false, nil
	p.running.Go(func() { p.run(ctx) })
}

// stop returns when nothing polls any more.
func (p *polling) stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	p.running.Wait()
	p.cancel = nil
}

func (p *polling) run(ctx context.Context) {
	for ctx.Err() == nil {
		wake := p.client.wakeup()
		again, err := p.poll(ctx, wake)
		if err != nil && ctx.Err() == nil {
			p.client.config.Logger.Info("polling failed", "error", err)
		}
		if again {
			continue
		}
		pause := time.NewTimer(pollEvery*4/5 + rand.N(pollEvery*2/5))
		select {
		case <-pause.C:
		case <-wake:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// poll reads the stream, sends, and waits for events, or until something is to be sent. It reports whether the next poll comes at once.
func (p *polling) poll(ctx context.Context, wake <-chan struct{}) (again bool, err error) {
	if !p.synced {
		if err := p.client.sync(ctx); err != nil {
			return false, err
		}
	}
	p.synced = false
	if err := p.client.sendByCall(ctx); err != nil {
		return false, err
	}
	if err := p.client.sendMarksByCall(ctx); err != nil || p.broken {
		return false, err
	}
	return p.wait(ctx, wake)
}

// wait makes a call that waits at the server.
func (p *polling) wait(under context.Context, wake <-chan struct{}) (again bool, err error) {
	ctx, cancel := context.WithCancel(under)
	var woken atomic.Bool
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-wake:
			woken.Store(true)
			cancel()
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel()
	began, c := time.Now(), p.client
	page, err := c.chat.Sync(ctx, connect.NewRequest(&chatv1.SyncRequest{After: c.position(), Limit: syncPage, WaitMs: uint32(pollEvery.Milliseconds()), Large: p.large}))
	if err != nil {
		p.broken = connect.CodeOf(err) != connect.CodeCanceled // whether calls fail at all, the next poll finds out
		return true, nil
	}
	if err := c.takePage(under, page.Msg, true); err != nil {
		return false, err
	}
	grown := p.hasGrown(page.Msg.Large)
	p.large, p.synced = page.Msg.Large[:min(len(page.Msg.Large), mostLarge)], !page.Msg.More
	// A server that does not know of waiting answers at once, with nothing.
	return grown || page.Msg.More || len(page.Msg.Events) > 0 || woken.Load() || time.Since(began) >= pollEvery*4/5, nil
}

// hasGrown reports whether a large group is further than the server said last.
func (p *polling) hasGrown(tails []*chatv1.LargeTail) bool {
	known := make(map[uint64]uint64, len(p.large))
	for _, t := range p.large {
		known[t.Conversation] = t.LastSeq
	}
	for _, t := range tails {
		if t.LastSeq > known[t.Conversation] {
			return true
		}
	}
	return false
}

// wakeup returns a channel that is closed when something is to be sent.
func (c *Client) wakeup() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wake
}

// sendMarksByCall sends the cursors that moved while there was no socket.
func (c *Client) sendMarksByCall(ctx context.Context) error {
	c.mu.Lock()
	list := make([]*gatewayv1.Mark, 0, len(c.unsentMarks))
	for conversation := range c.unsentMarks {
		list = append(list, c.marks[conversation])
	}
	c.mu.Unlock()
	for _, m := range list {
		_, err := c.chat.Mark(ctx, connect.NewRequest(&chatv1.MarkRequest{Conversation: m.Conversation, DeliveredSeq: m.DeliveredSeq, ReadSeq: m.ReadSeq}))
		if err != nil && !isAnswer(err) {
			return err
		}
		c.mu.Lock()
		if c.marks[m.Conversation] == m { // else it has moved further
			delete(c.unsentMarks, m.Conversation)
		}
		c.mu.Unlock()
	}
	return nil
}

// isAnswer reports whether an error is the server's word on a request, which a retry would not change.
func isAnswer(err error) bool {
	switch code := connect.CodeOf(err); code {
	case connect.CodeUnavailable, connect.CodeUnauthenticated, connect.CodeInternal, connect.CodeUnknown:
		return false
	}
	return connect.IsWireError(err)
}
