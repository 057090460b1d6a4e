package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/byterange"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
)

// stageFolder is the folder of files of stages below the address of a video.
const stageFolder = "stage"

// Prefix of the addresses. One is /v1/video/VIDEO/POST-EXPIRY-SIGNATURE/FILE. The names in playlists are relative, so one signature is for all files of a video.
const Prefix = "/v1/video/"

var (
	errNotYet = errs.New(errs.NotFound, "not_playable_yet", "this part of the video is not ready yet; try again")
	errNoFile = errs.New(errs.NotFound, "no_file", "there is no such file")
)

// address returns the beginning of a video's addresses for those who see a post; 0: for its owner. It stays the same for a quarter of an hour, so that caches can
// keep the files.
func (s *Service) address(n, post uint64) (base string, ends time.Time) {
	ends = s.deps.Clock.Now().Truncate(addressLife).Add(2 * addressLife)
	video, scope, exp := strconv.FormatUint(n, 10), strconv.FormatUint(post, 10), signedurl.Expiry(ends)
	return s.deps.Origin + Prefix + video + "/" + scope + "-" + exp + "-" + s.urls.Sign("play", video+" "+scope, exp) + "/", ends
}

// signed checks the signature of an address, and returns its video and post.
func (s *Service) signed(r *http.Request) (n, post uint64, err error) {
	video := r.PathValue("video")
	scope, rest, _ := strings.Cut(r.PathValue("token"), "-")
	exp, sig, _ := strings.Cut(rest, "-")
	if err := s.urls.Check("play", video+" "+scope, exp, sig); err != nil {
		return 0, 0, err
	}
	n, nerr := strconv.ParseUint(video, 10, 63)
	post, perr := strconv.ParseUint(scope, 10, 63)
	if nerr != nil || perr != nil {
		return 0, 0, signedurl.ErrBad
	}
	return n, post, nil
}

// Handler serves playlists, segments and images to players.
func (s *Service) Handler() http.Handler {
	figures := s.deps.Calls.Add(http.MethodGet + " " + Prefix)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Prefix+"{video}/{token}/{file...}", func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		err := s.serve(w, r)
		if err != nil {
			if errs.Is(err, errs.Internal) {
				s.deps.Logger.Error("a file of a video could not be served", "error", err)
			}
			w.Header().Set("Cache-Control", "no-store")
			errs.WriteHTTP(w, err)
		}
		if r.Context().Err() == nil { // otherwise the player has disconnected
			figures.Done(uint32(began.Nanosecond()), time.Since(began), err)
		}
	})
	return mux
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) error {
	n, post, err := s.signed(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if post != 0 { // it may have been hidden or deleted, or edited to show another video
		shown, err := s.deps.Posts.ShowsVideo(ctx, post, n)
		if err == nil && !shown {
			err = errNoVideo
		}
		if err != nil {
			return err
		}
	}
	f, err := s.file(ctx, n, r.PathValue("file"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	policy := "same-site"
	if s.deps.Origin != "" {
		policy = "cross-origin" // the page that plays it may have another origin
	}
	h.Set("Cross-Origin-Resource-Policy", policy)
	h.Set("Cache-Control", "private, no-cache")
	if f.final {
		h.Set("Cache-Control", "private, max-age=43200, immutable")
	}
	if f.text != "" {
		http.ServeContent(outputlimit.ForFile(w, r, int64(len(f.text))), r, "", time.Time{}, strings.NewReader(f.text))
		return nil
	}
	blob, size, err := s.open(ctx, f)
	if err != nil {
		return err
	}
	defer blob.Close()
	if f.size == 0 {
		f.size = size
	}
	if f.offset+f.size > size {
		return fmt.Errorf("the file %s has %d bytes, and not %d from %d on", f.key, size, f.size, f.offset)
	}
	byterange.LimitToOne(r)
	h.Set("ETag", fmt.Sprintf("\"%s-%d\"", f.key[strings.LastIndexByte(f.key, '/')+1:], f.offset))
	http.ServeContent(outputlimit.ForFile(w, r, f.size), r, "", time.Time{}, &section{file: blob, begin: f.offset, size: f.size})
	return nil
}

// open opens the stored file of which f is a part.
func (s *Service) open(ctx context.Context, f *file) (io.ReadSeekCloser, int64, error) {
	if s.deps.Files == nil {
		return s.deps.Store.Open(ctx, f.key)
	}
	r, err := s.deps.Files.Open(ctx, f.key, f.stored)
	if err != nil {
		return nil, 0, err
	}
	if err := r.Probe(f.offset); err != nil {
		return nil, 0, errors.Join(err, r.Close())
	}
	return r, f.stored, nil
}

// file is what is served: a text, or a part of a stored file.
type file struct {
	kind         string // of the content
	text         string
	key          string
	offset, size int64          // size 0: to the end
	stored       int64          // size of the stored file
	final        bool           // it will not change
	onDemand     *onDemandState // what is played, if it is a rendition on demand; nil: another one, or not its beginning
}

const (
	kindPlaylist = "application/vnd.apple.mpegurl"
	kindDash     = "application/dash+xml"
	kindMP4      = "video/mp4"
	kindJPEG     = "image/jpeg"
	kindVTT      = "text/vtt; charset=utf-8"
)

// file finds a file of a video by its name.
func (s *Service) file(ctx context.Context, n uint64, name string) (f *file, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		v, err := getVideo(ctx, tx, n)
		if err == nil && (v.state == stateFailed || v.source == nil) {
			err = errNoVideo
		}
		if err == nil {
			f, err = v.file(ctx, tx, name)
		}
		return err
	})
	if err == nil && f.onDemand != nil {
		s.notePlayed(ctx, n, f.onDemand)
	}
	return f, err
}

func (v *video) file(ctx context.Context, tx *sql.Tx, name string) (*file, error) {
	folder, base, inFolder := strings.Cut(name, "/")
	track, isPlaylist := strings.CutSuffix(name, ".m3u8")
	text := func(kind, track string, make func(*progress) (string, error)) (*file, error) {
		p, err := load(ctx, tx, v, track)
		if err != nil {
			return nil, err
		}
		text, err := make(p)
		return &file{kind: kind, text: text, onDemand: p.onDemand[track]}, err
	}
	switch {
	case name == masterFile:
		return text(kindPlaylist, "", (*progress).master)
	case name == dashFile:
		return text(kindDash, "", (*progress).dash)
	case name == storyboardTextFile:
		return text(kindVTT, trackStoryboard, (*progress).storyboardText)
	case isPlaylist && !inFolder && v.isTrack(track):
		return text(kindPlaylist, track, func(p *progress) (string, error) { return p.media(track) })
	case inFolder && folder == stageFolder:
		return v.stageFile(ctx, tx, base)
	case inFolder && folder == subtitlesFolder:
		return v.subtitlesFile(ctx, tx, base)
	case name == storyboardFile:
		return v.image(ctx, tx, trackStoryboard, "0")
	case inFolder && folder == trackPoster && strings.HasSuffix(base, ".jpg"):
		return v.image(ctx, tx, trackPoster, strings.TrimSuffix(base, ".jpg"))
	case inFolder && v.isTrack(folder) && base == "init.mp4":
		return v.init(ctx, tx, folder)
	case inFolder && v.isTrack(folder) && strings.HasSuffix(base, ".m4s"):
		return v.segment(ctx, tx, folder, strings.TrimSuffix(base, ".m4s"))
	}
	return nil, errNoFile
}

// isTrack reports whether a name is that of a rendition or of the sound.
func (v *video) isTrack(name string) bool { return name == trackAudio || v.rendition(name) != nil }

func (v *video) image(ctx context.Context, tx *sql.Tx, track, number string) (*file, error) {
	first, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return nil, errNoFile
	}
	t, err := getTask(ctx, tx, v.id, track, first)
	if err != nil {
		return nil, err
	}
	if t == nil || t.stored == 0 {
		return nil, errNotYet
	}
	return &file{kind: kindJPEG, key: blobKey(v.id, track, first, t.stored), stored: t.size, final: true}, nil
}

// stageFile finds a file of a stage, by a name such as STAGE/FILE.
func (v *video) stageFile(ctx context.Context, tx *sql.Tx, name string) (*file, error) {
	name, base, _ := strings.Cut(name, "/")
	stage := v.stageOf(stagePrefix + name)
	if stage == nil {
		return nil, errNoFile
	}
	i := slices.IndexFunc(stage.Outputs, func(o pipeline.Output) bool { return o.File == base })
	if i < 0 {
		return nil, errNoFile
	}
	t, err := getTask(ctx, tx, v.id, stagePrefix+name, 0)
	if err != nil {
		return nil, err
	}
	if t == nil || t.stored <= 0 {
		return nil, errNotYet
	}
	sizes, err := sizesOf(t)
	if err != nil || i >= len(sizes) {
		return nil, errors.Join(errNoFile, err)
	}
	return &file{kind: stage.Outputs[i].Type, key: blobKey(v.id, t.track, int64(i), t.stored), stored: sizes[i], final: true}, nil
}

// init is the header of a track.
func (v *video) init(ctx context.Context, tx *sql.Tx, track string) (*file, error) {
	var init []byte
	err := tx.QueryRowContext(ctx, `SELECT init FROM video_tracks WHERE video = $1 AND track = $2`, int64(v.id), track).Scan(&init)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNotYet
	}
	if err != nil {
		return nil, err
	}
	states, err := onDemandStatesOf(ctx, tx, v)
	return &file{kind: kindMP4, text: string(init), final: true, onDemand: states[track]}, err
}

// segment finds a segment: in the task with the largest first number that is not larger.
func (v *video) segment(ctx context.Context, tx *sql.Tx, track, number string) (*file, error) {
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return nil, errNoFile
	}
	t, err := scanTask(tx.QueryRowContext(ctx, `SELECT `+taskColumns+` FROM video_tasks
		WHERE video = $1 AND track = $2 AND first <= $3 ORDER BY first DESC LIMIT 1`, int64(v.id), track, n).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	if t.stored == 0 {
		return nil, errNotYet
	}
	list, err := segmentsOf(t)
	if err != nil {
		return nil, err
	}
	if n-t.first >= int64(len(list)) {
		return nil, errNoFile
	}
	found := list[n-t.first]
	return &file{kind: kindMP4, key: blobKey(v.id, track, t.first, t.stored), offset: found.offset, size: found.size, stored: t.size, final: true}, nil
}

// section is a part of a file.
type section struct {
	file        io.ReadSeeker
	begin, size int64
	at          int64
	sought      bool // the file is at begin + at
}

func (s *section) Read(p []byte) (int, error) {
	if s.at >= s.size {
		return 0, io.EOF
	}
	if !s.sought {
		if _, err := s.file.Seek(s.begin+s.at, io.SeekStart); err != nil {
			return 0, err
		}
		s.sought = true
	}
	n, err := s.file.Read(p[:min(int64(len(p)), s.size-s.at)])
	s.at += int64(n)
	return n, err
}

func (s *section) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("a seek before the beginning")
	}
	s.at, s.sought = offset, false
	return offset, nil
}
