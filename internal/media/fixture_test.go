package media_test

import (
	"bytes"
	"context"
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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/blob"
	"github.com/rialto-im/rialto/internal/blob/diskblob"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/media"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// clockByHand moves when told.
type clockByHand struct{ ms atomic.Int64 }

func (c *clockByHand) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// store is one on disk at which a test can stop: before files are opened, and after they were stored.
type store struct {
	blob.Store
	mu             sync.Mutex // guards all below
	opening, putIn func()
	stuck          string // the end of a key that cannot be deleted
	full           error  // of Put
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
		s.take(&s.putIn)
	}
	return err
}

// fail has files refused; nil: no more.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = err
}

func (s *store) Delete(ctx context.Context, key string) error {
	s.mu.Lock()
	stuck := s.stuck != "" && strings.HasSuffix(key, s.stuck)
	s.mu.Unlock()
	if stuck {
		return errors.New("this file cannot be deleted")
	}
	return s.Store.Delete(ctx, key)
}

func (s *store) before(hook *func(), do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*hook = do
}

// room is a media room on a disk.
type room struct {
	*media.Service
	t     *testing.T
	clock *clockByHand
	store *store
	dir   string
	deps  media.Deps

	mu       sync.Mutex // guards messages
	messages map[uint64]*chatv1.Message
}

const (
	alice id.User = 1
	bob   id.User = 2
)

func open(t *testing.T, config media.Config) *room {
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
	r := &room{t: t, clock: &clockByHand{}, dir: filepath.Join(dir, "blobs"), messages: map[uint64]*chatv1.Message{}}
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
	r.deps = media.Deps{DB: db, Store: r.store, IDs: ids, Message: r.message, Secret: []byte("of URLs"), Clock: r.clock, Logger: slog.New(slog.DiscardHandler)}
	if r.Service, err = media.New(t.Context(), r.deps, config); err != nil {
		t.Fatal(err)
	}
	return r
}

// message that everybody may read.
func (r *room) message(_ context.Context, _ id.User, _ id.Conversation, seq uint64) (*chatv1.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.messages[seq]; m != nil {
		return m, nil
	}
	return nil, errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
}

func (r *room) create(u id.User, name string, size int) *chatv1.CreateUploadResponse {
	r.t.Helper()
	up, err := r.CreateUpload(r.t.Context(), u, &chatv1.CreateUploadRequest{Name: name, Size: uint64(size)})
	if err != nil {
		r.t.Fatal(err)
	}
	return up
}

// ask makes a request; headers are "Name: value".
func (r *room) ask(method, url string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
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

func (r *room) put(url string, file []byte) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.ask(http.MethodPut, url, bytes.NewReader(file))
}

// upload makes a complete upload of alice's.
func (r *room) upload(name string, file []byte) *chatv1.Upload {
	r.t.Helper()
	up := r.create(alice, name, len(file))
	if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
		r.t.Fatal(w.Code, w.Body)
	}
	u, err := r.CompleteUpload(r.t.Context(), alice, id.Upload(up.Upload))
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// url with which alice reads an upload of hers.
func (r *room) url(n uint64) string {
	r.t.Helper()
	d, err := r.GetDownload(r.t.Context(), alice, &chatv1.GetDownloadRequest{Upload: n})
	if err != nil {
		r.t.Fatal(err)
	}
	return d.Url
}

// files on the disk.
func (r *room) files() (n int) {
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

func wants(t *testing.T, what string, err error, kind errs.Kind, reason string) {
	t.Helper()
	if e := errs.Of(err); e == nil || e.Kind != kind || e.Reason != reason {
		t.Errorf("%s: %v; want %s %s", what, err, kind, reason)
	}
}

// refused fails unless an answer is an error with a status and a reason.
func refused(t *testing.T, what string, w *httptest.ResponseRecorder, status int, reason string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"reason":"`+reason+`"`) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s: %d %v %s; want %d %s", what, w.Code, w.Header(), w.Body, status, reason)
	}
}

// picture in a format, of a size.
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
