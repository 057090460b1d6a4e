// Package transcode inspects and encodes video files with ffmpeg, which it runs in a sandbox.
//
// A file of a user is hostile. It is first parsed by this package (Check): only MP4, QuickTime, Matroska and WebM files are accepted, with few tracks, and none that
// refers to another file. Then ffprobe and ffmpeg read it, which have many bugs. Each runs for itself in namespaces without a network (sandbox.go), with a root that
// cannot be written, limits on time, memory and output, a forced input format, and no protocol but that of files. Without a sandbox nothing is run.
//
// # Chunks
//
// A video is encoded in chunks, which may be encoded at the same time, on any node, in any order. The frames of the output lie on a grid of a constant rate. A
// chunk has a number of them from a first one on, and the frames of all chunks together are those of the grid, each once. A chunk is one or more segments: groups of
// pictures that are decoded without others, each a moof and a mdat of a fragmented MP4 file. All chunks of a rendition have the same header (Init), so that the
// segments of all chunks, one after the other, are the rendition. check.go verifies that, frame by frame, and sets the times.
//
// Nothing here is stored, and nothing knows users. All methods are safe for concurrent use.
package transcode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Config of transcoding. The zero value is the documented default.
type Config struct {
	// FFmpeg is the folder of ffmpeg and ffprobe; empty: they are searched in PATH.
	FFmpeg string
	// Ladder has the sizes of the renditions, the smallest first; empty is 240, 480, 720, 1080.
	Ladder []Level
	// MaxDuration of a video; 0 is 4h.
	MaxDuration time.Duration
	// Niceness of the programs, 1 to 19; 0 is 19: what users wait for comes first.
	Niceness int
}

// MaxNiceness is the largest Niceness. DefaultDuration is the default of MaxDuration, and MaxDuration the largest one.
const (
	MaxNiceness     = 19
	DefaultDuration = 4 * time.Hour
	MaxDuration     = 12 * time.Hour
)

// Transcoder runs ffmpeg and ffprobe.
type Transcoder struct {
	config Config
	tools  tools
	// limitsProcesses: a limit of processes counts those of the sandbox.
	limitsProcesses bool

	mu      sync.Mutex // guards checked, while ffmpeg is asked
	checked bool       // ffmpeg has the encoders
}

// tools are paths of programs.
type tools struct{ ffmpeg, ffprobe, bwrap, prlimit, nice string }

// Input is a source file.
type Input struct {
	// Path of the file.
	Path string
	// Format is that of its Container.
	Format Format
	// counted is the rate by which all frames of the picture get their times; 0/0: they have those of the file.
	counted Rate
}

// ErrOff is wrapped by the error of New on a machine that cannot transcode.
var ErrOff = errors.New("transcoding is off")

// New finds the programs, and tests the sandbox. If something is missing, the error wraps ErrOff, and says what to install.
func New(ctx context.Context, config Config) (*Transcoder, error) {
	config.MaxDuration = cmp.Or(config.MaxDuration, DefaultDuration)
	config.Niceness = cmp.Or(config.Niceness, MaxNiceness) // by 10, chat beside them took more than twice the time
	if len(config.Ladder) == 0 {
		config.Ladder = []Level{{Height: 240}, {Height: 480}, {Height: 720}, {Height: 1080}}
	}
	t := &Transcoder{config: config}
	for _, tool := range []struct {
		name, folder, pkg string
		path              *string
	}{{"ffmpeg", config.FFmpeg, "ffmpeg", &t.tools.ffmpeg}, {"ffprobe", config.FFmpeg, "ffmpeg", &t.tools.ffprobe},
		{"bwrap", "", "bubblewrap", &t.tools.bwrap}, {"prlimit", "", "util-linux", &t.tools.prlimit}, {"nice", "", "coreutils", &t.tools.nice}} {
		var err error
		if *tool.path, err = find(tool.folder, tool.name); err != nil {
			return nil, fmt.Errorf("%w: the program %s is missing; install the package %s: %w", ErrOff, tool.name, tool.pkg, err)
		}
	}
	// To start ffmpeg costs ten times as much, so the first inspection tests that.
	if _, err := t.output(ctx, command{program: t.tools.nice, timeout: startTimeout}); err != nil {
		return nil, fmt.Errorf("%w: no program runs in the sandbox of bubblewrap; the host may forbid user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile): %w", ErrOff, err)
	}
	t.limitsProcesses = t.countsProcesses(ctx)
	return t, nil
}

// checkEncoders fails if ffmpeg lacks an encoder. It asks once.
func (t *Transcoder) checkEncoders(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checked {
		return nil
	}
	encoders, err := t.output(ctx, command{program: t.tools.ffmpeg, args: []string{"-hide_banner", "-encoders"}, timeout: startTimeout})
	if err != nil {
		return err
	}
	for _, encoder := range []string{" libx264 ", " aac ", " mjpeg "} {
		if !strings.Contains(string(encoders), encoder) {
			return fmt.Errorf("%w: ffmpeg lacks the encoder%s; install one that has it", ErrOff, strings.TrimRight(encoder, " "))
		}
	}
	t.checked = true
	return nil
}

// startTimeout of the test at the start.
const startTimeout = time.Minute

// find returns the resolved path of a program.
func find(folder, name string) (string, error) {
	path := name
	if folder != "" {
		path = filepath.Join(folder, name)
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// Errors of files. They are final: another attempt has the same result.
var (
	errNotAVideo = errs.New(errs.Invalid, "not_a_video", "this file is not a video; upload an MP4, QuickTime, Matroska or WebM file")
	errNoPicture = errs.New(errs.Invalid, "not_a_video", "this file has no picture that can be shown; upload a video")
)

func damaged(what string) error {
	return errs.Wrap(errs.Invalid, "video_damaged", "this video is incomplete or damaged; export it again, and upload that", errors.New(what))
}

func beyond(what string) error { return errs.New(errs.Invalid, "video_limits", what) }

// IsRefusal reports whether an error is about the file, so that another attempt has the same result.
func IsRefusal(err error) bool {
	if err == nil {
		return false
	}
	switch errs.Of(err).Reason {
	case "not_a_video", "video_damaged", "video_limits", "video_codec":
		return true
	}
	return false
}
