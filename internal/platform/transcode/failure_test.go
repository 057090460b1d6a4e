package transcode_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

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

// TestFailedCopy: a sound is to be encoded in place of a copy if ffmpeg itself refuses that, and not if it was killed or could not be started.
func TestFailedCopy(t *testing.T) {
	path := makeFile(t, "a.mp4", slices.Concat(picture("160x90", "10"), tone, []string{"-t", "1", "-c:v", "mpeg4", "-c:a", "aac", "-ar", "48000"})...)
	in, s, err := inspect(t, open(t, transcode.Config{}), path)
	must(t, err)
	for _, c := range []struct {
		script    string
		notCopied bool
	}{
		{"exit 1", true},
		{"exit 183", true},                        // what is read is invalid, of newer versions
		{"exit 234", true},                        // an argument is invalid
		{"for path; do :; done; : > $path", true}, // an empty file
		{"kill -9 $$", false},
		{"exit 127", false},
		{"echo 'bwrap: Creating new namespace failed' >&2; exit 1", false},
	} {
		_, err := openWith(t, "ffmpeg", c.script).CopyAudio(t.Context(), in, s, t.TempDir())
		if err == nil || errors.Is(err, transcode.ErrNotCopied) != c.notCopied {
			t.Errorf("after %q, the error is %v, want ErrNotCopied: %v", c.script, err, c.notCopied)
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
