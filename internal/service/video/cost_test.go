package video_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// TestCosts: what a node counts of each rendition is what is stored of it. A rendition between two sizes of the pipeline counts with the larger one.
func TestCosts(t *testing.T) {
	f := openPipeline(t, `
renditions: [{height: 48}, {height: 68}, {height: 720}]
thumbnails: 2
stages:
  - name: note
    command: [sh, -c, "echo note > note.txt"]
    inputs: [audio]
    outputs: [{file: note.txt, type: text/plain}]
`)
	v := f.await(f.create(f.movie("3")).Id, videov1.VideoState_VIDEO_STATE_READY)
	if v.Renditions[2].Name != "90p" {
		t.Fatalf("the renditions are %v", v.Renditions)
	}
	bytes := func(track string) int {
		return f.count(`SELECT COALESCE(SUM(size), 0) FROM video_tasks WHERE video = $1 AND track LIKE $2`, int64(v.Id), track)
	}
	want := []string{fmt.Sprint("48p 2 ", bytes("48p")), fmt.Sprint("68p 2 ", bytes("68p")), fmt.Sprint("720p 2 ", bytes("90p")), "copied 0 0", fmt.Sprint("audio 1 ", bytes("audio")),
		fmt.Sprint("images 3 ", bytes("poster")+bytes("storyboard")), "stages 1 5"}
	costs := func() (list []string) {
		for _, c := range f.Costs() {
			list = append(list, fmt.Sprint(c.Part, " ", c.Tasks.Load(), " ", c.Bytes.Load()))
		}
		return list
	}
	eventually.True(t, "all results are counted", func() bool { // after the commit that publishes the video
		return strings.HasSuffix(strings.Join(costs(), ","), want[len(want)-1])
	})
	f.stop()
	if got := costs(); !slices.Equal(got, want) {
		t.Errorf("the costs are %q, want %q", got, want)
	}
	f.checkTime()
}

// checkTime checks that the time that was counted is that of all tasks.
func (f *fixture) checkTime() {
	f.t.Helper()
	var counted int64
	for _, c := range f.Costs() {
		counted += c.SpentMs.Load()
	}
	if stored := f.count(`SELECT SUM(spent_ms) FROM video_tasks WHERE track <> 'inspect'`); counted != int64(stored) || counted == 0 {
		f.t.Errorf("the costs have %d ms, and the tasks %d ms", counted, stored)
	}
}

// TestCostsOfFailures: attempts that fail cost time, and store nothing.
func TestCostsOfFailures(t *testing.T) {
	f := openStopped(t)
	f.setPipeline(loadPipeline(t, "renditions: [{height: 90}]\nthumbnails: 1\nstoryboard: false\nstages:\n  - name: broken\n    command: [sh, -c, 'exit 1']\n    inputs: [thumbnail]\n    outputs: [{file: a.txt, type: text/plain}]\n    attempts: 2\n"))
	f.start(func(string) error {
		f.clock.Advance(time.Second) // attempts take some time
		return nil
	})
	f.await(f.create(f.movie("1")).Id, videov1.VideoState_VIDEO_STATE_FAILED)
	f.stop()
	for _, c := range f.Costs() {
		if c.Part == "stages" && (c.Tasks.Load() != 0 || c.Bytes.Load() != 0 || c.SpentMs.Load() == 0) {
			t.Errorf("a stage that failed has %d tasks with %d bytes, and took %d ms", c.Tasks.Load(), c.Bytes.Load(), c.SpentMs.Load())
		}
	}
	f.checkTime()
}
