// Package transcodetest makes transcoders and files for tests.
package transcodetest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// all is the environment variable with which a test fails for which something is missing.
const all = "TEST_ALL"

// Open returns a transcoder. Where transcoding is off, the test is skipped, or fails if all tests must run.
func Open(t testing.TB, config transcode.Config) *transcode.Transcoder {
	t.Helper()
	config.Niceness = cmp.Or(config.Niceness, 1) // beside other tests, programs would wait for minutes
	tc, err := transcode.New(t.Context(), config)
	if err != nil {
		if os.Getenv(all) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return tc
}

// File runs ffmpeg, outside of the sandbox, and returns the path of the file that it makes.
func File(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args = append(slices.Concat([]string{"-hide_banner", "-loglevel", "error", "-y"}, args), path)
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", args...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %q: %v: %s", args, err, out)
	}
	return path
}

// Frames is how many frames a file of a picture has, and how many different ones, decoded outside of the sandbox.
func Frames(t testing.TB, file []byte) (all, different int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "played.mp4")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "error", "-i", path, "-fps_mode", "passthrough", "-f", "framemd5", "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			seen[line[strings.LastIndexByte(line, ',')+1:]] = true
			all++
		}
	}
	return all, len(seen)
}

// Ladder has levels of some heights.
func Ladder(heights ...int) (list []transcode.Level) {
	for _, h := range heights {
		list = append(list, transcode.Level{Height: h})
	}
	return list
}
