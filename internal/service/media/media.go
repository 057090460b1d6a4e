// Package media owns uploads: files that users send and show. A client gets a URL for one file and a limited time, uploads the bytes there,
// and completes the upload. The server determines type and size from the bytes.
//
// It issues a URL for an upload only to the owner, to users who may read a message that refers to it, to the members of a group with this
// picture, and to everyone while it is the owner's avatar. A browser that opens such a URL executes nothing. All methods are safe for
// concurrent use.
package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Files reads stored files whose size is known.
type Files interface {
	Open(ctx context.Context, key string, size int64) (*blockcache.Reader, error)
}

// Deps are what a Service needs.
type Deps struct {
	DB    *sqldb.DB
	Store blob.Store
	// Spool receives what comes of a part in a body without a length, before it is stored. nil: it is in memory.
	Spool *spool.Dir
	IDs   interface {
		Next(ctx context.Context) (uint64, error)
	}
	// Message returns a message that a user may read.
	Message func(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*chatv1.Message, error)
	// Avatar returns a user's avatar, 0 for none. If nil, no user has one.
	Avatar func(ctx context.Context, of id.User) (id.Upload, error)
	// GroupPicture returns a group's picture to a member. If nil, no group has one.
	GroupPicture func(ctx context.Context, by id.User, c id.Conversation) (id.Upload, error)
	// PostNames reports whether a post that a user may see names an upload. It fails if there is no such post. If nil, there are no posts.
	PostNames func(ctx context.Context, by id.User, post uint64, n id.Upload) (bool, error)
	// CommentNames is PostNames for comments.
	CommentNames func(ctx context.Context, by id.User, comment uint64, n id.Upload) (bool, error)
	// PostShows reports whether a post that is neither deleted nor hidden names an upload, whoever may see the post. If nil, there are no posts.
	PostShows func(ctx context.Context, post uint64, n id.Upload) (bool, error)
	// CommentShows is PostShows for comments.
	CommentShows func(ctx context.Context, comment uint64, n id.Upload) (bool, error)
	// Authorize returns the user of a request of tus, from its headers. creates: the request creates an upload. If nil, tus is off.
	Authorize func(r *http.Request, creates bool) (id.User, error)
	// EndedSessions returns the sessions among some that have ended: the keys for S3 clients that they created are not valid any more.
	EndedSessions func(ctx context.Context, sessions []id.Session) ([]id.Session, error)
	// Files serves stored files from copies near this node; nil: they come from Store.
	Files Files
	// Dropped is called when a file cannot be read any more, before its bytes are deleted. It may be called again. If nil, it is not.
	Dropped func(ctx context.Context, n id.Upload) error
	// IsCoordinator reports whether this node drops abandoned uploads for all nodes. If nil, it does.
	IsCoordinator func() bool
	// Calls records the latency and outcome of requests for files. If nil, they are not recorded.
	Calls *telemetry.Calls
	// Secret signs URLs.
	Secret []byte
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of files; the zero value is the documented default.
type Config struct {
	// MaxSize of a file in bytes; 0 is 100 MiB.
	MaxSize uint64 `yaml:"max_size"`
	// Quota of one user's files, in bytes; 0 is 10 GiB.
	Quota uint64 `yaml:"quota"`
	// Origin from which files are served, such as https://files.example.com; empty: the server's own.
	Origin string `yaml:"origin"`
}

// Service implements uploads and downloads.
type Service struct {
	deps   Deps
	config Config
	urls   signedurl.Signer
	active activeUploads
	locks  partLocks
	// rewrites counts the KiB that short requests of tus write again.
	rewrites *ratelimit.Limiter[id.User]
	// released has a value when uploads were released, which the sweep drops.
	released chan struct{}
}

const (
	urlLifetime         = 15 * time.Minute // of URLs for uploads; URLs for downloads are valid up to twice as long
	pictureURLLifetime  = 24 * time.Hour
	unfinishedRetention = 24 * time.Hour // after it, an incomplete upload is dropped
	maxUnfinished       = 500            // uploads of a user that are not complete
	prefix              = "/v1/media/"
)

var migrations = []string{
	`CREATE TABLE uploads (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, name TEXT NOT NULL, declared BIGINT NOT NULL, created_ms BIGINT NOT NULL,
		stored BIGINT NOT NULL DEFAULT 0, complete BIGINT NOT NULL DEFAULT 0, mime_type TEXT NOT NULL DEFAULT '', width BIGINT NOT NULL DEFAULT 0, height BIGINT NOT NULL DEFAULT 0,
		attempts BIGINT NOT NULL DEFAULT 0, traced BIGINT NOT NULL DEFAULT 0)`, // traced 0: its uses may be unknown, so it is kept
	`CREATE INDEX uploads_unfinished ON uploads (complete, created_ms)`,
	`CREATE INDEX uploads_owner ON uploads (owner, complete, declared)`,
	`CREATE TABLE upload_uses (upload BIGINT NOT NULL, conversation BIGINT NOT NULL, used_ms BIGINT NOT NULL, PRIMARY KEY (upload, conversation))`,
	`CREATE INDEX upload_uses_conversation ON upload_uses (conversation, used_ms)`,
	`CREATE TABLE upload_sums (owner BIGINT PRIMARY KEY, used BIGINT NOT NULL, unfinished BIGINT NOT NULL, counted_ms BIGINT NOT NULL)`, // counted_ms: of earlier builds
	`INSERT INTO upload_sums (owner, used, unfinished, counted_ms) SELECT owner, CAST(sum(declared) AS BIGINT), CAST(sum(CASE WHEN complete = 0 THEN 1 ELSE 0 END) AS BIGINT), 0
		FROM uploads WHERE complete >= 0 AND NOT EXISTS (SELECT 1 FROM upload_sums counted WHERE counted.owner = uploads.owner) GROUP BY owner
		ON CONFLICT DO NOTHING`,
	// protocol: 0 parts by number, 1 tus, 2 a partial upload of tus, 3 one of partial ones. final: the one that a partial upload is part of. tail: the number of the stored bytes of an incomplete part, 0 for none.
	`CREATE TABLE upload_multiparts (upload BIGINT PRIMARY KEY, part_size BIGINT NOT NULL, protocol BIGINT NOT NULL, metadata TEXT NOT NULL, concat TEXT NOT NULL, session TEXT NOT NULL DEFAULT '',
		tail BIGINT NOT NULL DEFAULT 0, tail_size BIGINT NOT NULL DEFAULT 0, tail_part BIGINT NOT NULL DEFAULT 0, tails BIGINT NOT NULL DEFAULT 0, tails_deleted BIGINT NOT NULL DEFAULT 0,
		final BIGINT NOT NULL DEFAULT 0)`,
	`CREATE TABLE upload_parts (upload BIGINT NOT NULL, number BIGINT NOT NULL, size BIGINT NOT NULL, checksum TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (upload, number))`,
	// checksum: of the stored bytes, in pieces of checksum_piece bytes; empty: an earlier build has stored them.
	`ALTER TABLE uploads ADD COLUMN checksum TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE uploads ADD COLUMN checksum_piece BIGINT NOT NULL DEFAULT 0`,
}

// New opens the service.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.MaxSize == 0 {
		config.MaxSize = 100 << 20
	}
	if config.Quota == 0 {
		config.Quota = 10 << 30
	}
	rewrites := ratelimit.New[id.User](ratelimit.Rate{Count: rewriteRate, Burst: rewriteBurst, Per: time.Second}, deps.Clock, nil)
	return &Service{deps: deps, config: config, urls: signedurl.Signer{Secret: deps.Secret, Clock: deps.Clock}, rewrites: rewrites, released: make(chan struct{}, 1)}, deps.DB.Migrate(ctx, "media", migrations)
}

// blobKey is the key of the bytes that an attempt at an upload stores. Each attempt has its own key, so that it cannot
// overwrite another attempt's bytes.
func blobKey(u id.Upload, attempt int64) string {
	s := u.String()
	key := fmt.Sprintf(filesFolder+"/%s/%s", s[max(0, len(s)-2):], s)
	if attempt > 1 {
		key += "-" + strconv.FormatInt(attempt, 10)
	}
	return key
}

// upload is a row.
type upload struct {
	owner                    id.User
	name, mime               string
	declared                 int64
	stored                   int64 // the attempt that stored the bytes; 0: none
	checksum                 checksum
	complete                 int // 1: complete, 2: complete, and kept without messages, -2: being dropped, and its bytes still count, -1: dropped
	width, height, createdMs int64
}

var errNoUpload = errs.New(errs.NotFound, "no_upload", "there is no such upload, or it is not yours")

func (s *Service) get(ctx context.Context, n id.Upload) (upload, error) {
	return getUpload(ctx, s.deps.DB.Read(), n)
}

func getUpload(ctx context.Context, q sqldb.Querier, n id.Upload) (u upload, err error) {
	err = q.QueryRowContext(ctx, `SELECT owner, name, declared, created_ms, stored, checksum, checksum_piece, complete, mime_type, width, height FROM uploads WHERE id = $1`, int64(n)).
		Scan(&u.owner, &u.name, &u.declared, &u.createdMs, &u.stored, &u.checksum.sum, &u.checksum.piece, &u.complete, &u.mime, &u.width, &u.height)
	if errors.Is(err, sql.ErrNoRows) || err == nil && u.complete < 0 {
		err = errNoUpload
	}
	return u, err
}

// update changes an upload's row and reports whether the condition held. If it held, and changes more in the same transaction.
// and may be nil.
func (s *Service) update(ctx context.Context, and func(tx *sql.Tx) error, query string, args ...any) (did bool, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		did = n > 0
		if err == nil && did && and != nil {
			err = and(tx)
		}
		return err
	})
	return did, err
}

// cleanName returns a form of a file name that is safe to display and to save.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		// Some format characters change the text direction and can hide the extension.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar || strings.ContainsRune(`<>:"|?*`, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Trim(name, " .")
	if len(name) > 200 { // keep the extension, which shows the type
		dot := strings.LastIndexByte(name, '.')
		ext := ""
		if dot > 0 && len(name)-dot <= 16 {
			ext = name[dot:]
		}
		name = excerpt.Bytes(name, 200-len(ext)) + ext
	}
	if name == "" {
		name = "file"
	}
	return name
}

func (s *Service) checkSize(size uint64) error {
	if size == 0 || size > s.config.MaxSize {
		return errs.New(errs.Invalid, "bad_size", fmt.Sprintf("a file has 1 to %d bytes", s.config.MaxSize))
	}
	return nil
}

// CreateUpload returns a URL to which the client uploads a file's bytes.
func (s *Service) CreateUpload(ctx context.Context, u id.User, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error) {
	if err := s.checkSize(r.Size); err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now()
	n, err := s.insertUpload(ctx, u, r.Name, r.Size, now, nil)
	if err != nil {
		return nil, err
	}
	ends := now.Add(urlLifetime)
	return &chatv1.CreateUploadResponse{Upload: uint64(n), Url: s.sign("put", n, ends), ExpiresMs: ends.UnixMilli()}, nil
}

// insertUpload creates an upload that counts for the quota. If and is not nil, it inserts more rows in the same transaction.
func (s *Service) insertUpload(ctx context.Context, u id.User, name string, size uint64, now time.Time, and func(tx *sql.Tx, n id.Upload) error) (id.Upload, error) {
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	var refused error
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if refused, err = s.reserveQuota(ctx, tx, u, size); err != nil || refused != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, traced) VALUES ($1, $2, $3, $4, $5, 1)`, int64(n), int64(u), cleanName(name), int64(size), now.UnixMilli())
		if err == nil && and != nil {
			err = and(tx, id.Upload(n))
		}
		return err
	})
	if err == nil {
		err = refused
	}
	return id.Upload(n), err
}

// sign returns a URL for one verb, one upload and an expiry.
func (s *Service) sign(verb string, n id.Upload, ends time.Time) string {
	exp := signedurl.Expiry(ends)
	return s.config.Origin + prefix + n.String() + "?exp=" + exp + "&sig=" + s.urls.Sign(verb, n.String(), exp)
}

// Check reports whether a user may send an upload: it must be the user's own and complete.
func (s *Service) Check(ctx context.Context, by id.User, n id.Upload) error {
	u, err := s.get(ctx, n)
	if err != nil {
		return err
	}
	return u.sendable(by)
}

// sendable reports whether a user may send the upload.
func (u *upload) sendable(by id.User) error {
	switch {
	case u.owner != by:
		return errNoUpload
	case u.complete == 0:
		return errs.New(errs.Invalid, "upload_not_complete", "call CompleteUpload before you send the upload")
	}
	return nil
}
