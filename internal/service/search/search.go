// Package search finds users, conversations, messages, posts, videos and files by their text.
//
// # The index
//
// Each node that answers calls has an index of all content, in its data directory (docs/decisions/0107-search-index.md). It is derived: it follows the logs of
// conversations (messages.go), and the rows of users, posts and videos by the changes that their transactions record (changes.go, index_changes.go). Its checkpoints are stored in the index
// itself, in the batch with the documents that they cover, so they are never ahead of the documents. A sweep over all conversations finds messages whose signal was lost.
//
// Alternatively, all nodes share an index on servers, which one of them writes (shared.go, docs/decisions/0138-shared-search-index.md).
//
// An index that is missing, damaged, or in an earlier format is built again (generation.go). Until it is complete, answers say that they are incomplete.
//
// # Permissions
//
// What the reader may read is a part of the index query, so content that the reader may not see takes no place among the hits. In addition, each hit is read from the stores
// with the reader's permissions (visible_hits.go), and compared with the query. So content that was recalled, edited, deleted or hidden before the call, or in a conversation that the reader has left, is not found, however
// far the index lags.
//
// It may use sqldb, timeline, bus and searchindex; users, conversations, posts and videos by interfaces. All methods are safe for concurrent use.
package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// Chat has the conversations.
type Chat interface {
	// MembershipsAfter returns the conversations with ids above after that a user is or was in, ascending, at most limit.
	MembershipsAfter(ctx context.Context, u id.User, above id.Conversation, limit int) ([]message.Membership, error)
	// ConversationsOf returns the ids of these conversations, also of threads whose parents the user has left.
	ConversationsOf(ctx context.Context, u id.User, after id.Conversation, limit int) ([]id.Conversation, error)
	// GetMessages returns the messages at some seqs that a user may read, as they are now.
	GetMessages(ctx context.Context, u id.User, r *chatv1.GetMessagesRequest) (*chatv1.GetMessagesResponse, error)
	// Describe returns a conversation as a user sees it.
	Describe(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	// DirectWith returns the one-to-one conversation of two users, 0 if there is none.
	DirectWith(ctx context.Context, a, b id.User) (id.Conversation, error)
	// Summary returns a conversation's kind, title and parent, whoever may see it.
	Summary(ctx context.Context, c id.Conversation) (*chatv1.Conversation, error)
	// ApplyUpdates makes updates visible to all reads, unless they are already.
	ApplyUpdates(ctx context.Context, list []*message.Stored) (rejected []error, err error)
	// Current gives entries their present contents.
	Current(ctx context.Context, u id.User, list []*message.Stored, tails map[id.Conversation]timeline.Tail) error
}

// Accounts has the users.
type Accounts interface {
	GetUsers(ctx context.Context, r *accountv1.GetUsersRequest) ([]*accountv1.User, error)
	// BlockedAmong returns those of some users who have blocked a user, or whom the user has blocked.
	BlockedAmong(ctx context.Context, u id.User, users []id.User) (map[id.User]bool, error)
	// UsersToIndex returns those of some users that exist, as the primary has them.
	UsersToIndex(ctx context.Context, list []uint64) ([]*accountv1.User, error)
	// UsersAfter returns the ids of at most limit users above one, ascending.
	UsersAfter(ctx context.Context, after uint64, limit int) ([]uint64, error)
	// FriendIDs and BlockedIDs return at most limit friends of a user, and users whom the user has blocked.
	FriendIDs(ctx context.Context, u id.User, limit int) ([]id.User, error)
	BlockedIDs(ctx context.Context, u id.User, limit int) ([]id.User, error)
	// FollowCounts returns how many follow a user, as of a transaction.
	FollowCounts(ctx context.Context, tx *sql.Tx, u id.User) (followers, following uint64, err error)
}

// Posts has the posts.
type Posts interface {
	// VisiblePosts returns those of some posts that a reader may see, as of a transaction.
	VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]*feedv1.Post, error)
	// ToIndex returns those of some posts that are neither deleted nor hidden, whoever may see them, with the users whom their audiences name, as of a transaction.
	ToIndex(ctx context.Context, tx *sql.Tx, list []uint64) ([]*feedv1.Post, error)
	// PostsAfter returns the ids of at most limit posts above one, ascending.
	PostsAfter(ctx context.Context, after uint64, limit int) ([]uint64, error)
}

// Videos has the videos that posts show.
type Videos interface {
	// ShownVideos returns the videos that posts show which a reader may see, by post, as lists have them, as of a transaction. A video that was deleted, or has failed,
	// is absent.
	ShownVideos(ctx context.Context, tx *sql.Tx, reader id.User, byPost map[uint64]uint64) (map[uint64]*videov1.Video, error)
	// SubtitlesText returns what the subtitles of a video say, each cue in a line, at most limit characters; "" if the video has none, or was deleted.
	SubtitlesText(ctx context.Context, tx *sql.Tx, video uint64, limit int) (string, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Log      timeline.Log
	Chat     Chat
	Accounts Accounts
	Posts    Posts
	Videos   Videos // nil: there are none
	// Likes returns how many users like each of some posts, as of a transaction. If nil, nobody does.
	Likes func(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint64, error)
	// Weights returns the weights of scores as they are now. If nil, they are DefaultWeights.
	Weights func() Weights
	// Preferences returns how much some posts are what a reader likes, from 0 to 1, as of a transaction; those that are absent are not. If nil, none is.
	Preferences func(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]float64, error)
	// Open opens the index in a directory, or makes an empty one. If nil, this node has no index, and answers nothing.
	Open func(ctx context.Context, dir string) (searchindex.Index, error)
	// Shared is an index that all nodes search, in place of one of each node; then Open is not called. The owner of SharedWork writes it.
	Shared searchindex.Shared
	// Dictionary divides Chinese texts into words; nil: into pairs of characters. An index that was built with another one is built again.
	Dictionary *searchindex.Dictionary
	// Dir has the indexes of this node, and requests to build them again, and nothing else.
	Dir string
	// Bus tells other nodes of new messages; nil: there are none.
	Bus bus.Bus
	// Audit has who requested that the index of this node, whose name is Node, be built again.
	Audit *auditlog.Log
	Node  string
	// Secret seals pages.
	Secret []byte
	// IsCoordinator reports whether this node deletes old changes. If nil, it does.
	IsCoordinator func() bool
	// CPUTime is how long the process has computed: while it is busy, indexing waits. If nil, it never is.
	CPUTime func() time.Duration
	// Processors that the process may use. If 0, as many as Go uses now.
	Processors int
	// PacingAccepts reports whether this node accepts connections more slowly than they come: indexing waits for those who come back. If nil, it does not.
	PacingAccepts func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

// Weights of the parts of scores.
type Weights struct {
	// Recency, 0 to 1, is how much of a score is lost with age.
	Recency float64
	// Popularity is what each doubling of likes or followers adds to a score, and Preference what it adds that the reader likes what is like a post.
	Popularity, Preference float64
}

// DefaultWeights are those of tests, and of a service without Deps.Weights.
var DefaultWeights = Weights{Recency: 0.5, Popularity: 0.05, Preference: 0.5}

// weights returns the weights as they are now.
func (s *Service) weights() Weights {
	if s.deps.Weights == nil {
		return DefaultWeights
	}
	return s.deps.Weights()
}

// Config of searches. The zero value is the documented default.
type Config struct {
	// Off: this node has no index, and answers no searches. Default false.
	Off bool `yaml:"off"`
	// RecencyHalfLife is the age at which a score has lost half of what the weight search_recency lets it lose; 0 is 720h, 30 days.
	RecencyHalfLife time.Duration `yaml:"recency_half_life"`
	// Niceness of the process that has the index, at most 19; 0 is 10, below 0: that of the server. The higher, the more of a busy processor the server gets before
	// it.
	Niceness int `yaml:"niceness"`
	// Dictionary is a file with a Chinese word in each line, by which texts are divided. Default none: into pairs of characters. What is found is the same.
	Dictionary string `yaml:"dictionary"`
}

// ReadDictionary reads the file of Dictionary; nil: there is none.
func (c Config) ReadDictionary() (*searchindex.Dictionary, error) {
	if c.Dictionary == "" {
		return nil, nil
	}
	info, err := os.Stat(c.Dictionary)
	if err != nil {
		return nil, fmt.Errorf("search.dictionary: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxDictionaryFile { // to open a named pipe may wait for ever
		return nil, fmt.Errorf("search.dictionary: %s is not a regular file of at most %d MiB", c.Dictionary, maxDictionaryFile>>20)
	}
	f, err := os.Open(c.Dictionary)
	if err != nil {
		return nil, fmt.Errorf("search.dictionary: %w", err)
	}
	defer f.Close()
	d, err := searchindex.ReadDictionary(f)
	if err != nil {
		return nil, fmt.Errorf("search.dictionary: %s: %w", c.Dictionary, err)
	}
	return d, nil
}

// Check reports settings that are not valid, and a dictionary that cannot be read.
func (c Config) Check() error {
	_, err := c.ReadDictionary()
	return errors.Join(c.checkValues(), err)
}

// checkValues is Check without the file of the dictionary, which callers of New have read.
func (c Config) checkValues() error {
	var faults []error
	if c.RecencyHalfLife < 0 {
		faults = append(faults, fmt.Errorf("search.recency_half_life is %v; it is above 0", c.RecencyHalfLife))
	}
	if c.Niceness > maxNiceness {
		faults = append(faults, fmt.Errorf("search.niceness is %d; it is at most %d", c.Niceness, maxNiceness))
	}
	return errors.Join(faults...)
}

const (
	defaultHalfLife = 30 * 24 * time.Hour
	defaultNiceness = 10
	maxNiceness     = 19
	// maxDictionaryFile bounds the file of a dictionary, in bytes: a million words with their frequencies have about 20 MB.
	maxDictionaryFile = 256 << 20
)

// ProcessNiceness is the niceness of the process that has the index.
func (c Config) ProcessNiceness() int { return max(0, cmp.Or(c.Niceness, defaultNiceness)) }

// Service answers searches, and keeps the index of this node.
type Service struct {
	deps     Deps
	halfLife time.Duration // of recency
	seal     pagetoken.Sealer
	sizes    sizes

	mu          sync.Mutex    // guards what follows
	generations []*generation // the one that answers, and perhaps one that is being built
	announced   map[id.Conversation]struct{}

	announce chan struct{} // signals that announced is not empty
	changes  chan struct{} // signals that there are new changes
	indexed  atomic.Uint64 // documents since the start

	serve  searchindex.Index // by which a shared index is searched
	writer writer            // of a shared index
}

// sizes are smaller in tests.
type sizes struct {
	entries  int // of a conversation that are read at once
	rows     int // of users, posts or changes that are read at once
	keys     int // conversations that a sweep compares at once
	examined int // hits that a page checks
	gaps     int // missing numbers of changes that are looked for
	// transaction is longer than a transaction is open.
	transaction time.Duration
	// pause is the longest rest of the indexer.
	pause time.Duration
	// manage is between two rounds of a node with a shared index.
	manage time.Duration
}

func defaultSizes() sizes {
	return sizes{entries: 256, rows: 200, keys: 256, examined: 400, gaps: maxGaps, transaction: maxTransactionAge, pause: time.Second, manage: manageInterval}
}

// New creates the tables if they are missing. Run opens the index.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if err := config.checkValues(); err != nil {
		return nil, err
	}
	if config.Off {
		deps.Open, deps.Shared = nil, nil
	}
	seal, err := pagetoken.New(deps.Secret)
	if err != nil {
		return nil, err
	}
	s := &Service{deps: deps, seal: seal, sizes: defaultSizes(), announced: map[id.Conversation]struct{}{}, announce: make(chan struct{}, 1), changes: make(chan struct{}, 1),
		halfLife: cmp.Or(config.RecencyHalfLife, defaultHalfLife)}
	if err := deps.DB.Migrate(ctx, "search", migrations); err != nil {
		return nil, err
	}
	if deps.Shared != nil {
		s.serve, s.writer.wake = deps.Shared.Serving(), make(chan struct{}, 1)
		if err := os.MkdirAll(deps.Dir, 0o700); err != nil { // for requests
			return nil, err
		}
		return s, s.checkShared(ctx)
	}
	return s, nil
}

// answers reports whether this node answers searches.
func (s *Service) answers() bool { return s.deps.Open != nil || s.deps.Shared != nil }

// Run keeps the index of this node until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { s.runTrim(ctx) })
	if s.deps.Bus != nil {
		group.Go(func() { s.runAnnouncements(ctx) })
	}
	if !s.answers() {
		<-ctx.Done()
		return nil
	}
	if s.deps.Bus != nil {
		cancel, err := s.listen()
		if err != nil {
			return err
		}
		defer cancel()
	}
	if s.deps.Shared != nil {
		return s.runShared(ctx)
	}
	return s.runGenerations(ctx)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
