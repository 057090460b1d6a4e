package media_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A late second CompleteUpload does not undo KeepPicture: the picture outlives the messages that refer to it.
func TestCompleteUploadDoesNotUndoKeepPicture(t *testing.T) {
	r := open(t, media.Config{})
	file := picture(t, "png", 2, 2)
	up := r.create(alice, "x.png", len(file))
	if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	n := id.Upload(up.Upload)
	r.store.before(&r.store.opening, func() {
		if _, err := r.CompleteUpload(t.Context(), alice, n); err != nil {
			t.Error(err)
		}
		if err := r.KeepPicture(t.Context(), alice, n); err != nil {
			t.Error(err)
		}
	})
	if u, err := r.CompleteUpload(t.Context(), alice, n); err != nil || u.Width != 2 {
		t.Errorf("the upload is %v (%v)", u, err)
	}
	if err := r.use(alice, 7, up.Upload); err != nil {
		t.Fatal(err)
	}
	if err := r.Expired(t.Context(), 7, r.clock.ms.Load()+2*media.Slack.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(t.Context(), alice, n); err != nil {
		t.Errorf("the picture expired with a message: %v", err)
	}
}

// All users can read an avatar while it is one: neither before nor afterwards, also not by a URL that was issued in between.
func TestAvatars(t *testing.T) {
	r := open(t, media.Config{})
	for _, format := range []string{"png", "jpeg", "gif"} {
		u := r.upload("x."+format, picture(t, format, 31, 17))
		n := id.Upload(u.Upload)
		if u.MimeType != "image/"+format || u.Width != 31 || u.Height != 17 {
			t.Errorf("the user is %v", u)
		}
		wantError(t, "another's", r.CheckPicture(t.Context(), bob, n), errs.NotFound, "no_upload")
		wantError(t, "another's", r.KeepPicture(t.Context(), bob, n), errs.NotFound, "no_upload")
		for _, check := range []error{r.CheckPicture(t.Context(), alice, n), r.KeepPicture(t.Context(), alice, n)} {
			if check != nil {
				t.Fatal(check)
			}
			_, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: u.Upload})
			wantError(t, "checked and kept, but nobody's avatar", err, errs.NotFound, "no_upload")
		}
		early := r.PictureURL(n)
		wantStatus(t, "by its URL, before it is an avatar", r.request(http.MethodGet, early, nil), http.StatusNotFound, "no_upload")
		r.setAvatar(bob, n) // refused: an avatar must be the user's own upload
		wantStatus(t, "as another's avatar", r.request(http.MethodGet, early, nil), http.StatusNotFound, "no_upload")
		r.setAvatar(alice, n)
		d, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: u.Upload})
		if err != nil {
			t.Fatal(err)
		}
		first := r.PictureURL(n)
		for _, url := range []string{d.Url, first} {
			if w := r.request(http.MethodGet, url, nil); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/"+format {
				t.Errorf("the avatar is served with %d %v", w.Code, w.Header())
			}
		}
		// Browsers cache a picture by its URL, which stays the same for hours and is valid for longer.
		r.clock.ms.Store(r.clock.Now().Truncate(12 * time.Hour).Add(12 * time.Hour).UnixMilli())
		fresh := r.PictureURL(n)
		r.clock.ms.Add(12*time.Hour.Milliseconds() - 1)
		if fresh == first || r.PictureURL(n) != fresh {
			t.Errorf("the URL was %s, then %s, then %s", first, fresh, r.PictureURL(n))
		}
		if w := r.request(http.MethodGet, fresh, nil); w.Code != http.StatusOK {
			t.Errorf("a fresh URL is answered with %d %s", w.Code, w.Body)
		}
		r.setAvatar(alice, 0)
		wantStatus(t, "a former avatar, by its URL", r.request(http.MethodGet, fresh, nil), http.StatusNotFound, "no_upload")
		_, err = r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: u.Upload})
		wantError(t, "a former avatar", err, errs.NotFound, "no_upload")
		if w := r.request(http.MethodGet, r.url(u.Upload), nil); w.Code != http.StatusOK {
			t.Errorf("the owner's former avatar is answered with %d %s", w.Code, w.Body)
		}
	}
	text := id.Upload(r.upload("x.png", []byte("no picture")).Upload)
	wantError(t, "a text", r.CheckPicture(t.Context(), alice, text), errs.Invalid, "not_an_image")
	wantError(t, "a text", r.KeepPicture(t.Context(), alice, text), errs.Invalid, "not_an_image")
}

// A group's picture can be read by its members and by its owner.
func TestGroupPictures(t *testing.T) {
	r := open(t, media.Config{})
	old, now := r.upload("old.png", picture(t, "png", 2, 2)).Upload, r.upload("x.png", picture(t, "png", 2, 2)).Upload
	r.pictures[bob] = id.Upload(now)
	for _, c := range []struct {
		what   string
		by     id.User
		r      *chatv1.GetDownloadRequest
		reason string
	}{
		{"a member", bob, &chatv1.GetDownloadRequest{Upload: now, Conversation: 9}, ""},
		{"a member, the picture before", bob, &chatv1.GetDownloadRequest{Upload: old, Conversation: 9}, "no_upload"},
		{"a member, no picture", bob, &chatv1.GetDownloadRequest{Conversation: 9}, "no_upload"},
		{"a member, of no group", bob, &chatv1.GetDownloadRequest{Upload: now}, "no_upload"},
		{"a member, of another group", bob, &chatv1.GetDownloadRequest{Upload: now, Conversation: 8}, "no_conversation"},
		{"another", 3, &chatv1.GetDownloadRequest{Upload: now, Conversation: 9}, "no_conversation"},
		{"the owner of the file, without the group", alice, &chatv1.GetDownloadRequest{Upload: now}, ""},
	} {
		d, err := r.GetDownload(t.Context(), c.by, c.r)
		if c.reason != "" {
			wantError(t, c.what, err, errs.NotFound, c.reason)
		} else if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if w := r.request(http.MethodGet, d.Url, nil); w.Code != http.StatusOK {
			t.Errorf("%s: status %d, want %d: %s", c.what, w.Code, http.StatusOK, w.Body)
		}
	}
	r.pictures[bob] = 0
	_, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Conversation: 9})
	wantError(t, "of a group without a picture, no picture", err, errs.NotFound, "no_upload")
}
