// Package media owns uploads: files that users send and show. A client gets a URL good for one file and a while, puts the
// bytes there, and has the upload checked; what it says of a file's type and size counts for nothing, the bytes do.
//
// It may touch sqldb and blob, and conversations by the interface Reader. It promises that only one who may read a message
// that names an upload, or anyone for a picture of a user or group, gets a URL to it; and that a browser that opens such a URL
// runs nothing. All methods may be called from many goroutines.
package media

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/blob"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// Deps are what a Service needs.
type Deps struct {
	DB    *sqldb.DB
	Store blob.Store
	IDs   interface {
		Next(ctx context.Context) (uint64, error)
	}
	// Message gives a message that a user may read.
	Message func(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*chatv1.Message, error)
	// Mine tells whether this node drops what was never completed. May be nil: then it does.
	Mine func() bool
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
	// Origin from which files are served, as https://files.example.com; empty: the server's own.
	Origin string `yaml:"origin"`
}

// Service is the room.
type Service struct {
	deps   Deps
	config Config
}

const (
	urlLife     = 15 * time.Minute
	pictureLife = 24 * time.Hour
	unfinished  = 24 * time.Hour // after which an upload that was not completed is dropped
	openMost    = 500            // uploads of a user that are not complete
	prefix      = "/v1/media/"
)

var steps = []string{
	`CREATE TABLE uploads (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, name TEXT NOT NULL, declared BIGINT NOT NULL, created_ms BIGINT NOT NULL,
		stored BIGINT NOT NULL DEFAULT 0, complete BIGINT NOT NULL DEFAULT 0, mime_type TEXT NOT NULL DEFAULT '', width BIGINT NOT NULL DEFAULT 0, height BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX uploads_unfinished ON uploads (complete, created_ms)`,
	`ALTER TABLE uploads ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX uploads_owner ON uploads (owner, complete, declared)`,
	`CREATE TABLE upload_uses (upload BIGINT NOT NULL, conversation BIGINT NOT NULL, used_ms BIGINT NOT NULL, PRIMARY KEY (upload, conversation))`,
	`CREATE INDEX upload_uses_conversation ON upload_uses (conversation, used_ms)`,
	// Of uploads from before there were uses, some uses are not known: those are not traced, and stay.
	`ALTER TABLE uploads ADD COLUMN traced BIGINT NOT NULL DEFAULT 0`,
}

// New opens the room.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.MaxSize == 0 {
		config.MaxSize = 100 << 20
	}
	if config.Quota == 0 {
		config.Quota = 10 << 30
	}
	return &Service{deps: deps, config: config}, deps.DB.Migrate(ctx, "media", steps)
}

// keyOf the bytes that an attempt at an upload stores. Each attempt has its own, so that none changes what another has stored.
func keyOf(u id.Upload, attempt int64) string {
	s := u.String()
	key := fmt.Sprintf("media/%s/%s", s[max(0, len(s)-2):], s)
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
	complete                 int   // 1: complete, 2: a picture that anyone may see, -1: being dropped
	width, height, createdMs int64
}

var errNoUpload = errs.New(errs.NotFound, "no_upload", "there is no such upload, or it is not yours")

func (s *Service) get(ctx context.Context, n id.Upload) (u upload, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT owner, name, declared, created_ms, stored, complete, mime_type, width, height FROM uploads WHERE id = $1`, int64(n)).
		Scan(&u.owner, &u.name, &u.declared, &u.createdMs, &u.stored, &u.complete, &u.mime, &u.width, &u.height)
	if errors.Is(err, sql.ErrNoRows) || err == nil && u.complete < 0 {
		err = errNoUpload
	}
	return u, err
}

// set changes an upload's row, and tells whether the condition held.
func (s *Service) set(ctx context.Context, query string, args ...any) (did bool, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		did = n > 0
		return err
	})
	return did, err
}

// cleanName makes a file's name fit to be shown and saved.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		// Among the format characters are those that turn the direction of writing, and with it hide an extension.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar || strings.ContainsRune(`<>:"|?*`, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Trim(name, " .")
	if len(name) > 200 { // keep the extension, which says what it is
		dot := strings.LastIndexByte(name, '.')
		ext := ""
		if dot > 0 && len(name)-dot <= 16 {
			ext = name[dot:]
		}
		name = strings.ToValidUTF8(name[:200-len(ext)], "") + ext
	}
	if name == "" {
		name = "file"
	}
	return name
}

// CreateUpload gives a URL for a file's bytes.
func (s *Service) CreateUpload(ctx context.Context, u id.User, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error) {
	if r.Size == 0 || r.Size > s.config.MaxSize {
		return nil, errs.New(errs.Invalid, "bad_size", fmt.Sprintf("a file has 1 to %d bytes", s.config.MaxSize))
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.admit(ctx, tx, u, r.Size); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, traced) VALUES ($1, $2, $3, $4, $5, 1)`, int64(n), int64(u), cleanName(r.Name), int64(r.Size), now.UnixMilli())
		return err
	})
	if err != nil {
		return nil, err
	}
	ends := now.Add(urlLife)
	return &chatv1.CreateUploadResponse{Upload: n, Url: s.sign("put", id.Upload(n), ends), ExpiresMs: ends.UnixMilli()}, nil
}

// admit holds a user to the quota. What is not complete counts as it was declared.
func (s *Service) admit(ctx context.Context, tx *sql.Tx, u id.User, size uint64) error {
	var used, open uint64
	err := tx.QueryRowContext(ctx, `SELECT CAST(coalesce(sum(declared), 0) AS BIGINT), coalesce(sum(CASE WHEN complete = 0 THEN 1 ELSE 0 END), 0) FROM uploads WHERE owner = $1 AND complete >= 0`, int64(u)).Scan(&used, &open)
	switch {
	case err != nil:
		return err
	case size > s.config.Quota || used > s.config.Quota-size:
		return errs.New(errs.Exhausted, "quota", fmt.Sprintf("your files have %d bytes; together they may have %d", used, s.config.Quota))
	case open >= openMost:
		return errs.New(errs.Exhausted, "quota", fmt.Sprintf("%d uploads are not complete; complete them, or wait a day", openMost))
	}
	return nil
}

// sign makes a URL for one verb, one upload and a time.
func (s *Service) sign(verb string, n id.Upload, ends time.Time) string {
	exp := strconv.FormatInt(ends.Unix(), 10)
	return s.config.Origin + prefix + n.String() + "?exp=" + exp + "&sig=" + s.signature(verb, n.String(), exp)
}

func (s *Service) signature(verb, n, exp string) string {
	h := hmac.New(sha256.New, s.deps.Secret)
	fmt.Fprintf(h, "%s %s %s", verb, n, exp)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// CompleteUpload checks the bytes; from then on messages may name the upload. Again, it gives the same.
func (s *Service) CompleteUpload(ctx context.Context, by id.User, n id.Upload) (*chatv1.Upload, error) {
	u, err := s.get(ctx, n)
	if err == nil && u.owner != by {
		err = errNoUpload
	}
	if err != nil {
		return nil, err
	}
	if u.stored == 0 {
		return nil, errs.New(errs.Invalid, "not_uploaded", "put the file's bytes to the upload's URL first")
	}
	if u.complete == 0 {
		if u, err = s.complete(ctx, n, u); err != nil {
			return nil, err
		}
	}
	return &chatv1.Upload{Upload: uint64(n), Name: u.name, MimeType: u.mime, Size: uint64(u.declared), Width: uint32(u.width), Height: uint32(u.height)}, nil
}

// complete looks at the bytes, and makes the upload complete. Another call may be first, and have made it a picture since; or it
// is being dropped.
func (s *Service) complete(ctx context.Context, n id.Upload, was upload) (upload, error) {
	u := was
	if err := s.inspect(ctx, n, &u); err != nil {
		if now, gerr := s.get(ctx, n); gerr == nil && now.complete > 0 {
			return now, nil
		}
		return u, err
	}
	did, err := s.set(ctx, `UPDATE uploads SET complete = 1, mime_type = $1, width = $2, height = $3, stored = $4, declared = $5 WHERE id = $6 AND complete = 0`, u.mime, u.width, u.height, u.stored, u.declared, int64(n))
	if err != nil {
		return u, err // nobody knows which bytes are the upload's; the sweep finds them all
	}
	cut, unused := u.stored != was.stored, was.stored
	if !did {
		unused = u.stored
		u, err = s.get(ctx, n)
	}
	if cut {
		if derr := s.deps.Store.Delete(ctx, keyOf(n, unused)); derr != nil {
			s.deps.Logger.Warn("bytes that are not used stay until their upload is dropped", "upload", n, "error", derr)
		}
	}
	return u, err
}

// Check tells whether a user may send an upload: one's own, complete.
func (s *Service) Check(ctx context.Context, by id.User, n id.Upload) error {
	u, err := s.get(ctx, n)
	switch {
	case err != nil:
		return err
	case u.owner != by:
		return errNoUpload
	case u.complete == 0:
		return errs.New(errs.Invalid, "upload_not_complete", "call CompleteUpload before the upload is named")
	}
	return nil
}

// CheckPicture tells whether an upload can be a user's avatar: one's own, complete, an image.
func (s *Service) CheckPicture(ctx context.Context, by id.User, n id.Upload) error {
	if err := s.Check(ctx, by, n); err != nil {
		return err
	}
	u, err := s.get(ctx, n)
	if err != nil {
		return err
	}
	if u.width == 0 {
		return errs.New(errs.Invalid, "not_an_image", "a picture is a PNG, JPEG, GIF or WebP file")
	}
	// From now on anyone may see it.
	did, err := s.set(ctx, `UPDATE uploads SET complete = 2 WHERE id = $1 AND complete > 0`, int64(n))
	if err == nil && !did {
		err = errNoUpload // it expired meanwhile
	}
	return err
}

// PictureURL is a URL of a picture. It stays the same for some hours, so that browsers keep the picture.
func (s *Service) PictureURL(n id.Upload) string {
	return s.sign("get", n, s.deps.Clock.Now().Truncate(pictureLife/2).Add(pictureLife))
}

// GetDownload gives a URL to one who may read a message that names the upload, or to anyone for a picture of a user or group.
func (s *Service) GetDownload(ctx context.Context, by id.User, r *chatv1.GetDownloadRequest) (*chatv1.GetDownloadResponse, error) {
	n := id.Upload(r.Upload)
	ends := s.deps.Clock.Now().Add(urlLife)
	out := &chatv1.GetDownloadResponse{Url: s.sign("get", n, ends), ExpiresMs: ends.UnixMilli()}
	if r.Conversation == 0 && r.Seq == 0 {
		var picture bool
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT complete = 2 OR (complete = 1 AND owner = $1) FROM uploads WHERE id = $2`, int64(by), int64(n)).Scan(&picture)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !picture {
			return nil, errNoUpload
		}
		return out, err
	}
	m, err := s.deps.Message(ctx, by, id.Conversation(r.Conversation), r.Seq)
	if err != nil {
		return nil, err
	}
	for _, named := range []*chatv1.Media{m.Content.GetImage(), m.Content.GetFile(), m.Content.GetVoice(), m.Content.GetVideo()} {
		if named.GetUpload() == uint64(n) && n != 0 {
			return out, nil
		}
	}
	if c := m.Content.GetControl(); c.GetUpload() == uint64(n) && n != 0 {
		return out, nil
	}
	return nil, errNoUpload
}

// Run drops uploads that were never completed, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for first := true; ; first = false { // at its start a node does not know yet what is its own
		if first || s.deps.Mine == nil || s.deps.Mine() {
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.deps.Logger.Warn("unfinished uploads could not be dropped", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweep drops what is unfinished for too long, page by page. One that cannot be dropped does not keep the others; it is tried
// again by the next sweep.
func (s *Service) sweep(ctx context.Context) error {
	failed, first := 0, error(nil)
	for after := id.Upload(0); ; {
		old, err := s.old(ctx, after)
		if err != nil {
			return err
		}
		if len(old) == 0 {
			break
		}
		for _, d := range old {
			after = d.id
			if err := s.drop(ctx, d); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				if failed++; first == nil {
					first = fmt.Errorf("upload %d: %w", d.id, err)
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d uploads stay; the first: %w", failed, first)
	}
	return nil
}

// abandoned is an upload that is to be dropped.
type abandoned struct {
	id       id.Upload
	attempts int64
}

func (s *Service) old(ctx context.Context, after id.Upload) (old []abandoned, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, attempts FROM uploads WHERE complete <= 0 AND created_ms < $1 AND id > $2 ORDER BY id LIMIT 100`, s.deps.Clock.Now().Add(-unfinished).UnixMilli(), int64(after))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a abandoned
		if err := rows.Scan(&a.id, &a.attempts); err != nil {
			return nil, err
		}
		old = append(old, a)
	}
	return old, rows.Err()
}

func (s *Service) drop(ctx context.Context, a abandoned) error {
	// From here on it is completed no more, and its bytes can go; the row goes last, so that none of them stays behind.
	if _, err := s.set(ctx, `UPDATE uploads SET complete = -1 WHERE id = $1 AND complete = 0`, int64(a.id)); err != nil {
		return err
	}
	if _, err := s.get(ctx, a.id); !errors.Is(err, errNoUpload) {
		return err // nil: it was completed a moment ago
	}
	for attempt := range max(a.attempts, 1) {
		if err := s.deps.Store.Delete(ctx, keyOf(a.id, attempt+1)); err != nil {
			return err
		}
	}
	_, err := s.set(ctx, `DELETE FROM uploads WHERE id = $1 AND complete = -1`, int64(a.id))
	return err
}
