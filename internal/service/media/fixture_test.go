package media_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// manualClock is advanced by the test.
type manualClock struct{ ms atomic.Int64 }

func (c *manualClock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// store is a store on disk that a test can block: before files are opened, and after they were stored.
type store struct {
	blob.Store
	mu              sync.Mutex // guards the fields below
	opening, stored func()
	undeletable     string                 // the end of a key that cannot be deleted
	full            error                  // of Put
	killed          string                 // PutPart or JoinParts, after which the process is killed: it returns errKilled
	afterPart       func(number int) error // is called after PutPart; nil: nothing
}

var errKilled = errors.New("the process was killed")

// kill reports whether the process is killed after an operation, once.
func (s *store) kill(operation string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed != operation {
		return nil
	}
	s.killed = ""
	return errKilled
}

func (s *store) PutPart(ctx context.Context, key, session string, p blob.Part, r io.Reader) (string, error) {
	tag, err := s.Store.PutPart(ctx, key, session, p, r)
	s.mu.Lock()
	after := s.afterPart
	s.mu.Unlock()
	if after != nil {
		err = errors.Join(err, after(p.Number))
	}
	return tag, errors.Join(err, s.kill("PutPart"))
}

func (s *store) BeginParts(ctx context.Context, key string) (string, error) {
	session, err := s.Store.BeginParts(ctx, key)
	return session, errors.Join(err, s.kill("BeginParts"))
}

func (s *store) JoinParts(ctx context.Context, key, session string, parts []blob.Part) error {
	return errors.Join(s.Store.JoinParts(ctx, key, session, parts), s.kill("JoinParts"))
}

func (s *store) take(hook *func()) {
	s.mu.Lock()
	run := *hook
	*hook = nil // once
	s.mu.Unlock()
	if run != nil {
		run()
	}
}

func (s *store) Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	s.take(&s.opening)
	return s.Store.Open(ctx, key)
}

func (s *store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	s.mu.Lock()
	err := s.full
	s.mu.Unlock()
	if err == nil {
		err = s.Store.Put(ctx, key, r, size)
	}
	if err == nil {
		s.take(&s.stored)
	}
	return err
}

// fail makes the store reject files with err; nil: it accepts them again.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = err
}

func (s *store) Delete(ctx context.Context, key string) error {
	s.mu.Lock()
	undeletable := s.undeletable != "" && strings.HasSuffix(key, s.undeletable)
	s.mu.Unlock()
	if undeletable {
		return errors.New("this file cannot be deleted")
	}
	return s.Store.Delete(ctx, key)
}

func (s *store) before(hook *func(), do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*hook = do
}

// fixture is a media service with a store on disk.
type fixture struct {
	*media.Service
	t     testing.TB
	clock *manualClock
	store *store
	dir   string
	deps  media.Deps
	// totalsUnchecked: the test changed the rows on which the totals depend.
	totalsUnchecked bool

	mu       sync.Mutex // guards the fields below
	ended    []id.Session
	messages map[uint64]*chatv1.Message
	avatars  map[id.User]id.Upload
	pictures map[id.User]id.Upload // of the group 9, for those who are in it
}

const (
	alice id.User = 1
	bob   id.User = 2
)

func open(t testing.TB, config media.Config) *fixture {
	t.Helper()
	dir := t.TempDir()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &fixture{t: t, clock: &manualClock{}, dir: filepath.Join(dir, "blobs"), messages: map[uint64]*chatv1.Message{}, avatars: map[id.User]id.Upload{}, pictures: map[id.User]id.Upload{}}
	disk, err := diskblob.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	r.clock.ms.Store(1_800_000_000_000)
	r.store = &store{Store: disk}
	ids, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(r.clock, 1), idgen.SnowflakeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := spool.Open(filepath.Join(dir, "spool"))
	if err != nil {
		t.Fatal(err)
	}
	r.deps = media.Deps{DB: db, Store: r.store, Spool: files, IDs: ids, Message: r.message, Avatar: r.avatar, GroupPicture: r.groupPicture, Authorize: authorize, EndedSessions: r.endedSessions, Secret: []byte("of URLs"), Clock: r.clock, Logger: slog.New(slog.DiscardHandler)}
	if r.Service, err = media.New(t.Context(), r.deps, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the database is closed
		for _, u := range []id.User{alice, bob} {
			if kept, are, err := r.Totals(context.WithoutCancel(t.Context()), u); !r.totalsUnchecked && err == nil && kept != are || err != nil && !errors.Is(err, sql.ErrNoRows) {
				t.Errorf("user %d has %v bytes and unfinished uploads, and %v are counted; %v", u, are, kept, err)
			}
		}
	})
	return r
}

// authorize returns the user that a request names.
func authorize(r *http.Request, _ bool) (id.User, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer alice":
		return alice, nil
	case "Bearer bob":
		return bob, nil
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer user "), 10, 63); err == nil {
		return id.User(n), nil
	}
	return 0, errs.New(errs.Unauthenticated, "no_token", "give an access token")
}

// message returns a message that everyone may read.
func (r *fixture) message(_ context.Context, _ id.User, _ id.Conversation, seq uint64) (*chatv1.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.messages[seq]; m != nil {
		return m, nil
	}
	return nil, errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
}

// endedSessions are those that endSession ended.
func (r *fixture) endedSessions(_ context.Context, of []id.Session) (over []id.Session, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range of {
		if slices.Contains(r.ended, s) {
			over = append(over, s)
		}
	}
	return over, nil
}

func (r *fixture) endSession(s id.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, s)
}

func (r *fixture) avatar(_ context.Context, of id.User) (id.Upload, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.avatars[of], nil
}

func (r *fixture) groupPicture(_ context.Context, by id.User, c id.Conversation) (id.Upload, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.pictures[by]; ok && c == 9 {
		return n, nil
	}
	return 0, errs.New(errs.NotFound, "no_conversation", "there is no such conversation, or you are not in it")
}

// setAvatar makes a picture a user's avatar; 0 removes it.
func (r *fixture) setAvatar(of id.User, n id.Upload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.avatars[of] = n
}

func (r *fixture) create(u id.User, name string, size int) *chatv1.CreateUploadResponse {
	r.t.Helper()
	up, err := r.CreateUpload(r.t.Context(), u, &chatv1.CreateUploadRequest{Name: name, Size: uint64(size)})
	if err != nil {
		r.t.Fatal(err)
	}
	return up
}

// request sends a request; headers are "Name: value".
func (r *fixture) request(method, url string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	q := httptest.NewRequestWithContext(r.t.Context(), method, url, body)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		q.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	return w
}

func (r *fixture) put(url string, file []byte) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.request(http.MethodPut, url, bytes.NewReader(file))
}

// upload creates a complete upload of alice.
func (r *fixture) upload(name string, file []byte) *chatv1.Upload {
	r.t.Helper()
	up := r.create(alice, name, len(file))
	if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
		r.t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	u, err := r.CompleteUpload(r.t.Context(), alice, id.Upload(up.Upload))
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// url returns the URL with which alice reads her upload.
func (r *fixture) url(n uint64) string {
	r.t.Helper()
	d, err := r.GetDownload(r.t.Context(), alice, &chatv1.GetDownloadRequest{Upload: n})
	if err != nil {
		r.t.Fatal(err)
	}
	return d.Url
}

// files counts the files on the disk.
func (r *fixture) files() (n int) {
	r.t.Helper()
	err := filepath.WalkDir(r.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func wantError(t *testing.T, what string, err error, kind errs.Kind, reason string) {
	t.Helper()
	if e := errs.Of(err); e == nil || e.Kind != kind || e.Reason != reason {
		t.Errorf("%s: %v; want %s %s", what, err, kind, reason)
	}
}

// wantStatus fails unless an answer is an error with a status and a reason.
func wantStatus(t *testing.T, what string, w *httptest.ResponseRecorder, status int, reason string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"reason":"`+reason+`"`) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s: %d %v %s; want %d %s", what, w.Code, w.Header(), w.Body, status, reason)
	}
}

// picture returns an image in a format, of a size.
func picture(t *testing.T, format string, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	img := image.NewGray(image.Rect(0, 0, width, height))
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
