package video_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// unreferenced compares the files of the store with uploads and videos. All files count as old.
func (f *fixture) unreferenced() reconciliation.UnreferencedFiles {
	later := clocktest.NewManual()
	later.Set(time.Now().Add(1000 * time.Hour))
	return reconciliation.UnreferencedFiles{Store: f.store, Owners: []reconciliation.FileOwner{f.media.FileOwner(), f.FileOwner()}, Clock: later}
}

// findUnreferenced does a round.
func findUnreferenced(t testing.TB, c reconciliation.UnreferencedFiles) (list []string) {
	t.Helper()
	for at := ""; ; {
		step, err := c.Compare(context.WithoutCancel(t.Context()), at, 5)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, d := range step.Differences {
			list = append(list, d.Subject)
		}
		if at = step.Next; at == "" {
			slices.Sort(list)
			return list
		}
	}
}

// While a video is inspected and encoded, and while a rendition is made on demand, nothing that they need is found, between any two steps of tasks that run beside each other. The video then plays to its end.
func TestNoFileOfAVideoInProcessingIsUnreferenced(t *testing.T) {
	f, first := openOnDemand(t, "2")
	c := f.unreferenced()
	var one sync.Mutex // a listing at a time
	rounds := 0
	round := func(string) error {
		one.Lock()
		defer one.Unlock()
		rounds++
		for _, key := range findUnreferenced(t, c) {
			t.Errorf("%s is unreferenced", key)
			if err := c.Repair(context.WithoutCancel(t.Context()), key); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	f.Interrupt(round)
	v := f.await(f.create(f.movie("3")).Id, videov1.VideoState_VIDEO_STATE_READY)
	f.requestOK(first.Id)
	if r := f.awaitRendition(first.Id); !r.Complete {
		t.Errorf("the rendition is %v", r)
	}
	f.checkRendition(first.Id, true)
	base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	if n := f.frames(base + "48p.m3u8"); n != 30 {
		t.Errorf("%d different frames of 30 are played", n)
	}
	if _ = round(""); rounds < 10 {
		t.Errorf("there were %d rounds", rounds)
	}
}

// Files without a video, and those of attempts whose result another one has superseded, are found in one round and deleted on demand. What the video is made of stays, and so does what is not named like a file of videos.
func TestFilesThatNoVideoNamesAreFound(t *testing.T) {
	f := open(t)
	v := f.await(f.create(f.movie("2")).Id, videov1.VideoState_VIDEO_STATE_READY)
	f.clock.Advance(48 * time.Hour)
	must(t, f.Sweep(t.Context()))
	c, stored := f.unreferenced(), f.stored()
	if list := findUnreferenced(t, c); len(list) != 0 {
		t.Fatalf("at first the round finds %q", list)
	}
	name := fmt.Sprint(v.Id)
	folder := "video/" + name[len(name)-2:] + "/" + name
	want := []string{"video/45/12345/48p-0-1", folder + "/48p-0-9", folder + "/48p-77-1", folder + "/stage-some-name-0-1"}
	for _, key := range append(slices.Clone(want), "video/45/12345/48p", "video/45/12345/48p-0-x", "video/45/12345/more/48p-0-1", "video/46/12345/48p-0-1", "video/other") {
		must(t, f.store.Put(t.Context(), key, strings.NewReader("planted"), 7))
	}
	slices.Sort(want)
	if list := findUnreferenced(t, c); !slices.Equal(list, want) {
		t.Fatalf("the round finds %q, want %q", list, want)
	}
	for _, key := range append(slices.Clone(want), folder+"/48p-0-1", "video/other") {
		must(t, c.Repair(t.Context(), key))
	}
	if list := findUnreferenced(t, c); len(list) != 0 {
		t.Errorf("after the repairs the round finds %q", list)
	}
	left := f.stored()
	for _, file := range stored {
		if !slices.Contains(left, file) {
			t.Errorf("%s was deleted", file)
		}
	}
	must(t, f.DeleteVideo(t.Context(), alice, v.Id))
	if list := findUnreferenced(t, c); len(list) != 0 { // the sweep will delete them
		t.Errorf("of a deleted video the round finds %q", list)
	}
}

// Files of videos that are missing or cut are found in one round. Only a backup has them: once they are back, the round finds nothing.
func TestMissingFilesOfVideosAreFound(t *testing.T) {
	f := openPipeline(t, stagesText)
	v := f.await(f.create(f.movie("2")).Id, videov1.VideoState_VIDEO_STATE_READY)
	c := f.Comparison()
	round := func() (list []reconciliation.Difference, items int) {
		t.Helper()
		for at := ""; ; {
			step, err := c.Compare(t.Context(), at, 1)
			must(t, err)
			list, items = append(list, step.Differences...), items+step.Items
			if at = step.Next; at == "" {
				return list, items
			}
		}
	}
	stored := f.stored()
	if list, items := round(); len(list) != 0 || items != 1+10*len(stored) {
		t.Fatalf("of the files %q, %d items, %v differ", stored, items, list)
	}
	subject := fmt.Sprint("video ", v.Id)
	must(t, c.Repair(t.Context(), subject))
	name := fmt.Sprint(v.Id)
	lost := filepath.Join(f.dir, "blobs", "video", name[len(name)-2:], name, stored[0])
	b, err := os.ReadFile(lost)
	must(t, err)
	for _, remove := range []func() error{func() error { return os.Truncate(lost, 3) }, func() error { return os.Remove(lost) }} {
		must(t, remove())
		if list, _ := round(); len(list) != 1 || list[0].Subject != subject || !strings.Contains(list[0].What, stored[0]+": it ") {
			t.Errorf("%v differ", list)
		}
		if err := c.Repair(t.Context(), subject); !errors.Is(err, reconciliation.ErrNoRepair) {
			t.Errorf("the repair: %v", err)
		}
	}
	must(t, os.WriteFile(lost, b, 0o600))
	must(t, c.Repair(t.Context(), subject))
	if list, _ := round(); len(list) != 0 {
		t.Errorf("with all files %v differ", list)
	}
	if err := c.Repair(t.Context(), "nobody"); err == nil {
		t.Error("a subject that names no video is repaired")
	}
}
