package faulttest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// videoFailpoints are the steps of a task.
var videoFailpoints = []string{"video/stored", "video/begun", "video/inspected", "video/finished"}

// TestKilledWhileVideosAreProcessed: a video whose server is killed between any two steps plays to its end once the server runs again, and no temporary file is left.
func TestKilledWhileVideosAreProcessed(t *testing.T) {
	transcodetest.Open(t, transcode.Config{})
	movie, err := os.ReadFile(transcodetest.File(t, "a.mp4", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "3", "-c:v", "mpeg4"))
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, "--set", "video.workers=1", "--set", "limits.call_user=none") // it asks all the time whether a video is ready
	points := videoFailpoints[:1]
	if os.Getenv("KILL_CYCLES") != "" {
		points = videoFailpoints
	}
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	c, err := rialto.New(rialto.Config{URL: p.url(), Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Register(t.Context(), "author", "a good password", "Author"); err != nil {
		t.Fatal(err)
	}
	for i, point := range points {
		p.kill()
		hit := 1
		if point != "video/inspected" {
			hit = 2 + i
		}
		if !p.start(fmt.Sprintf("%s:%d", point, hit)) {
			t.Fatal("the server did not start")
		}
		created, err := c.Video().CreateVideo(t.Context(), connect.NewRequest(&videov1.CreateVideoRequest{Upload: upload(t, p, c, movie)}))
		if err != nil {
			t.Fatal(err)
		}
		eventually.Receive(t, "the server dies at "+point, p.gone)
		if !p.start("") {
			t.Fatal("the server did not start again")
		}
		checkVideo(t, p, c, created.Msg.Id)
	}
	p.stop()
	p.verify()
	if left, err := filepath.Glob(filepath.Join(p.dir, "video", "task-*")); err != nil || len(left) > 0 {
		t.Errorf("there is %q, %v", left, err)
	}
}

// checkVideo waits until a video is ready, and reads all segments of its rendition.
func checkVideo(t *testing.T, p *process, c *rialto.Client, n uint64) {
	t.Helper()
	var v *videov1.Video
	eventually.True(t, "the video is ready", func() bool {
		r, err := c.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: n}))
		if err != nil {
			t.Fatal(err)
		}
		v = r.Msg
		return v.State >= videov1.VideoState_VIDEO_STATE_READY
	})
	if v.State != videov1.VideoState_VIDEO_STATE_READY || len(v.Renditions) != 1 || !v.Renditions[0].Complete || v.Renditions[0].PlayableMs != 3000 || len(v.Posters) != 3 {
		t.Fatalf("the video is %v", v)
	}
	base := p.url() + strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	list := read(t, base+v.Renditions[0].Name+".m3u8")
	segments := 0
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ".m4s") {
			segments++
			if body := read(t, base+line); len(body) < 8 || body[4:8] != "moof" {
				t.Errorf("%s has %d bytes", line, len(body))
			}
		}
	}
	if segments != 2 || !strings.HasSuffix(list, "#EXT-X-ENDLIST\n") {
		t.Errorf("the playlist is %s", list)
	}
}

// wholeSegments reads the segments of a track that its playlist names, and returns the track as one file. Each segment is a moof and a mdat that end where it ends.
func wholeSegments(t *testing.T, base, track string) (file []byte, segments int) {
	t.Helper()
	list := read(t, base+track+".m3u8")
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if uri, ok := strings.CutPrefix(line, `#EXT-X-MAP:URI="`); ok {
			file = append(file, read(t, base+strings.TrimSuffix(uri, `"`))...)
		}
		if !strings.HasSuffix(line, ".m4s") {
			continue
		}
		segment := []byte(read(t, base+line))
		var kinds string
		rest := segment
		for len(rest) >= 8 {
			n := int(rest[0])<<24 | int(rest[1])<<16 | int(rest[2])<<8 | int(rest[3])
			kinds += string(rest[4:8]) + " "
			if n < 8 || n > len(rest) {
				break
			}
			rest = rest[n:]
		}
		if kinds != "moof mdat " || len(rest) != 0 {
			t.Errorf("%s has %d bytes with %q, of which %d are left", line, len(segment), kinds, len(rest))
		}
		file = append(file, segment...)
		segments++
	}
	return file, segments
}

func read(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s is answered with %d %s, %v", url, r.StatusCode, b, err)
	}
	return string(b)
}

// upload stores a file as a complete upload.
func upload(t *testing.T, p *process, c *rialto.Client, b []byte) uint64 {
	t.Helper()
	r, err := c.Media().CreateUpload(t.Context(), connect.NewRequest(&chatv1.CreateUploadRequest{Name: "a.mp4", Size: uint64(len(b))}))
	if err != nil {
		t.Fatal(err)
	}
	put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.url()+r.Msg.Url, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(put)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if _, err := c.Media().CompleteUpload(t.Context(), connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: r.Msg.Upload})); err != nil {
		t.Fatal(err)
	}
	return r.Msg.Upload
}
