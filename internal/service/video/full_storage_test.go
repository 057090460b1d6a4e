package video_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// openFull starts a node with one worker whose store is full, and counts the attempts.
func openFull(t *testing.T, begun *atomic.Int32) *fixture {
	t.Helper()
	f := open(t)
	f.stop()
	f.workers = 1
	f.start(func(point string) error {
		if point == "begun" {
			begun.Add(1)
		}
		return nil
	})
	f.store.fail(errFull)
	return f
}

// awaitStorage waits until a video waits for storage.
func (f *fixture) awaitStorage(n uint64) (v *videov1.Video) {
	f.t.Helper()
	eventually.True(f.t, "the video waits for storage", func() bool {
		f.clock.Advance(sweepStep)
		f.jobs.Wake()
		v = f.get(n)
		return v.AwaitsStorage || v.State >= videov1.VideoState_VIDEO_STATE_READY
	})
	if v.State > videov1.VideoState_VIDEO_STATE_PROCESSING {
		f.t.Fatalf("the video is %v: %v", v.State, v.Failure)
	}
	return v
}

// settle waits until all jobs that are due have been run.
func (f *fixture) settle() {
	f.t.Helper()
	eventually.True(f.t, "the jobs that are due have run", func() bool {
		f.jobs.Wake()
		return f.count(`SELECT count(*) FROM jobs WHERE state = 'running' OR state = 'available' AND due_ms <= $1`, f.clock.Now().UnixMilli()) == 0
	})
}

// pass lets time pass in steps that are longer than any pause between attempts, and returns how many were begun.
func (f *fixture) pass(time, step time.Duration, begun *atomic.Int32) int32 {
	f.t.Helper()
	f.settle()
	before := begun.Load()
	for ; time > 0; time -= step {
		f.clock.Advance(step)
		f.settle()
	}
	return begun.Load() - before
}

// TestFullStorageIsAwaited: while the storage is full, a video waits, which its owner sees, and a few attempts look for space. Then it is processed to its end.
func TestFullStorageIsAwaited(t *testing.T) {
	var begun atomic.Int32
	f := openFull(t, &begun)
	created := f.create(f.movie("3"))
	v := f.awaitStorage(created.Id)
	if v.RemainingMs != 0 || v.Playback != nil {
		t.Errorf("a video that waits for storage is %v", v)
	}
	const steps = 10
	n := f.pass(steps*2*time.Minute, 2*time.Minute, &begun)
	if tasks := f.count(`SELECT count(*) FROM video_tasks WHERE stored = 0`); n < steps || n > 2*steps || tasks < 5 {
		t.Errorf("%d times two minutes after the storage was found full, there were %d attempts at %d tasks, want one each", steps, n, tasks)
	}
	f.awaitStorage(created.Id)
	f.posts.set(7, created.Id, bob)
	if seen, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: created.Id, Post: 7}); err != nil || seen.AwaitsStorage {
		t.Errorf("another user sees %v, %v", seen, err)
	}
	f.store.fail(nil)
	f.clock.Advance(2 * time.Minute)
	v = f.await(created.Id, videov1.VideoState_VIDEO_STATE_READY)
	if n := f.frames(strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8") + v.Renditions[0].Name + ".m3u8"); n != 30 || v.AwaitsStorage {
		t.Errorf("%d frames are played of %v", n, v)
	}
}

// TestFullStorageIsAwaitedForADay: a video that could store nothing for a day has failed. A retry may wait as long again, and what was stored begins the day again.
func TestFullStorageIsAwaitedForADay(t *testing.T) {
	var begun atomic.Int32
	f := openFull(t, &begun)
	n := f.create(f.movie("1")).Id
	f.awaitStorage(n)
	f.pass(23*time.Hour, 23*time.Hour, &begun)
	f.awaitStorage(n)
	for range 2 {
		f.clock.Advance(time.Hour)
		v := f.await(n, videov1.VideoState_VIDEO_STATE_FAILED)
		if v.Failure.Reason != "storage_full" || !v.Failure.Retriable || v.AwaitsStorage {
			t.Errorf("the failure is %v", v)
		}
		_, err := f.RetryVideo(t.Context(), alice, &videov1.RetryVideoRequest{Video: n})
		must(t, err)
		f.awaitStorage(n)
		f.pass(23*time.Hour, 23*time.Hour, &begun)
		f.awaitStorage(n)
	}
	f.store.failAfter(1, errFull)
	eventually.True(t, "a result is stored", func() bool {
		f.clock.Advance(sweepStep)
		f.jobs.Wake()
		return f.count(`SELECT count(*) FROM video_tasks WHERE stored > 0 AND track <> 'inspect'`) > 0
	})
	f.awaitStorage(n)
	f.pass(23*time.Hour, 23*time.Hour, &begun)
	f.awaitStorage(n)
	f.store.fail(nil)
	f.clock.Advance(time.Minute)
	f.await(n, videov1.VideoState_VIDEO_STATE_READY)
}

// TestFullStorageOnDemand: a rendition on demand waits for space, too.
func TestFullStorageOnDemand(t *testing.T) {
	f, v := openOnDemand(t, "1")
	f.store.fail(errFull)
	f.requestOK(v.Id)
	eventually.True(t, "many attempts find the storage full", func() bool {
		f.clock.Advance(time.Minute)
		f.jobs.Wake()
		return f.count(`SELECT max(attempts) FROM video_tasks WHERE track = $1`, largest) > 10
	})
	if r := f.get(v.Id).Renditions[1]; !r.Requested || f.count(`SELECT storage_full_ms FROM videos`) == 0 {
		t.Errorf("the rendition is %v", r)
	}
	f.store.fail(nil)
	f.awaitRendition(v.Id)
	f.checkRendition(v.Id, true)
	if n := f.count(`SELECT storage_full_ms FROM videos`); n != 0 {
		t.Errorf("the video waits since %d", n)
	}
}
