// Package ranking owns "For you": posts ranked for a reader, beside the home timeline, which is sorted by time.
//
// # Candidates
//
// At most 1,000 posts are candidates (candidates.go): the newest of the home timeline, posts liked by users whom the reader follows, posts similar to those that the reader
// likes (vector.go, neighbours.go), and posts of the lists of popular posts. Each source has a bound on what it reads. A candidate is only an id, and gives no right to see the post.
//
// # Scores
//
// A score is the sum of features, each between 0 and 1, multiplied by the weights that operators set (features.go, weights.go). Features follow from stored facts
// alone: who wrote a post and when, its likes and comments, what the reader liked, commented on, viewed, and wants less of. The facts of posts, which all readers
// share, are kept in memory for half a minute (facts.go).
//
// Operators may activate a trained model (model.go). Then its estimate of a click, and for posts with goods of a conversion, replaces most features in the score; the features
// of seen posts and of what the reader wants less of remain. rialto rank train trains models with a sample of what ForYou showed (impressions.go), which it reads through examples.go.
//
// # Orders
//
// The first page arranges the candidates in an order so that authors and kinds alternate, and no post is too much like those before it (diversify.go). The token of its next page has the rest of the order,
// encrypted: so an order is the same on each node and at each retry, has no post twice, and needs no state on the server (page.go).
//
// # Visibility
//
// Each page reads its posts by Posts.VisiblePosts, in its own snapshot, and reads mutes and what the reader wants less of in the same snapshot. So a post that was
// deleted, hidden, blocked or muted before a page is not on it.
//
// It may use sqldb, vectorindex, searchindex, clickmodel, cluster, counter and runtimeswitch; posts, comments and others by interfaces. All methods are safe for concurrent use.
package ranking

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Posts has the posts of all users. Its methods read as of a transaction.
type Posts interface {
	// HomePosts returns the ids of at most n of the newest posts of others in a reader's home timeline. done is called after the transaction.
	HomePosts(ctx context.Context, tx *sql.Tx, reader id.User, n int) (list []uint64, done func(ctx context.Context), err error)
	// VisiblePosts returns those of some posts that a reader may see, as the reader sees them.
	VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]*feedv1.Post, error)
	// ToIndex returns those of some posts that are neither deleted nor hidden, whoever may see them. The list is not empty.
	ToIndex(ctx context.Context, tx *sql.Tx, posts []uint64) ([]*feedv1.Post, error)
	// NewestPosts returns the ids of at most limit posts, the newest first, those that are deleted or hidden among them.
	NewestPosts(ctx context.Context, limit int) ([]uint64, error)
}

// Comments has the comments of all users. Its methods read as of a transaction.
type Comments interface {
	// CountOfPosts returns how many comments some posts have; those without one may be left out.
	CountOfPosts(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error)
	// LatestCommented returns the posts of a user's latest comments, at most limit, each with the time of its latest one.
	LatestCommented(ctx context.Context, tx *sql.Tx, u id.User, limit int) (atMs map[uint64]int64, err error)
}

// Engagement has what users do with posts. Its methods read as of a transaction.
type Engagement interface {
	// PopularPosts returns at most n popular posts. Some may not be visible any more.
	PopularPosts(ctx context.Context, tx *sql.Tx, n int) ([]uint64, error)
	// ViewedPosts returns the posts that a user has viewed lately.
	ViewedPosts(ctx context.Context, tx *sql.Tx, u id.User) (map[uint64]bool, error)
}

// Graph has the relations of users. Its methods with a transaction read as of that.
type Graph interface {
	// Followed returns whom a user follows in the order of ids, and which of them are neither muted nor blocked. Both are shared, and must not be changed.
	Followed(ctx context.Context, tx *sql.Tx, u id.User) (all []id.User, shown map[id.User]bool, changes uint64, err error)
	// MutedOrBlockedAmong returns those of some users whom a user has muted, and with whom there is a block by either of the two.
	MutedOrBlockedAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error)
	// WithoutPersonalization returns those of some users who have turned personalization off.
	WithoutPersonalization(ctx context.Context, tx *sql.Tx, among []id.User) (map[id.User]bool, error)
	// Exist fails with NotFound unless all users exist.
	Exist(ctx context.Context, users []id.User) error
}

// Numbers are set by operators, and read by each request.
type Numbers interface {
	Number(n runtimeswitch.Name, byDefault int64) int64
	SetNumbers(ctx context.Context, to map[runtimeswitch.Name]*int64, by, reason string) error
	NumberChanges(ctx context.Context, prefix string, limit int) ([]runtimeswitch.NumberChange, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB         *sqldb.DB
	Counters   *counter.Service
	Posts      Posts
	Comments   Comments
	Engagement Engagement
	Graph      Graph
	Numbers    Numbers
	// Secret is the same on all nodes, and known to nobody else. Page tokens, which name posts that their readers may not see any more, are encrypted with it.
	Secret []byte
	// IsCoordinator reports whether this node deletes old rows of what was shown. If nil, it does.
	IsCoordinator func() bool
	// NoCalls: this node ranks for nobody, and has no vectors of posts.
	NoCalls bool
	// Audit adds an entry for each model that is stored; it may be nil.
	Audit auditlog.Recorder
	// FactReads counts the reads of the cache of facts; it may be nil.
	FactReads *cache.Reads
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Targets of rows of ranking_less. They are stored and must not change.
const (
	targetAuthor = 1
	targetKind   = 2
)

var migrations = []string{
	// What a reader wants less of: subject is a user or a PostKind.
	`CREATE TABLE ranking_less (reader BIGINT NOT NULL, target BIGINT NOT NULL, subject BIGINT NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (reader, target, subject))`,
	// What ForYou showed, with the features as they were then. clicked_ms and converted_ms are 0 unless the reader opened the post, or bought of it.
	`CREATE TABLE ranking_shown (reader BIGINT NOT NULL, post BIGINT NOT NULL, at_ms BIGINT NOT NULL, place BIGINT NOT NULL, goods BOOLEAN NOT NULL, features {bytes} NOT NULL, clicked_ms BIGINT NOT NULL, converted_ms BIGINT NOT NULL,
		PRIMARY KEY (reader, post, at_ms))`,
	`CREATE INDEX ranking_shown_at ON ranking_shown (at_ms, reader, post)`,
	`CREATE TABLE ranking_models (id {number}, file {bytes} NOT NULL, created_ms BIGINT NOT NULL, made_by TEXT NOT NULL, reason TEXT NOT NULL)`,
	// How long it was on the screen; 0: not known.
	`ALTER TABLE ranking_shown ADD COLUMN dwell_ms BIGINT NOT NULL DEFAULT 0`,
}

// Service ranks posts.
type Service struct {
	deps        Deps
	pages       pagetoken.Sealer
	facts       *factCache
	near        *neighbours
	impressions *impressionLog
	models      *models
}

// New creates the table if it is missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	pages, err := pagetoken.New(deps.Secret)
	if err != nil {
		return nil, err
	}
	near, err := newNeighbours(maxNeighbours)
	if err != nil {
		return nil, err
	}
	facts, err := newFactCache(&deps, near)
	if err != nil {
		return nil, err
	}
	s := &Service{deps: deps, pages: pages, facts: facts, near: near, impressions: newImpressionLog(), models: &models{numbers: deps.Numbers}}
	return s, deps.DB.Migrate(ctx, "ranking", migrations)
}

// Run writes what was shown, deletes what is old of it, and reads new posts for the vectors, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runImpressions(ctx) })
	group.Go(func() {
		work := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: cleanInterval, Round: s.Clean, Failed: "old rows of what was shown could not be deleted; the next round tries again", Logger: s.deps.Logger}
		work.Run(ctx)
	})
	if !s.deps.NoCalls {
		group.Go(func() {
			work := cluster.Periodic{AtStart: true, Interval: refreshInterval, Round: s.RefreshNeighbours, Failed: "vectors of new posts could not be read; the next round tries again", Logger: s.deps.Logger}
			work.Run(ctx)
		})
	}
	return nil
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

func badRanking(what string) error { return errs.New(errs.Invalid, "bad_ranking", what) }
