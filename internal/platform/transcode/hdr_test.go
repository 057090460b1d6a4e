package transcode_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestHDR: white and grey of HDR videos are as bright as those of SDR videos, in the picture and in posters, and the picture has the tags of SDR.
func TestHDR(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(48)})
	for _, c := range []struct {
		transfer         string
		value, low, high int // of 10 bits; and of 8 bits, of the result
	}{
		{"smpte2084", 572, 190, 210},    // 203 cd/m²: white of a page
		{"arib-std-b67", 721, 190, 210}, // the same in HLG
		{"smpte2084", 900, 225, 240},    // a light
		{"smpte2084", 64, 14, 18},       // black
		{"bt709", 572, 138, 148},        // it is no HDR
	} {
		name := fmt.Sprintf("%s %d", c.transfer, c.value)
		path := makeFile(t, "a.mp4", "-f", "lavfi", "-i", fmt.Sprintf("color=gray:size=64x48:rate=10:duration=0.5,format=yuv420p10le,lutyuv=y=%d:u=512:v=512", c.value),
			"-c:v", "libx264", "-profile:v", "high10", "-color_primaries", "bt2020", "-color_trc", c.transfer, "-colorspace", "bt2020nc")
		in, s, err := inspect(t, tc, path)
		must(t, err)
		if isHDR := c.transfer != "bt709"; isHDR != (s.HDR != "") {
			t.Errorf("%s: it is read as %q", name, s.HDR)
		}
		joined := join(t, encode(t, tc, in, s, tc.Renditions(s)[0]))
		if y := brightness(t, joined); y < c.low || y > c.high {
			t.Errorf("%s: the picture has the brightness %d, want %d to %d", name, y, c.low, c.high)
		}
		tags, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "stream=color_space,color_transfer,color_primaries", "-of", "csv=p=0", joined).Output()
		must(t, err)
		if got := strings.TrimSpace(string(tags)); c.transfer != "bt709" && got != "bt709,bt709,bt709" {
			t.Errorf("%s: the tags are %s", name, got)
		}
		poster, _, err := tc.Poster(t.Context(), in, s, 0, t.TempDir())
		must(t, err)
		if y := brightness(t, poster); c.transfer != "bt709" && (y < c.low || y > c.high) {
			t.Errorf("%s: the poster has the brightness %d, want %d to %d", name, y, c.low, c.high)
		}
		if _, err := tc.Storyboard(t.Context(), in, s, filepath.Clean(t.TempDir())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// brightness of the first pixel of a file, from 16 (black) to 235 (white).
func brightness(t *testing.T, path string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", path, "-frames:v", "1", "-vf", "scale=out_range=tv,format=yuv420p", "-f", "rawvideo", "-").Output()
	must(t, err)
	return int(out[0])
}
