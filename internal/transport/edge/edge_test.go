package edge_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

const mib = blockcache.BlockSize

// TestViewersShareOneRequest: of a thousand viewers of a cold video, each range is asked of the origin once. Those of other posts, and later ones, ask for their
// permission only.
func TestViewersShareOneRequest(t *testing.T) {
	_, o, s := pair(t)
	data := o.put("video/7/720p/0.m4s", mib+5)
	target := o.video("7", "34", "720p/0.m4s", time.Hour)
	var begun, group sync.WaitGroup
	var wrong atomic.Int64
	begun.Add(1000)
	for range 1000 {
		group.Go(func() {
			begun.Done()
			begun.Wait()
			w := &checking{header: http.Header{}, data: data}
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
			if w.wrong || w.at != len(data) || w.code != 0 && w.code != http.StatusOK {
				wrong.Add(1)
			}
		})
	}
	group.Wait()
	most, all := o.most(), o.requests("")
	if wrong.Load() != 0 || most != 1 || all != 2 {
		t.Errorf("%d wrong answers; %d requests, the most frequent one %d times", wrong.Load(), all, most)
	}
	checkCode(t, "the video in another post", get(s, o.video("7", "35", "720p/0.m4s", time.Hour), "Range", "bytes=1048570-1048580"), http.StatusPartialContent)
	checkCode(t, "a later viewer", get(s, target), http.StatusOK)
	if heads, all := o.requests("HEAD"), o.requests(""); heads != 1 || all != 0 {
		t.Errorf("%d questions and %d other requests follow", heads, all)
	}
	if st := s.Cache().Stats(); st.FetchedBytes.Load() != int64(len(data)) {
		t.Errorf("%d bytes came from the origin, of %d", st.FetchedBytes.Load(), len(data))
	}
}

// TestOneSignatureIsAskedOnce: it is for all files of a video that are known.
func TestOneSignatureIsAskedOnce(t *testing.T) {
	now, o, s := pair(t)
	for i := range 5 {
		o.put(fmt.Sprint("video/7/720p/", i, ".m4s"), 100+i)
		checkCode(t, "a segment", get(s, o.video("7", "34", fmt.Sprint("720p/", i, ".m4s"), time.Hour)), http.StatusOK)
	}
	o.requests("")
	now.Advance(10 * time.Second)
	poll(t, s)
	for i := range 5 {
		checkCode(t, "a segment by a new address", get(s, o.video("7", "34", fmt.Sprint("720p/", i, ".m4s"), time.Hour)), http.StatusOK)
	}
	if n := o.requests(""); n != 1 {
		t.Errorf("%d requests for five known files, and not one", n)
	}
}

// TestAddressesAreChecked: what cannot be valid does not reach the origin, and what it refuses reaches it once in a while.
func TestAddressesAreChecked(t *testing.T) {
	now, o, s := pair(t)
	o.put("video/7/720p/0.m4s", 10)
	o.put("video/8/720p/0.m4s", 10)
	o.put("video/7/stage/contact-sheet/sheet.jpg", 10)
	o.put("file/12", 10)
	valid, file := o.video("7", "34", "720p/0.m4s", time.Minute), o.media("12", time.Minute)
	checkCode(t, "a valid address", get(s, valid), http.StatusOK)
	checkCode(t, "a valid file", get(s, file), http.StatusOK)
	checkCode(t, "a file of a stage", get(s, o.video("7", "34", "stage/contact-sheet/sheet.jpg", time.Minute)), http.StatusOK)
	o.requests("")
	for what, target := range map[string]string{
		"another path": "/v1/other", "no upload": "/v1/media/x?exp=1&sig=a", "a spelling of an upload": strings.Replace(file, "/12?", "/012?", 1), "a folder above": "/v1/video/7/../../../etc/passwd",
		"a folder above the token": strings.Replace(valid, "720p/0.m4s", "../../8/0.m4s", 1), "a hidden file": strings.Replace(valid, "720p", ".720p", 1), "a backslash": strings.Replace(valid, "720p/", "720p\\", 1),
		"three folders": strings.Replace(valid, "720p/", "a/b/c/", 1), "an empty name": strings.Replace(valid, "720p/0.m4s", "", 1), "a parts' URL": "/v1/media/12/parts/1?exp=1&sig=a", "a null byte": strings.Replace(valid, "720p", "\x00", 1),
	} {
		checkCode(t, what, get(s, target), http.StatusNotFound)
	}
	exp := fmt.Sprint(now.Now().Add(time.Minute).Unix())
	for what, target := range map[string]string{
		"no signature": "/v1/media/12?exp=" + exp, "no expiry": "/v1/media/12?sig=abc", "a spelling of an expiry": strings.Replace(file, "exp=", "exp=0", 1), "a long signature": file + strings.Repeat("a", 100),
		"an expired file": o.media("12", 0), "an expired video": o.video("7", "34", "720p/0.m4s", -time.Second), "no post": strings.Replace(valid, "/34-", "/-", 1),
	} {
		checkCode(t, what, get(s, target), http.StatusForbidden)
	}
	if n := o.requests(""); n != 0 {
		t.Errorf("%d requests reach the origin", n)
	}
	for what, target := range map[string]string{
		"another video": strings.Replace(valid, "/video/7/", "/video/8/", 1), "another post": strings.Replace(valid, "/34-", "/35-", 1), "the owner's scope": strings.Replace(valid, "/34-", "/0-", 1),
		"a later expiry": strings.Replace(file, exp, exp+"0", 1), "another file": strings.Replace(file, "/12?", "/13?", 1), "a forged signature": file + "x",
	} {
		for range 3 {
			checkCode(t, what, get(s, target), http.StatusForbidden)
		}
		if n := o.requests(""); n != 1 {
			t.Errorf("%s reaches the origin with %d requests", what, n)
		}
		now.Advance(time.Second)
		checkCode(t, what, get(s, target), http.StatusForbidden)
		if n := o.requests(""); n != 1 {
			t.Errorf("%s reaches the origin later with %d requests", what, n)
		}
	}
	if w := ask(s, http.MethodDelete, file); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD, PUT" {
		t.Errorf("a DELETE is answered with %d", w.Code)
	}
}

// TestAnAddressEnds when it expires, also while the edge has all of its file.
func TestAnAddressEnds(t *testing.T) {
	now, o, s := pair(t)
	o.put("file/12", 10)
	target := o.media("12", time.Minute)
	checkCode(t, "a valid address", get(s, target), http.StatusOK)
	now.Advance(time.Minute - time.Millisecond)
	poll(t, s)
	checkCode(t, "a moment before the end", get(s, target), http.StatusOK)
	now.Advance(time.Millisecond)
	checkCode(t, "the end", get(s, target), http.StatusForbidden)
}

// TestHeaders of an answer are those of the origin, and a CDN may keep files only if it is told so.
func TestHeaders(t *testing.T) {
	now := clock(t)
	o := newOrigin(t, now)
	data := o.put("file/12", mib+5)
	o.headers["Content-Disposition"], o.headers["Surrogate-Control"], o.headers["X-Powered-By"] = "inline", "max-age=1000", "the origin"
	o.headers["Cross-Origin-Resource-Policy"] = "same-site"
	plain, behindCDN := newEdge(t, now, edge.Config{}, o), newEdge(t, now, edge.Config{CDNMaxAge: time.Hour}, o)
	target := o.media("12", 10*time.Minute)
	h := get(plain, target).Header()
	for name, want := range map[string]string{"Cache-Control": "private, max-age=43200, immutable", "Content-Type": "video/mp4", "Etag": `"file/12-0"`, "Content-Disposition": "inline", "Accept-Ranges": "bytes", "Cross-Origin-Resource-Policy": "cross-origin",
		"Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT", "Surrogate-Control": "", "X-Powered-By": "", "Content-Length": fmt.Sprint(len(data))} {
		if h.Get(name) != want {
			t.Errorf("%s is %q, and not %q", name, h.Get(name), want)
		}
	}
	if got := get(behindCDN, target).Header().Get("Cache-Control"); got != "public, max-age=43200, s-maxage=600, immutable" {
		t.Errorf("for a CDN, Cache-Control is %q", got)
	}
	if w := get(plain, target, "Range", "bytes=1048570-1048579", "If-Range", `"file/12-0"`); w.Code != http.StatusPartialContent || !bytes.Equal(w.Body.Bytes(), data[1048570:1048580]) {
		t.Errorf("a range is answered with %d and %d bytes", w.Code, w.Body.Len())
	}
	if w := get(plain, target, "If-None-Match", `"file/12-0"`); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("a known file is answered with %d", w.Code)
	}
	if w := get(plain, o.media("13", time.Minute)); w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != "no-store" || w.Body.String() != "{\"reason\":\"no_file\"}\n" {
		t.Errorf("a missing file is answered with %d, %v, %s", w.Code, w.Header(), w.Body)
	}
}

// TestTextsAreKeptForASecond: a playlist grows, and its viewers share a request.
func TestTextsAreKeptForASecond(t *testing.T) {
	now, o, s := pair(t)
	o.texts["video/7/720p.m3u8"] = "one segment"
	target := o.video("7", "34", "720p.m3u8", time.Hour)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if w := get(s, target); w.Body.String() != "one segment" {
				t.Errorf("the playlist is answered with %d %s", w.Code, w.Body)
			}
		})
	}
	group.Wait()
	if n := o.requests(""); n != 1 {
		t.Errorf("%d requests for a playlist", n)
	}
	o.do(func() { o.texts["video/7/720p.m3u8"] = "two segments" })
	now.Advance(999 * time.Millisecond)
	poll(t, s)
	if w := get(s, target); w.Body.String() != "one segment" {
		t.Errorf("the playlist is %s before its time", w.Body)
	}
	now.Advance(time.Millisecond)
	if w := get(s, target); w.Body.String() != "two segments" || w.Header().Get("Cache-Control") != "private, no-cache" {
		t.Errorf("the playlist is %s later, %v", w.Body, w.Header())
	}
}

// TestANewVersionReplacesAFile: an address leads to other bytes than before, and the old ones are not mixed in.
func TestANewVersionReplacesAFile(t *testing.T) {
	now, o, s := pair(t)
	o.put("video/7/poster/0.jpg", 2*mib)
	target := o.video("7", "34", "poster/0.jpg", time.Hour)
	checkCode(t, "the first version", get(s, target, "Range", "bytes=0-9"), http.StatusPartialContent)
	second := o.put("video/7/poster/0.jpg", mib+1)
	o.do(func() { o.versions["video/7/poster/0.jpg"] = 1 })
	now.Advance(time.Minute) // the edge asks again
	if w := get(s, target); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), second) {
		t.Errorf("the second version is answered with %d and %d bytes", w.Code, w.Body.Len())
	}
	third := bytes.Clone(second) // of the same size
	slices.Reverse(third)
	s.Cache().RemoveGroup("video/7")
	o.do(func() { o.files["video/7/poster/0.jpg"], o.versions["video/7/poster/0.jpg"] = third, 2 })
	if w := get(s, target); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a file that changes while its blocks are fetched is answered with %d", w.Code)
	}
	now.Advance(time.Minute)
	if w := get(s, target); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), third) {
		t.Errorf("the third version is answered with %d and %d bytes", w.Code, w.Body.Len())
	}
}

// TestOriginsReplaceEachOther: while one fails, the others are asked, and a dying one costs no wrong byte.
func TestOriginsReplaceEachOther(t *testing.T) {
	now := clock(t)
	a, b := newOrigin(t, now), newOrigin(t, now)
	s := newEdge(t, now, edge.Config{}, a, b)
	for i := range 8 { // of which some are asked of each first
		group := fmt.Sprint("video/", i, "/720p/0.m4s")
		data := a.put(group, mib+1)
		b.put(group, mib+1)
		dying := []*origin{a, b}[i/4]
		target := a.video(fmt.Sprint(i), "34", "720p/0.m4s", time.Hour)
		dying.down.Store(true)
		if w := get(s, target); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), data) {
			t.Errorf("with one origin, a file is answered with %d and %d bytes", w.Code, w.Body.Len())
		}
		dying.down.Store(false)
	}
	if a.requests("") == 0 || b.requests("") == 0 {
		t.Error("an origin was not asked")
	}
	a.down.Store(true)
	b.down.Store(true)
	w := get(s, a.video("9", "34", "720p/0.m4s", time.Hour))
	checkCode(t, "a file of no origin", w, http.StatusServiceUnavailable)
	if s.Stats().Failed.Load() != 1 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d failures are counted; %v", s.Stats().Failed.Load(), w.Header())
	}
}

// TestASlowOriginServesEveryone once it answers, and whoever leaves meanwhile ends nothing for the others.
func TestASlowOriginServesEveryone(t *testing.T) {
	_, o, s := pair(t)
	data := o.put("video/7/720p/0.m4s", 3*mib)
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	pause := func(*http.Request) {
		held <- struct{}{}
		<-hold
	}
	o.pause.Store(&pause)
	target := o.video("7", "34", "720p/0.m4s", time.Hour)
	leaves := make(chan struct{})
	go func() {
		defer close(leaves)
		r := httptest.NewRequest(http.MethodGet, target, nil)
		ctx, cancel := withCancel(r)
		go func() {
			<-held
			cancel(errGone)
		}()
		s.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	}()
	<-leaves
	done := make(chan *httptest.ResponseRecorder)
	for range 3 {
		go func() { done <- get(s, target) }()
	}
	close(hold)
	for range 3 {
		if w := <-done; w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), data) {
			t.Errorf("a patient viewer has %d and %d bytes", w.Code, w.Body.Len())
		}
	}
	if n := o.most(); n != 1 {
		t.Errorf("a range is asked for %d times", n)
	}
}

// TestSettings: what cannot work is refused.
func TestSettings(t *testing.T) {
	for _, c := range []edge.Config{{}, {Secret: secret}, {Origins: []string{"http://127.0.0.1:1"}}, {Secret: "short", Origins: []string{"http://127.0.0.1:1"}}, {Secret: secret, Origins: []string{"http://example.com"}}, {Secret: secret, Origins: []string{"x"}}} {
		if s, err := edge.New(edge.Deps{Dir: t.TempDir(), Clock: clock(t)}, c); err == nil {
			t.Errorf("%v is accepted", c)
			_ = s.Close()
		}
	}
	if err := (edge.Config{Secret: secret, Origins: []string{"https://api.example.com"}}).Check(); err != nil {
		t.Error(err)
	}
	if err := (edge.Config{}).Check(); err != nil {
		t.Errorf("without edges: %v", err)
	}
}
