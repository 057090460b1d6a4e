package transcode_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestWatermark: an image lies over each frame of each chunk, in its corner and nowhere else, and the frames stay at their times.
func TestWatermark(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	path := makeFile(t, "a.mkv", slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=size=160x90:rate=30000/1001,lutyuv=y=val/4"}, []string{"-t", "3", "-c:v", "mpeg4", "-q:v", "2"})...)
	in, s, err := inspect(t, tc, path)
	must(t, err)
	white := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	draw.Draw(white, white.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	var mark bytes.Buffer
	must(t, png.Encode(&mark, white))
	r := tc.Renditions(s)[0]
	r.PlaceWatermark("white", 40, 20, "bottom-right", 0.2, 1)
	r.Watermark.Path = filepath.Join(t.TempDir(), "white.png")
	must(t, os.WriteFile(r.Watermark.Path, mark.Bytes(), 0o600))
	if w := r.Watermark; w.X != 160-3-32 || w.Y != 90-3-16 || w.Width != 32 || w.Height != 16 {
		t.Fatalf("the watermark is %+v", w)
	}
	joined := join(t, encode(t, tc, in, s, r))
	checkFrames(t, frames(t, joined), s)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "error", "-i", joined, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-").Output()
	must(t, err)
	if len(out) != s.Frames*160*90 {
		t.Fatalf("%d bytes of %d frames", len(out), s.Frames)
	}
	for n := range s.Frames {
		frame := out[n*160*90:][:160*90]
		if inMark, beside := frame[(90-11)*160+160-19], frame[11*160+19]; inMark < 200 || beside > 120 {
			t.Fatalf("frame %d has the brightness %d in the watermark and %d beside it", n, inMark, beside)
		}
	}
}

// TestLadder: a rendition has the settings of its level; the largest one has those of the level that the source nearly reaches.
func TestLadder(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: []transcode.Level{{Height: 240, MaxRate: 300_000, CRF: 30, Preset: "fast"}, {Height: 480}, {Height: 720, CRF: 20}}})
	for height, want := range map[int]string{100: "100p30", 250: "250p0", 400: "240p30 400p0", 500: "240p30 500p20", 4000: "240p30 480p0 720p20"} {
		got := ""
		for _, r := range tc.Renditions(&transcode.Source{Width: 2 * height, Height: height, Rate: transcode.Rate{Num: 30, Den: 1}}) {
			if got != "" {
				got += " "
			}
			got += r.Name + strconv.Itoa(r.CRF)
			if (r.CRF == 30) != (r.Rate == 300_000 && r.Preset == "fast") {
				t.Errorf("the rendition is %+v", r)
			}
		}
		if got != want {
			t.Errorf("of %d the renditions are %q, want %q", height, got, want)
		}
	}
}
