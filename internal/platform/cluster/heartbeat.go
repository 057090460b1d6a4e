package cluster

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Run sends heartbeats until ctx ends, and then gives up all parts. It fails if another process takes the node's name, or if the
// nodes switch to a protocol that this build does not know.
func (s *Service) Run(ctx context.Context) error {
	defer s.leave()
	tick := time.NewTicker(s.config.HeartbeatInterval)
	defer tick.Stop()
	for first := true; ; {
		if s.remaining() <= 0 {
			s.revokeAll("no heartbeat succeeded in time")
		}
		err := s.heartbeat(ctx, first)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errNameTaken) || errors.Is(err, errVersion):
			return err
		case err != nil:
			s.deps.Logger.Warn("a heartbeat failed", "error", err)
		default:
			first = false
		}
		expired := time.After(s.remaining())
		for waits := true; waits; {
			select {
			case <-expired:
				s.revokeAll("no heartbeat succeeded in time")
			case <-tick.C:
				waits = false
			case <-s.announce:
				waits = false
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// heartbeat updates this node's row, reads the other nodes' rows, and takes or gives up parts accordingly.
func (s *Service) heartbeat(ctx context.Context, first bool) error {
	began, timeout := s.beginHeartbeat()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var unreachable []string
	if s.deps.Unreachable != nil {
		unreachable = s.deps.Unreachable()
	}
	s.setUnreachable(unreachable)
	var err error
	if s.me.gateway, err = s.encodeGateway(); err != nil {
		return err
	}
	now, err := s.store.heartbeat(ctx, s.me, first)
	if err != nil {
		return err
	}
	live, dead, err := s.heartbeatSucceeded(began, now)
	if err != nil {
		return err
	}
	if err := s.raiseProtocol(ctx, &now); err != nil {
		return err
	}
	s.publishView(now, live) // before Assigned is called, which may call Nodes
	if err := s.rebalance(ctx, &now, live); err != nil {
		return err
	}
	s.notifyOwners(now, live)
	if s.resumes {
		s.AnnounceGateway() // the next heartbeat counts
	}
	return s.store.removeDead(ctx, dead)
}

// publishView updates what Nodes, Gateways, Owner and Protocol return.
func (s *Service) publishView(now state, live []*member) {
	next := &view{owners: map[part]string{}, protocol: now.protocol, gateways: s.leaseGateways(live)}
	for _, m := range live {
		next.nodes = append(next.nodes, m.Node)
	}
	for p, o := range now.parts {
		if findMember(live, o.node) != nil {
			next.owners[p] = o.node
		}
	}
	s.view.Store(next)
}

// notifyOwners publishes the view, and calls OnMembers and OwnerChanged for what is new in it.
func (s *Service) notifyOwners(now state, live []*member) {
	s.publishView(now, live)
	next := s.view.Load()
	if s.deps.OnMembers != nil && !slices.Equal(s.members, next.nodes) {
		s.members = next.nodes
		s.deps.OnMembers(next.nodes)
	}
	for _, w := range s.deps.Work {
		for number := range w.Parts {
			p := part{w.Kind, number}
			if s.owners[p] != next.owners[p] {
				s.owners[p] = next.owners[p]
				if w.OwnerChanged != nil {
					w.OwnerChanged(number, next.owners[p])
				}
			}
		}
	}
}

// leaveTimeout bounds how long a stopping node tries to remove its row. If that fails, other nodes take over its parts after
// NodeTimeout.
const leaveTimeout = 2 * time.Second

func (s *Service) leave() {
	s.revokeEach()
	s.logAssignments()
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := s.store.leave(ctx, s.me); err != nil {
		s.deps.Logger.Warn("this node could not announce that it stops; other nodes take over its parts after node_timeout", "error", err)
	}
}
