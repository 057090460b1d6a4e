//go:build smalldisk

package faulttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	rialto "github.com/rialto-im/rialto/sdk/go"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// getVideo reads a video of a client.
func getVideo(t *testing.T, c *rialto.Client, n uint64) *videov1.Video {
	t.Helper()
	r, err := c.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: n}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

// TestTheDiskIsFullWhileAVideoIsProcessed: while the disk is full, messages are refused and those before are shown, and all segments that the video has are whole. The video waits, and says
// so to its owner. With space again, it goes on by itself, and has all its frames.
func TestTheDiskIsFullWhileAVideoIsProcessed(t *testing.T) {
	transcodetest.Open(t, transcode.Config{})
	const frames = 60 * 10
	movie, err := os.ReadFile(transcodetest.File(t, "a.mp4", "-f", "lavfi", "-i", "testsrc2=size=480x270:rate=10", "-t", "60", "-c:v", "mpeg4", "-q:v", "8"))
	if err != nil {
		t.Fatal(err)
	}
	d := newSmallDisk(t, "video", "--set", "video.workers=1", "--set", "limits.call_user=none")
	p, alice := d.process, d.alice
	d.sendUntil(true)
	created, err := alice.Video().CreateVideo(t.Context(), connect.NewRequest(&videov1.CreateVideoRequest{Upload: upload(t, p, alice, movie)}))
	if err != nil {
		t.Fatal(err)
	}
	n := created.Msg.Id
	ballast(t, d.ballast, 48<<20) // the rest is soon filled
	var v *videov1.Video
	eventually.True(t, "the video can be played", func() bool {
		v = getVideo(t, alice, n)
		return v.Playback != nil || v.State >= videov1.VideoState_VIDEO_STATE_READY
	})
	ballast(t, d.ballast, 0)
	if v = getVideo(t, alice, n); v.State != videov1.VideoState_VIDEO_STATE_PROCESSING {
		t.Fatalf("the video was not being processed when the disk was full: %v", v)
	}
	isFull := func() bool {
		return strings.Contains(p.said(), "No space left on device") || strings.Contains(p.said(), "the server's disk is full; nothing was stored")
	}
	eventually.True(t, "a task finds the disk full", func() bool {
		ballast(t, d.ballast, 0) // including what the server freed meanwhile
		return isFull()
	})
	eventually.True(t, "the video waits for storage", func() bool {
		ballast(t, d.ballast, 0)
		return getVideo(t, alice, n).AwaitsStorage || strings.Contains(p.said(), "the outcome of a job could not be stored")
	})
	d.sendUntil(false)
	d.checkMessages()
	base := p.url() + strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	for _, r := range v.Renditions {
		if r.PlayableMs > 0 {
			if _, segments := wholeSegments(t, base, r.Name); segments == 0 {
				t.Errorf("%s has no segments, and %d ms can be played", r.Name, r.PlayableMs)
			}
		}
	}
	if err := os.Remove(d.ballast); err != nil {
		t.Fatal(err)
	}
	d.sendUntil(true)
	d.checkMessages()
	eventually.Within(t, 5*eventually.Timeout, "with space again the video is ready", func() bool {
		if v = getVideo(t, alice, n); v.State == videov1.VideoState_VIDEO_STATE_FAILED {
			t.Fatalf("the video failed with %v", v.Failure)
		}
		return v.State == videov1.VideoState_VIDEO_STATE_READY
	})
	base = p.url() + strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	for _, r := range v.Renditions {
		file, _ := wholeSegments(t, base, r.Name)
		if all, different := transcodetest.Frames(t, file); all != frames || different < frames*9/10 || !r.Complete {
			t.Errorf("%s has %d frames, and %d different ones, want %d: %v", r.Name, all, different, frames, r)
		}
	}
	p.stop()
	p.verify()
	if left, err := filepath.Glob(filepath.Join(p.dir, "video", "task-*")); err != nil || len(left) > 0 {
		t.Errorf("there is %q, %v", left, err)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		t.Error(err)
	}
}
