package video_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	"github.com/rialto-im/rialto/internal/service/video"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// largest is the rendition that is copied if the picture can be.
const largest = "90p"

// h264 is a video without sound whose picture is copied, unless its groups are open.
func (f *fixture) h264(openGroups string) []byte {
	return f.makeFile("a.mp4", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "3", "-c:v", "libx264", "-preset", "fast", "-pix_fmt", "yuv420p",
		"-x264-params", "open-gop="+openGroups+":keyint=10:bframes=2")
}

// step returns the step of a rendition.
func (f *fixture) step(n uint64, rendition string) *videov1.VideoStep {
	for _, s := range f.get(n).Steps {
		if s.Rendition == rendition {
			return s
		}
	}
	return nil
}

// blockFrom starts the node again. It blocks from the nth attempt on, until the function that is returned is called. Before the second one, which is the first after the
// inspection, it calls a function.
func (f *fixture) blockFrom(nth int32, second func()) (release func()) {
	f.stop()
	blocked := make(chan struct{})
	release = sync.OnceFunc(func() { close(blocked) })
	f.t.Cleanup(release)
	var hits atomic.Int32
	var once sync.Once
	f.start(func(at string) error {
		if at != "begun" {
			return nil
		}
		n := hits.Add(1)
		if n >= 2 {
			once.Do(second)
		}
		if n >= nth {
			<-blocked
		}
		return nil
	})
	return release
}

// TestNotCopied: a picture that cannot be copied is encoded. A late attempt at the copy does not count, and writes no file of a chunk.
func TestNotCopied(t *testing.T) {
	f := open(t)
	var copying video.Attempt
	release := f.blockFrom(4, func() { // the inspection, the copy and the first chunk of the small rendition come first
		list, err := f.ListVideos(t.Context(), alice, &videov1.ListVideosRequest{})
		if err == nil {
			copying, err = f.Attempt(t.Context(), list.Videos[0].Id, largest)
		}
		if err != nil {
			t.Error(err)
		}
	})
	v := f.create(f.h264("1"))
	eventually.True(t, "the copy is given up", func() bool {
		s := f.step(v.Id, largest)
		return s != nil && s.Kind == videov1.VideoStepKind_VIDEO_STEP_KIND_ENCODE
	})
	if counts, err := f.Finish(t.Context(), copying); err != nil || counts {
		t.Errorf("a late copy counts as the first chunk: %v, %v", counts, err)
	}
	release()
	v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	if s := f.step(v.Id, largest); s.Done != 2 || s.Total != 2 {
		t.Errorf("the step is %v", s)
	}
	if keys := f.stored(); !slices.Contains(keys, largest+"-0-2") || slices.Contains(keys, largest+"-0-1") {
		t.Errorf("the files are %q; the first attempt was the copy", keys)
	}
}

// TestLateCopy: an attempt at a copy that gives up late changes nothing if another one has copied the picture, or the video has ended.
func TestLateCopy(t *testing.T) {
	f := open(t)
	release := f.blockFrom(4, func() {})
	v := f.create(f.h264("0"))
	eventually.True(t, "the picture is copied", func() bool {
		s := f.step(v.Id, largest)
		return s != nil && s.Done == 1
	})
	giveUp := func(done uint32) {
		t.Helper()
		late, err := f.Attempt(t.Context(), v.Id, largest)
		must(t, err)
		must(t, f.EncodeInstead(t.Context(), late))
		if s := f.step(v.Id, largest); s.Kind != videov1.VideoStepKind_VIDEO_STEP_KIND_COPY || s.Done != done || s.Total != 1 {
			t.Errorf("the step is %v", s)
		}
	}
	giveUp(1)
	release()
	f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	giveUp(1)
	if v = f.get(v.Id); v.State != videov1.VideoState_VIDEO_STATE_READY {
		t.Errorf("the video is %v", v)
	}
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error { // as if it had failed before it was copied
		_, state := tx.ExecContext(t.Context(), `UPDATE videos SET state = 3 WHERE id = $1`, int64(v.Id))
		_, stored := tx.ExecContext(t.Context(), `UPDATE video_tasks SET stored = 0 WHERE video = $1 AND track = $2`, int64(v.Id), largest)
		return errors.Join(state, stored)
	}))
	giveUp(0)
	if v = f.get(v.Id); v.State != videov1.VideoState_VIDEO_STATE_FAILED {
		t.Errorf("the video is %v", v)
	}
}

// TestSoundNotCopied: sound that cannot be copied is encoded. If the copy only failed, it is tried again.
func TestSoundNotCopied(t *testing.T) {
	for _, c := range []struct {
		failure string
		want    videov1.VideoState
	}{{"exit 1", videov1.VideoState_VIDEO_STATE_READY}, {"kill -9 $$", videov1.VideoState_VIDEO_STATE_FAILED}} {
		f := open(t)
		f.stop()
		folder := t.TempDir()
		for name, script := range map[string]string{"ffmpeg": "case \"$*\" in *'-c:a copy'*) " + c.failure + ";; esac\nexec /usr/bin/ffmpeg \"$@\"", "ffprobe": "exec /usr/bin/ffprobe \"$@\""} {
			must(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		}
		f.deps.Transcoder = transcodetest.Open(t, transcode.Config{FFmpeg: folder, Ladder: transcodetest.Ladder(48)})
		f.start(nil)
		v := f.create(f.makeFile("a.mp4", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-f", "lavfi", "-i", "sine=frequency=440", "-t", "1", "-c:v", "mpeg4", "-c:a", "aac", "-ar", "48000"))
		v = f.await(v.Id, c.want)
		if c.want == videov1.VideoState_VIDEO_STATE_FAILED && !v.Failure.Retriable {
			t.Errorf("the failure is %v", v.Failure)
		}
	}
}
