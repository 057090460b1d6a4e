// Package counter keeps sets of users with their sizes: who likes a post, whose favourites it is in, and how many. A set is named by a kind and
// the id of its subject. It also estimates how many different users have viewed a subject.
//
// It owns four tables. counter_members has the members of all sets; a removed member stays for a while as a row that is marked as not present.
// counter_counts has the sizes: the size of a set is the sum of its buckets, one for each node, so that nodes that change the same set do not
// wait for each other's rows. A change of a set and of its size are one transaction, so every reader sees the size that matches the set.
// counter_views has sketches of viewers.
//
// A change is answered after its commit. Concurrent changes share one transaction (sqldb.Merged). It changes nothing to add a user who is a member, or to
// remove one who is not. Comparison compares sizes with the sets in the background, and corrects them.
//
// It may use sqldb, cluster and reconciliation. All methods are safe for concurrent use.
package counter

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// Kind of a set, or of views. Its number is stored and must not change.
type Kind int64

// The kinds of all services, since they share the tables.
const (
	PostLikes      Kind = 1
	PostFavourites Kind = 2
	CommentLikes   Kind = 3
	PostViews      Kind = 4 // unique views
)

var kindNames = map[Kind]string{PostLikes: "post_likes", PostFavourites: "post_favourites", CommentLikes: "comment_likes", PostViews: "post_views"}

func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return "unknown"
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB     *sqldb.DB
	Clock  clock.Clock
	Logger *slog.Logger
	// Node is the name of this node.
	Node string
	// Nodes returns the names of the live nodes, in the same order on each. Each writes to a bucket of its own. While nodes disagree, two may
	// write to the same one, which costs retries and nothing else. If nil, this node is the only one.
	Nodes func() []string
	// IsCoordinator reports whether this node deletes the rows of removed members. If nil, it does.
	IsCoordinator func() bool
	// OnChange is called in the transaction of changes, with those that changed a set: at most one of each member. Its failure is that of all
	// writers of the transaction. It may run again after a failed commit. It may be nil.
	OnChange func(ctx context.Context, tx *sql.Tx, changes []Change) error
}

// repairBucket is the bucket of corrections.
const repairBucket = -1

var migrations = []string{
	`CREATE TABLE counter_members (kind BIGINT NOT NULL, subject BIGINT NOT NULL, member BIGINT NOT NULL, at_ms BIGINT NOT NULL, present BOOLEAN NOT NULL, changes BIGINT NOT NULL,
		PRIMARY KEY (kind, subject, member))`,
	`CREATE INDEX counter_members_of ON counter_members (kind, subject, at_ms, member) WHERE present`,
	`CREATE INDEX counter_subjects_of ON counter_members (kind, member, at_ms, subject) WHERE present`,
	`CREATE INDEX counter_removed ON counter_members (at_ms) WHERE NOT present`,
	`CREATE TABLE counter_counts (kind BIGINT NOT NULL, subject BIGINT NOT NULL, bucket BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (kind, subject, bucket))`,
	`CREATE TABLE counter_views (kind BIGINT NOT NULL, subject BIGINT NOT NULL, bucket BIGINT NOT NULL, version BIGINT NOT NULL, estimate BIGINT NOT NULL, sketch {bytes} NOT NULL,
		PRIMARY KEY (kind, subject, bucket))`,
}

// Service has the sets of all nodes.
type Service struct {
	Reads
	deps    Deps
	changes *sqldb.Merged[request]
	views   views
	metrics metrics
	// countTime is for how long a comparison may count sets by one query; shorter in tests.
	countTime time.Duration
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	if deps.Nodes == nil {
		deps.Nodes = func() []string { return []string{deps.Node} }
	}
	s := &Service{Reads: Reads{from: deps.DB.ReadYourWrites}, deps: deps, views: newViews(), countTime: defaultCountTime}
	s.changes = sqldb.NewMerged(deps.DB, s.apply)
	if err := deps.DB.Migrate(ctx, "counter", migrations); err != nil {
		return nil, err
	}
	return s, s.openSnapshotCaches(ctx)
}

// Run writes views, and deletes rows of removed members, until ctx ends. It then writes the views that wait.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runViews(ctx) })
	group.Go(func() {
		(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: deleteInterval, Round: s.deleteRemoved, Failed: "rows of removed members could not be deleted; the next round tries again", Logger: s.deps.Logger}).Run(ctx)
	})
	return nil
}

// bucket returns the bucket of this node.
func (s *Service) bucket() int64 {
	return cluster.Bucket(s.deps.Nodes(), s.deps.Node)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

const (
	// deleteInterval is the time between two deletions of rows of removed members.
	deleteInterval = time.Hour
	// maxPage bounds a page of a list, and the subjects of one call.
	maxPage = 1000
)

// Position is a place in a list that is sorted by time, newest first: behind the item with this time and this id. The zero value is the start.
type Position struct {
	AtMs int64
	ID   uint64
}

// Member of a set, since a time.
type Member struct {
	User id.User
	AtMs int64
}

// Position returns the place behind a member.
func (m Member) Position() Position { return Position{m.AtMs, uint64(m.User)} }

// Subject whose set has a user as a member, since a time.
type Subject struct {
	ID   uint64
	AtMs int64
}

// Position returns the place behind a subject.
func (s Subject) Position() Position { return Position{s.AtMs, s.ID} }
