// Package feed owns posts, the profiles that list them, and home timelines.
//
// # Posts
//
// A post is a row. The posts of an author are an index of these rows, so a post is among them from the commit on. Ids of one author's posts rise in the order
// of the commits, because the transaction locks the author's row and takes no id below that of the last post.
//
// # Home timelines
//
// The correct home timeline of a reader is what feedtest computes: all posts of those whom the reader follows, filtered, the newest
// first. A page equals a part of it at one moment: all rows are read in one snapshot of the database (home.go), and everything else is consistent with it:
//
//   - Most ids come from the reader's window, a timeline of kind Feed (window.go). It is complete down to a floor, except for posts that are
//     pending. It is derived: whatever is wrong with it is found, and then it is not used and rebuilt from the rows.
//   - Pending posts, which fan-out has not brought to all followers, are read from the rows (pull.go). So are posts of authors with very many followers, which
//     are not brought to windows at all, and those below the floor. Readers who follow very many authors have no window (pulling_readers.go).
//
// A window that was built before the reader followed an author lacks the author's posts. So does a window that was built after the snapshot of a page, if the
// reader unfollowed the author in between. A window therefore has the version of the reader's list of followed users, which the snapshot has as well, and is
// not used if the two differ. Muting, blocking, hiding and deleting need no version: windows still have the posts, and each page is filtered.
// Posts that were hidden some minutes ago are removed from windows (window_cleanup.go).
//
// # Fan-out
//
// A job (push.go) appends a post to the windows of 100 followers, or of 500 if the author has many. It stores its progress and inserts the next job in the same transaction. A job that runs
// twice appends an id twice, which readers of the window ignore. The post is pending until the last job is done.
//
// The job also sends hints to the followers, and to the author's own devices, if they are online. Connected followers of a pulled author get hints from the nodes that they are
// connected to (announce.go).
//
// # Reposts
//
// The number of reposts of a post is the sum of rows, one for each node (bucket), which change in the transactions of reposts.
//
// It may use sqldb, timeline and job; accounts, media and link previews by interfaces. All methods are safe for concurrent use.
package feed

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Graph has the relations of users. Its methods with a transaction read as of that.
type Graph interface {
	// Followed returns whom a user follows, and which of them are neither muted nor blocked: their posts are shown. Both are shared, and must not be changed.
	// changes rises whenever the user begins or ceases to follow somebody.
	Followed(ctx context.Context, tx *sql.Tx, u id.User) (all []id.User, shown map[id.User]bool, changes uint64, err error)
	// FriendsAndBlocks returns which of some users are friends of a user, and with which there is a block, by either of the two.
	FriendsAndBlocks(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (friends, blocked map[id.User]bool, err error)
	// FollowCounts returns how many follow a user, and how many the user follows.
	FollowCounts(ctx context.Context, tx *sql.Tx, u id.User) (followers, following uint64, err error)
	// Followers returns at most limit followers of a user above one, in the order of their ids, and those of them to whom the user's posts are shown: they have
	// not muted the user, and neither of the two has blocked the other.
	Followers(ctx context.Context, tx *sql.Tx, u, after id.User, limit int) (list, shown []id.User, err error)
	// ShownFollowersAmong returns those of some users who follow a user and to whom that user's posts are shown.
	ShownFollowersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) ([]id.User, error)
	// Exist fails with NotFound unless all users exist.
	Exist(ctx context.Context, users []id.User) error
}

// Jobs inserts jobs.
type Jobs interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args job.Args, o job.Options) (job.Inserted, error)
	Wake()
}

// IDs generates ids of posts, which rise.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB    *sqldb.DB
	Log   timeline.Log
	Graph Graph
	Jobs  Jobs
	IDs   IDs
	// KeepPicture checks that an upload is an image of a user, and keeps its file, in the transaction of the post.
	KeepPicture func(ctx context.Context, tx *sql.Tx, by id.User, upload id.Upload) error
	// CheckVideo fails unless a post of a user may name a video, in the transaction of the post. If nil, posts name none.
	CheckVideo func(ctx context.Context, tx *sql.Tx, by id.User, video uint64) error
	// Words checks texts. If nil, all are accepted.
	Words Words
	// LimitedSince returns when moderators limited a user, in milliseconds since 1970; 0: they did not. It does not block. If nil, nobody is limited.
	LimitedSince func(u id.User) int64
	// Reviewer decides about posts. If nil, all are accepted.
	Reviewer Reviewer
	// CheckLinkPreview fails unless the server made a link preview for a user.
	CheckLinkPreview func(u id.User, p *chatv1.LinkPreview) error
	// OnChange is called in the transaction of a new post, of an edit, of a deletion, and of hiding or showing a post. It may run again after a failed commit. It may be nil.
	OnChange func(ctx context.Context, tx *sql.Tx, c Change) error
	// Committed is called after the commit of an edit, a deletion, or of hiding or showing a post, and by their retries. It does not block. It may be nil.
	Committed func(post uint64)
	// Notify sends an encoded ServerFrame to the connections of some users, on any node. It may be lost. If nil, nobody is told of new posts.
	Notify func(users []id.User, frame []byte)
	// Connected returns the users who are connected to this node, and NotifyConnected sends them an encoded ServerFrame. If Connected is nil, nobody is told of new
	// posts of pulled authors.
	Connected       func() []id.User
	NotifyConnected func(users []id.User, frame []byte)
	// ClusterEvents tells the other nodes of such posts; nil: there are none.
	ClusterEvents ClusterEvents
	// ActiveDays returns on how many of the last 28 days a reader was active. If nil, all windows have the same size.
	ActiveDays func(ctx context.Context, reader id.User) (int, error)
	// Switches are turned by operators. If nil, all are off.
	Switches Switches
	// Interest tells other nodes of changed posts; nil: there are none.
	Interest Interest
	Clock    clock.Clock
	Logger   *slog.Logger
	// Node is the name of this node.
	Node string
	// Nodes returns the names of the live nodes, in the same order on each. Each counts reposts in rows of its own. If nil, this node is the only one.
	Nodes func() []string
}

// Change is a post that was published, edited, deleted, hidden or shown again.
type Change struct {
	ID     uint64
	Author id.User
	// Published or Deleted; otherwise its content or its readers have changed.
	Published, Deleted bool
	// RepostOf is the post that a new or deleted one shows; 0: none. RepostedAuthor is its author, for a new one.
	RepostOf       uint64
	RepostedAuthor id.User
	// Mentioned are the users whom this version mentions, and not the one before; Unmentioned the other way round.
	Mentioned, Unmentioned []id.User
}

// Config of feeds. The zero value is the documented default.
type Config struct {
	// PostsPerDay is how many posts a user may publish within 24 hours; 0 is 200.
	PostsPerDay int `yaml:"posts_per_day"`
	// PullAbove is the number of followers from which on an author's new posts are not written to the timelines of followers, who read them from the
	// author; 0 is 10,000.
	PullAbove int `yaml:"pull_above"`
	// PullEntriesAbove is the number of entries in timelines, followers times posts of a day, from which on an author is pulled as well, with fewer followers; 0 is 1,000,000.
	PullEntriesAbove int `yaml:"pull_entries_above"`
	// PushBelow is the number of followers below which an author's new posts are written to the timelines of followers again; it is at most pull_above.
	// Of an author with many posts a day, the entries must be fewer than half of pull_entries_above as well. 0: never again.
	PushBelow int `yaml:"push_below"`
	// ReaderPullAbove is the number of followed authors from which on posts are not written to a reader's timeline, which is then read from the authors; 0 is 2,000.
	ReaderPullAbove int `yaml:"reader_pull_above"`
	// ReaderPushBelow is the number of followed authors below which posts are written to such a reader's timeline again; it is at most reader_pull_above. 0: three quarters of that.
	ReaderPushBelow int `yaml:"reader_push_below"`
	// Workers is how many steps of fan-out a node does at the same time; 0 is 8.
	Workers int `yaml:"workers"`
}

// Check reports settings that are not valid.
func (c Config) Check() error {
	var faults []error
	if c.PushBelow > cmp.Or(c.PullAbove, defaultPullAbove) {
		faults = append(faults, fmt.Errorf("feed.push_below is %d; it is at most feed.pull_above, which is %d", c.PushBelow, cmp.Or(c.PullAbove, defaultPullAbove)))
	}
	if above := cmp.Or(c.ReaderPullAbove, defaultReaderPullAbove); c.ReaderPushBelow > above {
		faults = append(faults, fmt.Errorf("feed.reader_push_below is %d; it is at most feed.reader_pull_above, which is %d", c.ReaderPushBelow, above))
	}
	if c.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("feed.workers is %d; it is at most %d", c.Workers, maxWorkers))
	}
	return errors.Join(faults...)
}

const (
	defaultPostsPerDay     = 200
	defaultPullAbove       = 10_000
	defaultPullEntries     = 1_000_000
	defaultReaderPullAbove = 2000
	defaultWorkers         = 8
	maxWorkers             = 1000
)

// Service has the posts of all users.
type Service struct {
	deps    Deps
	config  Config
	cached  snapshotCaches
	sizes   sizes
	watches postWatches
	// announcements are posts that this node's connections are to be told of.
	announcements chan uint64
	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
	// withoutWindows makes all pages be read from the rows. Only tests set it.
	withoutWindows bool
}

// sizes are smaller in tests.
type sizes struct {
	windowPosts     int // that a base has at most
	compactAfter    int // pushes, after which a reader replaces the base
	windowEntries   uint64
	windowChunk     int // entries that a read gets at once
	pushFollowers   int // whom a job brings a post to at once
	pushBatches     int // of them, in a job for an author with many followers
	authorsPerQuery int // in one statement
	scanFactor      int // posts of all users that are read first, for each post of some authors
	fewAuthors      int // whose posts are read by a query for each
	fewRows         int // of all users that are read in place of those of some
	// The posts of authors with at most so many followers come before those of others.
	ordinaryFollowers uint64
	clockWait         time.Duration
}

func defaultSizes() sizes {
	return sizes{windowPosts: 800, compactAfter: 200, windowChunk: 100, pushFollowers: 100, pushBatches: 5, authorsPerQuery: 500, scanFactor: 4, fewAuthors: 8, fewRows: 200, ordinaryFollowers: 1000, clockWait: 20 * time.Millisecond,
		// A window with more entries was not read for long: it is closed, and built again when its reader returns.
		windowEntries: 1000}
}

// reached is called between two steps of an operation.
func (s *Service) reached(point string) error {
	failpoint.Hit("feed/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}

var migrations = []string{
	// Last_post is the highest id of the author's posts. Of an author whose posts are not pulled, those from pushed_from on are pushed. The quota
	// counts posts since window_ms.
	`CREATE TABLE feed_authors (author BIGINT PRIMARY KEY, last_post BIGINT NOT NULL, posts BIGINT NOT NULL DEFAULT 0, pulled BOOLEAN NOT NULL DEFAULT FALSE,
		pushed_from BIGINT NOT NULL DEFAULT 0, window_ms BIGINT NOT NULL DEFAULT 0, window_posts BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX feed_authors_pulled ON feed_authors (author) WHERE pulled OR pushed_from > 0`,
	// A deleted post keeps its row without a content, so that a late retry of Publish does not publish it again. Pushed_to is the last follower whom
	// fan-out has brought a pending post to.
	`CREATE TABLE feed_posts (id BIGINT PRIMARY KEY, author BIGINT NOT NULL, token TEXT NOT NULL, request {bytes} NOT NULL, content {bytes} NOT NULL, audience BIGINT NOT NULL,
		repost_of BIGINT NOT NULL, version BIGINT NOT NULL DEFAULT 1, created_ms BIGINT NOT NULL, edited_ms BIGINT NOT NULL DEFAULT 0, deleted BOOLEAN NOT NULL DEFAULT FALSE,
		hidden BOOLEAN NOT NULL DEFAULT FALSE, pending BOOLEAN NOT NULL, pushed_to BIGINT NOT NULL DEFAULT 0, UNIQUE (author, token))`,
	`CREATE INDEX feed_posts_author ON feed_posts (author, id)`,
	`CREATE INDEX feed_posts_pending ON feed_posts (author, id) WHERE pending`,
	`CREATE TABLE feed_audiences (post BIGINT NOT NULL, member BIGINT NOT NULL, PRIMARY KEY (post, member))`,
	`CREATE TABLE feed_versions (post BIGINT NOT NULL, version BIGINT NOT NULL, content {bytes} NOT NULL, time_ms BIGINT NOT NULL, PRIMARY KEY (post, version))`,
	`CREATE TABLE feed_hidings (n {number}, post BIGINT NOT NULL, hidden BOOLEAN NOT NULL, reason TEXT NOT NULL, time_ms BIGINT NOT NULL)`,
	`CREATE INDEX feed_hidings_post ON feed_hidings (post, n)`,
	`CREATE TABLE feed_repost_counts (post BIGINT NOT NULL, bucket BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (post, bucket))`,
	`INSERT INTO feed_repost_counts (post, bucket, n) SELECT repost_of, 0, COUNT(*) FROM feed_posts WHERE repost_of <> 0 AND NOT deleted GROUP BY repost_of`,
	// A retired post has been hidden for so long that no page shows it: windows may lack it.
	`ALTER TABLE feed_posts ADD COLUMN retired BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX feed_posts_reposters ON feed_posts (repost_of, author) WHERE repost_of > 0 AND NOT deleted`,
	// Import_key names the post in the source that it was imported from (import_posts.go). It is null for others.
	`ALTER TABLE feed_posts ADD COLUMN import_key TEXT`,
	`CREATE UNIQUE INDEX feed_posts_imported ON feed_posts (import_key) WHERE import_key IS NOT NULL`,
	// Readers for whom nothing is written, because they follow very many authors (pulling_readers.go).
	`CREATE TABLE feed_pulling_readers (reader BIGINT PRIMARY KEY)`,
	`ALTER TABLE feed_authors ADD COLUMN window_before BIGINT NOT NULL DEFAULT 0`,
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	config.PostsPerDay = cmp.Or(config.PostsPerDay, defaultPostsPerDay)
	config.PullAbove = cmp.Or(config.PullAbove, defaultPullAbove)
	config.PullEntriesAbove = cmp.Or(config.PullEntriesAbove, defaultPullEntries)
	config.ReaderPullAbove = cmp.Or(config.ReaderPullAbove, defaultReaderPullAbove)
	config.ReaderPushBelow = cmp.Or(config.ReaderPushBelow, max(1, config.ReaderPullAbove*3/4))
	config.Workers = cmp.Or(config.Workers, defaultWorkers)
	if deps.Nodes == nil {
		deps.Nodes = func() []string { return []string{deps.Node} }
	}
	if err := deps.DB.Migrate(ctx, "feed", migrations); err != nil {
		return nil, err
	}
	s := &Service{deps: deps, config: config, sizes: defaultSizes(), announcements: make(chan uint64, maxAnnouncements), watches: newPostWatches()}
	return s, s.openSnapshotCaches(ctx)
}

// Run tells connections of new and changed posts until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runAnnouncements(ctx) })
	s.runWatches(ctx)
	return nil
}

// changed calls OnChange.
func (s *Service) changed(ctx context.Context, tx *sql.Tx, c Change) error {
	if s.deps.OnChange == nil {
		return nil
	}
	return s.deps.OnChange(ctx, tx, c)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

// bucket returns the bucket of this node.
func (s *Service) bucket() int64 { return cluster.Bucket(s.deps.Nodes(), s.deps.Node) }
