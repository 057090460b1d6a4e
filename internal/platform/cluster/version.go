package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/telemetry"
)

// Version of the formats that nodes exchange on the bus and in shared stores.
//
// A release that adds a format speaks the next protocol, and still understands the previous one, so two successive releases can run
// in one cluster. A node uses the new format only when Service.Protocol has reached its number, which means that every node knows it.
// From then on an older release cannot join. docs/formats/compatibility.md has the rules.
type Version struct {
	// Release is the human-readable name of the build.
	Release string
	// Speaks is the newest protocol that the build knows.
	Speaks int
	// Understands is the oldest protocol that the build works with.
	Understands int
}

// thisBuild returns the version of the running binary.
func thisBuild() Version {
	b := telemetry.ThisBuild()
	return Version{Release: b.Version + " " + b.Short(), Speaks: Speaks, Understands: Understands}
}

// errVersion is wrapped by each error that stops a node, or keeps it from starting, because releases are incompatible.
var errVersion = errors.New("these releases cannot serve together")

// Protocol returns the newest protocol that all nodes know: a node may use every format up to it. It never decreases. Other nodes may
// see a higher one a moment earlier.
func (s *Service) Protocol() int { return s.view.Load().protocol }

// incompatible returns why this node cannot run beside another one, or nil if it can.
func (d *decisions) incompatible(o *member) error {
	me := d.me.Version
	switch {
	case o.Speaks < me.Understands:
		return fmt.Errorf("%w: node %s runs release %q with protocol %d, and this release %q needs protocol %d or later. Upgrade %s first, to a release with protocol %d or the next",
			errVersion, o.Name, o.Release, o.Speaks, me.Release, me.Understands, o.Name, o.Speaks+1)
	case me.Speaks < o.Understands:
		return fmt.Errorf("%w: node %s runs release %q, which needs protocol %d or later, and this release %q speaks %d. Upgrade this node to %q",
			errVersion, o.Name, o.Release, o.Understands, me.Release, me.Speaks, o.Release)
	}
	return nil
}

// checkProtocol returns an error if the nodes already use formats that this build does not know.
func (d *decisions) checkProtocol(protocol int) error {
	if d.me.Speaks >= protocol {
		return nil
	}
	return fmt.Errorf("%w: the cluster uses protocol %d, and this release %q speaks %d, so it cannot read what the other nodes store. Upgrade this node to their release",
		errVersion, protocol, d.me.Release, d.me.Speaks)
}

// awaitCompatible fails if an incompatible node is alive. A row alone does not prove that its node is, so if there are rows of
// incompatible nodes, it watches them until one sends a heartbeat or all are considered dead.
func (s *Service) awaitCompatible(ctx context.Context) error {
	var began time.Time
	for first := true; ; first = false {
		now, err := s.store.read(ctx)
		if err != nil {
			return err
		}
		if err := s.checkProtocol(now.protocol); err != nil {
			return err
		}
		at := time.Now()
		if first {
			began = at
		}
		s.observe(now, at)
		waits := false
		for _, m := range now.members {
			why := s.incompatible(m)
			if m.Name == s.me.Name || why == nil {
				continue // this node is about to take over the row with its name
			}
			seen := s.aliveSince(m, at)
			if seen.After(began) {
				return why // it is alive
			}
			waits = waits || at.Sub(seen) <= s.config.NodeTimeout
		}
		if !waits {
			return nil
		}
		if err := backoff.Sleep(ctx, s.config.HeartbeatInterval); err != nil {
			return err
		}
	}
}

// checkVersions returns an error if this node cannot run beside a live one. Of two incompatible nodes, the one with the newer release
// stops.
func (d *decisions) checkVersions(now state, live []*member) error {
	if err := d.checkProtocol(now.protocol); err != nil {
		return err
	}
	for _, m := range live {
		why := d.incompatible(m)
		switch {
		case why == nil:
		case m.Speaks < d.me.Understands:
			return why
		default:
			d.logger.Warn("an incompatible node is still running; it should have stopped itself", "node", m.Name, "error", why)
		}
	}
	return nil
}

// raiseProtocol raises the protocol once every node with a row speaks it. Rows of dead nodes count too until they are deleted, because
// such a node may come back.
func (s *Service) raiseProtocol(ctx context.Context, now *state) error {
	lowest := s.me.Speaks
	for _, m := range now.members {
		lowest = min(lowest, m.Speaks)
	}
	if lowest <= now.protocol {
		return nil
	}
	made, err := s.store.raiseProtocol(ctx, lowest)
	if err != nil || !made {
		return err
	}
	if now.protocol > 0 { // 0: the first node of a new cluster
		s.deps.Logger.Info("the cluster uses a newer protocol from now on, because all nodes speak it", "before", now.protocol, "now", lowest)
	}
	now.protocol = lowest
	return nil
}
