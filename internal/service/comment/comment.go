// Package comment owns comments on posts, and replies to them.
//
// # Threads
//
// A comment is a row. A reply names the comment that it answers, and the top comment of its thread: threads have one level. A reply has a higher id than the
// comment that it answers. The rows of a subject, and of a thread, are sorted by id, which is approximately the order of creation.
//
// # Who sees what
//
// A reader sees a comment if the reader sees its subject, and if there is no block between the reader and its author or the author of its thread. The subject is
// checked by an interface (visible.go), in the snapshot in which the comments are read, so an answer is right as of one moment. A deleted comment is not
// shown; a deleted top comment with replies leaves a placeholder.
//
// # Counts
//
// The number of comments of a subject, and of replies of a thread, is the sum of rows, one for each node (bucket). A comment and the count of it are one
// transaction. Nodes never write to the same row, so that they do not wait for each other where thousands comment on one post.
//
// The transaction that creates a comment reads no row of the package by a condition, because two nodes would then abort each other's transactions in PostgreSQL.
// The answered comment is read in a snapshot before. If it is deleted in between, the result is the same as if it had been deleted a moment later.
//
// # The order by likes
//
// A top comment with likes has a rank (rank.go), which the service of likes changes some seconds after the likes. Ranks have versions: all pages of a list
// have those of its first page, so that no comment is repeated or left out, however likes change meanwhile.
//
// # Comments on videos
//
// A comment on a time of a video is a comment whose subject is a post with that video (timed.go). It follows the same rules, but cannot be answered or edited.
//
// It may use sqldb; subjects, relations and media by interfaces. All methods are safe for concurrent use.
package comment

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// IDs generates ids of comments, which rise on each node.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB    *sqldb.DB
	Graph Graph
	// Subjects has those of each kind.
	Subjects map[commentv1.SubjectKind]Subjects
	// Videos are subjects, too. If nil, there are no comments on videos.
	Videos Videos
	IDs    IDs
	// KeepPicture checks that an upload is an image of a user, and keeps its file, in the transaction of the comment.
	KeepPicture func(ctx context.Context, tx *sql.Tx, by id.User, upload id.Upload) error
	// OnChange is called in the transaction of a new comment, of an edit and of a deletion. It may run again after a failed commit. It may be nil.
	OnChange func(ctx context.Context, tx *sql.Tx, c Change) error
	// Words checks texts. If nil, all are accepted.
	Words Words
	// LimitedSince returns when moderators limited a user, in milliseconds since 1970; 0: they did not. It does not block. If nil, nobody is limited.
	LimitedSince func(u id.User) int64
	// Reviewer decides about comments. If nil, all are accepted.
	Reviewer Reviewer
	// ReadOnly reports whether new comments and edits are refused for the moment. If nil, they are not.
	ReadOnly func() bool
	Clock    clock.Clock
	// Node is the name of this node.
	Node string
	// Nodes returns the names of the live nodes, in the same order on each. Each counts in rows of its own. While nodes disagree, two may
	// use the same ones, which costs retries and nothing else. If nil, this node is the only one.
	Nodes func() []string
}

// Change is a comment that was created, edited or deleted.
type Change struct {
	ID          uint64
	SubjectKind commentv1.SubjectKind
	Subject     uint64
	Author      id.User
	// Created, Imported or Deleted; otherwise edited. Nobody is notified of an imported one.
	Created, Imported, Deleted bool
	// SubjectAuthor, ReplyTo and ReplyToAuthor are those of a new comment, and else 0.
	SubjectAuthor id.User
	ReplyTo       uint64
	ReplyToAuthor id.User
	// Mentioned are the users whom this version mentions, and not the one before; Unmentioned the other way round.
	Mentioned, Unmentioned []id.User
}

const (
	// clockWait is how long a node waits whose clock is behind that of a comment that is answered, and clockWaits how often.
	clockWait  = 20 * time.Millisecond
	clockWaits = 100
)

var errClocks = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: time.Second}

var migrations = []string{
	// Top is 0 for a top comment. A deleted comment keeps its row without a content, so that a late retry does not create it again.
	`CREATE TABLE comments (id BIGINT PRIMARY KEY, kind BIGINT NOT NULL, subject BIGINT NOT NULL, top BIGINT NOT NULL, top_author BIGINT NOT NULL, reply_to BIGINT NOT NULL,
		reply_to_author BIGINT NOT NULL, author BIGINT NOT NULL, token TEXT NOT NULL, request {bytes} NOT NULL, content {bytes} NOT NULL, created_ms BIGINT NOT NULL,
		edited_ms BIGINT NOT NULL DEFAULT 0, deleted BOOLEAN NOT NULL DEFAULT FALSE, UNIQUE (author, token))`,
	`CREATE INDEX comments_threads ON comments (kind, subject, top, id)`,
	`CREATE TABLE comment_counts (kind BIGINT NOT NULL, subject BIGINT NOT NULL, bucket BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (kind, subject, bucket))`,
	`CREATE TABLE comment_reply_counts (top BIGINT NOT NULL, bucket BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (top, bucket))`,
	// A rank is valid for the versions from since on and before until.
	`CREATE TABLE comment_ranks (comment BIGINT NOT NULL, kind BIGINT NOT NULL, subject BIGINT NOT NULL, level BIGINT NOT NULL, since BIGINT NOT NULL, until BIGINT NOT NULL, until_ms BIGINT NOT NULL,
		PRIMARY KEY (comment, since))`,
	`CREATE INDEX comment_ranks_of ON comment_ranks (kind, subject, level, comment)`,
	`CREATE INDEX comment_ranks_ended ON comment_ranks (until_ms) WHERE until_ms > 0`,
	`CREATE TABLE comment_rank_version (version BIGINT PRIMARY KEY)`,
	`CREATE INDEX comments_authors ON comments (kind, subject, author) WHERE NOT deleted`,
	`INSERT INTO comment_rank_version (version) VALUES (0)`,
	`CREATE INDEX comments_of_author ON comments (author, kind, id) WHERE NOT deleted`,
	`ALTER TABLE comments ADD COLUMN video BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE comments ADD COLUMN time_ms BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX comments_timed ON comments (subject, video, (time_ms / 10000), id) WHERE kind = 2 AND NOT deleted`,
	// The content of a comment that moderators hide, which counts as deleted; null for any other.
	`ALTER TABLE comments ADD COLUMN hidden_content {bytes}`,
	// Only its author sees it, because moderators had limited the author (docs/decisions/0147-limits.md). No count has it.
	`ALTER TABLE comments ADD COLUMN limited BOOLEAN NOT NULL DEFAULT FALSE`,
	// Import_key names the comment in the source that it was imported from (import_comments.go). It is null for others.
	`ALTER TABLE comments ADD COLUMN import_key TEXT`,
	`CREATE UNIQUE INDEX comments_imported ON comments (import_key) WHERE import_key IS NOT NULL`,
}

// Service has the comments of all users.
type Service struct {
	deps   Deps
	cached snapshotCaches
	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps) (*Service, error) {
	if deps.Nodes == nil {
		deps.Nodes = func() []string { return []string{deps.Node} }
	}
	if err := deps.DB.Migrate(ctx, "comment", migrations); err != nil {
		return nil, err
	}
	s := &Service{deps: deps}
	return s, s.openSnapshotCaches(ctx)
}

// reached is called between two steps of an operation.
func (s *Service) reached(point string) error {
	failpoint.Hit("comment/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
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
func (s *Service) bucket() int64 {
	return cluster.Bucket(s.deps.Nodes(), s.deps.Node)
}

// nextID returns an id above another one. It waits for this node's clock if that is behind.
func (s *Service) nextID(ctx context.Context, above uint64) (uint64, error) {
	for range clockWaits {
		n, err := s.deps.IDs.Next(ctx)
		if err != nil || n > above {
			return n, err
		}
		if err := backoff.Sleep(ctx, clockWait); err != nil {
			return 0, err
		}
	}
	return 0, errClocks
}
