// Package messagetrace answers where a message is: when and on which node it was stored, fanned out, pushed, acknowledged and read.
//
// The stores tell what happened: the entry and its id, fan-out records and their checkpoint, streams of members, positions of devices, read
// cursors, attempts of push notifications. This does not depend on what the nodes remember. The flight recorder of each node, which this package queries on the bus, tells
// when it happened and on which node. The answer names nodes that do not answer, or whose records do not go back far enough.
//
// The id of a message does not contain its conversation. The conversation is found in the recorders, or else in the event streams, which name each entry that was dispatched in the last days.
//
// It may use timeline, bus and the flight recorder; conversations, inboxes, push notifications and the quarantine by interfaces. All methods are safe for
// concurrent use.
package messagetrace

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Log has conversations and event streams, with what is in the cold tier.
type Log interface {
	timeline.Log
	IsCold(ctx context.Context, key timeline.Key, seq uint64) (bool, error)
}

// Chat has the conversations.
type Chat interface {
	// AddTrace adds what is known of an entry's conversation, and what became of the message. It fails with NotFound if there is no such conversation.
	AddTrace(ctx context.Context, c id.Conversation, seq uint64, trace *chatv1.MessageTrace) error
	AudiencePage(ctx context.Context, c id.Conversation, seq uint64, after id.User, limit int) (users []id.User, next id.User, err error)
}

// Inbox has the streams and cursors of users.
type Inbox interface {
	Trace(ctx context.Context, c id.Conversation, seq uint64, ms int64, large bool, users []id.User) ([]*chatv1.TracedMember, error)
}

// Pushes has the attempts of push notifications.
type Pushes interface {
	TraceAttempts(ctx context.Context, users []id.User, c id.Conversation, seq uint64) (map[id.User][]*chatv1.TraceStep, error)
}

// Quarantine has the entries that cannot be dispatched.
type Quarantine interface {
	List(ctx context.Context, partition uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Log        Log
	Chat       Chat
	Inbox      Inbox
	Pushes     Pushes
	Quarantine Quarantine
	// Recorder of this node; nil: it is off.
	Recorder *flightrecorder.Recorder
	Bus      bus.Bus
	// Node is this node's name, and Nodes are those of the live nodes.
	Node  string
	Nodes func() []string
	// Owner returns the node that owns a partition, "" if none does.
	Owner  func(partition uint16) string
	Clock  clock.Clock
	Logger *slog.Logger
}

const (
	askTimeout = 3 * time.Second // for an answer of another node
	// findTimeout bounds the search for a message by its id alone.
	findTimeout = 15 * time.Second
	defaultPage = 50
	maxPage     = 200
	// maxGone is how many nodes are remembered that are gone, for goneFor.
	maxGone = 32
	goneFor = 24 * time.Hour
)

// Service answers where messages are.
type Service struct {
	deps Deps
	scan sync.Mutex // one request at a time reads this node's records

	mu    sync.Mutex // guards the fields below
	alive map[string]bool
	gone  map[string]int64 // when it was last seen, in milliseconds since 1970
}

// New returns a Service, which Run runs.
func New(deps Deps) *Service {
	return &Service{deps: deps, alive: map[string]bool{}, gone: map[string]int64{}}
}

func subject(node string) string { return bus.NodeSubject(node, "trace") }

// Run answers other nodes until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.deps.Bus.Respond(subject(s.deps.Node), s.respond)
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	return nil
}

// NodesChanged notes which nodes are alive. It does not block.
func (s *Service) NodesChanged(names []string) {
	now := s.deps.Clock.Now().UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.alive
	s.alive = make(map[string]bool, len(names))
	for _, n := range names {
		s.alive[n] = true
		delete(s.gone, n)
	}
	for n := range was {
		if !s.alive[n] {
			s.gone[n] = now
		}
	}
	for len(s.gone) > maxGone {
		oldest, at := "", now+1
		for n, ms := range s.gone {
			if ms < at {
				oldest, at = n, ms
			}
		}
		delete(s.gone, oldest)
	}
}

// goneNodes returns the nodes that are gone, and when each was last seen.
func (s *Service) goneNodes() map[string]int64 {
	after := s.deps.Clock.Now().Add(-goneFor).UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[string]int64{}
	for n, ms := range s.gone {
		if ms > after {
			list[n] = ms
		}
	}
	return list
}
