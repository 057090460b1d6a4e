// Package notification owns in-app notifications: what others did that concerns a user, such as likes, comments and follows.
//
// # Causes and notifications
//
// A cause is one such operation: an actor, and for some kinds what the actor wrote (the item). It is stored once, in the transaction of the operation. A user
// who likes, unlikes and likes again is one cause, and notifies once. A notification merges the causes of one kind and subject since its user last
// read. Later causes begin a new notification, so each cause is in exactly one.
//
// # Reads
//
// The content of a notification is derived at each read, in one snapshot (evaluate.go): a cause counts while its operation still exists and is visible for the user, and its
// actor is not silenced. So nothing has to be removed when a like is taken back, a post hidden or a user blocked. A notification without such causes
// is in no list. A list counts only the newest 100 causes of each notification, so that a post with very many likes costs no more. It reads all causes if none
// of these counts. Notifications above the user's read cursor are unread; there is no counter.
//
// # Positions
//
// Notifications have positions, which rise for each user. A merge moves a notification to a new position. It does not if the last
// move was less than a second ago and nobody has listed the notification since, so that a post with thousands of likes a second costs few writes. No read can cover what its list did
// not show: the position that a list returns is at most that of the user's last list (listed), and a notification at or below that always moves.
//
// A notification has at most maxCauses causes. Further causes only move it. A hint on the socket announces it (hint.go), and it is deleted after a while (trim.go).
//
// It may use sqldb and job; posts, comments, likes and relations by interfaces. All methods are safe for concurrent use.
package notification

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// Graph has the relations of users. Its methods with a transaction read as of that.
type Graph interface {
	// MutedOrBlockedAmong returns those of some users whom a user has muted, and with whom there is a block by either of the two.
	MutedOrBlockedAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error)
	// FollowersAmong returns those of some users who follow a user.
	FollowersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error)
	// RequestersAmong returns those of some users who want to be friends of a user.
	RequestersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error)
	// Exist fails with NotFound unless all users exist.
	Exist(ctx context.Context, users []id.User) error
}

// Posts has the posts of all users.
type Posts interface {
	// VisibleAuthors returns the authors of those of some posts that a reader may see, as of a transaction.
	VisibleAuthors(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]id.User, error)
	// ReadersAmong returns those of some users who may see a post, as of a transaction.
	ReadersAmong(ctx context.Context, tx *sql.Tx, post uint64, users []id.User) ([]id.User, error)
}

// Comments has the comments of all users.
type Comments interface {
	// VisibleSubjects returns the posts of those of some comments that a reader may see, as of a transaction.
	VisibleSubjects(ctx context.Context, tx *sql.Tx, reader id.User, comments []uint64) (map[uint64]uint64, error)
}

// Likes has who likes what.
type Likes interface {
	// LikersAmong returns those of some users who like a post or a comment, as of a transaction.
	LikersAmong(ctx context.Context, tx *sql.Tx, kind notificationv1.NotificationSubject, subject uint64, among []id.User) (map[id.User]bool, error)
}

// Jobs inserts jobs.
type Jobs interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args job.Args, o job.Options) (job.Inserted, error)
	Wake()
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Graph    Graph
	Posts    Posts
	Comments Comments
	Likes    Likes
	Jobs     Jobs
	// Notify sends an encoded ServerFrame to the connections of some users, on any node. It may be lost. If nil, nobody is told.
	Notify func(users []id.User, frame []byte)
	// IsCoordinator reports whether this node drops old notifications. If nil, it does.
	IsCoordinator func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

const (
	// maxCauses of a notification are stored.
	maxCauses = 1000
	// maxKept are the newest notifications of a user that are kept, and maxAge is how long.
	maxKept = 500
	maxAge  = 90 * 24 * time.Hour
	// maxOfActor are the notifications of a user which one actor alone caused that nobody else's have to make room for.
	maxOfActor = 50
	// moveInterval is the least time between two moves of a notification that nobody has listed in between.
	moveInterval = time.Second
	trimInterval = 10 * time.Minute
)

var migrations = []string{
	// Positions are given from last_pos on. Off has a bit for each kind that is off, kept how many notifications the user has.
	`CREATE TABLE notification_owners (owner BIGINT PRIMARY KEY, last_pos BIGINT NOT NULL DEFAULT 0, listed_pos BIGINT NOT NULL DEFAULT 0, read_pos BIGINT NOT NULL DEFAULT 0,
		kinds_off BIGINT NOT NULL DEFAULT 0, kept BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX notification_owners_over ON notification_owners (owner) WHERE kept > 500`,
	// The id is the first position.
	`CREATE TABLE notifications (owner BIGINT NOT NULL, id BIGINT NOT NULL, kind BIGINT NOT NULL, subject_kind BIGINT NOT NULL, subject BIGINT NOT NULL, pos BIGINT NOT NULL, causes BIGINT NOT NULL,
		moved_ms BIGINT NOT NULL, PRIMARY KEY (owner, id))`,
	`CREATE INDEX notifications_list ON notifications (owner, pos)`,
	`CREATE INDEX notifications_subject ON notifications (owner, kind, subject_kind, subject, pos)`,
	`CREATE INDEX notifications_old ON notifications (moved_ms)`,
	`CREATE TABLE notification_causes (owner BIGINT NOT NULL, kind BIGINT NOT NULL, subject_kind BIGINT NOT NULL, subject BIGINT NOT NULL, actor BIGINT NOT NULL, item BIGINT NOT NULL,
		notification BIGINT NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (owner, kind, subject_kind, subject, actor, item))`,
	`CREATE INDEX notification_causes_of ON notification_causes (owner, notification, at_ms, item, actor)`,
	`CREATE TABLE notification_subscriptions (author BIGINT NOT NULL, subscriber BIGINT NOT NULL, PRIMARY KEY (author, subscriber))`,
	`CREATE INDEX notification_subscriptions_of ON notification_subscriptions (subscriber)`,
}

// Service has the notifications of all users.
type Service struct {
	deps  Deps
	sizes sizes
	hints hints
	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// sizes are smaller in tests.
type sizes struct {
	causes        int // of a notification
	subscribers   int // whom a job notifies of a post
	rows          int // that a list reads at once
	examined      int // that one call reads
	firstCauses   int // causes of each notification that are read first to find out whether it is shown
	countedCauses int // causes of each notification that are read to name and count actors
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	s := &Service{deps: deps, sizes: sizes{causes: maxCauses, subscribers: 100, rows: 25, examined: maxKept, firstCauses: 20, countedCauses: 100}, hints: newHints()}
	return s, deps.DB.Migrate(ctx, "notification", migrations)
}

// Run sends hints and drops old notifications until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runHints(ctx) })
	work := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: trimInterval, Round: s.Trim, Failed: "old notifications could not be deleted; the next round tries again", Logger: s.deps.Logger}
	work.Run(ctx)
	return nil
}

// reached is called between two steps of an operation.
func (s *Service) reached(point string) error {
	failpoint.Hit("notification/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
