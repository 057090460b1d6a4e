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
		if list, _ := round(); len(list) != 1 || list[0].Subject != subject || !strings.HasSuffix(list[0].Values["file"], "/"+stored[0]) {
			t.Errorf("%v differ", list)
		}
		if err := c.Repair(t.Context(), subject); !errors.Is(err, reconciliation.ErrNoRepair) {
			t.Errorf("the repair: %v", err)
		}
	}
	for _, name := range stored[1:] {
		must(t, os.Rename(filepath.Join(filepath.Dir(lost), name), filepath.Join(f.dir, name)))
	}
	step, err := c.Compare(t.Context(), "", 1000)
	must(t, err)
	if len(step.Differences) != 1 || step.Differences[0].Values[reconciliation.OtherFiles] != fmt.Sprint(len(stored)-1) {
		t.Errorf("without any file %v differ", step.Differences)
	}
	for _, name := range stored[1:] {
		must(t, os.Rename(filepath.Join(f.dir, name), filepath.Join(filepath.Dir(lost), name)))
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

// A bit that the disk has flipped in any of a video's files is found within one round, also by a step that reads only a part of a file. A file of which no checksum is known, or that of
// an earlier attempt, is compared by its size.
func TestDamagedFilesOfVideosAreFound(t *testing.T) {
	f := openPipeline(t, stagesText)
	v := f.await(f.create(f.movie("2")).Id, videov1.VideoState_VIDEO_STATE_READY)
	c := f.Comparison()
	round := func() (found []string) {
		t.Helper()
		for at := ""; ; {
			step, err := c.Compare(t.Context(), at, 1)
			must(t, err)
			for _, d := range step.Differences {
				found = append(found, fmt.Sprint(d.Subject, " ", d.Reason, " ", d.Values["file"]))
			}
			if at = step.Next; at == "" {
				return found
			}
		}
	}
	name := fmt.Sprint(v.Id)
	folder := "video/" + name[len(name)-2:] + "/" + name + "/"
	flip := func(file string) {
		t.Helper()
		path := filepath.Join(f.dir, "blobs", filepath.FromSlash(folder+file))
		b, err := os.ReadFile(path)
		must(t, err)
		b[len(b)-1] ^= 4
		must(t, os.WriteFile(path, b, 0o600))
	}
	for _, file := range f.stored() {
		flip(file)
		want := []string{"video " + name + " file_changed " + folder + file}
		if got := round(); !slices.Equal(got, want) {
			t.Errorf("the round finds %q, want %q", got, want)
		}
		if err := c.Repair(t.Context(), "video "+name); !errors.Is(err, reconciliation.ErrNoRepair) {
			t.Errorf("the repair: %v", err)
		}
		flip(file)
	}
	step, err := c.Compare(t.Context(), name+" 0 0 audio 99999 1 0aff", 1000)
	if must(t, err); len(step.Differences) != 0 {
		t.Errorf("behind a piece of an earlier attempt's file, %v differ", step.Differences)
	}
	for _, sums := range [][]byte{{}, append([]byte{99}, make([]byte, 32)...)} {
		must(t, f.exec(`UPDATE video_tasks SET checksums = $2 WHERE video = $1`, int64(v.Id), sums))
		if got := round(); len(got) != 0 {
			t.Errorf("without checksums of the attempts, the round finds %q", got)
		}
	}
}

// A video whose files cannot all be compared in the time of a step is compared in several: each continues behind the files of the one before, and a lost file is found.
func TestAVideoWithManyFilesIsComparedInSeveralSteps(t *testing.T) {
	f := openPipeline(t, stagesText)
	v := f.await(f.create(f.movie("2")).Id, videov1.VideoState_VIDEO_STATE_READY)
	c, stored := f.Comparison(), f.stored()
	name := fmt.Sprint(v.Id)
	must(t, os.Remove(filepath.Join(f.dir, "blobs", "video", name[len(name)-2:], name, stored[len(stored)-1])))
	defer f.store.beforeOpen(nil)
	found, items, steps := 0, 0, 0
	for at := ""; ; steps++ {
		ctx, end := context.WithCancel(t.Context())
		opened := 0
		f.store.beforeOpen(func() {
			if opened++; opened == 3 {
				end()
			}
		})
		step, err := c.Compare(ctx, at, 1000)
		end()
		if err != nil || steps > len(stored) || step.Next != "" && step.Next == at {
			t.Fatalf("after %d steps, behind %q: %d items, next %q, %v", steps, at, step.Items, step.Next, err)
		}
		items += step.Items
		found += len(step.Differences)
		if at = step.Next; at == "" {
			break
		}
	}
	if items != 1+10*len(stored) || found != 1 || steps < 2 {
		t.Errorf("%d items, %d differences, %d steps of %d files", items, found, steps+1, len(stored))
	}
}
