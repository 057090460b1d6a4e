package video_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	"github.com/rialto-im/rialto/internal/service/media"
	"github.com/rialto-im/rialto/internal/service/video"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

const (
	alice id.User = 1
	bob   id.User = 2
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// store is a store on disk that looks like a remote one, and can fail.
type store struct {
	blob.Store
	mu      sync.Mutex // guards the fields below
	full    error      // of Put
	rest    int        // how many files it stores before that
	opening func()     // is called before a file of a video is opened
}

// beforeOpen sets what is called before a file of a video is opened.
func (s *store) beforeOpen(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening = f
}

func (s *store) fail(err error) { s.failAfter(0, err) }

// failAfter is fail after some files were stored.
func (s *store) failAfter(files int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full, s.rest = err, files
}

func (s *store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if strings.HasPrefix(key, "video/") {
		if err := s.failed(); err != nil {
			return err
		}
	}
	return s.Store.Put(ctx, key, r, size)
}

func (s *store) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest > 0 {
		s.rest--
		return nil
	}
	return s.full
}

func (s *store) Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	s.mu.Lock()
	opening := s.opening
	s.mu.Unlock()
	if opening != nil && strings.HasPrefix(key, "video/") {
		opening()
	}
	f, size, err := s.Store.Open(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	return struct{ io.ReadSeekCloser }{f}, size, nil
}

var (
	// errDown is what a store returns that cannot be reached.
	errDown = errs.Wrap(errs.Unavailable, "storage", "the store cannot be reached", errors.New("down"))
	errFull = errs.StorageFull(errors.New("full"))
)

// posts are those of a test: which video each names, and who may see it.
type posts struct {
	mu     sync.Mutex // guards the fields below
	videos map[uint64]uint64
	seers  map[uint64]id.User
}

var errNoPost = errs.New(errs.NotFound, "no_post", "there is no such post")

func (p *posts) NamesVideo(_ context.Context, reader id.User, post, n uint64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seers[post] != reader {
		return false, errNoPost
	}
	return p.videos[post] == n, nil
}

func (p *posts) ShowsVideo(_ context.Context, post, n uint64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.videos[post] == n, nil
}

// VisiblePosts returns those of some posts that name a video and that a reader may see.
func (p *posts) VisiblePosts(_ context.Context, _ *sql.Tx, reader id.User, list []uint64) (map[uint64]*feedv1.Post, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[uint64]*feedv1.Post{}
	for _, n := range list {
		if p.seers[n] == reader {
			found[n] = &feedv1.Post{Id: n, Content: &feedv1.PostContent{Video: p.videos[n]}}
		}
	}
	return found, nil
}

// set makes a post that a user may see name a video; 0: it is hidden.
func (p *posts) set(post, n uint64, seer id.User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.videos[post], p.seers[post] = n, seer
	if n == 0 {
		delete(p.seers, post)
	}
}

// fixture has videos on one node, over stores that outlive it.
type fixture struct {
	t     testing.TB
	clock *clocktest.Manual
	db    *sqldb.DB
	dir   string
	store *store
	media *media.Service
	posts *posts
	deps  video.Deps
	jobs  *job.Service
	stop  func()
	// workers of the node that start starts; 0: 2.
	workers int
	// changed are the videos of which OnChange was told.
	changed []uint64
	*video.Service
}

// open starts a node.
func open(t testing.TB) *fixture {
	t.Helper()
	tc := transcodetest.Open(t, transcode.Config{Ladder: transcodetest.Ladder(48, 90)})
	f := openStopped(t)
	f.deps.Transcoder = tc
	f.start(nil)
	t.Cleanup(func() { f.stop() })
	return f
}

// openStopped makes a node that processes no videos.
func openStopped(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.NewManual(), dir: t.TempDir(), posts: &posts{videos: map[uint64]uint64{}, seers: map[uint64]id.User{}}}
	var err error
	f.db, err = sqldb.Open(context.Background(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, f.db.Close()) })
	disk, err := diskblob.Open(filepath.Join(f.dir, "blobs"))
	must(t, err)
	f.store = &store{Store: disk}
	ids, err := idgen.NewSnowflake(t.Context(), idgen.Fixed(f.clock, 1), idgen.SnowflakeConfig{})
	must(t, err)
	logger := slog.New(slog.DiscardHandler)
	f.media, err = media.New(t.Context(), media.Deps{DB: f.db, Store: f.store, IDs: ids, Secret: []byte("of URLs"), Clock: f.clock, Logger: logger}, media.Config{})
	must(t, err)
	f.deps = video.Deps{DB: f.db, Store: f.store, Uploads: f.media, Posts: f.posts, IDs: ids, Dir: filepath.Join(f.dir, "work"), Secret: []byte("of videos"), Clock: f.clock, Logger: logger}
	f.deps.OnChange = func(_ context.Context, _ *sql.Tx, n uint64) error {
		f.changed = append(f.changed, n)
		return nil
	}
	f.Service, err = video.New(t.Context(), f.deps, video.Config{Workers: 2})
	must(t, err)
	return f
}

// start starts the node, again after stop. interrupt is called between steps.
func (f *fixture) start(interrupt func(point string) error) {
	f.t.Helper()
	var err error
	f.jobs, err = job.New(f.t.Context(), job.Deps{DB: f.db, Clock: f.clock, Logger: f.deps.Logger, Node: "node-1"}, job.Config{})
	must(f.t, err)
	f.deps.Jobs = f.jobs
	f.Service, err = video.New(f.t.Context(), f.deps, video.Config{Workers: cmp.Or(f.workers, 2)})
	must(f.t, err)
	f.Interrupt(interrupt)
	w := job.NewWorkers(map[string]int{video.Queue: f.Concurrency()})
	f.AddWorkers(w)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.jobs.Run(ctx, w) }() // until stop
	f.stop = sync.OnceFunc(func() {
		cancel()
		must(f.t, <-ended)
	})
}

// makeFile makes a file with ffmpeg.
func (f *fixture) makeFile(name string, args ...string) []byte {
	f.t.Helper()
	b, err := os.ReadFile(transcodetest.File(f.t, name, args...))
	must(f.t, err)
	return b
}

// movie is a video of some seconds with sound, which must be encoded.
func (f *fixture) movie(seconds string) []byte {
	return f.makeFile("a.mkv", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-f", "lavfi", "-i", "sine=frequency=440", "-t", seconds, "-c:v", "mpeg4", "-c:a", "libopus")
}

// upload stores a file as a complete upload of a user.
func (f *fixture) upload(u id.User, b []byte) id.Upload {
	f.t.Helper()
	r, err := f.media.CreateUpload(f.t.Context(), u, &chatv1.CreateUploadRequest{Name: "movie.mkv", Size: uint64(len(b))})
	must(f.t, err)
	w := httptest.NewRecorder()
	f.media.Handler().ServeHTTP(w, httptest.NewRequestWithContext(f.t.Context(), http.MethodPut, r.Url, bytes.NewReader(b)))
	if w.Code != http.StatusNoContent {
		f.t.Fatalf("the upload is answered with %d %s", w.Code, w.Body)
	}
	_, err = f.media.CompleteUpload(f.t.Context(), u, id.Upload(r.Upload))
	must(f.t, err)
	return id.Upload(r.Upload)
}

// create makes a video of alice.
func (f *fixture) create(b []byte) *videov1.Video {
	f.t.Helper()
	v, err := f.CreateVideo(f.t.Context(), alice, &videov1.CreateVideoRequest{Upload: uint64(f.upload(alice, b))})
	must(f.t, err)
	return v
}

func (f *fixture) get(n uint64) *videov1.Video {
	f.t.Helper()
	v, err := f.GetVideo(f.t.Context(), alice, &videov1.GetVideoRequest{Video: n})
	must(f.t, err)
	return v
}

// await waits until a video has ended, in a state. Jobs that failed are tried again at once.
func (f *fixture) await(n uint64, want videov1.VideoState) *videov1.Video {
	f.t.Helper()
	var v *videov1.Video
	eventually.True(f.t, "the video ends", func() bool {
		f.clock.Advance(sweepStep)
		f.jobs.Wake()
		v = f.get(n)
		return v.State >= videov1.VideoState_VIDEO_STATE_READY
	})
	if v.State != want {
		f.t.Fatalf("the video is %v: %v", v.State, v.Failure)
	}
	return v
}

// fetch requests a file of a video.
func (f *fixture) fetch(url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

func (f *fixture) fetchOK(url string) string {
	f.t.Helper()
	w := f.fetch(url)
	if w.Code != http.StatusOK {
		f.t.Fatalf("%s is answered with %d %s", url, w.Code, w.Body)
	}
	return w.Body.String()
}

// stored are the keys of all files of videos.
func (f *fixture) stored() (keys []string) {
	f.t.Helper()
	root := filepath.Join(f.dir, "blobs", "video")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			keys = append(keys, filepath.Base(path))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.t.Fatalf("error %v, want none or %v", err, fs.ErrNotExist)
	}
	return keys
}

// frames plays a media playlist to its end, and returns how many different frames are decoded. It fails if the playlist has a gap.
func (f *fixture) frames(playlist string) int {
	f.t.Helper()
	base := playlist[:strings.LastIndexByte(playlist, '/')+1]
	var file bytes.Buffer
	text := f.fetchOK(playlist)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if uri, ok := strings.CutPrefix(line, "#EXT-X-MAP:URI="); ok {
			file.WriteString(f.fetchOK(base + strings.Trim(uri, `"`)))
		} else if line != "" && !strings.HasPrefix(line, "#") {
			file.WriteString(f.fetchOK(base + line))
		}
	}
	_, different := transcodetest.Frames(f.t, file.Bytes())
	return different
}

// awaitPlayable waits until a video can be played.
func (f *fixture) awaitPlayable(n uint64) *videov1.Video {
	f.t.Helper()
	var v *videov1.Video
	eventually.True(f.t, "the video can be played", func() bool {
		v = f.get(n)
		return v.Playback != nil
	})
	return v
}
