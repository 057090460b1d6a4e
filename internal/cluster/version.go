package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Version of what nodes say to each other on the bus, and leave for each other in shared stores.
//
// A release that adds a form speaks the next protocol, and still understands the one before: so two successive releases serve
// together. No node uses the new form before Service.Protocol gives its number, which it does when every node knows it; from then
// on an older release cannot join. docs/formats/compatibility.md has the rules.
type Version struct {
	// Release is the build's name, for people.
	Release string
	// Speaks is the newest protocol that the build knows.
	Speaks int
	// Understands is the oldest that it works with.
	Understands int
}

// thisBuild is what the zero Version stands for.
func thisBuild() Version {
	v := Version{Release: "unknown", Speaks: Speaks, Understands: Understands}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Release = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Release += " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

// errVersion is in the chain of what ends a node, or keeps it from starting, because of another's release.
var errVersion = errors.New("these releases cannot serve together")

// Protocol that all nodes may use by now: each form that came with this number or a lower one. It never falls, and other nodes may
// know of a higher one a moment earlier.
func (s *Service) Protocol() int { return s.shown.Load().agreed }

// strange says why this node cannot work beside another, nil where it can.
func (s *Service) strange(o member) error {
	me := s.me.Version
	switch {
	case o.Speaks < me.Understands:
		return fmt.Errorf("%w: node %s runs release %q, of protocol %d, and this release %q understands no lower one than %d. Upgrade %s first, to a release whose protocol is %d or the next",
			errVersion, o.Name, o.Release, o.Speaks, me.Release, me.Understands, o.Name, o.Speaks+1)
	case me.Speaks < o.Understands:
		return fmt.Errorf("%w: node %s runs release %q, which understands no lower protocol than %d, and this release %q speaks %d. Upgrade this node to %q",
			errVersion, o.Name, o.Release, o.Understands, me.Release, me.Speaks, o.Release)
	}
	return nil
}

// tooOld says that the nodes use forms which this build does not know.
func (s *Service) tooOld(agreed int) error {
	if s.me.Speaks >= agreed {
		return nil
	}
	return fmt.Errorf("%w: the nodes have gone on to protocol %d, and this release %q speaks %d: what they have stored since it cannot read. Upgrade this node to the release of the others",
		errVersion, agreed, s.me.Release, s.me.Speaks)
}

// meet looks who is there before this node takes part, and fails where it cannot work beside one that lives. A row alone does not
// say so: only where there are such rows are they watched, until they move or their nodes count as dead.
func (s *Service) meet(ctx context.Context) error {
	var began time.Time
	for first := true; ; first = false {
		now, err := s.store.peek(ctx)
		if err != nil {
			return err
		}
		if err := s.tooOld(now.agreed); err != nil {
			return err
		}
		at := time.Now()
		if first {
			began = at
		}
		s.look(now, at)
		waits := false
		for _, m := range now.members {
			why := s.strange(m)
			if m.Name == s.me.Name || why == nil {
				continue // the row of this name is about to be this node's
			}
			seen := s.seen[m.Name].at
			if seen.After(began) {
				return why // it beats
			}
			waits = waits || at.Sub(seen) <= s.config.Patience
		}
		if !waits {
			return nil
		}
		select {
		case <-time.After(s.config.Every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// check ends a node that others cannot work with any more, or that cannot work with them: of two, the newer release ends.
func (s *Service) check(now state, live []string) error {
	if err := s.tooOld(now.agreed); err != nil {
		return err
	}
	for name, m := range now.members {
		why := s.strange(m)
		switch {
		case why == nil || !slices.Contains(live, name):
		case m.Speaks < s.me.Understands:
			return why
		default:
			s.deps.Logger.Warn("a node of another release should have ended itself", "node", name, "error", why)
		}
	}
	return nil
}

// agree moves the protocol on where every node that has a row, alive or not, speaks it: one that was silent for a while may come
// back, until it is forgotten.
func (s *Service) agree(ctx context.Context, now *state) error {
	lowest := s.me.Speaks
	for _, m := range now.members {
		lowest = min(lowest, m.Speaks)
	}
	if lowest <= now.agreed {
		return nil
	}
	made, err := s.store.agree(ctx, lowest)
	if err != nil || !made {
		return err
	}
	s.deps.Logger.Info("all nodes speak a newer protocol, which is used from now on", "before", now.agreed, "now", lowest)
	now.agreed = lowest
	return nil
}
