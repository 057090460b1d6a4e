package transcode_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

// TestDamagedFiles: a file that was damaged at random is refused, or becomes a video with as many frames as its inspection has found, with sound and poster. Nothing
// ends in an error that is tried again.
func TestDamagedFiles(t *testing.T) {
	tc := open(t, transcode.Config{Ladder: transcodetest.Ladder(90)})
	var files [][]byte
	for name, args := range map[string][]string{"a.mp4": {"-c:v", "libx264", "-preset", "fast", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ar", "48000"}, "b.mkv": {"-c:v", "mpeg4", "-c:a", "libopus"}} {
		b, err := os.ReadFile(makeFile(t, name, slices.Concat(picture("160x90", "10"), tone, []string{"-t", "2", "-g", "10"}, args)...))
		must(t, err)
		files = append(files, b)
	}
	refused, made := 0, 0
	for seed := range uint64(8) {
		b := damage(slices.Clone(files[seed%2]), rand.New(rand.NewPCG(seed, 1)))
		path := filepath.Join(t.TempDir(), "damaged")
		must(t, os.WriteFile(path, b, 0o600))
		switch err := makeVideo(t, tc, path); {
		case err == nil:
			made++
		case transcode.IsRefusal(err):
			refused++
		default:
			t.Errorf("the file of seed %d ends in %v", seed, err)
		}
	}
	if refused == 0 || made == 0 {
		t.Errorf("%d files are refused, and %d become videos", refused, made)
	}
}

// damage cuts a file off, or writes noise into it: in some places, at its beginning, at its end, or in one piece.
func damage(b []byte, r *rand.Rand) []byte {
	from, n := 0, 1+r.IntN(20)
	switch r.IntN(5) {
	case 0:
		return b[:r.IntN(len(b))]
	case 1:
		from = r.IntN(len(b))
		for i := range b[from:min(len(b), from+r.IntN(3000))] {
			b[from+i] = byte(r.Uint32())
		}
		return b
	case 2:
		for range n {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		return b
	case 3:
		from = len(b) - 3000
	}
	for range n {
		b[from+r.IntN(3000)] = byte(r.Uint32())
	}
	return b
}

// makeVideo makes the smallest rendition of a file, its sound, and a poster.
func makeVideo(t *testing.T, tc *transcode.Transcoder, path string) error {
	t.Helper()
	in, s, err := inspect(t, tc, path)
	if err != nil {
		return err
	}
	total := 0
	for i := range s.Chunks {
		track, err := encodeOne(t, tc, in, s, tc.Renditions(s)[0], i)
		if err != nil {
			return err
		}
		for _, segment := range track.Segments {
			total += int(segment.Duration * s.Rate.Num / s.Rate.Den / track.Timescale)
		}
	}
	if total != s.Frames {
		t.Errorf("there are %d frames of %d", total, s.Frames)
	}
	if s.Audio != nil {
		if _, err := tc.EncodeAudio(t.Context(), in, s, transcode.AllSound, t.TempDir()); err != nil {
			return err
		}
	}
	_, _, err = tc.Poster(t.Context(), in, s, s.Duration/2, t.TempDir())
	return err
}
