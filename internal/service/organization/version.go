package organization

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

// Kinds of cluster events.
const (
	memberEvent    = "organization_member" // the user's memberships changed
	everybodyEvent = "organization"        // those of many did, or a rule
)

// announcePolicy: a node that does not answer finds the events in the database.
var announcePolicy = nodecall.FailSafe{Timeout: 2 * time.Second}

// versions count the changes that concern users; many users share a counter. A relation between two users that was read at a version holds
// while the version is the same.
type versions struct {
	everybody atomic.Uint64
	of        [1024]atomic.Uint64
}

func (v *versions) slot(u id.User) *atomic.Uint64 { return &v.of[id.Hash(uint64(u))%uint64(len(v.of))] }

// Version of the relation between two users. Read it before the rows. It does no I/O.
func (s *Service) Version(a, b id.User) uint64 {
	return s.versions.everybody.Load() + s.versions.slot(a).Load() + s.versions.slot(b).Load()
}

// HandleEvent applies an event of any node to this node's cached relations.
func (s *Service) HandleEvent(e clusterevent.Event) {
	switch e.Kind {
	case memberEvent:
		s.versions.slot(e.User).Add(1)
	case everybodyEvent:
		s.versions.everybody.Add(1)
	}
}

// Missed makes this node check all relations again, since it may have missed events.
func (s *Service) Missed() { s.versions.everybody.Add(1) }

func subject(node string) string { return bus.NodeSubject(node, "organization") }

// announce applies committed events to this node and to the other live ones, and returns when those have applied them. A node that does not answer
// finds them in the database.
func (s *Service) announce(ctx context.Context, events []clusterevent.Event) {
	var users []byte
	for _, e := range events {
		s.HandleEvent(e)
		users = binary.BigEndian.AppendUint64(users, uint64(e.User)) // 0: everybody
	}
	s.signal()
	if s.deps.ClusterEvents == nil || len(events) == 0 {
		return
	}
	s.deps.ClusterEvents.Notify()
	announcePolicy.Tell(context.WithoutCancel(ctx), s.deps.Bus, nodecall.Nodes{Own: s.deps.Node, Live: s.deps.Nodes}, subject, users, nil)
}

// answer applies the events that another node announces.
func (s *Service) answer(users []byte) []byte {
	for ; len(users) >= 8; users = users[8:] {
		if u := id.User(binary.BigEndian.Uint64(users)); u == 0 {
			s.Missed()
		} else {
			s.HandleEvent(clusterevent.Event{Kind: memberEvent, User: u})
		}
	}
	return nil
}
