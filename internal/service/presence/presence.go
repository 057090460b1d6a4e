// Package presence shows users each other's status: who is online or away, when users were last active, and their custom status. It pushes
// changes to those who watch.
//
// Package directory knows which user is connected to which node, and whether the devices are away. The choices of a user (do not disturb,
// who may see the user's presence, and a custom status) are part of the account's settings. Presence decides who sees what: friends see each
// other unless the settings say otherwise, nobody sees a user who is invisible, and nobody sees whom they blocked or who blocked them.
// Changes are pushed to watchers at most once a second for each user, however often a network fails. When a user goes offline, presence
// stores the time of the last activity; everything else is soft state, in memory.
//
// It may use sqldb, and the directory by an interface. All methods are safe for concurrent use; all but Get, ListDevices, Watch, Departed and
// Run do not block.
package presence

import (
	"context"
	"log/slog"
	"sync"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/directory"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// Directory is what presence needs of the connection directory.
type Directory interface {
	// Generation returns the generation of a session that has a connection to this node: another one each time that it has its first.
	Generation(u id.User, session id.Session) (generation uint32, connected bool)
	// Subscribe makes the directory call StatusChanged for a user, until Unsubscribe. They do not block.
	Subscribe(u id.User)
	Unsubscribe(u id.User)
	// CachedStatus returns what this node knows of a watched user without asking, and whether this node is the user's owner.
	CachedStatus(u id.User) (status directory.Status, owned bool)
	// Statuses returns the statuses of users, in order, and asks other nodes if necessary.
	Statuses(ctx context.Context, users []id.User) ([]directory.Status, error)
	// Devices returns the connected sessions of a user on all nodes.
	Devices(ctx context.Context, u id.User) ([]directory.Device, error)
	// PublishChange notifies those who watch a user, on all nodes, that the status has changed.
	PublishChange(u id.User)
	// LastActive returns when users who are still online were last active.
	LastActive() []directory.Departure
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB        *sqldb.DB
	Directory Directory
	// FriendsAmong returns those of some users who are friends of one.
	FriendsAmong func(ctx context.Context, u id.User, users []id.User) (map[id.User]bool, error)
	// BlockedAmong returns those of some users who blocked one, or whom that one blocked.
	BlockedAmong func(ctx context.Context, u id.User, users []id.User) (map[id.User]bool, error)
	// SettingsOf returns the settings of those users who exist.
	SettingsOf func(ctx context.Context, users []id.User) (map[id.User]*accountv1.Settings, error)
	// Transient delivers an encoded ServerFrame to users who are connected to this node.
	Transient func(users []id.User, frame []byte)
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Service is the presence of all users, as seen by the users who are connected to this node.
type Service struct {
	deps   Deps
	writer *lastActiveWriter
	pushes chan struct{} // wakes the push loop

	// mu is acquired before any lock of the directory.
	mu       sync.Mutex // guards the fields below
	watchers map[id.User]map[id.Session]*watcher
	watched  map[id.Session]watchList
	changed  map[id.User]bool // since the last push; true: the visibility too
}

// watchList is whom a session watches.
type watchList struct {
	users      []id.User
	generation uint32 // of the session
}

// watcher is a session that watches a user.
type watcher struct {
	by     id.User
	shown  uint64 // the fingerprint of what the session was shown last; anything or unknown before the answer to Watch
	missed bool   // the user has changed, perhaps before the answer to Watch
	pushed bool   // by a push, not by the answer to Watch
}

var migrations = []string{`CREATE TABLE last_active (owner BIGINT PRIMARY KEY, ms BIGINT NOT NULL)`}

// New creates the table if it is missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	s := &Service{deps: deps, pushes: make(chan struct{}, 1), watchers: map[id.User]map[id.Session]*watcher{}, watched: map[id.Session]watchList{}, changed: map[id.User]bool{}}
	s.writer = newLastActiveWriter(s)
	return s, deps.DB.Migrate(ctx, "presence", migrations)
}

// Run stores when users were last active, and pushes changes, until ctx ends. Then it stores when those who are still online were last
// active. The directory must have stopped before.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { s.writer.run(ctx) })
	group.Go(func() { s.runPush(ctx) })
	group.Wait()
	s.writer.end(context.WithoutCancel(ctx), s.deps.Directory.LastActive())
	return nil
}

// StatusChanged is called by the directory when the status of a user may have changed, and with visibility when who may see it may have.
func (s *Service) StatusChanged(u id.User, visibility bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watchers[u]) > 0 {
		s.markChanged(u, visibility)
	}
}

// Departed is called by the directory in each round, with the users who have gone offline. It stores when they were last active, and then
// has changes pushed. It waits for the database until ctx ends; what is not stored by then is stored later.
func (s *Service) Departed(ctx context.Context, list []directory.Departure) {
	s.writer.write(ctx, list)
	wakeup.Signal(s.pushes)
}

// markChanged makes the next push check a user. The caller holds mu.
func (s *Service) markChanged(u id.User, visibility bool) {
	s.changed[u] = s.changed[u] || visibility
}
