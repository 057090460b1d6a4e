package video_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/service/video"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// openShared starts a node with one worker, which encodes all renditions of a chunk but the smallest in one run. begun counts what it has begun.
func openShared(t *testing.T, text string, begun *atomic.Int32, interrupt func(point string) error) *fixture {
	t.Helper()
	f := openStopped(t)
	f.deps.Node, f.workers = "node-1", 1
	f.setPipeline(loadPipeline(t, text))
	f.start(func(point string) error {
		if point == "begun" {
			begun.Add(1)
		}
		return interrupt(point)
	})
	t.Cleanup(func() { f.stop() })
	return f
}

func never(string) error { return nil }

// checkShared checks that all renditions are complete, and what is stored of them: of 3 s in three sizes.
func (f *fixture) checkShared(n uint64) {
	f.t.Helper()
	v := f.get(n)
	base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	for _, r := range v.Renditions {
		if n := f.frames(base + r.Name + ".m3u8"); n != 30 || !r.Complete {
			f.t.Errorf("%d frames of 30 are played of %v", n, r)
		}
	}
	f.clock.Advance(sweepStep)
	must(f.t, f.Sweep(f.t.Context()))
	if keys := f.stored(); len(keys) != 3*2+1+3+1 { // two chunks of three renditions, sound, posters, storyboard
		f.t.Errorf("the files are %q", keys)
	}
}

const sharedText = `renditions: [{height: 48}, {height: 68}, {height: 90}]`

// TestShared: one run encodes the renditions of a chunk, except the smallest one, which has runs of its own. The storyboard is made of that one when it is complete.
func TestShared(t *testing.T) {
	var begun atomic.Int32
	f := openShared(t, sharedText, &begun, never)
	v := f.await(f.create(f.movie("3")).Id, videov1.VideoState_VIDEO_STATE_READY)
	if n := begun.Load(); n != 1+1+3+2+2+1 { // inspection, sound, posters, chunks of the smallest rendition, chunks of the others, storyboard
		t.Errorf("%d runs were begun", n)
	}
	stages := f.stagesOf(v.Id)
	for _, name := range []string{"48p", "68p", "90p"} {
		if st := stages[name]; st.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE || st.Tasks != 2 || st.Done != 2 || st.Attempts != 2 || !slices.Equal(st.Nodes, []string{"node-1"}) {
			t.Errorf("the stage %s is %v", name, st)
		}
	}
	for name, others := range map[string][]string{"48p": nil, "68p": {"90p"}, "90p": {"68p"}, "audio": nil} {
		if st := stages[name]; !slices.Equal(st.SharesWith, others) || int(st.SharedTasks) != 2*len(others) {
			t.Errorf("the stage %s shares %d tasks with %q", name, st.SharedTasks, st.SharesWith)
		}
	}
	if in := stages["storyboard"].Inputs; !slices.Equal(in, []string{"48p"}) {
		t.Errorf("the inputs of the storyboard are %q", in)
	}
	f.checkShared(v.Id)
	var bytes uint64
	for _, st := range stages {
		bytes += st.StoredBytes
	}
	if sum := f.count(`SELECT SUM(size) FROM video_tasks`); bytes != uint64(sum) || stages["90p"].StoredBytes <= stages["48p"].StoredBytes {
		t.Errorf("%d bytes are stored, and the stages have %d", sum, bytes)
	}
}

// TestGraphOfRunsApart: where workers would be idle, no rendition shares a run.
func TestGraphOfRunsApart(t *testing.T) {
	f := openStopped(t)
	f.workers = 100
	f.setPipeline(loadPipeline(t, sharedText))
	f.start(never)
	t.Cleanup(func() { f.stop() })
	v := f.await(f.create(f.movie("1")).Id, videov1.VideoState_VIDEO_STATE_READY)
	for name, st := range f.stagesOf(v.Id) {
		if st.SharedTasks > 0 || len(st.SharesWith) > 0 {
			t.Errorf("the stage %s shares %d tasks with %q", name, st.SharedTasks, st.SharesWith)
		}
	}
}

// TestSharedFails: of a run that fails, what was stored counts, and the rest is tried again, each rendition for itself.
func TestSharedFails(t *testing.T) {
	for failing, runs := range map[int32]int32{1: 4, 2: 3} { // which of the results of two runs is not stored, and how many runs are begun then
		t.Run(fmt.Sprint(failing), func(t *testing.T) {
			var begun, stored atomic.Int32
			f := openShared(t, sharedText+"\non_demand: {above: 48, viewers: 1}", &begun, func(point string) error {
				if point == "stored" && stored.Add(1) == failing {
					return errors.New("the disk is full")
				}
				return nil
			})
			stored.Store(100)
			v := f.await(f.create(f.movie("3")).Id, videov1.VideoState_VIDEO_STATE_READY)
			begun.Store(0)
			stored.Store(0)
			must(t, f.SetWatchPosition(t.Context(), alice, &videov1.SetWatchPositionRequest{Video: v.Id, PositionMs: 100}))
			for _, i := range []int{1, 2} {
				f.awaitRenditionAt(v.Id, i)
			}
			if n := begun.Load(); n != runs {
				t.Errorf("%d runs were begun of %d", n, runs)
			}
			f.checkShared(v.Id)
			f.checkTime()
		})
	}
}

// TestSharedRetry: a retry begins the runs of a video again, and no more.
func TestSharedRetry(t *testing.T) {
	var begun atomic.Int32
	f := openShared(t, sharedText, &begun, never)
	f.store.fail(errDown)
	v := f.await(f.create(f.movie("3")).Id, videov1.VideoState_VIDEO_STATE_FAILED)
	f.store.fail(nil)
	f.stop()
	before := f.count(`SELECT count(*) FROM jobs`)
	_, err := f.RetryVideo(t.Context(), alice, &videov1.RetryVideoRequest{Video: v.Id})
	must(t, err)
	if n := f.count(`SELECT count(*) FROM jobs`) - before; n != 1+3+2+2 { // sound, posters, chunks of the smallest rendition, and of the others
		t.Errorf("a retry has %d jobs", n)
	}
	f.start(nil)
	f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	f.checkShared(v.Id)
}

// TestRuns: renditions share runs where workers have enough to do, and are encoded apart at the end, or throughout, where workers would be idle.
func TestRuns(t *testing.T) {
	list := []transcode.Rendition{{Name: "68p", Width: 120, Height: 68}, {Name: "90p", Width: 160, Height: 90}}
	for _, c := range []struct {
		workers int
		frames  []int
		want    string
	}{
		{1, []int{20, 80, 100}, "68p 90p 0, 68p 90p 1, 68p 90p 2"},
		{2, []int{20, 80, 100}, "68p 90p 0, 68p 90p 1, 68p 90p 2"},
		{2, []int{100}, "68p 0, 90p 0"},
		{100, []int{20, 80, 100}, "68p 90p 0, 68p 1, 90p 1, 68p 2, 90p 2"},
		{100, []int{100, 100}, "68p 0, 90p 0, 68p 1, 90p 1"},
		{4, []int{100, 100, 100, 100, 100}, "68p 90p 0, 68p 90p 1, 68p 90p 2, 68p 90p 3, 68p 4, 90p 4"},
	} {
		if got := strings.Join(video.Runs(c.workers, c.frames, list...), ", "); got != c.want {
			t.Errorf("%d workers have, with %v frames, the runs %s, want %s", c.workers, c.frames, got, c.want)
		}
	}
	if runs := video.Runs(2, []int{10}); len(runs) > 0 {
		t.Errorf("of no renditions there are the runs %q", runs)
	}
}

// TestSpent: the time of a run is divided among its tasks by their weights.
func TestSpent(t *testing.T) {
	if got, want := video.Spent(1000, 2000, 100, 300, 600), []int64{100, 300, 600}; !slices.Equal(got, want) {
		t.Errorf("they took %v, want %v", got, want)
	}
	if got, want := video.Spent(1000, 2000, 0), []int64{1000}; !slices.Equal(got, want) {
		t.Errorf("it took %v, want %v", got, want)
	}
}
