package media_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func TestUpload(t *testing.T) {
	r := open(t, media.Config{MaxSize: 1000})
	file := []byte("hello, 世界")
	for _, size := range []uint64{0, 1001, math.MaxInt64, math.MaxUint64} {
		_, err := r.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: size})
		wantError(t, "a size", err, errs.Invalid, "bad_size")
	}
	up := r.create(alice, "note.txt", len(file))
	n := id.Upload(up.Upload)
	if up.ExpiresMs != r.clock.ms.Load()+15*time.Minute.Milliseconds() || !strings.HasPrefix(up.Url, "/v1/media/") {
		t.Errorf("the upload is %v", up)
	}
	_, err := r.CompleteUpload(t.Context(), alice, n)
	wantError(t, "nothing was put", err, errs.Invalid, "not_uploaded")
	wantError(t, "named before", r.Check(t.Context(), alice, n), errs.Invalid, "upload_not_complete")
	wantStatus(t, "read before", r.request(http.MethodGet, r.PictureURL(n), nil), http.StatusNotFound, "no_upload")
	for what, bad := range map[string]io.Reader{"empty": strings.NewReader(""), "short": bytes.NewReader(file[1:]), "long": strings.NewReader(string(file) + "x"),
		"short, without a length": struct{ io.Reader }{bytes.NewReader(file[1:])}, "long, without a length": struct{ io.Reader }{strings.NewReader(string(file) + "x")}} {
		wantStatus(t, what, r.request(http.MethodPut, up.Url, bad), http.StatusBadRequest, "wrong_size")
	}
	_, err = r.CompleteUpload(t.Context(), alice, n)
	wantError(t, "after bad ones", err, errs.Invalid, "not_uploaded")
	if r.files() != 0 {
		t.Error("rejected uploads left files")
	}
	// Uploaded bytes cannot be read before completion. A repeated PUT, also with other bytes, changes nothing.
	for _, again := range [][]byte{file, file, []byte(strings.Repeat("x", len(file))), []byte("x"), nil} {
		if w := r.put(up.Url, again); w.Code != http.StatusNoContent {
			t.Errorf("the PUT is answered with %d %s", w.Code, w.Body)
		}
	}
	wantStatus(t, "read when put", r.request(http.MethodGet, r.PictureURL(n), nil), http.StatusNotFound, "no_upload")
	_, err = r.CompleteUpload(t.Context(), bob, n)
	wantError(t, "another's", err, errs.NotFound, "no_upload")
	_, err = r.CompleteUpload(t.Context(), alice, n+1)
	wantError(t, "none", err, errs.NotFound, "no_upload")
	first, err := r.CompleteUpload(t.Context(), alice, n)
	if err != nil || !proto.Equal(first, &chatv1.Upload{Upload: up.Upload, Name: "note.txt", MimeType: "text/plain", Size: uint64(len(file))}) {
		t.Fatalf("the completion returned %v (%v)", first, err)
	}
	if second, err := r.CompleteUpload(t.Context(), alice, n); err != nil || !proto.Equal(first, second) {
		t.Errorf("the repeated completion returned %v (%v)", second, err)
	}
	if w := r.put(up.Url, []byte(strings.Repeat("y", len(file)))); w.Code != http.StatusNoContent {
		t.Errorf("a PUT after completion is answered with %d %s", w.Code, w.Body)
	}
	if w := r.request(http.MethodGet, r.url(up.Upload), nil); w.Code != http.StatusOK || w.Body.String() != string(file) {
		t.Errorf("the download has status %d, body %q", w.Code, w.Body)
	}
	if err := r.Check(t.Context(), alice, n); err != nil {
		t.Error(err)
	}
	wantError(t, "by another", r.Check(t.Context(), bob, n), errs.NotFound, "no_upload")
	if r.files() != 1 {
		t.Errorf("%d files are stored", r.files())
	}
}

// TestSlowPutDoesNotReplaceStoredBytes: of two concurrent PUTs the first stored one counts.
func TestSlowPutDoesNotReplaceStoredBytes(t *testing.T) {
	r := open(t, media.Config{})
	good := picture(t, "png", 3, 2)
	up := r.create(alice, "x.png", len(good))
	body, client := io.Pipe()
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- r.request(http.MethodPut, up.Url, body) }()
	other := []byte("<script>" + strings.Repeat(" ", len(good)-8))
	if _, err := client.Write(other[:10]); err != nil { // it returns when the store has read them
		t.Fatal(err)
	}
	if w := r.put(up.Url, good); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	u, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload))
	if err != nil || u.MimeType != "image/png" {
		t.Fatalf("the completion returned %v (%v)", u, err)
	}
	if _, err := client.Write(other[10:]); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if w := <-answered; w.Code != http.StatusNoContent {
		t.Errorf("the slow PUT is answered with %d %s", w.Code, w.Body)
	}
	if w := r.request(http.MethodGet, r.url(up.Upload), nil); !bytes.Equal(w.Body.Bytes(), good) {
		t.Errorf("the complete upload was replaced by %.20q", w.Body)
	}
	if r.files() != 1 {
		t.Errorf("%d files are stored", r.files())
	}
}

// TestConcurrentPuts: of several concurrent PUTs the first stored one counts, also if the upload is not complete when the others end. The
// bytes of the others are deleted.
func TestConcurrentPuts(t *testing.T) {
	r := open(t, media.Config{})
	files := []string{"the first", "the other", "the third"}
	up := r.create(alice, "x", len(files[0]))
	type client struct {
		body     *io.PipeWriter
		answered chan *httptest.ResponseRecorder
	}
	var clients []client
	for _, file := range files { // all have begun before one ends
		body, w := io.Pipe()
		c := client{w, make(chan *httptest.ResponseRecorder, 1)}
		go func() { c.answered <- r.request(http.MethodPut, up.Url, body) }()
		if _, err := io.WriteString(w, file[:5]); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	for _, i := range []int{1, 2, 0} {
		if _, err := io.WriteString(clients[i].body, files[i][5:]); err != nil {
			t.Fatal(err)
		}
		if err := clients[i].body.Close(); err != nil {
			t.Fatal(err)
		}
		if w := <-clients[i].answered; w.Code != http.StatusNoContent {
			t.Errorf("the PUT of %s is answered with %d %s", files[i], w.Code, w.Body)
		}
	}
	if r.files() != 1 {
		t.Errorf("%d files are stored", r.files())
	}
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload)); err != nil {
		t.Fatal(err)
	}
	if w := r.request(http.MethodGet, r.url(up.Upload), nil); w.Body.String() != files[1] {
		t.Errorf("the first stored file is %q, but the upload is %q", files[1], w.Body)
	}
}

// stalledBody is a body without bytes until the deadline of its connection.
type stalledBody struct {
	*httptest.ResponseRecorder
	reads chan struct{} // a read has begun
	over  chan struct{}
	once  sync.Once
}

func (s *stalledBody) SetReadDeadline(at time.Time) error {
	if at.Before(time.Now()) {
		s.once.Do(func() { close(s.over) })
	}
	return nil
}

func (s *stalledBody) Read([]byte) (int, error) {
	s.reads <- struct{}{}
	<-s.over
	return 0, os.ErrDeadlineExceeded
}

// TestConcurrentPutsAreBounded: each PUT may write a whole file to the disk, while the quota counts one. A further PUT evicts the oldest.
func TestConcurrentPutsAreBounded(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "x", 3)
	answered := make(chan int, 10)
	var clients []*stalledBody
	for i := range 10 {
		c := &stalledBody{ResponseRecorder: httptest.NewRecorder(), reads: make(chan struct{}), over: make(chan struct{})}
		clients = append(clients, c)
		q := httptest.NewRequestWithContext(t.Context(), http.MethodPut, up.Url, io.NopCloser(c))
		q.ContentLength = 3
		go func() {
			r.Handler().ServeHTTP(c, q)
			answered <- i
		}()
		<-c.reads
		if i < 3 {
			continue
		}
		if first := eventually.Receive(t, "one of four PUTs ends", answered); first != i-3 {
			t.Fatalf("put %d ended before put %d", first, i-3)
		}
		wantStatus(t, "one too many", clients[i-3].ResponseRecorder, 503, "busy")
	}
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent { // it evicts one more
		t.Errorf("the PUT is answered with %d %s", w.Code, w.Body)
	}
	<-answered
	for _, c := range clients[8:] {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		<-answered
		wantStatus(t, "nothing came", c.ResponseRecorder, 503, "timeout")
	}
	if r.files() != 1 {
		t.Errorf("%d files are stored", r.files())
	}
}

// TestWrongContentLength is refused before the store is called, and an undeclared length while the body is read.
func TestWrongContentLength(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "x", 5)
	r.store.fail(errors.New("the store was called"))
	for _, length := range []int{0, 1, 4, 6, 1 << 20} {
		wantStatus(t, fmt.Sprint(length), r.put(up.Url, make([]byte, length)), http.StatusBadRequest, "wrong_size")
	}
	r.store.fail(nil)
	for _, length := range []int{0, 4, 6, 1 << 20} {
		body := bytes.NewReader(make([]byte, length))
		wantStatus(t, fmt.Sprint(length, " and not told"), r.request(http.MethodPut, up.Url, struct{ io.Reader }{body}), http.StatusBadRequest, "wrong_size")
		if read := length - body.Len(); read > 6 {
			t.Errorf("%d bytes of %d were read, the limit is 5", read, length)
		}
	}
	if r.files() != 0 {
		t.Errorf("%d files are stored", r.files())
	}
}

// TestCrashAfterStoringBytes: the server stops after the bytes were stored, and before that was recorded.
func TestCrashAfterStoringBytes(t *testing.T) {
	r := open(t, media.Config{})
	file := []byte("the file")
	up := r.create(alice, "a", len(file))
	ctx, end := context.WithCancel(t.Context())
	r.store.before(&r.store.stored, end)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPut, up.Url, bytes.NewReader(file)))
	if w.Code < 500 || r.files() != 1 {
		t.Fatalf("the PUT is answered with %d %s, %d files", w.Code, w.Body, r.files())
	}
	_, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload))
	wantError(t, "what was not written down", err, errs.Invalid, "not_uploaded")
	// The client retries.
	if w := r.put(up.Url, file); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload)); err != nil {
		t.Fatal(err)
	}
	if w := r.request(http.MethodGet, r.url(up.Upload), nil); w.Body.String() != string(file) {
		t.Errorf("the download has status %d %s", w.Code, w.Body)
	}
	// If the client does not retry, the sweep deletes the bytes.
	remaining := r.create(alice, "b", len(file))
	for range 2 {
		ctx, end := context.WithCancel(t.Context())
		r.store.before(&r.store.stored, end)
		r.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPut, remaining.Url, bytes.NewReader(file)))
	}
	before := r.files()
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if before-r.files() != 2 {
		t.Errorf("%d files before the sweep, %d after it", before, r.files())
	}
	if w := r.request(http.MethodGet, r.url(up.Upload), nil); w.Body.String() != string(file) {
		t.Errorf("the complete upload is answered with %d %s", w.Code, w.Body)
	}
}

func TestUnfinishedUploadsAreDropped(t *testing.T) {
	r := open(t, media.Config{})
	kept := r.upload("kept", []byte("kept"))
	put, never := r.create(alice, "put", 3), r.create(alice, "never", 3)
	if w := r.put(put.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	r.clock.ms.Add(23 * time.Hour.Milliseconds())
	recent := r.create(alice, "young", 3)
	if err := r.Sweep(t.Context()); err != nil || r.files() != 2 {
		t.Fatalf("too early: %d files, %v", r.files(), err)
	}
	r.clock.ms.Add(2 * time.Hour.Milliseconds())
	for range 2 { // the second sweep finds nothing
		if err := r.Sweep(t.Context()); err != nil || r.files() != 1 {
			t.Fatalf("after the sweep: %d files (%v)", r.files(), err)
		}
	}
	for _, gone := range []uint64{put.Upload, never.Upload} {
		_, err := r.CompleteUpload(t.Context(), alice, id.Upload(gone))
		wantError(t, "a dropped one", err, errs.NotFound, "no_upload")
	}
	_, err := r.CompleteUpload(t.Context(), alice, id.Upload(recent.Upload))
	wantError(t, "a young one", err, errs.Invalid, "not_uploaded")
	if w := r.request(http.MethodGet, r.url(kept.Upload), nil); w.Body.String() != "kept" {
		t.Errorf("the PUT is answered with %d %s", w.Code, w.Body)
	}
}

// TestSweepDuringCompletion: an upload is either complete with its bytes, or dropped.
func TestSweepDuringCompletion(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 3)
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	r.store.before(&r.store.opening, func() {
		r.clock.ms.Add(25 * time.Hour.Milliseconds())
		if err := r.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(up.Upload)); !errs.Is(err, errs.NotFound) {
		t.Errorf("a dropped upload is complete: %v", err)
	}
	wantError(t, "dropped", r.Check(t.Context(), alice, id.Upload(up.Upload)), errs.NotFound, "no_upload")

	// A slow PUT ends after the upload was dropped: its bytes are deleted.
	late := r.create(alice, "late", 3)
	r.store.before(&r.store.stored, func() {
		r.clock.ms.Add(25 * time.Hour.Milliseconds())
		if err := r.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	wantStatus(t, "a late one", r.put(late.Url, []byte("abc")), http.StatusNotFound, "no_upload")
	if r.files() != 0 {
		t.Errorf("%d files remain", r.files())
	}
}

func TestDownloadsOfMessages(t *testing.T) {
	r := open(t, media.Config{})
	n := r.upload("a", []byte("abc")).Upload
	m := &chatv1.Media{Upload: n}
	none := r.upload("b", []byte("b")).Upload
	album := &chatv1.Album{Items: []*chatv1.AlbumItem{{Kind: &chatv1.AlbumItem_Image{Image: &chatv1.Media{Upload: none}}}, {Kind: &chatv1.AlbumItem_Video{Video: &chatv1.Media{Upload: none, Poster: n}}}}}
	for seq, content := range []*chatv1.Content{nil, {Kind: &chatv1.Content_Image{Image: m}}, {Kind: &chatv1.Content_File{File: m}}, {Kind: &chatv1.Content_Voice{Voice: m}}, {Kind: &chatv1.Content_Video{Video: m}},
		{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Upload: n}}}, {Kind: &chatv1.Content_Text{Text: "x"}}, {},
		{Kind: &chatv1.Content_Video{Video: &chatv1.Media{Upload: none, Poster: n}}}, {Kind: &chatv1.Content_Card{Card: &chatv1.Card{Picture: n}}}, {Kind: &chatv1.Content_Album{Album: album}},
		{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Items: []*chatv1.Forwarded{{}, {Content: &chatv1.Content{Kind: &chatv1.Content_Image{Image: m}}}}}}}} {
		r.messages[uint64(seq)+1] = &chatv1.Message{Content: content}
		named := content.GetImage() != nil || content.GetFile() != nil || content.GetVoice() != nil || content.GetVideo() != nil || content.GetControl() != nil || content.GetCard() != nil || content.GetAlbum() != nil || content.GetForward() != nil
		d, err := r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: n, Conversation: 9, Seq: uint64(seq) + 1})
		if !named {
			wantError(t, "a message that does not name it", err, errs.NotFound, "no_upload")
			_, err = r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Conversation: 9, Seq: uint64(seq) + 1})
			wantError(t, "nothing, of a message that names nothing", err, errs.NotFound, "no_upload")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if w := r.request(http.MethodGet, d.Url, nil); w.Body.String() != "abc" {
			t.Errorf("content %v is answered with %d %s", content, w.Code, w.Body)
		}
		_, err = r.GetDownload(t.Context(), bob, &chatv1.GetDownloadRequest{Upload: n + 100, Conversation: 9, Seq: uint64(seq) + 1})
		wantError(t, "another than the message names", err, errs.NotFound, "no_upload")
	}
	for _, q := range []*chatv1.GetDownloadRequest{{Upload: n, Conversation: 9, Seq: 99}, {Upload: n, Seq: 99}} {
		_, err := r.GetDownload(t.Context(), bob, q)
		wantError(t, "no message", err, errs.NotFound, "no_message")
	}
}

// A file that cannot be deleted is reported. The sweep deletes the others, and retries it.
func TestSweepReportsUndeletableFiles(t *testing.T) {
	r, ctx := open(t, media.Config{}), t.Context()
	var stalledBody uint64
	for i := range 250 { // more than one page
		up := r.create(alice, "a", 1)
		if i == 0 {
			stalledBody = up.Upload
		}
		if i%50 == 0 {
			if w := r.put(up.Url, []byte("a")); w.Code != http.StatusNoContent {
				t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
			}
		}
	}
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	remaining := func() (n int) {
		t.Helper()
		if err := r.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM uploads`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.store.mu.Lock()
	r.store.undeletable = id.Upload(stalledBody).String()
	r.store.mu.Unlock()
	for range 2 {
		if err := r.Sweep(ctx); err == nil || !strings.Contains(err.Error(), "1 uploads could not be dropped") || !strings.Contains(err.Error(), r.store.undeletable) {
			t.Errorf("the error of the sweep is %v", err)
		}
		if remaining() != 1 || r.files() != 1 {
			t.Errorf("%d uploads and %d files remain, want the one that cannot be deleted", remaining(), r.files())
		}
	}
	r.store.mu.Lock()
	r.store.undeletable = ""
	r.store.mu.Unlock()
	if err := r.Sweep(ctx); err != nil || remaining() != 0 || r.files() != 0 {
		t.Errorf("after the retry %d uploads and %d files remain (%v)", remaining(), r.files(), err)
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
	var remaining int
	if err := r.deps.DB.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM uploads`).Scan(&remaining); err != nil || remaining != 1 {
		t.Errorf("%d uploads remain (%v)", remaining, err)
	}
	if err := r.Check(t.Context(), alice, id.Upload(kept.Upload)); err != nil {
		t.Error(err)
	}
}

// full is a store on a full disk.
type full struct{ blob.Store }

func (full) Put(context.Context, string, io.Reader, int64) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage_full", Message: "the server's disk is full", Retry: 30 * time.Second}
}

func TestFullDisk(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 3)
	disk := r.store.Store
	r.store.Store = full{disk}
	w := r.put(up.Url, []byte("abc"))
	wantStatus(t, "a full disk", w, http.StatusServiceUnavailable, "storage_full")
	if w.Header().Get("Retry-After") != "30" {
		t.Errorf("the headers are %v", w.Header())
	}
	r.store.Store = disk // the disk has space again
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Errorf("the PUT is answered with %d %s", w.Code, w.Body)
	}
}

func TestClientDisconnects(t *testing.T) {
	r := open(t, media.Config{})
	up := r.create(alice, "a", 3)
	broken := io.MultiReader(strings.NewReader("a"), errReader{})
	if w := r.request(http.MethodPut, up.Url, broken); w.Code < 400 || r.files() != 0 {
		t.Errorf("the PUT is answered with %d %s, %d files", w.Code, w.Body, r.files())
	}
	if w := r.put(up.Url, []byte("abc")); w.Code != http.StatusNoContent {
		t.Errorf("the repeated PUT is answered with %d %s", w.Code, w.Body)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("the client has disconnected") }

func TestQuota(t *testing.T) {
	r := open(t, media.Config{Quota: 100})
	create := func(u id.User, size uint64) error {
		_, err := r.CreateUpload(t.Context(), u, &chatv1.CreateUploadRequest{Size: size})
		return err
	}
	wantError(t, "at once", create(alice, 101), errs.Exhausted, "quota")
	r.upload("a", bytes.Repeat([]byte("a"), 60))
	if err := create(alice, 40); err != nil { // to the last byte, complete or not
		t.Fatal(err)
	}
	wantError(t, "one more", create(alice, 1), errs.Exhausted, "quota")
	if err := create(bob, 100); err != nil {
		t.Errorf("another user: %v", err)
	}
	r.clock.ms.Add(25 * time.Hour.Milliseconds())
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, "after the unfinished one was dropped", create(alice, 41), errs.Exhausted, "quota")
	for range 40 {
		if err := create(alice, 1); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, "in small parts", create(alice, 1), errs.Exhausted, "quota")

	many := open(t, media.Config{})
	for range 500 {
		many.create(alice, "a", 1)
	}
	_, err := many.CreateUpload(t.Context(), alice, &chatv1.CreateUploadRequest{Size: 1})
	wantError(t, "too many that are not complete", err, errs.Exhausted, "quota")
}
