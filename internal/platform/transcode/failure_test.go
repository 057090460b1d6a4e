package transcode_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
	return transcodetest.Open(t, transcode.Config{FFmpeg: dir, Heights: []int{48, 90}})
}
