package transcode_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestChangingSize: a video whose pictures change their size is encoded with all its frames, in its first size. It is not copied: not each player can play that.
func TestChangingSize(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	for name, codec := range map[string][]string{"a.ts": {"-c:v", "libx264", "-preset", "ultrafast"}, "a.webm": {"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"}} {
		t.Run(name, func(t *testing.T) {
			var parts []string
			for _, size := range []string{"160x90", "320x180", "90x160"} {
				parts = append(parts, makeFile(t, name, slices.Concat(picture(size, "10"), []string{"-t", "2", "-g", "10"}, codec)...))
			}
			in, s, err := inspect(t, tc, joinFiles(t, parts))
			must(t, err)
			if got, want := describe(s), s.Codec+" 160x90 10/1 constant true frames 60 chunks 2"; got != want {
				t.Fatalf("it is %s, want %s", got, want)
			}
			if n := len(frames(t, join(t, encode(t, tc, in, s, tc.Renditions(s)[0])))); n != 60 {
				t.Errorf("%d frames of 60", n)
			}
			if !s.CanCopy() {
				return
			}
			if _, err := tc.CopyPicture(t.Context(), in, s, t.TempDir()); !errors.Is(err, transcode.ErrNotCopied) {
				t.Errorf("a copy is answered with %v", err)
			}
		})
	}
	// The same parameters in each part are those of the header.
	part := makeFile(t, "b.ts", slices.Concat(picture("160x90", "10"), []string{"-t", "2", "-g", "10", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"})...)
	in, s, err := inspect(t, tc, joinFiles(t, []string{part, part}))
	must(t, err)
	if _, err := tc.CopyPicture(t.Context(), in, s, t.TempDir()); err != nil {
		t.Errorf("parts of one size are not copied: %v", err)
	}
}

// joinFiles returns the path of a Matroska file that has the packets of several files, one after the other.
func joinFiles(t *testing.T, parts []string) string {
	t.Helper()
	list := ""
	for _, p := range parts {
		list += "file '" + p + "'\n"
	}
	return makeFile(t, "joined.mkv", "-f", "concat", "-safe", "0", "-i", writeFile(t, "list.txt", list), "-c", "copy")
}

// TestCovers: what is shown is the video, whether the file calls a cover before it so or not.
func TestCovers(t *testing.T) {
	tc := open(t, transcode.Config{})
	video := makeFile(t, "a.mp4", slices.Concat(picture("160x90", "10"), []string{"-t", "1", "-c:v", "libx264", "-preset", "ultrafast"})...)
	for _, cover := range []string{"cover.png", "cover.jpg"} {
		image := makeFile(t, cover, slices.Concat(picture("80x80", "1"), []string{"-frames:v", "1"})...)
		for _, disposition := range []string{"attached_pic", "0"} {
			_, s, err := inspect(t, tc, makeFile(t, "b.mkv", "-i", image, "-i", video, "-map", "0", "-map", "1", "-c", "copy", "-disposition:v:0", disposition))
			must(t, err)
			if s.Codec != "h264" || s.Frames != 10 {
				t.Errorf("with %s as %s, the video is %s", cover, disposition, describe(s))
			}
		}
	}
}

// TestOneFrame: a video of one frame has it as poster, whatever time is asked for.
func TestOneFrame(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	in, s, err := inspect(t, tc, makeFile(t, "a.mp4", slices.Concat(picture("160x90", "10"), []string{"-frames:v", "1", "-c:v", "libx264", "-preset", "ultrafast"})...))
	must(t, err)
	path, r, err := tc.Poster(t.Context(), in, s, s.Duration/2, t.TempDir())
	must(t, err)
	checkImage(t, path, r.Width, r.Height)
	if n := len(frames(t, join(t, encode(t, tc, in, s, tc.Renditions(s)[0])))); n != 1 {
		t.Errorf("%d frames of 1", n)
	}
}
