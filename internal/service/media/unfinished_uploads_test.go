package media_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// listUnfinished returns a user's unfinished uploads, as "name: stored of size".
func (r *fixture) listUnfinished(u id.User, purpose string) (list []string) {
	r.t.Helper()
	out, err := r.ListUnfinishedUploads(r.t.Context(), u, &chatv1.ListUnfinishedUploadsRequest{Purpose: purpose})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, u := range out.Uploads {
		if u.ExpiresMs != u.CreatedMs+24*time.Hour.Milliseconds() || purpose != "" && u.Purpose != purpose {
			r.t.Errorf("an upload is %v", u)
		}
		list = append(list, fmt.Sprintf("%s: %d of %d", u.Name, u.Stored, u.Size))
	}
	return list
}

// TestUnfinishedUploads: a user's uploads in parts are listed on each device until they are complete, dropped or expired, with what is stored of them.
func TestUnfinishedUploads(t *testing.T) {
	r := open(t, media.Config{})
	create := func(u id.User, name, purpose string) uint64 {
		m, err := r.CreateMultipartUpload(t.Context(), u, &chatv1.CreateMultipartUploadRequest{Name: name, Size: uint64(len(threeParts)), Purpose: purpose})
		if err != nil {
			t.Fatal(err)
		}
		return m.Upload
	}
	want := func(what, purpose string, want ...string) {
		t.Helper()
		if got := r.listUnfinished(alice, purpose); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	want("at the beginning", "")
	first, aborted, other := create(alice, "first", "video"), create(alice, "aborted", "video"), create(alice, "other", "")
	create(bob, "bob's", "video")
	r.create(alice, "whole", 10)
	r.createTus(10)
	for _, number := range []int{3, 1} {
		if w := r.putPart(first, number, piece(threeParts, number)); w.Code != http.StatusOK {
			t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
		}
	}
	if err := r.AbortUpload(t.Context(), alice, id.Upload(aborted)); err != nil {
		t.Fatal(err)
	}
	size := len(threeParts)
	ofFirst, ofOther := fmt.Sprintf("first: %d of %d", blob.MinPartSize+1000, size), fmt.Sprintf("other: 0 of %d", size)
	want("the newest first", "", ofOther, ofFirst)
	want("those with the purpose", "video", ofFirst)
	want("another purpose", "vide")
	m, err := r.GetMultipartUpload(t.Context(), alice, id.Upload(first))
	one, three := sha256.Sum256(piece(threeParts, 1)), sha256.Sum256(piece(threeParts, 3))
	if err != nil || !slices.EqualFunc(m.Checksums, [][]byte{one[:], three[:]}, bytes.Equal) {
		t.Errorf("the checksums are %x, %v", m.GetChecksums(), err)
	}
	if w := r.putPart(first, 2, piece(threeParts, 2)); w.Code != http.StatusOK {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
	}
	want("all parts, but not complete", "video", fmt.Sprintf("first: %d of %d", size, size))
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(first)); err != nil {
		t.Fatal(err)
	}
	want("complete", "", ofOther)
	r.clock.ms.Add(24 * time.Hour.Milliseconds())
	want("on the last moment", "", ofOther)
	r.clock.ms.Add(1)
	want("expired, but not swept yet", "")
	if err := r.AbortUpload(t.Context(), alice, id.Upload(other)); err != nil {
		t.Fatal(err)
	}
	for _, purpose := range []string{strings.Repeat("x", 65), "a\x00b"} {
		_, err = r.CreateMultipartUpload(t.Context(), alice, &chatv1.CreateMultipartUploadRequest{Name: "a", Size: 1, Purpose: purpose})
		wantError(t, "a bad purpose", err, errs.Invalid, "bad_purpose")
		_, err = r.ListUnfinishedUploads(t.Context(), alice, &chatv1.ListUnfinishedUploadsRequest{Purpose: purpose})
		wantError(t, "a list of a bad purpose", err, errs.Invalid, "bad_purpose")
	}
}

// TestRejectedVideos: the file of which no video can be made is dropped, unless a message or something else names it.
func TestRejectedVideos(t *testing.T) {
	r := open(t, media.Config{})
	reject := func(u id.User, n uint64) {
		t.Helper()
		if err := r.RejectVideo(t.Context(), u, id.Upload(n)); err != nil {
			t.Fatal(err)
		}
		if err := r.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	unused, sent, picture := r.upload("unused", []byte("1")).Upload, r.upload("sent", []byte("2")).Upload, r.upload("picture", picture(t, "png", 4, 4)).Upload
	if err := r.use(alice, 7, sent); err != nil {
		t.Fatal(err)
	}
	if err := r.KeepPicture(t.Context(), alice, id.Upload(picture)); err != nil {
		t.Fatal(err)
	}
	reject(bob, unused)
	if r.files() != 3 {
		t.Errorf("%d files are stored after another user's rejection, and not 3", r.files())
	}
	for _, n := range []uint64{unused, sent, picture} {
		reject(alice, n)
	}
	wantError(t, "the unused one", r.Check(t.Context(), alice, id.Upload(unused)), errs.NotFound, "no_upload")
	for what, n := range map[string]uint64{"the one of a message": sent, "the picture": picture} {
		if err := r.Check(t.Context(), alice, id.Upload(n)); err != nil {
			t.Errorf("%s is dropped: %v", what, err)
		}
	}
	if r.files() != 2 {
		t.Errorf("%d files are stored, and not 2", r.files())
	}
}
