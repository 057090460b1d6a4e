package media_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/blob"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/media"
	"google.golang.org/protobuf/proto"
)

func TestUpload(t *testing.T) {
	r := open(t, media.Config{MaxSize: 1000})
	file := []byte("hello, 世界")
	for _, size := range []uint64{0, 1001, math.MaxInt64, math.MaxUint64} {
		_, err := r.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: size})
		wants(t, "a size", err, errs.Invalid, "bad_size")
	}
	up := r.create(alice, "note.txt", len(file))
	n := id.Upload(up.Upload)
	if up.ExpiresMs != r.clock.ms.Load()+15*time.Minute.Milliseconds() || !strings.HasPrefix(up.Url, "/v1/media/") {
		t.Errorf("%v", up)
	}
	_, err := r.CompleteUpload(t.Context(), alice, n)
	wants(t, "nothing was put", err, errs.Invalid, "not_uploaded")
	wants(t, "named before", r.Check(t.Context(), alice, n), errs.Invalid, "upload_not_complete")
	refused(t, "read before", r.ask(http.MethodGet, r.PictureURL(n), nil), http.StatusNotFound, "no_upload")
	for what, bad := range map[string]io.Reader{"empty": strings.NewReader(""), "short": bytes.NewReader(file[1:]), "long": strings.NewReader(string(file) + "x"),
		"short, without a length": struct{ io.Reader }{bytes.NewReader(file[1:])}, "long, without a length": struct{ io.Reader }{strings.NewReader(string(file) + "x")}} {
		refused(t, what, r.ask(http.MethodPut, up.Url, bad), http.StatusBadRequest, "wrong_size")
	}
	_, err = r.CompleteUpload(t.Context(), alice, n)
	wants(t, "after bad ones", err, errs.Invalid, "not_uploaded")
	if r.files() != 0 {
		t.Error("bad ones take room")
	}
	// What is put is nobody's to read before it is complete. Put again, also with other bytes, changes nothing.
	for _, again := range [][]byte{file, file, []byte(strings.Repeat("x", len(file))), []byte("x"), nil} {
		if w := r.put(up.Url, again); w.Code != http.StatusNoContent {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	refused(t, "read when put", r.ask(http.MethodGet, r.PictureURL(n), nil), http.StatusNotFound, "no_upload")
	_, err = r.CompleteUpload(t.Context(), bob, n)
	wants(t, "another's", err, errs.NotFound, "no_upload")
	_, err = r.CompleteUpload(t.Context(), alice, n+1)
	wants(t, "none", err, errs.NotFound, "no_upload")
	first, err := r.CompleteUpload(t.Context(), alice, n)
	if err != nil || !proto.Equal(first, &chatv1.Upload{Upload: up.Upload, Name: "note.txt", MimeType: "text/plain", Size: uint64(len(file))}) {
		t.Fatalf("%v, %v", first, err)
	}
	if second, err := r.CompleteUpload(t.Context(), alice, n); err != nil || !proto.Equal(first, second) {
		t.Errorf("%v, %v", second, err)
	}
	if w := r.put(up.Url, []byte(strings.Repeat("y", len(file)))); w.Code != http.StatusNoContent {
		t.Errorf("after completion: %d %s", w.Code, w.Body)
	}
	if w := r.ask(http.MethodGet, r.url(up.Upload), nil); w.Code != http.StatusOK || w.Body.String() != string(file) {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if err := r.Check(t.Context(), alice, n); err != nil {
		t.Error(err)
	}
	wants(t, "by another", r.Check(t.Context(), bob, n), errs.NotFound, "no_upload")
	if r.files() != 1 {
		t.Errorf("%d files", r.files())
	}
}

// TestASlowPutChangesNothing: of two at once the first one stored counts, whatever the other does later.
func TestASlowPutChangesNothing(t *testing.T) {
	r := open(t, media.Config{})
	good := picture(t, "png", 3, 2)
	up := r.create(alice, "x.png", len(good))
	body, client := io.Pipe()
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- r.ask(http.MethodPut, up.Url, body) }()
	evil := []byte("<script>" + strings.Repeat(" ", len(good)-8))
	if _, err := client.Write(evil[:10]); err != nil { // it returns when the store has taken them
		t.Fatal(err)
	}
	if w := r.put(up.Url, good); w.Code != http.StatusNoContent {
		t.Fatal(w.Code, w.Body)
	}
	u, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload))
	if err != nil || u.MimeType != "image/png" {
		t.Fatalf("%v, %v", u, err)
	}
	if _, err := client.Write(evil[10:]); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if w := <-answered; w.Code != http.StatusNoContent {
		t.Errorf("the slow one: %d %s", w.Code, w.Body)
	}
	if w := r.ask(http.MethodGet, r.url(up.Upload), nil); !bytes.Equal(w.Body.Bytes(), good) {
		t.Errorf("a complete upload has become %.20q", w.Body)
	}
	if r.files() != 1 {
		t.Errorf("%d files", r.files())
	}
}

// TestAnEndBetweenStoringAndNoting: the server's end after the bytes were stored, and before that was written down.
func TestAnEndBetweenStoringAndNoting(t *testing.T) {
	r := open(t, media.Config{})
	file := []byte("the file")
	up := r.create(alice, "a", len(file))
	ctx, end := context.WithCancel(t.Context())
	r.store.before(&r.store.putIn, end)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPut, up.Url, bytes.NewReader(file)))
	if w.Code < 500 || r.files() != 1 {
		t.Fatalf("%d %s, %d files", w.Code, w.Body, r.files())
	}
	_, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload))
	wants(t, "what was not written down", err, errs.Invalid, "not_uploaded")
	// The client tries again.
	if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
		t.Fatal(w.Code, w.Body)
	}
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload)); err != nil {
		t.Fatal(err)
	}
	if w := r.ask(http.MethodGet, r.url(up.Upload), nil); w.Body.String() != string(file) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// Or does not: then all that it left goes.
	left := r.create(alice, "b", len(file))
	for range 2 {
		ctx, end := context.WithCancel(t.Context())
		r.store.before(&r.store.putIn, end)
		r.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPut, left.Url, bytes.NewReader(file)))
	}
	before := r.files()
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if before-r.files() != 2 {
		t.Errorf("%d files, then %d", before, r.files())
	}
	if w := r.ask(http.MethodGet, r.url(up.Upload), nil); w.Body.String() != string(file) {
		t.Errorf("the complete one: %d %s", w.Code, w.Body)
	}
}

func TestUnfinishedUploadsAreDropped(t *testing.T) {
	r := open(t, media.Config{})
	kept := r.upload("kept", []byte("kept"))
	put, never := r.create(alice, "put", 3), r.create(alice, "never", 3)
	if w := r.put(put.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Fatal(w.Code, w.Body)
	}
	r.clock.ms.Add(23 * time.Hour.Milliseconds())
	young := r.create(alice, "young", 3)
	if err := r.Sweep(t.Context()); err != nil || r.files() != 2 {
		t.Fatalf("too early: %d files, %v", r.files(), err)
	}
	r.clock.ms.Add(2 * time.Hour.Milliseconds())
	for range 2 { // the second finds nothing
		if err := r.Sweep(t.Context()); err != nil || r.files() != 1 {
			t.Fatalf("%d files, %v", r.files(), err)
		}
	}
	for _, gone := range []uint64{put.Upload, never.Upload} {
		_, err := r.CompleteUpload(t.Context(), alice, id.Upload(gone))
		wants(t, "a dropped one", err, errs.NotFound, "no_upload")
	}
	_, err := r.CompleteUpload(t.Context(), alice, id.Upload(young.Upload))
	wants(t, "a young one", err, errs.Invalid, "not_uploaded")
	if w := r.ask(http.MethodGet, r.url(kept.Upload), nil); w.Body.String() != "kept" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestDroppedWhileItIsCompleted: an upload is complete with its bytes, or gone.
func TestDroppedWhileItIsCompleted(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 3)
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Fatal(w.Code, w.Body)
	}
	r.store.before(&r.store.opening, func() {
		r.clock.ms.Add(25 * time.Hour.Milliseconds())
		if err := r.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload)); !errs.Is(err, errs.NotFound) {
		t.Errorf("what was dropped is complete: %v", err)
	}
	wants(t, "dropped", r.Check(t.Context(), alice, id.Upload(up.Upload)), errs.NotFound, "no_upload")

	// A slow PUT ends after the upload is gone: its bytes go as well.
	late := r.create(alice, "late", 3)
	r.store.before(&r.store.putIn, func() {
		r.clock.ms.Add(25 * time.Hour.Milliseconds())
		if err := r.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	refused(t, "a late one", r.put(late.Url, []byte("abc")), http.StatusNotFound, "no_upload")
	if r.files() != 0 {
		t.Errorf("%d files stay", r.files())
	}
}

// TestAPictureStaysOne: a second CompleteUpload that comes late does not take back what CheckPicture gave.
func TestAPictureStaysOne(t *testing.T) {
	r := open(t, media.Config{})
	file := picture(t, "png", 2, 2)
	up := r.create(alice, "x.png", len(file))
	if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
		t.Fatal(w.Code, w.Body)
	}
	n := id.Upload(up.Upload)
	r.store.before(&r.store.opening, func() {
		if _, err := r.CompleteUpload(t.Context(), alice, n); err != nil {
			t.Error(err)
		}
		if err := r.CheckPicture(t.Context(), alice, n); err != nil {
			t.Error(err)
		}
	})
	if u, err := r.CompleteUpload(t.Context(), alice, n); err != nil || u.Width != 2 {
		t.Errorf("%v, %v", u, err)
	}
	if _, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: up.Upload}); err != nil {
		t.Errorf("the picture is no picture any more: %v", err)
	}
}

func TestPictures(t *testing.T) {
	r := open(t, media.Config{})
	for _, format := range []string{"png", "jpeg", "gif"} {
		u := r.upload("x."+format, picture(t, format, 31, 17))
		if u.MimeType != "image/"+format || u.Width != 31 || u.Height != 17 {
			t.Errorf("%v", u)
		}
		wants(t, "another's", r.CheckPicture(t.Context(), bob, id.Upload(u.Upload)), errs.NotFound, "no_upload")
		_, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: u.Upload})
		wants(t, "before it is a picture of somebody", err, errs.NotFound, "no_upload")
		if err := r.CheckPicture(t.Context(), alice, id.Upload(u.Upload)); err != nil {
			t.Fatal(err)
		}
		d, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: u.Upload})
		if err != nil {
			t.Fatal(err)
		}
		first := r.PictureURL(id.Upload(u.Upload))
		for _, url := range []string{d.Url, first} {
			if w := r.ask(http.MethodGet, url, nil); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/"+format {
				t.Errorf("%d %v", w.Code, w.Header())
			}
		}
		// Browsers keep a picture by its URL, which stays for hours and is good for longer.
		r.clock.ms.Store(r.clock.Now().Truncate(12 * time.Hour).Add(12 * time.Hour).UnixMilli())
		fresh := r.PictureURL(id.Upload(u.Upload))
		r.clock.ms.Add(12*time.Hour.Milliseconds() - 1)
		if fresh == first || r.PictureURL(id.Upload(u.Upload)) != fresh {
			t.Errorf("%s, then %s, then %s", first, fresh, r.PictureURL(id.Upload(u.Upload)))
		}
		if w := r.ask(http.MethodGet, fresh, nil); w.Code != http.StatusOK {
			t.Errorf("a URL that was just given: %d %s", w.Code, w.Body)
		}
	}
	wants(t, "a text", r.CheckPicture(t.Context(), alice, id.Upload(r.upload("x.png", []byte("no picture")).Upload)), errs.Invalid, "not_an_image")
}

func TestDownloadsOfMessages(t *testing.T) {
	r := open(t, media.Config{})
	n := r.upload("a", []byte("abc")).Upload
	m := &chatv1.Media{Upload: n}
	for seq, content := range []*chatv1.Content{nil, {Kind: &chatv1.Content_Image{Image: m}}, {Kind: &chatv1.Content_File{File: m}}, {Kind: &chatv1.Content_Voice{Voice: m}}, {Kind: &chatv1.Content_Video{Video: m}},
		{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Upload: n}}}, {Kind: &chatv1.Content_Text{Text: "x"}}, {}} {
		r.messages[uint64(seq)+1] = &chatv1.Message{Content: content}
		named := content.GetImage() != nil || content.GetFile() != nil || content.GetVoice() != nil || content.GetVideo() != nil || content.GetControl() != nil
		d, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: n, Conversation: 9, Seq: uint64(seq) + 1})
		if !named {
			wants(t, "a message that does not name it", err, errs.NotFound, "no_upload")
			_, err = r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Conversation: 9, Seq: uint64(seq) + 1})
			wants(t, "nothing, of a message that names nothing", err, errs.NotFound, "no_upload")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if w := r.ask(http.MethodGet, d.Url, nil); w.Body.String() != "abc" {
			t.Errorf("%v: %d %s", content, w.Code, w.Body)
		}
		_, err = r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: n + 1, Conversation: 9, Seq: uint64(seq) + 1})
		wants(t, "another than the message names", err, errs.NotFound, "no_upload")
	}
	for _, q := range []*chatv1.GetDownloadRequest{{Upload: n, Conversation: 9, Seq: 99}, {Upload: n, Seq: 99}, {Upload: n, Conversation: 9}} {
		_, err := r.GetDownload(t.Context(), bob, q)
		wants(t, "no message", err, errs.NotFound, "no_message")
	}
}

// A file that cannot be deleted is reported, and neither keeps the others nor is forgotten.
func TestAFileThatCannotBeDeleted(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	var stuck uint64
	for i := range 250 { // of more than one page
		up := r.create(alice, "a", 1)
		if i == 0 {
			stuck = up.Upload
		}
		if i%50 == 0 {
			if w := r.put(up.Url, []byte("a")); w.Code != http.StatusNoContent {
				t.Fatal(w.Code, w.Body)
			}
		}
	}
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	left := func() (n int) {
		t.Helper()
		if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM uploads`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.store.mu.Lock()
	r.store.stuck = id.Upload(stuck).String()
	r.store.mu.Unlock()
	for range 2 {
		if err := r.Sweep(ctx); err == nil || !strings.Contains(err.Error(), "1 uploads stay") || !strings.Contains(err.Error(), r.store.stuck) {
			t.Errorf("a sweep that left one says %v", err)
		}
		if left() != 1 || r.files() != 1 {
			t.Errorf("%d uploads and %d files are left, want the one that cannot be deleted", left(), r.files())
		}
	}
	r.store.mu.Lock()
	r.store.stuck = ""
	r.store.mu.Unlock()
	if err := r.Sweep(ctx); err != nil || left() != 0 || r.files() != 0 {
		t.Errorf("later %d uploads and %d files are left, %v", left(), r.files(), err)
	}
}

func TestManyUnfinishedUploadsAreDropped(t *testing.T) {
	r := open(t, media.Config{})
	for range 120 {
		r.create(alice, "a", 1)
	}
	kept := r.upload("kept", []byte("kept"))
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := r.deps.DB.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM uploads`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d stay, %v", left, err)
	}
	if err := r.Check(t.Context(), alice, id.Upload(kept.Upload)); err != nil {
		t.Error(err)
	}
}

// full is a store on a disk without room.
type full struct{ blob.Store }

func (full) Put(context.Context, string, io.Reader, int64) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage_full", Message: "the server's disk is full", Retry: 30 * time.Second}
}

func TestAFullDisk(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 3)
	disk := r.store.Store
	r.store.Store = full{disk}
	w := r.put(up.Url, []byte("abc"))
	refused(t, "a full disk", w, http.StatusServiceUnavailable, "storage_full")
	if w.Header().Get("Retry-After") != "30" {
		t.Errorf("%v", w.Header())
	}
	r.store.Store = disk // there is room again
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAClientThatBreaksOff(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 3)
	broken := io.MultiReader(strings.NewReader("a"), errReader{})
	if w := r.ask(http.MethodPut, up.Url, broken); w.Code < 400 || r.files() != 0 {
		t.Errorf("%d %s, %d files", w.Code, w.Body, r.files())
	}
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("the client is gone") }

func TestQuota(t *testing.T) {
	r := open(t, media.Config{Quota: 100})
	create := func(u id.User, size uint64) error {
		_, err := r.CreateUpload(t.Context(), u, &chatv1.CreateUploadRequest{Size: size})
		return err
	}
	wants(t, "at once", create(alice, 101), errs.Exhausted, "quota")
	r.upload("a", bytes.Repeat([]byte("a"), 60))
	if err := create(alice, 40); err != nil { // to the last byte, complete or not
		t.Fatal(err)
	}
	wants(t, "one more", create(alice, 1), errs.Exhausted, "quota")
	if err := create(bob, 100); err != nil {
		t.Errorf("another user: %v", err)
	}
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, "after the unfinished one was dropped", create(alice, 41), errs.Exhausted, "quota")
	for range 40 {
		if err := create(alice, 1); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, "in small parts", create(alice, 1), errs.Exhausted, "quota")

	many := open(t, media.Config{})
	for range 500 {
		many.create(alice, "a", 1)
	}
	_, err := many.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: 1})
	wants(t, "too many that are not complete", err, errs.Exhausted, "quota")
}
