package transcode_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestNegativeTimes: of a Matroska file whose times are negative at its beginning, for which ffmpeg has none, each frame is shown, in order, and the sound is where it
// belongs. It is encoded, since ffmpeg cannot copy what has no times.
func TestNegativeTimes(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	plain := makeFile(t, "a.mkv", slices.Concat(picture("160x90", "10"), tone, []string{"-t", "16", "-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "20", "-c:a", "libopus"})...)
	for _, c := range []struct {
		name, by  string
		sound     bool // is earlier, too
		fromStart int  // chunks
		lead      time.Duration
	}{
		{"some frames", "0.5", true, 2, 0},
		{"all frames before the second chunk", "3", true, 2, 0},
		{"all frames", "20", true, 3, 0},
		{"the picture alone", "3", false, 2, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"-itsoffset", "-" + c.by, "-i", plain}
			if c.sound {
				args = append(args, "-itsoffset", "-"+c.by)
			}
			path := makeFile(t, "b.mkv", append(args, "-i", plain, "-map", "0:v", "-map", "1:a", "-c", "copy", "-avoid_negative_ts", "disabled")...)
			in, s, err := inspect(t, tc, path)
			must(t, err)
			if got, want := describe(s), "h264 160x90 10/1 constant true frames 160 chunks 3"; got != want {
				t.Fatalf("it is %s, want %s", got, want)
			}
			fromStart := 0
			for _, chunk := range s.Chunks {
				if chunk.FromStart {
					fromStart++
				}
			}
			if fromStart != c.fromStart || s.CanCopy() || (s.Lead-c.lead).Abs() > 100*time.Millisecond || s.Start > 100*time.Millisecond {
				t.Errorf("%d chunks are read from the beginning, the lead is %v, and the start %v", fromStart, s.Lead, s.Start)
			}
			list := frames(t, join(t, encode(t, tc, in, s, tc.Renditions(s)[0])))
			checkFrames(t, list, s)
			sound, err := tc.EncodeAudio(t.Context(), in, s, transcode.AllSound, t.TempDir())
			must(t, err)
			if begin := silence(t, join(t, []*transcode.Track{sound})); (begin - c.lead).Abs() > 200*time.Millisecond {
				t.Errorf("the sound begins after %v, and not after %v", begin, c.lead)
			}
			poster, r, err := tc.Poster(t.Context(), in, s, time.Second, t.TempDir())
			must(t, err)
			checkImage(t, poster, r.Width, r.Height)
		})
	}
}

// silence returns when the sound of a file begins.
func silence(t *testing.T, path string) time.Duration {
	t.Helper()
	b, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-nostats", "-i", path, "-af", "silencedetect=noise=-40dB:d=0.3", "-f", "null", "-").CombinedOutput()
	must(t, err)
	out := string(b)
	_, end, found := strings.Cut(out, "silence_end: ")
	if !found || !strings.Contains(out, "silence_start: 0\n") && !strings.Contains(out, "silence_start: -") {
		return 0
	}
	end, _, _ = strings.Cut(end, " ")
	d, err := time.ParseDuration(end + "s")
	must(t, err)
	return d
}
