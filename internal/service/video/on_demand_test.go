package video_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/video"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

const onDemandText = `
renditions: [{height: 48}, {height: 90}]
on_demand: {above: 48, viewers: 2, drop_after: 24h}
`

// openOnDemand has a ready video of alice, whose rendition 90p is on demand, and which post 7 shows to bob.
func openOnDemand(t *testing.T, seconds string) (*fixture, *videov1.Video) {
	t.Helper()
	f := openPipeline(t, onDemandText)
	v := f.await(f.create(f.movie(seconds)).Id, videov1.VideoState_VIDEO_STATE_READY)
	f.posts.set(7, v.Id, bob)
	return f, v
}

// request asks for the rendition on demand.
func (f *fixture) request(by id.User, n, post uint64, rendition string) (*videov1.Video, error) {
	return f.RequestRendition(f.t.Context(), by, &videov1.RequestRenditionRequest{Video: n, Post: post, Rendition: rendition})
}

func (f *fixture) requestOK(n uint64) {
	f.t.Helper()
	v, err := f.request(bob, n, 7, largest)
	must(f.t, err)
	if r := v.Renditions[1]; !r.Requested && !r.Complete {
		f.t.Fatalf("after the request the rendition is %v", r)
	}
}

// awaitRendition waits until the rendition on demand is complete, or was given up.
func (f *fixture) awaitRendition(n uint64) *videov1.VideoRendition {
	f.t.Helper()
	return f.awaitRenditionAt(n, 1)
}

// awaitRenditionAt is awaitRendition for the one at an index.
func (f *fixture) awaitRenditionAt(n uint64, index int) (r *videov1.VideoRendition) {
	f.t.Helper()
	eventually.True(f.t, "the rendition ends", func() bool {
		f.clock.Advance(sweepStep)
		f.jobs.Wake()
		r = f.get(n).Renditions[index]
		return !r.Requested
	})
	return r
}

// count returns a number from the database.
func (f *fixture) count(query string, args ...any) (n int) {
	f.t.Helper()
	must(f.t, f.db.Read().QueryRowContext(f.t.Context(), query, args...).Scan(&n))
	return n
}

// checkRendition checks that playlists, files and the graph have the rendition on demand, or not.
func (f *fixture) checkRendition(n uint64, there bool) {
	f.t.Helper()
	v := f.get(n)
	base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	if r := v.Renditions[1]; !r.OnDemand || r.Complete != there || (r.PlayableMs > 0) != there || !v.Playback.Complete || v.State != videov1.VideoState_VIDEO_STATE_READY {
		f.t.Errorf("the rendition is %v of %v", r, v)
	}
	if master := f.fetchOK(v.Playback.HlsUrl); strings.Contains(master, largest) != there || !strings.Contains(master, "\n48p.m3u8\n") {
		f.t.Errorf("the playlist is %s", master)
	}
	if dash := f.fetchOK(v.Playback.DashUrl); strings.Contains(dash, `id="90p"`) != there || !strings.Contains(dash, `id="48p"`) {
		f.t.Errorf("the manifest is %s", dash)
	}
	code, state := http.StatusOK, operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE
	if !there {
		code, state = http.StatusNotFound, operationv1.VideoStageState_VIDEO_STAGE_STATE_ON_DEMAND
	}
	for _, name := range []string{".m3u8", "/init.mp4", "/0.m4s"} {
		if got := f.fetch(base + largest + name); got.Code != code {
			f.t.Errorf("%s is answered with %d %s", name, got.Code, got.Body)
		}
	}
	if stages := f.stagesOf(n); stages[largest].State != state || slices.Contains(stages["publish"].Inputs, largest) {
		f.t.Errorf("the stages are %v", stages)
	}
	if keys := f.stored(); slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, largest) }) != there {
		f.t.Errorf("the files are %q", keys)
	}
}

// TestOnDemand: a rendition on demand is encoded when somebody asks for it who may see the video, once, whoever else asks. It is offered as a whole. When nobody has played it for
// long it is deleted, and it can be made again.
func TestOnDemand(t *testing.T) {
	f, v := openOnDemand(t, "2")
	f.checkRendition(v.Id, false)
	for _, s := range v.Steps {
		if s.Rendition == largest || s.Done != s.Total {
			t.Errorf("there is the step %v", s)
		}
	}
	for _, c := range []struct {
		by        id.User
		post      uint64
		rendition string
		want      string
	}{{bob, 0, largest, "no_video"}, {bob, 8, largest, "no_post"}, {alice, 7, largest, "no_post"}, {bob, 7, "720p", "no_rendition"}, {bob, 7, "audio", "no_rendition"}, {bob, 7, "48p", ""}} {
		if _, err := f.request(c.by, v.Id, c.post, c.rendition); reason(err) != c.want {
			t.Errorf("%v is answered with %v", c, err)
		}
	}
	f.stop() // nothing is encoded while they ask
	before := f.count(`SELECT count(*) FROM jobs`)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { f.requestOK(v.Id) })
	}
	all.Wait()
	must(t, f.RequestAtOnce(t.Context(), alice, &videov1.RequestRenditionRequest{Video: v.Id, Rendition: largest}))
	if jobs := f.count(`SELECT count(*) FROM jobs`) - before; jobs != 1 || f.Stats().Requested.Load() != 1 {
		t.Errorf("20 requests made %d jobs, and %d were counted", jobs, f.Stats().Requested.Load())
	}
	if st := f.stagesOf(v.Id)[largest]; st.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_QUEUED {
		t.Errorf("the stage is %v", st)
	}
	f.start(nil)
	f.awaitRendition(v.Id)
	f.checkRendition(v.Id, true)
	eventually.True(t, "the rendition is counted", func() bool { return f.Stats().Completed.Load() == 1 }) // after the commit
	if n := f.frames(strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8") + largest + ".m3u8"); n != 20 {
		t.Errorf("%d frames of 20 are played", n)
	}
	f.requestOK(v.Id)
	if jobs := f.count(`SELECT count(*) FROM jobs`) - before; jobs != 1 {
		t.Errorf("there are %d jobs after a request for what is there", jobs)
	}
	f.dropAndMakeAgain(v.Id)
	must(t, f.DeleteVideo(t.Context(), alice, v.Id))
	f.clock.Advance(2 * time.Hour)
	must(t, f.Sweep(t.Context()))
	must(t, f.Sweep(t.Context()))
	if keys, rows := f.stored(), f.count(`SELECT (SELECT count(*) FROM video_on_demand) + (SELECT count(*) FROM video_tasks)`); len(keys) > 0 || rows > 0 {
		t.Errorf("of a deleted video there are %q, and %d rows", keys, rows)
	}
}

// dropAndMakeAgain plays the rendition, leaves it until it is dropped, and asks for it again.
func (f *fixture) dropAndMakeAgain(n uint64) {
	f.t.Helper()
	for _, name := range []string{".m3u8", "/init.mp4"} { // what players of HLS and of DASH read when they begin
		f.clock.Advance(23 * time.Hour)
		must(f.t, f.Sweep(f.t.Context()))
		f.fetchOK(strings.TrimSuffix(f.get(n).Playback.HlsUrl, "master.m3u8") + largest + name)
	}
	f.clock.Advance(23 * time.Hour)
	must(f.t, f.Sweep(f.t.Context()))
	f.checkRendition(n, true) // and plays it
	f.changed = nil
	f.clock.Advance(25 * time.Hour)
	must(f.t, f.Sweep(f.t.Context()))
	f.checkRendition(n, false)
	if !slices.Equal(f.changed, []uint64{n}) || f.Stats().Dropped.Load() != 1 {
		f.t.Errorf("the changed videos are %v; %d renditions were dropped", f.changed, f.Stats().Dropped.Load())
	}
	f.requestOK(n)
	f.awaitRendition(n)
	f.checkRendition(n, true)
	if keys := f.stored(); !slices.Contains(keys, largest+"-0-2") || slices.Contains(keys, largest+"-0-1") {
		f.t.Errorf("the files are %q; a key was written twice", keys)
	}
}

// TestOnDemandIsOfferedAsAWhole: nobody sees a rendition before its last chunk is done, and the sweep leaves the files of attempts that may count.
func TestOnDemandIsOfferedAsAWhole(t *testing.T) {
	f, v := openOnDemand(t, "3")
	f.stop()
	rest := make(chan struct{})
	release := sync.OnceFunc(func() { close(rest) })
	t.Cleanup(release)
	var begun, stored atomic.Int32
	f.start(func(at string) error {
		if at == "begun" && begun.Add(1) == 2 {
			<-rest
		}
		if at == "stored" && stored.Add(1) == 1 {
			return f.Sweep(t.Context())
		}
		return nil
	})
	f.requestOK(v.Id)
	eventually.True(t, "the first chunk is done", func() bool {
		f.jobs.Wake()
		return f.count(`SELECT count(*) FROM video_tasks WHERE track = $1 AND stored > 0`, largest) == 1
	})
	release()
	f.awaitRendition(v.Id)
	f.checkRendition(v.Id, true)
	if n := f.frames(strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8") + largest + ".m3u8"); n != 30 {
		t.Errorf("%d frames of 30 are played", n)
	}
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error { // as when only the first chunk was done, whichever of the two that was above
		_, rendition := tx.ExecContext(t.Context(), `UPDATE video_on_demand SET remaining = 1, used_ms = 0`)
		_, task := tx.ExecContext(t.Context(), `UPDATE video_tasks SET stored = 0 WHERE track = $1 AND first > 0`, largest)
		return errors.Join(rendition, task)
	}))
	v = f.get(v.Id)
	if r := v.Renditions[1]; !r.Requested || r.Complete || r.PlayableMs > 0 || !v.Playback.Complete {
		t.Errorf("the rendition is %v of %v", r, v.Playback)
	}
	if got := f.fetch(strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8") + largest + ".m3u8"); got.Code != http.StatusNotFound || strings.Contains(f.fetchOK(v.Playback.HlsUrl)+f.fetchOK(v.Playback.DashUrl), largest) {
		t.Errorf("its playlist is answered with %d %s", got.Code, got.Body)
	}
}

// TestOnDemandWhenPopular: enough different viewers cause all renditions on demand, and those of one user are one.
func TestOnDemandWhenPopular(t *testing.T) {
	f, v := openOnDemand(t, "1")
	watch := func(by id.User, post uint64) {
		t.Helper()
		must(t, f.SetWatchPosition(t.Context(), by, &videov1.SetWatchPositionRequest{Video: v.Id, Post: post, PositionMs: 100}))
	}
	for range 3 {
		watch(bob, 7)
		must(t, f.RemoveWatched(t.Context(), bob, v.Id))
	}
	if err := f.SetWatchPosition(t.Context(), bob, &videov1.SetWatchPositionRequest{Video: v.Id}); reason(err) != "no_video" {
		t.Errorf("a viewer who may not see it is answered with %v", err)
	}
	if r := f.get(v.Id).Renditions[1]; r.Requested || r.Complete {
		t.Fatalf("one viewer caused %v", r)
	}
	watch(alice, 0)
	if n := f.Stats().Popular.Load(); n != 1 {
		t.Errorf("%d were begun", n)
	}
	f.awaitRendition(v.Id)
	f.checkRendition(v.Id, true)
	watch(bob, 7)
	if rows := f.count(`SELECT count(*) FROM video_viewers`); rows > 0 {
		t.Errorf("%d viewers are kept of a video that has all renditions", rows)
	}
}

// TestOnDemandKilled: a node that dies at any step of a rendition on demand leaves one that is complete once it runs again, and no file too many.
func TestOnDemandKilled(t *testing.T) {
	f := openPipeline(t, onDemandText)
	movie := f.movie("3")
	for _, point := range []string{"requested", "begun", "stored", "finished"} {
		t.Run(point, func(t *testing.T) {
			v := f.await(f.create(movie).Id, videov1.VideoState_VIDEO_STATE_READY)
			f.stop()
			dead := make(chan struct{})
			die := sync.OnceFunc(func() { close(dead) })
			f.start(func(at string) error {
				if at == point {
					die()
				}
				select {
				case <-dead:
					return video.ErrInterrupted
				default:
					return nil
				}
			})
			if _, err := f.request(alice, v.Id, 0, largest); err != nil && !errors.Is(err, video.ErrInterrupted) {
				t.Fatalf("error %v, want none or %v", err, video.ErrInterrupted)
			}
			<-dead
			f.stop()
			f.start(nil)
			f.clock.Advance(time.Hour)
			if r := f.awaitRendition(v.Id); !r.Complete {
				t.Fatalf("the rendition is %v", r)
			}
			f.checkRendition(v.Id, true)
			if n := f.frames(strings.TrimSuffix(f.get(v.Id).Playback.HlsUrl, "master.m3u8") + largest + ".m3u8"); n != 30 {
				t.Errorf("%d frames of 30 are played", n)
			}
			f.clock.Advance(sweepStep)
			must(t, f.Sweep(t.Context()))
			if keys := f.stored(); len(keys) != 2*2+1+3+1 { // two chunks of two renditions, sound, posters, storyboard
				t.Errorf("the files are %q", keys)
			}
			must(t, f.DeleteVideo(t.Context(), alice, v.Id))
			must(t, f.Sweep(t.Context()))
		})
	}
}

// TestOnDemandFails: a rendition on demand that cannot be encoded leaves the video as it is. Nobody can cause the work again at once.
func TestOnDemandFails(t *testing.T) {
	f, v := openOnDemand(t, "1")
	for _, discarded := range []bool{false, true} { // its attempts fail, or its job is discarded
		f.store.fail(errDown)
		if discarded {
			f.stop()
		}
		f.requestOK(v.Id)
		if discarded {
			number := f.count(`SELECT job FROM video_tasks WHERE track = $1`, largest)
			_, err := f.jobs.Discard(t.Context(), int64(number), nil)
			must(t, err)
			must(t, f.Sweep(t.Context()))
			f.start(nil)
		}
		if r := f.awaitRendition(v.Id); r.Complete {
			t.Errorf("the rendition is %v", r)
		}
		if got := f.get(v.Id); got.State != videov1.VideoState_VIDEO_STATE_READY || got.Failure != nil {
			t.Errorf("the video is %v", got)
		}
		if st := f.stagesOf(v.Id)[largest]; st.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED || (st.Error == "") != discarded {
			t.Errorf("the stage is %v", st)
		}
		if _, err := f.request(bob, v.Id, 7, largest); reason(err) != "rendition_failed" {
			t.Errorf("a request at once is answered with %v", err)
		}
		f.store.fail(nil)
		f.clock.Advance(2 * time.Hour)
	}
	f.requestOK(v.Id)
	f.awaitRendition(v.Id)
	f.checkRendition(v.Id, true)
}

// TestOnDemandIsBounded: a user causes few encodings at the same time, and one that is refused causes none.
func TestOnDemandIsBounded(t *testing.T) {
	f, v := openOnDemand(t, "1")
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		for n := range 5 {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO video_on_demand (video, track, remaining, wanted_by) VALUES ($1, 'a', 1, $2)`, n+1, int64(bob)); err != nil {
				return err
			}
		}
		return nil
	}))
	before := f.count(`SELECT count(*) FROM jobs`)
	if _, err := f.request(bob, v.Id, 7, largest); reason(err) != "too_many_renditions" {
		t.Errorf("the sixth request is answered with %v", err)
	}
	if jobs := f.count(`SELECT count(*) FROM jobs`) - before; jobs != 0 || f.get(v.Id).Renditions[1].Requested {
		t.Errorf("it made %d jobs", jobs)
	}
	if _, err := f.request(alice, v.Id, 0, largest); err != nil {
		t.Errorf("another user is answered with %v", err)
	}
	f.awaitRendition(v.Id)
}

// TestCopiedIsNotOnDemand: a picture that is copied costs nothing, and comes at once. So does one whose copy fails.
func TestCopiedIsNotOnDemand(t *testing.T) {
	f := openPipeline(t, onDemandText)
	for openGroups := range 2 {
		v := f.await(f.create(f.h264(fmt.Sprint(openGroups))).Id, videov1.VideoState_VIDEO_STATE_READY)
		if r := v.Renditions[1]; r.OnDemand || !r.Complete || r.Copied != (openGroups == 0) {
			t.Errorf("the rendition is %v", r)
		}
	}
}

// TestLateAttemptOnDemand: an attempt that ends after its rendition was given up does not count.
func TestLateAttemptOnDemand(t *testing.T) {
	f, v := openOnDemand(t, "1")
	f.stop()
	var hits atomic.Int32
	f.start(func(at string) error {
		if at != "stored" || hits.Add(1) > 1 {
			return nil
		}
		return f.db.Write(t.Context(), func(tx *sql.Tx) error { // as if another attempt had failed for good meanwhile
			_, err := tx.ExecContext(t.Context(), `UPDATE video_on_demand SET remaining = 0`)
			return err
		})
	})
	f.requestOK(v.Id)
	f.awaitRendition(v.Id)
	eventually.True(t, "the file of the attempt is deleted", func() bool {
		f.jobs.Wake()
		return hits.Load() > 0 && !slices.ContainsFunc(f.stored(), func(k string) bool { return strings.HasPrefix(k, largest) })
	})
	f.checkRendition(v.Id, false)
}
