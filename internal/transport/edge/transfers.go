package edge

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// reviewInterval is how often transfers in progress are reviewed.
const reviewInterval = 100 * time.Millisecond

// begin notes that a transfer is in progress, and returns what notes its end.
func (s *Server) begin(g *grant, a *address) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.transfers++
	g.address = a
	if old := s.running[a.scope]; old == nil || old.ctx.Err() != nil {
		s.running[a.scope] = g
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if g.transfers--; g.transfers == 0 && s.running[a.scope] == g {
			delete(s.running, a.scope)
		}
	}
}

// reviewAll reviews transfers in progress until ctx ends.
func (s *Server) reviewAll(ctx context.Context) {
	var asks sync.WaitGroup
	defer asks.Wait()
	tick := time.NewTicker(reviewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.review(ctx, &asks)
		}
	}
}

// review looks for transfers that may show what was hidden: the edge has no word of the origin, or has missed changes. It asks about each of their scopes again, by
// a goroutine of asks for each. Those that are not confirmed within lease end.
func (s *Server) review(ctx context.Context, asks *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.deps.Clock.Now()
	for scope, g := range s.running {
		switch {
		case g.ctx.Err() != nil: // its transfers are ending
			continue
		case now.Sub(g.asked) < askedLife, g.run == s.changes.run && g.run > 0 && s.changes.fresh(now):
			g.doubted = time.Time{}
			continue
		case g.doubted.IsZero():
			g.doubted = now
		case now.Sub(g.doubted) >= lease:
			s.revoke(scope, errOrigin(errUnconfirmed))
			continue
		}
		if !g.asking {
			g.asking = true
			address := g.address
			asks.Go(func() { s.askAgain(ctx, g, address) })
		}
	}
}

var errUnconfirmed = errs.New(errs.Unavailable, "storage", "no origin has confirmed in time that the file may still be seen")

// askAgain asks about the latest transfer of a grant, which ends if the file is not there for it any more.
func (s *Server) askAgain(ctx context.Context, g *grant, latest *address) {
	err := s.confirm(ctx, latest, s.deps.Clock.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	g.asking = false
	if errs.Is(err, errs.NotFound) { // also if its file was not known any more
		g.end(err)
	}
}
