package cluster

import (
	"context"
	"log/slog"
	"time"
)

// Periodic is work that one node, the coordinator, does for all, again and again. Another node may do it as well for a moment, so it must do no harm
// twice at once.
type Periodic struct {
	// IsCoordinator reports whether this node is the coordinator. If nil, it is.
	IsCoordinator func() bool
	Interval      time.Duration
	// Wake has a value when the next round must not wait for Interval. It may be nil.
	Wake <-chan struct{}
	// AtStart: the first round comes at once, also on a node that is not the coordinator. At its start a node does not know that yet, and the interval
	// may be long.
	AtStart bool
	// Round does the work once. If it fails, the log has Failed and the error, and the next round tries again.
	Round  func(ctx context.Context) error
	Failed string
	// Idle is called in place of Round on other nodes. It may be nil.
	Idle   func()
	Logger *slog.Logger
}

// Run runs the rounds until ctx ends.
func (p *Periodic) Run(ctx context.Context) {
	if p.AtStart {
		p.round(ctx)
	}
	tick := time.NewTicker(p.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.Wake:
		case <-ctx.Done():
			return
		}
		switch {
		case p.IsCoordinator == nil || p.IsCoordinator():
			p.round(ctx)
		case p.Idle != nil:
			p.Idle()
		}
	}
}

func (p *Periodic) round(ctx context.Context) {
	if err := p.Round(ctx); err != nil && ctx.Err() == nil {
		p.Logger.Warn(p.Failed, "error", err)
	}
}
