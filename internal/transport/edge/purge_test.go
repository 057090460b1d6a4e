package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

func clock(t *testing.T) *clocktest.Manual {
	t.Helper()
	return clocktest.NewManual()
}

func withCancel(r *http.Request) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(r.Context())
}

// TestHiddenPostsAreRefused at the next word of the origin: by each address of the post, without their copies; and other posts and files are not asked about. A
// post that is shown again plays again.
func TestHiddenPostsAreRefused(t *testing.T) {
	_, o, s := pair(t)
	o.put("video/7/720p/0.m4s", 100)
	o.put("video/8/720p/0.m4s", 100)
	first, second, other := o.video("7", "34", "720p/0.m4s", time.Hour), o.video("7", "34", "720p/0.m4s", 2*time.Hour), o.video("8", "35", "720p/0.m4s", time.Hour)
	for _, target := range []string{first, second, other} {
		checkCode(t, "a post", get(s, target), http.StatusOK)
	}
	o.do(func() { o.hidden["post/34"] = true })
	o.purges.Add(edge.PostTag("34"))
	poll(t, s)
	if n, _ := s.Cache().Usage(); n != 1 {
		t.Errorf("%d blocks are left, not 1", n)
	}
	o.requests("")
	checkCode(t, "another post", get(s, other), http.StatusOK)
	if n := o.requests(""); n != 0 {
		t.Errorf("%d requests about another post", n)
	}
	checkCode(t, "the hidden post", get(s, first), http.StatusNotFound)
	checkCode(t, "the hidden post by another address", get(s, second), http.StatusNotFound)
	o.do(func() { clear(o.hidden) })
	o.purges.Add(edge.PostTag("34"))
	poll(t, s)
	checkCode(t, "the post, shown again", get(s, first), http.StatusOK)
}

// TestDeletedFilesAreGone: a video and a file, whoever may see them.
func TestDeletedFilesAreGone(t *testing.T) {
	_, o, s := pair(t)
	o.put("video/7/720p/0.m4s", 100)
	o.put("file/12", 100)
	video, file := o.video("7", "0", "720p/0.m4s", time.Hour), o.media("12", time.Hour)
	checkCode(t, "the video", get(s, video), http.StatusOK)
	checkCode(t, "the file", get(s, file), http.StatusOK)
	o.do(func() { clear(o.files) })
	o.purges.Add(edge.VideoTag("7"), edge.FileTag("12"))
	poll(t, s)
	checkCode(t, "the deleted video", get(s, video), http.StatusNotFound)
	checkCode(t, "the deleted file", get(s, file), http.StatusNotFound)
	if n, bytes := s.Cache().Usage(); n != 0 || bytes != 0 || s.Stats().Purged.Load() != 2 {
		t.Errorf("%d blocks are left, %d purges are counted", n, s.Stats().Purged.Load())
	}
}

// stops is a viewer who reads a part, and then waits.
type stops struct {
	*httptest.ResponseRecorder
	after   int
	reached chan struct{}
	goOn    chan struct{}
}

func (s *stops) Write(b []byte) (int, error) {
	n, err := s.ResponseRecorder.Write(b)
	if before := s.after; before > 0 {
		if s.after -= n; s.after <= 0 {
			close(s.reached)
			<-s.goOn
		}
	}
	return n, err
}

// TestTransfersInProgressEnd when their post is hidden.
func TestTransfersInProgressEnd(t *testing.T) {
	_, o, s := pair(t)
	data := o.put("video/7/720p/0.m4s", 3*mib)
	w := &stops{httptest.NewRecorder(), 100_000, make(chan struct{}), make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, o.video("7", "34", "720p/0.m4s", time.Hour), nil))
	}()
	<-w.reached
	o.do(func() { o.hidden["post/34"] = true })
	o.purges.Add(edge.PostTag("34"))
	poll(t, s)
	close(w.goOn)
	<-done
	if got := w.Body.Len(); got >= mib || got < 100_000 {
		t.Errorf("the viewer of a hidden post got %d bytes of %d", got, len(data))
	}
}

// TestTransfersAreConfirmedAgain: an edge that has missed changes, or is cut off, asks about transfers in progress. Those of hidden posts end, also if no origin answers.
func TestTransfersAreConfirmedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(now *clocktest.Manual, o *origin, s *edge.Server)
		end     bool
	}{
		"a reset with the post hidden": {func(_ *clocktest.Manual, o *origin, s *edge.Server) {
			o.do(func() { o.hidden["post/34"] = true })
			o.purges.Reset()
			poll(t, s)
		}, true},
		"a reset": {func(_ *clocktest.Manual, o *origin, s *edge.Server) {
			o.purges.Reset()
			poll(t, s)
		}, false},
		"no word with the post hidden": {func(_ *clocktest.Manual, o *origin, _ *edge.Server) {
			o.do(func() { o.hidden["post/34"] = true })
		}, true},
		"no word": {func(*clocktest.Manual, *origin, *edge.Server) {}, false},
		"a short silence with no origin": {func(now *clocktest.Manual, o *origin, s *edge.Server) {
			o.down.Store(true)
			edge.Review(t.Context(), s)
			now.Advance(799 * time.Millisecond)
		}, false},
		"no origin": {func(now *clocktest.Manual, o *origin, s *edge.Server) {
			o.down.Store(true)
			edge.Review(t.Context(), s)
			now.Advance(800 * time.Millisecond)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			now, o, s := pair(t)
			data := o.put("video/7/720p/0.m4s", 3*mib)
			o.put("video/7/720p/1.m4s", 100)
			target := o.video("7", "34", "720p/0.m4s", time.Hour)
			checkCode(t, "the file", get(s, target), http.StatusOK) // so that its blocks need no origin
			w := &stops{httptest.NewRecorder(), 100_000, make(chan struct{}), make(chan struct{})}
			done := make(chan struct{})
			go func() {
				defer close(done)
				s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
			}()
			<-w.reached
			checkCode(t, "a file that never was", get(s, o.video("7", "34", "720p/2.m4s", time.Hour)), http.StatusNotFound)
			now.Advance(time.Minute)
			test.happens(now, o, s)
			edge.Review(t.Context(), s)
			edge.Review(t.Context(), s)
			close(w.goOn)
			<-done
			if got := w.Body.Len(); test.end && got > mib || !test.end && got != len(data) {
				t.Errorf("the viewer got %d bytes of %d", got, len(data))
			}
		})
	}
}

// TestAnswersUnderWayDoNotOutliveAPurge: the origin permits, hides the post and says so before its permission has arrived.
func TestAnswersUnderWayDoNotOutliveAPurge(t *testing.T) {
	_, o, s := pair(t)
	o.put("video/7/720p/0.m4s", 100)
	asked, goOn := make(chan struct{}, 10), make(chan struct{})
	pause := func(*http.Request) {
		asked <- struct{}{}
		<-goOn
	}
	o.pause.Store(&pause)
	done := make(chan *httptest.ResponseRecorder)
	target := o.video("7", "34", "720p/0.m4s", time.Hour)
	go func() { done <- get(s, target) }()
	<-asked
	o.pause.Store(nil)
	o.do(func() { o.hidden["post/34"] = true })
	o.purges.Add(edge.PostTag("34"))
	poll(t, s)
	close(goOn)
	checkCode(t, "the post", <-done, http.StatusNotFound)
	if n, _ := s.Cache().Usage(); n != 0 {
		t.Errorf("%d blocks are left", n)
	}
}

// TestWhatWasMissedIsLearned: an edge that was cut off learns what has changed meanwhile, and keeps the rest; one that cannot learn it asks about all.
func TestWhatWasMissedIsLearned(t *testing.T) {
	now, o, s := pair(t)
	o.put("video/7/720p/0.m4s", 100)
	o.put("video/8/720p/0.m4s", 100)
	hidden, other := o.video("7", "34", "720p/0.m4s", time.Hour), o.video("8", "35", "720p/0.m4s", time.Hour)
	checkCode(t, "a post", get(s, hidden), http.StatusOK)
	checkCode(t, "a post", get(s, other), http.StatusOK)
	now.Advance(time.Minute)
	o.purges.Add(edge.PostTag("34"))
	for i := range edge.Kept - 1 {
		o.purges.Add(edge.PostTag(fmt.Sprint(1000 + i)))
	}
	poll(t, s)
	o.requests("")
	checkCode(t, "another post", get(s, other), http.StatusOK)
	checkCode(t, "the purged post", get(s, hidden), http.StatusOK)
	if n := o.requests("GET video/7"); n != 1 || s.Stats().Resets.Load() != 1 {
		t.Errorf("%d requests for the purged post; %d resets", n, s.Stats().Resets.Load())
	}
	resets := func(what string) {
		t.Helper()
		before := s.Stats().Resets.Load()
		now.Advance(time.Second)
		poll(t, s)
		o.requests("")
		checkCode(t, what, get(s, other), http.StatusOK)
		if heads, n := o.requests("HEAD video/8"), s.Stats().Resets.Load()-before; heads != 1 || n != 1 {
			t.Errorf("%s: %d questions, %d resets", what, heads, n)
		}
	}
	for i := range 2 * edge.Kept {
		o.purges.Add(edge.PostTag(fmt.Sprint(1000 + i)))
	}
	resets("more changes than are kept")
	o.purges.Reset()
	resets("changes that the origin has missed")
}

// TestAnEdgeWithoutWordAsks: after lease, the origin is asked about each address, and not more often than every 300 ms. Without an origin nothing is served.
func TestAnEdgeWithoutWordAsks(t *testing.T) {
	now, o, s := pair(t)
	o.put("file/12", 100)
	target := o.media("12", time.Hour)
	checkCode(t, "the file", get(s, target), http.StatusOK)
	now.Advance(799 * time.Millisecond)
	o.requests("")
	checkCode(t, "the file within the lease", get(s, target), http.StatusOK)
	if n := o.requests(""); n != 0 || !s.Follows() {
		t.Errorf("%d requests within the lease", n)
	}
	now.Advance(time.Millisecond)
	for range 3 {
		checkCode(t, "the file after the lease", get(s, target), http.StatusOK)
	}
	if n := o.requests("HEAD"); n != 1 || s.Follows() || s.Behind() != 800*time.Millisecond {
		t.Errorf("%d questions after the lease; the edge is behind by %v", n, s.Behind())
	}
	o.do(func() { o.hidden["file/12"] = true })
	now.Advance(299 * time.Millisecond)
	checkCode(t, "the hidden file, just asked about", get(s, target), http.StatusOK)
	now.Advance(time.Millisecond)
	checkCode(t, "the hidden file", get(s, target), http.StatusNotFound)
	o.do(func() { clear(o.hidden) })
	now.Advance(300 * time.Millisecond)
	checkCode(t, "the file again", get(s, target), http.StatusOK)
	o.down.Store(true)
	now.Advance(300 * time.Millisecond)
	checkCode(t, "the file without an origin", get(s, target), http.StatusServiceUnavailable)
	if err := edge.Poll(t.Context(), s, 0); err == nil {
		t.Error("an origin that is down has a word")
	}
	o.down.Store(false)
	poll(t, s)
	checkCode(t, "the file once there is an origin", get(s, target), http.StatusOK)
}

// TestAMissingFileHasNoCopy: the edge missed that it was deleted, and removes it when its origin does not know it any more.
func TestAMissingFileHasNoCopy(t *testing.T) {
	now, o, s := pair(t)
	o.put("file/12", 100)
	o.put("file/13", 100)
	target := o.media("12", time.Hour)
	checkCode(t, "the file", get(s, target), http.StatusOK)
	checkCode(t, "another", get(s, o.media("13", time.Hour)), http.StatusOK)
	o.do(func() { delete(o.files, "file/12") })
	now.Advance(time.Second)
	checkCode(t, "the deleted file", get(s, target), http.StatusNotFound)
	if n, _ := s.Cache().Usage(); n != 1 {
		t.Errorf("%d blocks are left, not 1", n)
	}
}

// TestAnEdgeThatNeverHeardAsks: it relies on no answer for long.
func TestAnEdgeThatNeverHeardAsks(t *testing.T) {
	now := clock(t)
	o := newOrigin(t, now)
	s := newEdge(t, now, edge.Config{}, o)
	o.put("file/12", 100)
	target := o.media("12", time.Hour)
	checkCode(t, "the file", get(s, target), http.StatusOK)
	o.do(func() { o.hidden["file/12"] = true })
	now.Advance(300 * time.Millisecond)
	checkCode(t, "the hidden file", get(s, target), http.StatusNotFound)
}

// TestSomeAnswersHaveTheirTime: the origin lets an edge rely on an avatar for a second.
func TestSomeAnswersHaveTheirTime(t *testing.T) {
	now, o, s := pair(t)
	o.put("file/12", 100)
	o.headers["Surrogate-Control"] = "max-age=1"
	target := o.media("12", time.Hour)
	checkCode(t, "the avatar", get(s, target), http.StatusOK)
	o.do(func() { o.hidden["file/12"] = true })
	now.Advance(999 * time.Millisecond)
	poll(t, s)
	checkCode(t, "the avatar within its time", get(s, target), http.StatusOK)
	now.Advance(time.Millisecond)
	poll(t, s)
	checkCode(t, "the avatar after it", get(s, target), http.StatusNotFound)
}

// question asks Purges as an edge does.
func question(p *edge.Purges, after, key string) (code int, position string, reset bool, purged []string, complete time.Duration) {
	r := httptest.NewRequest(http.MethodGet, edge.PurgesPath+"?after="+after, nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	var a struct {
		Position   string
		Reset      bool
		Purged     []string
		CompleteMs int64 `json:"complete_ms"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &a) // an error has none of it
	return w.Code, a.Position, a.Reset, a.Purged, time.Duration(a.CompleteMs) * time.Millisecond
}

// TestPurgesAnswersEdgesOnly, and only when it knows what other nodes have changed.
func TestPurgesAnswersEdgesOnly(t *testing.T) {
	var failure error
	p, off := edge.NewPurges(secret, func(context.Context) error { return failure }), edge.NewPurges("", func(context.Context) error { return nil })
	for _, key := range []string{"", "another secret of edges and origins", secret + "x"} {
		if code, position, _, _, _ := question(p, "", key); code != http.StatusForbidden || position != "" {
			t.Errorf("%q is answered with %d", key, code)
		}
	}
	if code, _, _, _, _ := question(off, "", ""); code != http.StatusForbidden {
		t.Errorf("a node without edges answers with %d", code)
	}
	failure = errors.New("the database does not answer")
	if code, position, _, _, _ := question(p, "", secret); code != http.StatusServiceUnavailable || position != "" {
		t.Errorf("a node that does not know is answered with %d", code)
	}
}

// TestPurgesWaits for a change, for 300 ms at most, and says up to when its answer is complete.
func TestPurgesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := edge.NewPurges(secret, func(context.Context) error {
			time.Sleep(50 * time.Millisecond) // of virtual time
			return nil
		})
		_, position, reset, _, complete := question(p, "", secret)
		if !reset || complete != 0 {
			t.Errorf("a first question: reset %v, complete after %v", reset, complete)
		}
		began := time.Now()
		_, same, reset, purged, complete := question(p, position, secret)
		if reset || same != position || len(purged) != 0 || complete != 300*time.Millisecond || time.Since(began) != 350*time.Millisecond {
			t.Errorf("nothing has changed: reset %v, %v, complete after %v of %v", reset, purged, complete, time.Since(began))
		}
		time.AfterFunc(100*time.Millisecond, func() { p.Add("post/1", "file/2") })
		_, next, reset, purged, complete := question(p, position, secret)
		if reset || next == position || fmt.Sprint(purged) != "[post/1 file/2]" || complete != 100*time.Millisecond {
			t.Errorf("a change: reset %v, %v, complete after %v", reset, purged, complete)
		}
		if _, _, reset, purged, _ := question(p, next+"0", secret); !reset || len(purged) != 0 {
			t.Errorf("a position that was not given: reset %v, %v", reset, purged)
		}
	})
}

// TestASlowAnswerCountsForWhoAsked, though it counts for nobody who comes later.
func TestASlowAnswerCountsForWhoAsked(t *testing.T) {
	now := clock(t)
	o := newOrigin(t, now)
	s := newEdge(t, now, edge.Config{}, o)
	o.put("file/12", 100)
	o.headers["Surrogate-Control"] = "max-age=1"
	pause := func(*http.Request) { now.Advance(5 * time.Second) }
	o.pause.Store(&pause)
	target := o.media("12", time.Hour)
	for range 3 {
		checkCode(t, "the file", get(s, target), http.StatusOK)
	}
	if n := o.requests(""); n != 3 {
		t.Errorf("%d requests, not 3", n)
	}
}

// TestPurgesOfPicturesOfPosts: a purge of a post ends the URLs of its pictures, and none of those by which others show the same file.
func TestPurgesOfPicturesOfPosts(t *testing.T) {
	_, o, s := pair(t)
	o.put("file/5", 1000)
	one, other := o.picture("5", "7", time.Minute), o.picture("5", "8", time.Minute)
	checkCode(t, "a picture of a post", get(s, one), http.StatusOK)
	checkCode(t, "the same of another post", get(s, other), http.StatusOK)
	checkCode(t, "a post that is no number", get(s, strings.Replace(one, "post=7", "post=07", 1)), http.StatusForbidden)
	o.do(func() { o.hidden["post/7"] = true })
	o.purges.Add(edge.PostTag("7"))
	poll(t, s)
	checkCode(t, "a picture of a hidden post", get(s, one), http.StatusNotFound)
	checkCode(t, "the same of a post that is shown", get(s, other), http.StatusOK)
}
