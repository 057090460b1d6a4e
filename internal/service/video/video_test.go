package video_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/service/video"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

const sweepStep = 100 * time.Millisecond

// TestVideo: a file becomes a video that plays to its end in all renditions, and whose steps are all done.
func TestVideo(t *testing.T) {
	f := open(t)
	upload := f.upload(alice, f.movie("5"))
	v, err := f.CreateVideo(t.Context(), alice, &videov1.CreateVideoRequest{Upload: uint64(upload)})
	must(t, err)
	again, err := f.CreateVideo(t.Context(), alice, &videov1.CreateVideoRequest{Upload: uint64(upload)})
	if err != nil || again.Id != v.Id {
		t.Errorf("a retry returns %v, %v", again, err)
	}
	v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	if v.DurationMs != 5000 || v.Width != 160 || v.Height != 90 || !v.HasAudio || len(v.Posters) != 3 || v.Storyboard == nil || v.Name != "movie.mkv" || !v.Playback.Complete {
		t.Errorf("the video is %v", v)
	}
	for _, s := range v.Steps {
		if s.Done != s.Total || s.Total == 0 {
			t.Errorf("a step is not done: %v", s)
		}
	}
	master := f.fetchOK(v.Playback.HlsUrl)
	base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	for _, r := range v.Renditions {
		if !r.Complete || r.PlayableMs < 5000 || r.PlayableMs > 5050 || !strings.Contains(master, "\n"+r.Name+".m3u8\n") {
			t.Errorf("the rendition is %v, in %s", r, master)
		}
		if n := f.frames(base + r.Name + ".m3u8"); n != 50 {
			t.Errorf("%d different frames of 50 are played of %s", n, r.Name)
		}
	}
	if n := f.frames(base + "audio.m3u8"); n < 200 { // of 1024 samples
		t.Errorf("%d frames of sound", n)
	}
	if text := f.fetchOK(v.Storyboard.VttUrl); strings.Count(text, "#xywh=") != int(v.Storyboard.Count) {
		t.Errorf("the storyboard's text is %s", text)
	}
	for _, url := range []string{v.Storyboard.Url, v.Posters[0].Url} {
		if got := f.fetch(url); got.Code != http.StatusOK || got.Header().Get("Content-Type") != "image/jpeg" || !strings.HasPrefix(got.Body.String(), "\xff\xd8") {
			t.Errorf("%s is answered with %d %v", url, got.Code, got.Header())
		}
	}
	if dash := f.fetchOK(v.Playback.DashUrl); strings.Count(dash, "<Representation ") != 3 {
		t.Errorf("the manifest is %s", dash)
	}
	segment := base + v.Renditions[0].Name + "/1.m4s"
	whole := f.fetchOK(segment)
	if got := f.fetch(segment, "Range", "bytes=4-11"); got.Code != http.StatusPartialContent || got.Body.String() != whole[4:12] || whole[4:8] != "moof" {
		t.Errorf("a range is answered with %d %q", got.Code, got.Body)
	}
	list, err := f.ListVideos(t.Context(), alice, &videov1.ListVideosRequest{})
	if err != nil || len(list.Videos) != 1 || list.Videos[0].Id != v.Id || len(list.Videos[0].Posters) != 3 {
		t.Errorf("the list is %v, %v", list, err)
	}
	f.checkTemporary()
}

// checkTemporary checks that tasks have left no temporary file but the copies of sources.
func (f *fixture) checkTemporary() {
	f.t.Helper()
	list, err := os.ReadDir(f.deps.Dir)
	must(f.t, err)
	for _, e := range list {
		if e.Name() != "sources" {
			f.t.Errorf("there is the temporary file %s", e.Name())
		}
	}
}

// TestKilled: a node that dies between any two steps leaves a video that plays to its end once it runs again, and no file too many.
func TestKilled(t *testing.T) {
	f := open(t)
	movie := f.movie("3")
	for _, point := range []string{"begun", "inspected", "stored", "finished"} {
		t.Run(point, func(t *testing.T) {
			f.stop()
			dead := make(chan struct{})
			var hits atomic.Int32
			f.start(func(at string) error {
				if at == point && hits.Add(1) == 2 || at == point && point == "inspected" {
					close(dead)
				}
				select {
				case <-dead:
					return video.ErrInterrupted
				default:
					return nil
				}
			})
			v := f.create(movie)
			<-dead
			f.stop()
			f.start(nil)
			f.clock.Advance(time.Hour)
			v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
			base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
			for _, r := range v.Renditions {
				if n := f.frames(base + r.Name + ".m3u8"); n != 30 {
					t.Errorf("%d different frames of 30 are played of %s", n, r.Name)
				}
			}
			must(t, f.Sweep(t.Context()))
			if keys := f.stored(); len(keys) != 2*2+1+3+1 { // two chunks of two renditions, sound, posters, storyboard
				t.Errorf("the files are %q", keys)
			}
			f.checkTemporary()
			must(t, f.DeleteVideo(t.Context(), alice, v.Id))
			must(t, f.Sweep(t.Context()))
			if keys := f.stored(); len(keys) > 0 {
				t.Errorf("of a deleted video there is %q", keys)
			}
		})
	}
}

// TestGrowing: playback begins with the first chunk and the sound, and the playlist only grows until it ends.
func TestGrowing(t *testing.T) {
	f := open(t)
	f.stop()
	rest := make(chan struct{})
	var chunks atomic.Int32
	f.start(func(at string) error {
		if at == "begun" && chunks.Add(1) > 4 { // inspection, sound, the first chunk of the smallest rendition, and the one after
			<-rest
		}
		return nil
	})
	v := f.awaitPlayable(f.create(f.movie("5")).Id)
	base := strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8")
	before := f.fetchOK(base + v.Renditions[0].Name + ".m3u8")
	if v.Playback.Complete || !strings.Contains(before, "TYPE:EVENT") || strings.Contains(before, "ENDLIST") {
		t.Errorf("the playlist is %s", before)
	}
	close(rest)
	v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	after := f.fetchOK(base + v.Renditions[0].Name + ".m3u8")
	beforeSegments, afterSegments := before[strings.Index(before, "#EXTINF"):], after[strings.Index(after, "#EXTINF"):]
	if !strings.HasPrefix(afterSegments, beforeSegments) || !strings.Contains(after, "TYPE:VOD") || !strings.HasSuffix(after, "#EXT-X-ENDLIST\n") {
		t.Errorf("the playlist was %s and is %s", before, after)
	}
}

// TestAccess: an address is for one video, one post and a time. It ends when the post is hidden, or the video deleted.
func TestAccess(t *testing.T) {
	f := open(t)
	v := f.await(f.create(f.movie("1")).Id, videov1.VideoState_VIDEO_STATE_READY)
	f.posts.set(7, v.Id, bob)
	for _, c := range []struct {
		video, post uint64
		want        string
	}{{v.Id, 0, "no_video"}, {v.Id, 7, ""}, {v.Id, 8, "no_post"}, {v.Id + 1, 7, "no_video"}} {
		if _, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: c.video, Post: c.post}); reason(err) != c.want {
			t.Errorf("video %d of post %d is answered with %v, want %q", c.video, c.post, err, c.want)
		}
	}
	seen, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: v.Id, Post: 7})
	must(t, err)
	if seen.Upload != 0 || seen.Name != "" || seen.Steps != nil {
		t.Errorf("a reader sees %v", seen)
	}
	url := seen.Playback.HlsUrl
	check := func(what, url string, want int) {
		t.Helper()
		if got := f.fetch(url); got.Code != want {
			t.Errorf("%s is answered with %d %s, want %d", what, got.Code, got.Body, want)
		}
	}
	check("the address", url, http.StatusOK)
	check("the address of another video", strings.Replace(url, fmt.Sprint(v.Id), fmt.Sprint(v.Id+1), 1), http.StatusForbidden)
	check("the address of another post", strings.Replace(url, "/7-", "/0-", 1), http.StatusForbidden)
	if len(seen.Posters) == 0 || seen.Storyboard == nil {
		t.Fatalf("a reader sees no images: %v", seen)
	}
	images := map[string]string{"a poster": seen.Posters[0].Url, "the storyboard": seen.Storyboard.Url, "the text of the storyboard": seen.Storyboard.VttUrl}
	for what, image := range images {
		check(what, image, http.StatusOK)
	}
	f.posts.set(7, 0, bob)
	check("the address of a hidden post", url, http.StatusNotFound)
	for what, image := range images {
		check(what+" of a hidden post", image, http.StatusNotFound)
	}
	check("the owner's address", v.Playback.HlsUrl, http.StatusOK)
	f.clock.Advance(time.Hour)
	check("an expired address", v.Playback.HlsUrl, http.StatusForbidden)
	fresh := f.get(v.Id)
	segment := strings.Replace(fresh.Playback.HlsUrl, "master.m3u8", fresh.Renditions[0].Name+"/0.m4s", 1)
	check("a segment", segment, http.StatusOK)
	f.store.beforeOpen(sync.OnceFunc(func() {
		must(t, f.DeleteVideo(t.Context(), alice, v.Id))
		must(t, f.Sweep(t.Context()))
	}))
	check("a segment of a video that is being deleted", segment, http.StatusNotFound)
	must(t, f.DeleteVideo(t.Context(), alice, v.Id))
	check("the address of a deleted video", fresh.Playback.HlsUrl, http.StatusNotFound)
	must(t, f.Sweep(t.Context()))
	if err := f.DeleteVideo(t.Context(), bob, v.Id); reason(err) != "no_video" {
		t.Errorf("another user's deletion is answered with %v", err)
	}
}

// TestRefusals: what is no video is refused at once, and a damaged one fails for good, and nothing of it is kept.
func TestRefusals(t *testing.T) {
	f := open(t)
	for _, b := range []string{"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n" + strings.Repeat(" ", 100), "RIFF\x00\x00\x00\x00AVI " + strings.Repeat("\x00", 100), "x"} {
		n := f.upload(alice, []byte(b))
		if _, err := f.CreateVideo(t.Context(), alice, &videov1.CreateVideoRequest{Upload: uint64(n)}); reason(err) != "not_a_video" {
			t.Errorf("%.10q is answered with %v", b, err)
		}
		if err := f.media.Check(t.Context(), alice, n); reason(err) != "no_upload" {
			t.Errorf("the file %.10q is kept: %v", b, err)
		}
	}
	movie := f.makeFile("a.mp4", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "5", "-c:v", "mpeg4")
	if _, err := f.CreateVideo(t.Context(), alice, &videov1.CreateVideoRequest{Upload: uint64(f.upload(alice, movie[:len(movie)-50]))}); reason(err) != "video_damaged" {
		t.Errorf("a truncated video is answered with %v", err)
	}
	good := f.upload(alice, movie)
	if _, err := f.CreateVideo(t.Context(), bob, &videov1.CreateVideoRequest{Upload: uint64(good)}); reason(err) != "no_upload" {
		t.Errorf("another user's upload is answered with %v", err)
	}
	if err := f.media.Check(t.Context(), alice, good); err != nil {
		t.Errorf("an upload that another user asked about is gone: %v", err)
	}
	// The container is good, but its codec is not.
	wrong := f.makeFile("b.mkv", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "1", "-c:v", "ffv1")
	v := f.await(f.create(wrong).Id, videov1.VideoState_VIDEO_STATE_FAILED)
	if v.Failure.Reason != "video_codec" || v.Failure.Retriable {
		t.Errorf("the failure is %v", v.Failure)
	}
	if _, err := f.RetryVideo(t.Context(), alice, &videov1.RetryVideoRequest{Video: v.Id}); reason(err) != "not_retriable" {
		t.Errorf("a retry is answered with %v", err)
	}
	must(t, f.Sweep(t.Context()))
	if keys := f.stored(); len(keys) > 0 {
		t.Errorf("there is %q", keys)
	}
	if _, _, _, err := f.media.OpenVideo(t.Context(), alice, 0); reason(err) != "no_upload" {
		t.Errorf("a missing upload is answered with %v, want no_upload", err)
	}
	if list, err := f.ListVideos(t.Context(), alice, &videov1.ListVideosRequest{}); err != nil || len(list.Videos) != 1 {
		t.Errorf("the list is %v, %v", list, err)
	}
}

// TestRetry: a store that fails for long gives a failure that can be retried; the retry goes on with what was done.
func TestRetry(t *testing.T) {
	f := open(t)
	f.store.fail(errDown)
	v := f.await(f.create(f.movie("1")).Id, videov1.VideoState_VIDEO_STATE_FAILED)
	if v.Failure.Reason != "storage" || !v.Failure.Retriable || v.Playback != nil {
		t.Errorf("the failure is %v", v)
	}
	f.store.fail(nil)
	f.insertUnfinished(20)
	if _, err := f.RetryVideo(t.Context(), alice, &videov1.RetryVideoRequest{Video: v.Id}); reason(err) != "too_many_videos" {
		t.Errorf("a retry beside too many videos is answered with %v", err)
	}
	f.insertUnfinished(0)
	_, err := f.RetryVideo(t.Context(), alice, &videov1.RetryVideoRequest{Video: v.Id})
	must(t, err)
	v = f.await(v.Id, videov1.VideoState_VIDEO_STATE_READY)
	if n := f.frames(strings.TrimSuffix(v.Playback.HlsUrl, "master.m3u8") + v.Renditions[0].Name + ".m3u8"); n != 10 {
		t.Errorf("%d frames are played", n)
	}
}

// insertUnfinished makes a number of videos of alice be processed, and no others.
func (f *fixture) insertUnfinished(count int64) {
	f.t.Helper()
	must(f.t, f.db.Write(f.t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(f.t.Context(), `DELETE FROM videos WHERE state < 2`); err != nil {
			return err
		}
		for i := range count {
			if _, err := tx.ExecContext(f.t.Context(), `INSERT INTO videos (id, owner, upload, name, format, source, renditions, created_ms) VALUES ($1, $2, $1, '', '', $3, $3, 0)`, i+1, int64(alice), []byte{}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestRestartRemovesTemporaryFiles: what a killed process left is removed at the next start.
func TestRestartRemovesTemporaryFiles(t *testing.T) {
	f := open(t)
	f.stop()
	must(t, os.MkdirAll(filepath.Join(f.deps.Dir, "task-1"), 0o700))
	f.start(nil)
	if _, err := os.Stat(f.deps.Dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestOff: a server without ffmpeg says so to authors, and stores nothing.
func TestOff(t *testing.T) {
	f := open(t)
	f.stop()
	f.deps.Transcoder, f.deps.Off = nil, errors.New("no ffmpeg")
	f.start(nil)
	if _, err := f.CreateVideo(t.Context(), alice, &videov1.CreateVideoRequest{Upload: uint64(f.upload(alice, f.movie("1")))}); reason(err) != "transcoding_off" {
		t.Errorf("it is answered with %v", err)
	}
}
