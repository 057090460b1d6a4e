package faulttest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// TestKilledWorkerNode: a node that only processes videos is killed at steps of its tasks. It stays away, another worker redoes what was on its way, and the video has each frame once.
func TestKilledWorkerNode(t *testing.T) {
	s3 := s3test.Start(t)
	transcodetest.Open(t, transcode.Config{})
	const frames = 40 * 10
	movie, err := os.ReadFile(transcodetest.File(t, "a.mp4", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=10", "-t", "40", "-c:v", "mpeg4"))
	if err != nil {
		t.Fatal(err)
	}
	shared := []string{"postgres=" + sqltest.Schema(t, sqltest.Postgres(t)), "s3.endpoint=" + s3.Endpoint, "s3.bucket=" + s3.Bucket(t), "s3.access_key=" + s3.AccessKey, "s3.secret_key=" + s3.SecretKey,
		"limits.call_user=none", "video.workers=1"}
	node := func(name, roles string) *process {
		port, err := loopback.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"--admin", fmt.Sprintf("127.0.0.1:%d", port)}
		for _, s := range append(shared, "node="+name, "roles="+roles) {
			args = append(args, "--set", s)
		}
		return newProcess(t, args...)
	}
	front := node("front", "gateway,api,chat,feed")
	if !front.start("") {
		t.Fatal("the node did not start")
	}
	c := front.register("author")
	// The failpoints are of any task: the second one is of a chunk, an image or the sound.
	for i, point := range []string{"video/begun:2", "video/stored:2", "video/begun/encode:3"} {
		lost, next := node(fmt.Sprint("lost", i), "worker"), node(fmt.Sprint("next", i), "worker")
		if !lost.start(point) {
			t.Fatal("the worker did not start")
		}
		created, err := c.Video().CreateVideo(t.Context(), connect.NewRequest(&videov1.CreateVideoRequest{Upload: upload(t, front, c, movie)}))
		if err != nil {
			t.Fatal(err)
		}
		eventually.Receive(t, "the worker dies at "+point, lost.gone)
		if !next.start("") {
			t.Fatal("the other worker did not start")
		}
		var v *videov1.Video
		eventually.True(t, "the video is ready", func() bool {
			r, err := c.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: created.Msg.Id}))
			if err != nil {
				t.Fatal(err)
			}
			v = r.Msg
			return v.State >= videov1.VideoState_VIDEO_STATE_READY
		})
		if v.State != videov1.VideoState_VIDEO_STATE_READY || len(v.Renditions) == 0 {
			t.Fatalf("the video is %v", v)
		}
		base := front.url() + strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
		for _, r := range v.Renditions {
			file, _ := wholeSegments(t, base, r.Name)
			if all, different := transcodetest.Frames(t, file); all != frames || different != frames || !r.Complete {
				t.Errorf("%s: %s has %d frames, and %d different ones, want %d: %v", point, r.Name, all, different, frames, r)
			}
		}
		next.stop()
	}
	front.stop()
}
