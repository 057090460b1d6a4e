// Package chatroom has chat rooms, as beside a live stream: many users enter, most only read, and messages are not stored.
//
// A room, its moderators, and its kicked and muted users are rows of the SQL database. All else is in memory. One node owns a room: the owner of its
// partition (cluster). It orders the room's messages, limits them, keeps the latest ones, and adds up likes and viewers (hosted). A node with
// viewers subscribes to the owner and keeps a copy of what new viewers are shown (audience). So the owner sends one message on the bus for
// each such node, and a node asks the owner only when its first viewer enters.
//
// A viewer gets each message at most once, in the order of the room, and is told how many were left out because the connection was too slow or
// the bus had a gap. When the owner dies or the partition moves, the recent messages and the number of likes are lost,
// and seqs start again from 1. Messages that are sent before the nodes have found the next owner, some seconds later, are refused or lost. Kicks,
// mutes and all other decisions of moderators are committed before they are answered, and hold on every node. Each commit is conditional on the term in
// the room's row. An owner writes the term of its grant there before it reads the room (claim.go), so an owner that was paused, and
// does not know that another node has taken over the room, changes nothing.
//
// Limits: a user may send a message a second (5 at once), else too_fast. All users of a room who are not moderators may send 20 messages a second (40 at once),
// else room_busy. Its moderators have as much for themselves, so a busy room refuses ordinary messages first. Updates are sent at most ten times a
// second for each room. A node that has reached its maximum of rooms forgets idle ones first. One creator may have 32 of its rooms, and one user may be in 20 rooms,
// so that a few accounts cannot use up all of them.
//
// It may use sqldb, bus and cluster. All methods are safe for concurrent use.
package chatroom

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	maxRecent       = 50       // messages that those who enter are shown
	maxRecentBytes  = 32 << 10 // of them
	maxText         = 500      // characters
	maxSignal       = 4 << 10  // bytes
	maxTitle        = 100      // characters
	maxAnnouncement = 500      // characters
	maxModerators   = 50
	maxRestricted   = 1000 // users who are kicked or muted at a time
	maxRestriction  = 365 * 24 * 3600
	maxOwned        = 100  // open rooms of a user
	maxActive       = 4096 // rooms in the memory of a node, as their owner and, separately, with viewers
	maxActiveOf     = 32   // of them as their owner, of one creator
	maxEntered      = 20   // rooms that a user is in at a node
	maxLikes        = 100  // of a call

	flushInterval   = 100 * time.Millisecond // between two updates of a room with messages
	likesInterval   = time.Second            // between two updates with likes
	viewersInterval = 5 * time.Second        // between two updates with the number of viewers
	reportInterval  = 5 * time.Second        // between two reports of a node about a room in which nothing changes
	nodeTimeout     = 15 * time.Second       // after which the owner forgets a node that does not report
	idleTimeout     = time.Minute            // after which the owner forgets a room without viewers
	askTimeout      = 4 * time.Second        // of a request to the owner
	evictInterval   = time.Second            // between two searches for idle rooms while there are too many
	purgeInterval   = time.Hour              // between two searches for rooms that were closed long ago
	keepClosed      = 30 * 24 * time.Hour    // after which the rows of a closed room are deleted
)

// IDs generates ids of rooms and messages.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Accounts says who exists.
type Accounts interface {
	// Exist fails with no_user unless all users exist.
	Exist(ctx context.Context, users []id.User) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	IDs      IDs
	Accounts Accounts
	Bus      bus.Bus
	// Node is this node's name.
	Node string
	// Partition returns the partition of a room, and Owner the node that owns it, or "".
	Partition func(of uint64) int
	Owner     func(partition int) string
	// Flush writes what was pushed to connections. It must not block.
	Flush func()
	// IsCoordinator reports whether this node deletes the rows of closed rooms for all nodes. If nil, it does.
	IsCoordinator func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

// Service has the rooms of this node.
type Service struct {
	deps      Deps
	host      host
	maxActive int
	entered   entered

	messages  *ratelimit.Limiter[roomUser] // of a user in a room
	ordinary  *ratelimit.Limiter[id.Room]  // messages of all who do not moderate a room
	moderated *ratelimit.Limiter[id.Room]  // messages of those who do
	likes     *ratelimit.Limiter[roomUser]

	serving   atomic.Bool
	mu        sync.Mutex // guards all below; taken before an audience's
	audiences map[id.Room]*audience
	evicted   time.Time // when audiences without viewers were last looked for
}

type roomUser struct {
	room id.Room
	user id.User
}

var (
	errNoRoom    = errs.New(errs.NotFound, "no_room", "there is no such room; ask for its link again")
	errClosed    = errs.New(errs.Denied, "room_closed", "the room was closed by its owner")
	errModerator = errs.New(errs.Denied, "not_moderator", "you do not moderate this room, or the user is its owner or moderates it too")
	errMoving    = &errs.Error{Kind: errs.Unavailable, Reason: "room_moving", Message: "another node takes the room over; try again in a moment", Retry: time.Second}
	errNodeFull  = &errs.Error{Kind: errs.Unavailable, Reason: "too_many_active_rooms", Message: "this server has as many active rooms as it may; try again later", Retry: 30 * time.Second}
)

// New creates missing tables. Rooms are served while Run runs.
func New(ctx context.Context, deps Deps) (*Service, error) {
	if err := deps.DB.Migrate(ctx, "chatroom", migrations); err != nil {
		return nil, err
	}
	second := func(count, burst int) ratelimit.Rate {
		return ratelimit.Rate{Count: count, Burst: burst, Per: time.Second}
	}
	s := &Service{deps: deps, maxActive: maxActive, entered: entered{rooms: map[id.User]int{}}, audiences: map[id.Room]*audience{},
		messages:  ratelimit.New[roomUser](second(1, 5), deps.Clock, nil),
		ordinary:  ratelimit.New[id.Room](second(20, 40), deps.Clock, nil),
		moderated: ratelimit.New[id.Room](second(20, 40), deps.Clock, nil),
		likes:     ratelimit.New[roomUser](second(20, 200), deps.Clock, nil)}
	s.host.init()
	return s, nil
}

func subject(node string) string { return bus.NodeSubject(node, "room") }

// Run serves this node's rooms and viewers until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	unsubscribe, err := s.deps.Bus.Subscribe(subject(s.deps.Node), s.deliver, nil) // gaps show in the seqs of the next update
	if err != nil {
		return err
	}
	defer unsubscribe()
	stop, err := s.deps.Bus.Respond(subject(s.deps.Node), s.respond)
	if err != nil {
		return err
	}
	defer stop()
	s.serving.Store(true)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { backoff.Every(ctx, flushInterval, s.flushRooms) })
	group.Go(func() { backoff.Every(ctx, time.Second, s.tickHosted) })
	group.Go(func() { backoff.Every(ctx, time.Second, func() { s.report(ctx) }) })
	group.Go(func() { s.purgeClosed(ctx) })
	<-ctx.Done()
	return nil
}

// Ready reports whether Run answers requests.
func (s *Service) Ready() bool { return s.serving.Load() }

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
