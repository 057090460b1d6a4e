package transcode_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestFailures: a file is refused only if ffprobe itself says so. A program that is killed, or cannot be started, says nothing about the file.
func TestFailures(t *testing.T) {
	path := makeFile(t, "a.mp4", append(picture("160x90", "10"), "-t", "1", "-c:v", "mpeg4")...)
	for _, c := range []struct {
		script  string
		refused bool
	}{
		{"exit 1", true},
		{"kill -9 $$", false},
		{"exit 126", false},
		{"exit 127", false},
		{"echo 'bwrap: Creating new namespace failed' >&2; exit 1", false},
		{"echo 'prlimit: failed to set the AS resource limit' >&2; exit 1", false},
	} {
		tc := openWith(t, "ffprobe", c.script)
		if _, _, err := inspect(t, tc, path); err == nil || transcode.IsRefusal(err) != c.refused {
			t.Errorf("after %q, the error is %v, want a refusal: %v", c.script, err, c.refused)
		}
	}
}

// TestFailedCopy: a stream is to be encoded in place of a copy if ffmpeg itself cannot make that, and not if it was killed or could not be started.
func TestFailedCopy(t *testing.T) {
	path := makeFile(t, "a.mp4", slices.Concat(picture("160x90", "10"), tone, []string{"-t", "1", "-c:v", "mpeg4", "-c:a", "aac", "-ar", "48000"})...)
	in, s, err := inspect(t, open(t, transcode.Config{}), path)
	must(t, err)
	for what, copied := range map[string]func(tc *transcode.Transcoder) error{
		"sound": func(tc *transcode.Transcoder) error {
			_, err := tc.CopyAudio(t.Context(), in, s, t.TempDir())
			return err
		},
		"picture": func(tc *transcode.Transcoder) error {
			_, err := tc.CopyPicture(t.Context(), in, s, t.TempDir())
			return err
		},
	} {
		for _, c := range []struct {
			script    string
			notCopied bool
		}{
			{"exit 1", true},
			{"exit 183", true},                        // what is read is invalid, of newer versions
			{"exit 234", true},                        // an argument is invalid
			{"kill -ABRT $$", true},                   // it has found a mistake of its own
			{"for path; do :; done; : > $path", true}, // an empty file
			{"kill -9 $$", false},
			{"exit 127", false},
			{"echo 'bwrap: Creating new namespace failed' >&2; exit 1", false},
			{"echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 1", false},
		} {
			if err := copied(openWith(t, "ffmpeg", c.script)); err == nil || errors.Is(err, transcode.ErrNotCopied) != c.notCopied {
				t.Errorf("the %s after %q: the error is %v, want ErrNotCopied: %v", what, c.script, err, c.notCopied)
			}
		}
	}
}

// TestFailedChunk: a chunk is refused if ffmpeg says that most of it cannot be decoded, which another attempt does not change. Other failures are tried again.
func TestFailedChunk(t *testing.T) {
	path := makeFile(t, "a.mp4", append(picture("160x90", "10"), "-t", "1", "-c:v", "mpeg4")...)
	in, s, err := inspect(t, open(t, transcode.Config{}), path)
	must(t, err)
	for script, refused := range map[string]bool{"exit 69": true, "exit 1": false, "kill -9 $$": false, "echo 'bwrap: no space' >&2; exit 69": false} {
		tc := openWith(t, "ffmpeg", script)
		if _, err := encodeOne(t, tc, in, s, tc.Renditions(s)[0], 0); err == nil || transcode.IsRefusal(err) != refused {
			t.Errorf("after %q, the error is %v, want a refusal: %v", script, err, refused)
		}
	}
}

// TestAFullDiskIsNoDamage: a file that ffmpeg could not write to its end says nothing about the source, whatever ffmpeg ends with.
func TestAFullDiskIsNoDamage(t *testing.T) {
	path := makeFile(t, "a.mp4", append(picture("160x90", "10"), "-t", "1", "-c:v", "mpeg4")...)
	in, s, err := inspect(t, open(t, transcode.Config{}), path)
	must(t, err)
	ffmpeg, err := exec.LookPath("ffmpeg")
	must(t, err)
	for _, c := range []struct {
		said, reason string
	}{
		{"Error closing file chunk-0.mp4: No space left on device", "storage_full"},
		{"av_interleaved_write_frame(): Disk quota exceeded", "storage_full"},
		{"Error closing file chunk-0.mp4: Input/output error", ""},
	} {
		// It has written the header of the file, and no frame.
		tc := openWith(t, "ffmpeg", ffmpeg+` "$@" && for path; do :; done && truncate -s 800 "$path" && echo '`+c.said+`' >&2`)
		_, err := encodeOne(t, tc, in, s, tc.Renditions(s)[0], 0)
		if err == nil || transcode.IsRefusal(err) || c.reason != "" && errs.Of(err).Reason != c.reason {
			t.Errorf("after %q the error is %v, want no refusal, and the reason %q", c.said, err, c.reason)
		}
	}
}

// openWith returns a transcoder one of whose programs is a shell script.
func openWith(t testing.TB, program, script string) *transcode.Transcoder {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ffmpeg", "ffprobe"} {
		path, err := exec.LookPath(name)
		must(t, err)
		if name != program {
			must(t, os.Symlink(path, filepath.Join(dir, name)))
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return transcodetest.Open(t, transcode.Config{FFmpeg: dir, Ladder: transcodetest.Ladder(48, 90)})
}
