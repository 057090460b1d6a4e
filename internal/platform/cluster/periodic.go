package cluster

import (
	"context"
	"log/slog"
	"time"
)

// Periodic is periodic work that the coordinator does for all nodes. During a change of coordinators two nodes may do it at once, so it must be
// idempotent.
type Periodic struct {
	// IsCoordinator reports whether this node is the coordinator. If nil, it is.
	IsCoordinator func() bool
	Interval      time.Duration
	// Wake has a value when the next round must not wait for Interval. It may be nil.
	Wake <-chan struct{}
	// AtStart runs the first round at once, on every node: at its start a node does not know the coordinator yet, and the interval may be long.
	AtStart bool
	// Round does the work once. If it fails, the log has Failed and the error, and the next round tries again.
	Round  func(ctx context.Context) error
	Failed string
	// NotCoordinator is called in place of Round on other nodes. It may be nil.
	NotCoordinator func()
	Logger         *slog.Logger
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
		case p.NotCoordinator != nil:
			p.NotCoordinator()
		}
	}
}

func (p *Periodic) round(ctx context.Context) {
	if err := p.Round(ctx); err != nil && ctx.Err() == nil {
		p.Logger.Warn(p.Failed, "error", err)
	}
}
