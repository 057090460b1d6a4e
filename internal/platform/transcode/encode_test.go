package transcode_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestFrames: frames in are frames out, each at its time, whatever the container, the rate and the size, when chunks are encoded apart.
func TestFrames(t *testing.T) {
	tc := open(t, transcode.Config{})
	join3 := func(parts ...[]string) []string { return slices.Concat(parts...) }
	for _, c := range []struct {
		name, file string
		args       []string
		want       string
		renditions int
	}{
		{"b frames", "a.mp4", join3(picture("160x90", "12"), tone, []string{"-t", "13", "-c:v", "libx264", "-preset", "fast", "-g", "250", "-c:a", "aac"}), "h264 160x90 12/1 constant true frames 156 chunks 3", 2},
		{"ntsc in matroska", "b.mkv", join3(picture("160x90", "30000/1001"), []string{"-t", "5", "-c:v", "libx264", "-preset", "ultrafast"}), "h264 160x90 30000/1001 constant true frames 150 chunks 2", 1},
		{"webm", "c.webm", join3(picture("160x90", "25"), []string{"-t", "3", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"}), "vp8 160x90 25/1 constant true frames 75 chunks 2", 1},
		{"odd", "d.mov", join3([]string{"-f", "lavfi", "-i", "testsrc=size=161x91:rate=24", "-t", "2.5", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv444p"}), "h264 161x91 24/1 constant true frames 60 chunks 2", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := makeFile(t, c.file, c.args...)
			in, s, err := inspect(t, tc, path)
			must(t, err)
			if got := describe(s); got != c.want {
				t.Fatalf("it is %s, want %s", got, c.want)
			}
			for _, r := range tc.Renditions(s)[:c.renditions] {
				joined := join(t, encode(t, tc, in, s, r))
				checkFrames(t, frames(t, joined), s)
				checkPictures(t, joined, path, s, r)
			}
		})
	}
}

// checkFrames checks that decoded frames have equal distances, and are all different.
func checkFrames(t *testing.T, list []string, s *transcode.Source) {
	t.Helper()
	seen := map[string]bool{}
	var step, before int
	for i, line := range list {
		var at int
		var sum string
		if _, err := fmt.Sscan(line, &at, &sum); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			step = at - before
		}
		if i > 0 && at-before != step {
			t.Errorf("frame %d is %d after the one before, and not %d", i, at-before, step)
		}
		if seen[sum] {
			t.Errorf("frame %d is shown twice", i)
		}
		seen[sum], before = true, at
	}
	if len(list) != s.Frames {
		t.Errorf("%d frames of %d", len(list), s.Frames)
	}
}

// TestVariableRate: a video whose frames have different distances gets a constant rate, and shows each frame at its time.
func TestVariableRate(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	path := makeFile(t, "a.mkv", slices.Concat(picture("160x90", "30"), []string{"-t", "6", "-vf", "select='if(lt(t,3),not(mod(n,3)),1)'", "-fps_mode", "vfr", "-c:v", "libx264", "-preset", "ultrafast"})...)
	in, s, err := inspect(t, tc, path)
	must(t, err)
	if got, want := describe(s), "h264 160x90 30/1 constant false frames 180 chunks 2"; got != want {
		t.Fatalf("it is %s, want %s", got, want)
	}
	r := tc.Renditions(s)[0]
	joined := join(t, encode(t, tc, in, s, r))
	if n := len(frames(t, joined)); n != 180 {
		t.Errorf("%d frames of 180", n)
	}
	checkPictures(t, joined, path, s, r)
}

// TestRotated: a picture that is shown rotated has the size of that, and is encoded rotated.
func TestRotated(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	plain := makeFile(t, "a.mp4", slices.Concat(picture("160x90", "30"), []string{"-t", "1", "-c:v", "libx264", "-preset", "ultrafast"})...)
	rotate := []string{"-i", plain, "-c", "copy", "-metadata:s:v:0", "rotate=90"}
	if out, _ := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-h", "full").Output(); bytes.Contains(out, []byte("-display_rotation")) { // of newer ones
		rotate = []string{"-display_rotation", "90", "-i", plain, "-c", "copy"}
	}
	in, s, err := inspect(t, tc, makeFile(t, "b.mp4", rotate...))
	must(t, err)
	if s.Width != 90 || s.Height != 160 || !s.Turned || s.CanCopy() {
		t.Fatalf("it is %+v", s)
	}
	r := tc.Renditions(s)[0]
	if r.Width != 90 || r.Height != 160 || r.Name != "90p" {
		t.Errorf("the rendition is %+v", r)
	}
	checkFrames(t, frames(t, join(t, encode(t, tc, in, s, r))), s)
}

// TestCopy: a picture and a sound that players can play are copied, in segments that begin with key frames.
func TestCopy(t *testing.T) {
	tc := open(t, transcode.Config{})
	path := makeFile(t, "a.mp4", slices.Concat(picture("160x90", "30"), tone, []string{"-t", "7", "-c:v", "libx264", "-preset", "fast", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ar", "48000"})...)
	in, s, err := inspect(t, tc, path)
	must(t, err)
	if !s.CanCopy() || !s.CanCopyAudio() {
		t.Fatalf("it is not copied: %+v %+v", s, s.Audio)
	}
	copied, err := tc.CopyPicture(t.Context(), in, s, t.TempDir())
	must(t, err)
	if n := len(copied.Segments); n != 3 && n != 4 {
		t.Errorf("there are %d segments, want them of 2 seconds", n)
	}
	list := frames(t, join(t, []*transcode.Track{copied}))
	checkFrames(t, list, s)
	for _, make := range []func() (*transcode.Track, error){
		func() (*transcode.Track, error) { return tc.CopyAudio(t.Context(), in, s, t.TempDir()) },
		func() (*transcode.Track, error) {
			return tc.EncodeAudio(t.Context(), in, s, transcode.AllSound, t.TempDir())
		},
	} {
		sound, err := make()
		must(t, err)
		last := sound.Segments[len(sound.Segments)-1]
		if end := (last.Start + last.Duration) / sound.Timescale; end != 7 || sound.Segments[0].Start != 0 || sound.Codecs != "mp4a.40.2" {
			t.Errorf("the sound is from %d to %d s, of %s", sound.Segments[0].Start, end, sound.Codecs)
		}
	}
	// Groups that refer to each other are not copied.
	open := makeFile(t, "b.mp4", slices.Concat(picture("160x90", "30"), []string{"-t", "5", "-c:v", "libx264", "-preset", "fast", "-x264-params", "open-gop=1:keyint=30:bframes=2", "-pix_fmt", "yuv420p"})...)
	in, s, err = inspect(t, tc, open)
	must(t, err)
	if _, err := tc.CopyPicture(t.Context(), in, s, t.TempDir()); err == nil && s.CanCopy() {
		t.Errorf("open groups are copied: %v", err)
	}
}

// TestImages: posters and the storyboard are images of their sizes.
func TestImages(t *testing.T) {
	tc := open(t, transcode.Config{})
	in, s, err := inspect(t, tc, makeFile(t, "a.mp4", slices.Concat(picture("160x90", "30"), []string{"-t", "5", "-c:v", "libx264", "-preset", "ultrafast"})...))
	must(t, err)
	path, r, err := tc.Poster(t.Context(), in, s, s.Duration/2, t.TempDir())
	must(t, err)
	checkImage(t, path, r.Width, r.Height)
	b, err := tc.Storyboard(t.Context(), in, s, t.TempDir())
	must(t, err)
	if b.Count != 3 || b.Columns != 3 {
		t.Errorf("the storyboard is %+v", b)
	}
	checkImage(t, b.Path, 3*b.TileWidth, b.TileHeight)
}

func checkImage(t *testing.T, path string, width, height int) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	c, err := jpeg.DecodeConfig(f)
	if err != nil || c.Width != width || c.Height != height {
		t.Errorf("%d × %d: %v, want %d × %d", c.Width, c.Height, err, width, height)
	}
}

// checkPictures checks that each frame of a rendition looks like that of the file at its time.
func checkPictures(t *testing.T, joined, path string, s *transcode.Source, r transcode.Rendition) {
	t.Helper()
	rate := fmt.Sprintf("%d/%d", s.Rate.Num, s.Rate.Den)
	graph := fmt.Sprintf("[0:v]settb=1/1000,setpts=N[a];[1:v]setpts=PTS-STARTPTS,fps=%s,scale=%d:%d:flags=bicubic,format=yuv420p,settb=1/1000,setpts=N[b];[a][b]psnr=stats_file=-", rate, r.Width, r.Height)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "error", "-i", joined, "-i", path, "-lavfi", graph, "-f", "null", "-").Output()
	must(t, err)
	n := 0
	for line := range strings.Lines(string(out)) {
		_, rest, found := strings.Cut(line, "psnr_avg:")
		if !found {
			continue
		}
		value, _, _ := strings.Cut(rest, " ")
		if db, err := strconv.ParseFloat(value, 64); err != nil || db < 24 {
			t.Errorf("frame %d looks otherwise: %s dB, %v", n, value, err)
		}
		n++
	}
	if n < s.Frames {
		t.Errorf("%d frames of %d were compared", n, s.Frames)
	}
}

// TestTogether: a chunk of several renditions, which is decoded once, is byte for byte what it is of each alone, also with watermarks.
func TestTogether(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(48, 68, 90)})
	in, s, err := inspect(t, tc, makeFile(t, "a.mkv", slices.Concat(picture("160x90", "30000/1001"), []string{"-t", "5", "-c:v", "mpeg4", "-bf", "2", "-q:v", "2"})...))
	must(t, err)
	list := tc.Renditions(s)
	if len(list) != 3 {
		t.Fatalf("the renditions are %+v", list)
	}
	path := makeFile(t, "white.png", "-f", "lavfi", "-i", "color=white:size=40x20", "-frames:v", "1")
	for _, marked := range []bool{false, true} {
		for i := range list {
			if r := &list[i]; marked {
				r.PlaceWatermark("white", 40, 20, "top-left", 0.2, 0.5)
				r.Watermark.Path = path
			}
		}
		for chunk := range s.Chunks {
			tracks, err := tc.EncodeChunk(t.Context(), in, s, list, chunk, t.TempDir())
			must(t, err)
			for i, r := range list {
				alone, err := encodeOne(t, tc, in, s, r, chunk)
				must(t, err)
				a, err := os.ReadFile(alone.Path)
				must(t, err)
				b, err := os.ReadFile(tracks[i].Path)
				must(t, err)
				if !bytes.Equal(a, b) {
					t.Errorf("chunk %d of %s, with a watermark %v, is %d bytes and not the %d of one alone", chunk, r.Name, marked, len(b), len(a))
				}
			}
		}
	}
}

// TestStoryboardOfRendition: the storyboard of a rendition has the frames of that of the file.
func TestStoryboardOfRendition(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(48, 90)})
	in, s, err := inspect(t, tc, makeFile(t, "a.mkv", slices.Concat(picture("160x90", "10"), []string{"-t", "13", "-c:v", "mpeg4", "-q:v", "2"})...))
	must(t, err)
	path := join(t, encode(t, tc, in, s, tc.Renditions(s)[0]))
	of, err := tc.StoryboardOf(t.Context(), path, s, t.TempDir())
	must(t, err)
	from, err := tc.Storyboard(t.Context(), in, s, t.TempDir())
	must(t, err)
	if of.Count != 7 || of.Columns != 7 || of.TileWidth != from.TileWidth || of.TileHeight != from.TileHeight || of.Interval != from.Interval {
		t.Errorf("it is %+v, want %+v", of, from)
	}
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "error", "-i", of.Path, "-i", from.Path, "-lavfi", "[0:v]untile=7x1[a];[1:v]untile=7x1[b];[a][b]psnr=stats_file=-", "-f", "null", "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		_, rest, found := strings.Cut(line, "psnr_avg:")
		if value, _, _ := strings.Cut(rest, " "); found {
			db, err := strconv.ParseFloat(value, 64)
			t.Logf("tile: %v", db)
			if err != nil || db < 18 {
				t.Errorf("a tile looks otherwise: %s", line)
			}
		}
	}
}

// TestLongSound: the sound of a long video is the same in two parts as in one.
func TestLongSound(t *testing.T) {
	tc := open(t, transcode.Config{})
	in, s, err := inspect(t, tc, makeFile(t, "a.mkv", slices.Concat(picture("32x32", "1"), []string{"-f", "lavfi", "-i", "sine=frequency=440:beep_factor=3", "-t", "61", "-c:v", "mpeg4", "-c:a", "libopus"})...))
	must(t, err)
	var sums []string
	for _, parts := range [][]transcode.SoundPart{{transcode.AllSound}, {transcode.FirstSound, transcode.RestOfSound}} {
		var tracks []*transcode.Track
		for _, part := range parts {
			track, err := tc.EncodeAudio(t.Context(), in, s, part, t.TempDir())
			must(t, err)
			tracks = append(tracks, track)
		}
		out, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "error", "-i", join(t, tracks), "-c", "copy", "-f", "framemd5", "-").Output()
		must(t, err)
		sums = append(sums, string(out))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") < 2800 {
		t.Errorf("the parts are %d bytes, and the whole %d", len(sums[1]), len(sums[0]))
	}
}

// TestDamaged: of a file whose content is damaged or shorter than it says, a chunk has all its frames, or is refused.
func TestDamaged(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	path := makeFile(t, "a.mp4", slices.Concat(picture("160x90", "10"), []string{"-t", "6", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10"})...)
	in, s, err := inspect(t, tc, path)
	must(t, err)
	r := tc.Renditions(s)[0]
	longer := *s
	longer.Chunks = []transcode.Chunk{{First: 20, Frames: 80, Seek: s.Chunks[1].Seek}}
	if _, err := encodeOne(t, tc, in, &longer, r, 0); !transcode.IsRefusal(err) {
		t.Errorf("a chunk that lacks half of its frames is answered with %v", err)
	}
	b, err := os.ReadFile(path)
	must(t, err)
	data := bytes.Index(b, []byte("mdat"))
	for i := data + 2000; i < data+12_000; i++ {
		b[i] = byte(i * i)
	}
	must(t, os.WriteFile(path, b, 0o600))
	whole := 0
	for i := range s.Chunks {
		track, err := encodeOne(t, tc, in, s, r, i)
		if err != nil {
			continue
		}
		frames := int64(0)
		for _, segment := range track.Segments {
			frames += segment.Duration * 10 / track.Timescale
		}
		if frames != int64(s.Chunks[i].Frames) {
			t.Errorf("chunk %d has %d frames of %d", i, frames, s.Chunks[i].Frames)
		}
		whole++
	}
	if whole == 0 {
		t.Error("no chunk is left, although only some of the file is damaged")
	}
}
