package media_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestFilesOfPostsEndWithThem: a URL that was given by a post or a comment is valid while that shows the file, and for no other one. Edges need not ask about a post
// again, of which they are told, but about a comment.
func TestFilesOfPostsEndWithThem(t *testing.T) {
	r := open(t, media.Config{})
	n := id.Upload(r.upload("a", []byte("a picture")).Upload)
	shown := map[string]bool{"post 7": true, "comment 7": true}
	deps := r.deps
	names := func(_ context.Context, _ id.User, by uint64, u id.Upload) (bool, error) {
		return by == 7 && u == n, nil
	}
	shows := func(kind string) func(context.Context, uint64, id.Upload) (bool, error) {
		return func(_ context.Context, by uint64, u id.Upload) (bool, error) {
			return by == 7 && u == n && shown[kind+" 7"], nil
		}
	}
	deps.PostNames, deps.CommentNames, deps.PostShows, deps.CommentShows = names, names, shows("post"), shows("comment")
	s, err := media.New(t.Context(), deps, media.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r.Service = s
	urls := map[string]string{}
	for kind, q := range map[string]*chatv1.GetDownloadRequest{"post": {Upload: uint64(n), Post: 7}, "comment": {Upload: uint64(n), Comment: 7}} {
		d, err := s.GetDownload(t.Context(), bob, q)
		if err != nil {
			t.Fatal(err)
		}
		urls[kind] = d.Url
	}
	for kind, url := range urls {
		w := r.request(http.MethodGet, url, nil)
		if w.Code != http.StatusOK || w.Body.String() != "a picture" {
			t.Errorf("the file of a %s is answered with %d %s", kind, w.Code, w.Body)
		}
		if again := w.Header().Get("Surrogate-Control") != ""; again != (kind == "comment") {
			t.Errorf("the file of a %s has the header Surrogate-Control %q", kind, w.Header().Get("Surrogate-Control"))
		}
		for what, other := range map[string]string{"another one": strings.Replace(url, kind+"=7", kind+"=8", 1), "none": strings.Replace(url, kind+"=7&", "", 1), "the other kind": strings.Replace(strings.Replace(url, "comment=7", "x=7", 1), "post=7", "comment=7", 1)} {
			wantStatus(t, "the URL of a "+kind+" for "+what, r.request(http.MethodGet, other, nil), http.StatusForbidden, "bad_url")
		}
		shown[kind+" 7"] = false
		wantStatus(t, "the file of a hidden "+kind, r.request(http.MethodGet, url, nil), http.StatusNotFound, "no_upload")
		shown[kind+" 7"] = true
		if w := r.request(http.MethodGet, url, nil); w.Code != http.StatusOK {
			t.Errorf("the file of a %s that is shown again is answered with %d", kind, w.Code)
		}
	}
}
