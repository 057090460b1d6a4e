package transcode_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open returns a transcoder of small renditions.
func open(t testing.TB, config transcode.Config) *transcode.Transcoder {
	t.Helper()
	if config.Ladder == nil {
		config.Ladder = transcodetest.Ladder(48, 90)
	}
	return transcodetest.Open(t, config)
}

// makeFile runs ffmpeg, and returns the path of what it makes.
func makeFile(t testing.TB, name string, args ...string) string {
	t.Helper()
	return transcodetest.File(t, name, args...)
}

// picture and tone are sources of ffmpeg.
func picture(size, rate string) []string {
	return []string{"-f", "lavfi", "-i", "testsrc2=size=" + size + ":rate=" + rate}
}

var tone = []string{"-f", "lavfi", "-i", "sine=frequency=440"}

// inspect checks and inspects a file.
func inspect(t testing.TB, tc *transcode.Transcoder, path string) (transcode.Input, *transcode.Source, error) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	format, err := transcode.Check(f, info.Size())
	if err != nil {
		return transcode.Input{}, nil, err
	}
	in := transcode.Input{Path: path, Format: format}
	s, err := tc.Inspect(t.Context(), in)
	return in, s, err
}

// frames are the times and the checksums of the decoded frames of a file, as lines "time checksum".
func frames(t testing.TB, path string, args ...string) []string {
	t.Helper()
	all := append([]string{"-hide_banner", "-loglevel", "error", "-copyts", "-i", path, "-map", "0:v"}, args...)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append(all, "-fps_mode", "passthrough", "-f", "framemd5", "-")...).CombinedOutput()
	if err != nil {
		t.Fatalf("decoding: %v: %s", err, out)
	}
	var list []string
	for _, line := range strings.Split(string(out), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			fields := strings.Split(strings.ReplaceAll(line, " ", ""), ",")
			list = append(list, fields[2]+" "+fields[len(fields)-1])
		}
	}
	return list
}

// encodeOne encodes a chunk of a rendition alone.
func encodeOne(t testing.TB, tc *transcode.Transcoder, in transcode.Input, s *transcode.Source, r transcode.Rendition, chunk int) (*transcode.Track, error) {
	t.Helper()
	tracks, err := tc.EncodeChunk(t.Context(), in, s, []transcode.Rendition{r}, chunk, t.TempDir())
	if err != nil {
		return nil, err
	}
	return tracks[0], nil
}

// encode encodes all chunks of a rendition, the last one first, and returns them in their order.
func encode(t testing.TB, tc *transcode.Transcoder, in transcode.Input, s *transcode.Source, r transcode.Rendition) []*transcode.Track {
	t.Helper()
	tracks := make([]*transcode.Track, len(s.Chunks))
	for i := len(tracks) - 1; i >= 0; i-- {
		track, err := encodeOne(t, tc, in, s, r, i)
		if err != nil {
			t.Fatalf("chunk %d: %v", i, err)
		}
		tracks[i] = track
	}
	return tracks
}

// join writes a header and the segments of all tracks into a file, as a player gets them. It fails if there is a gap.
func join(t testing.TB, tracks []*transcode.Track) string {
	t.Helper()
	all := bytes.NewBuffer(bytes.Clone(tracks[0].Init))
	next := tracks[0].Segments[0].Start
	for i, track := range tracks {
		if !bytes.Equal(track.Init, tracks[0].Init) {
			t.Errorf("the header of chunk %d differs", i)
		}
		b, err := os.ReadFile(track.Path)
		must(t, err)
		for k, s := range track.Segments {
			if s.Start != next {
				t.Errorf("segment %d of chunk %d begins at %d and not at %d", k, i, s.Start, next)
			}
			next = s.Start + s.Duration
			all.Write(b[track.Begin+s.Offset:][:s.Size])
		}
	}
	path := filepath.Join(t.TempDir(), "joined.mp4")
	must(t, os.WriteFile(path, all.Bytes(), 0o600))
	return path
}

func describe(s *transcode.Source) string {
	return fmt.Sprintf("%s %dx%d %d/%d constant %v frames %d chunks %d", s.Codec, s.Width, s.Height, s.Rate.Num, s.Rate.Den, s.Constant, s.Frames, len(s.Chunks))
}

// writeFile writes a text into a file, and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
