// Package engagement owns what users do with posts and comments besides writing them: likes, favourites and views, and the lists of popular posts that
// follow from them.
//
// # Likes and favourites
//
// They are sets of package counter: a like is stored and counted in one transaction, and answered after its commit. Before, a snapshot is read to check that the user may see the post or
// comment (may_see.go). If it is hidden in between, the result is the same as if it had been hidden a moment later. Taking a like back is always allowed.
//
// # Lists of posts
//
// A user's own likes, favourites and views are lists of ids with times. Each page is read in one snapshot and shows the posts that the reader may see as of
// that snapshot. A page token names a time and an id, so rows that are added or removed in between do not repeat or hide others.
//
// # Ranks
//
// The order of posts by popularity, and of comments by likes, follows the likes after some seconds. The transactions of likes, comments and reposts mark their subject (marks.go),
// each in a row of its node. The coordinator computes the ranks of marked subjects from their counts, and removes the marks in the same transaction (rank.go).
// So a mark survives crashes, and nodes do not wait for each other. Lists of popular posts are stored as a whole (popular_posts.go), so that their pages fit together.
//
// # Views
//
// Unique viewers are estimated by package counter. The view history has a row for each user and post, the latest 1,000 of each user.
//
// It may use sqldb, cluster and counter; posts and comments by interfaces. All methods are safe for concurrent use.
package engagement

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Posts has the posts of all users. Its methods read as of a transaction.
type Posts interface {
	// VisibleAuthors returns the authors of those of some posts that a reader may see.
	VisibleAuthors(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]id.User, error)
	// ReadersAmong returns those of some users who may see a post.
	ReadersAmong(ctx context.Context, tx *sql.Tx, post uint64, users []id.User) ([]id.User, error)
	// VisiblePosts returns those of some posts that a reader may see.
	VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]*feedv1.Post, error)
	// Authors returns the authors of those of some posts that exist.
	Authors(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]id.User, error)
	// PublicPosts returns those of some posts that are for everyone, and when they were created.
	PublicPosts(ctx context.Context, tx *sql.Tx, posts []uint64) (createdMs map[uint64]int64, err error)
	// CountReposters returns how many users have reposted some posts.
	CountReposters(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error)
}

// Comments has the comments of all users. Its methods work as of a transaction.
type Comments interface {
	// CheckVisible fails with NotFound unless a reader may see a comment that is not deleted.
	CheckVisible(ctx context.Context, tx *sql.Tx, reader id.User, comment uint64) error
	// Authors returns the authors of those of some comments that exist.
	Authors(ctx context.Context, tx *sql.Tx, comments []uint64) (map[uint64]id.User, error)
	// CountCommenters returns how many users have commented on some posts.
	CountCommenters(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error)
	// RankByLikes sorts comments by their likes.
	RankByLikes(ctx context.Context, tx *sql.Tx, likes map[uint64]uint64) error
}

// Graph has the relations of users.
type Graph interface {
	// FriendsAndBlocks returns which of some users are friends of a user, and with which there is a block, by either of the two, as of a transaction.
	FriendsAndBlocks(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (friends, blocked map[id.User]bool, err error)
}

// Like that was made or taken back.
type Like struct {
	Kind    engagementv1.LikeKind
	Subject uint64
	// Author of the subject.
	Author id.User
	// By is who likes it.
	By id.User
	// Present: it was made. Otherwise it was taken back.
	Present bool
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Counters *counter.Service
	Posts    Posts
	Comments Comments
	Graph    Graph
	// OnLike is called in the transaction of likes with those that are different now; a like that changed nothing is not among them. It may run again after a
	// failed commit. Its failure is that of all likes of the transaction. It may be nil.
	OnLike func(ctx context.Context, tx *sql.Tx, likes []Like) error
	// LikesOff reports whether likes and favourites are refused for the moment. If nil, they are not.
	LikesOff func() bool
	// IsCoordinator reports whether this node computes ranks. If nil, it does.
	IsCoordinator func() bool
	// Secret is the same on all nodes, and known to nobody else. Page tokens that could name users are encrypted with it.
	Secret []byte
	// Node is the name of this node.
	Node string
	// Nodes returns the names of the live nodes, in the same order on each. Each marks in rows of its own. If nil, this node is the only one.
	Nodes  func() []string
	Clock  clock.Clock
	Logger *slog.Logger
}

// rankInterval is the time between two rounds of Rank.
const rankInterval = 2 * time.Second

var migrations = []string{
	`CREATE TABLE engagement_views (member BIGINT NOT NULL, post BIGINT NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (member, post))`,
	`CREATE INDEX engagement_views_of ON engagement_views (member, at_ms, post)`,
	// Kind is a LikeKind. N rises with each change.
	`CREATE TABLE engagement_marks (kind BIGINT NOT NULL, subject BIGINT NOT NULL, bucket BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (kind, subject, bucket))`,
	// Board is a HotWindow, and period the number of its day or week; 0 for now.
	`CREATE TABLE engagement_ranks (board BIGINT NOT NULL, period BIGINT NOT NULL, post BIGINT NOT NULL, score BIGINT NOT NULL, PRIMARY KEY (board, period, post))`,
	`CREATE INDEX engagement_ranks_of ON engagement_ranks (board, period, score, post)`,
	`CREATE TABLE engagement_boards (board BIGINT NOT NULL, period BIGINT NOT NULL, version BIGINT NOT NULL, ended_ms BIGINT NOT NULL DEFAULT 0, posts {bytes} NOT NULL, PRIMARY KEY (board, period, version))`,
	`CREATE INDEX engagement_boards_ended ON engagement_boards (ended_ms) WHERE ended_ms > 0`,
}

// Service has the likes, favourites and views of all users.
type Service struct {
	deps   Deps
	checks *checks
	likers pagetoken.Sealer
	// boards is only used by the round that runs.
	boards boardState
	// rankBatch is how many marks one transaction ranks. It is smaller in tests.
	rankBatch int
	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// New creates the tables if they are missing. Changed must be called for the changes of the counters, and MarkPost for those of posts, comments and reposts.
func New(ctx context.Context, deps Deps) (*Service, error) {
	if deps.Nodes == nil {
		deps.Nodes = func() []string { return []string{deps.Node} }
	}
	likers, err := pagetoken.New(deps.Secret)
	if err != nil {
		return nil, err
	}
	return &Service{deps: deps, checks: newChecks(&deps), likers: likers, boards: boardState{changed: true}, rankBatch: maxMarks}, deps.DB.Migrate(ctx, "engagement", migrations)
}

// Run computes ranks until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	work := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: rankInterval, Round: s.round,
		NotCoordinator: func() { s.boards.changed = true }, // another node may rank and end before it makes the lists
		Failed:         "popular posts and comments could not be ranked; the next round tries again", Logger: s.deps.Logger}
	work.Run(ctx)
	return nil
}

// reached is called between two steps of an operation.
func (s *Service) reached(point string) error {
	failpoint.Hit("engagement/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
