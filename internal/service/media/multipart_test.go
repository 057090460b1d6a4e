package media_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/service/media"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// threeParts are the bytes of a file with three parts, the last of 1,000 bytes.
var threeParts = func() []byte {
	b := make([]byte, 2*blob.MinPartSize+1000)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}()

// piece returns the bytes of a part.
func piece(file []byte, number int) []byte {
	return file[(number-1)*blob.MinPartSize : min(number*blob.MinPartSize, len(file))]
}

func (r *fixture) multipart(u id.User, size int) *chatv1.MultipartUpload {
	r.t.Helper()
	m, err := r.CreateMultipartUpload(r.t.Context(), u, &chatv1.CreateMultipartUploadRequest{Name: "film.bin", Size: uint64(size)})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// partURL returns the URL of a part of alice's upload.
func (r *fixture) partURL(n uint64, number int) string {
	r.t.Helper()
	signed, err := r.SignParts(r.t.Context(), alice, &chatv1.SignPartsRequest{Upload: n, Parts: []uint32{uint32(number)}})
	if err != nil {
		r.t.Fatal(err)
	}
	return signed.Urls[0]
}

func (r *fixture) putPart(n uint64, number int, part []byte, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.request(http.MethodPut, r.partURL(n, number), bytes.NewReader(part), headers...)
}

func (r *fixture) wantMissing(what string, n uint64, want ...uint32) {
	r.t.Helper()
	if m, err := r.GetMultipartUpload(r.t.Context(), alice, id.Upload(n)); err != nil || !slices.Equal(m.Missing, want) {
		r.t.Errorf("%s: parts %v are missing (%v), want %v", what, m.GetMissing(), err, want)
	}
}

// wantFile completes alice's upload, and fails unless it has these bytes and nothing else is stored.
func (r *fixture) wantFile(n uint64, file []byte) {
	r.t.Helper()
	for range 2 {
		if u, err := r.CompleteUpload(r.t.Context(), alice, id.Upload(n)); err != nil || u.Size != uint64(len(file)) {
			r.t.Fatalf("the completion returned %v (%v)", u, err)
		}
	}
	if w := r.request(http.MethodGet, r.url(n), nil); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), file) {
		r.t.Errorf("the download has status %d, %d bytes", w.Code, w.Body.Len())
	}
	if k := r.files(); k != 1 {
		r.t.Errorf("%d files are stored", k)
	}
}

// restart is a new process over the same stores.
func (r *fixture) restart() {
	r.t.Helper()
	disk, err := diskblob.Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.store = &store{Store: disk}
	r.deps.Store = r.store
	if r.Service, err = media.New(r.t.Context(), r.deps, media.Config{}); err != nil {
		r.t.Fatal(err)
	}
}

// TestPartsInAnyOrder: parts come in parallel, out of order and repeatedly. Other bytes for a stored part are refused.
func TestPartsInAnyOrder(t *testing.T) {
	r := open(t, media.Config{})
	m := r.multipart(alice, len(threeParts))
	if m.PartSize != blob.MinPartSize || m.Parts != 3 || m.ExpiresMs != r.clock.ms.Load()+24*time.Hour.Milliseconds() {
		t.Errorf("the upload is %v", m)
	}
	r.wantMissing("at the beginning", m.Upload, 1, 2, 3)
	_, err := r.CompleteUpload(t.Context(), alice, id.Upload(m.Upload))
	wantError(t, "no part", err, errs.Invalid, "parts_missing")
	var wait sync.WaitGroup
	for _, number := range []int{3, 1, 3, 1} {
		url := r.partURL(m.Upload, number)
		wait.Go(func() {
			sum := sha256.Sum256(piece(threeParts, number))
			w := r.request(http.MethodPut, url, bytes.NewReader(piece(threeParts, number)), "Content-Digest: sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
			if w.Code != http.StatusOK || w.Header().Get("ETag") != fmt.Sprintf(`"%x"`, sum) {
				t.Errorf("part %d: %d %v %s", number, w.Code, w.Header(), w.Body)
			}
		})
	}
	wait.Wait()
	r.wantMissing("after two", m.Upload, 2)
	_, err = r.CompleteUpload(t.Context(), alice, id.Upload(m.Upload))
	wantError(t, "one part missing", err, errs.Invalid, "parts_missing")
	wantError(t, "sent before", r.Check(t.Context(), alice, id.Upload(m.Upload)), errs.Invalid, "upload_not_complete")
	wantStatus(t, "other bytes", r.putPart(m.Upload, 3, bytes.Repeat([]byte("x"), 1000)), http.StatusConflict, "part_differs")
	if w := r.putPart(m.Upload, 2, piece(threeParts, 2)); w.Code != http.StatusOK {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
	}
	r.wantMissing("all stored", m.Upload)
	r.wantFile(m.Upload, threeParts)
	wantStatus(t, "a part after completion", r.putPart(m.Upload, 3, piece(threeParts, 3)), http.StatusConflict, "upload_complete")
	r.wantMissing("complete", m.Upload)
	wantError(t, "abort", r.AbortUpload(t.Context(), alice, id.Upload(m.Upload)), errs.Conflict, "upload_complete")
}

// TestBadParts stores nothing of what is refused.
func TestBadParts(t *testing.T) {
	r := open(t, media.Config{MaxSize: 1 << 30})
	for _, c := range []struct {
		size, part uint64
		reason     string
	}{{0, 0, "bad_size"}, {1<<30 + 1, 0, "bad_size"}, {10, 5<<20 - 1, "bad_part_size"}, {10, 16<<20 + 1, "bad_part_size"}, {10, 16 << 20, ""}} {
		_, err := r.CreateMultipartUpload(t.Context(), bob, &chatv1.CreateMultipartUploadRequest{Size: c.size, PartSize: c.part})
		if e := errs.Of(err); (c.reason == "") != (err == nil) || err != nil && e.Reason != c.reason {
			t.Errorf("%d bytes in parts of %d: %v, want %s", c.size, c.part, err, c.reason)
		}
	}
	last := piece(threeParts, 3)
	m := r.multipart(alice, len(threeParts))
	n := id.Upload(m.Upload)
	for _, parts := range [][]uint32{{0}, {4}, {1, 1 << 31}} {
		_, err := r.SignParts(t.Context(), alice, &chatv1.SignPartsRequest{Upload: m.Upload, Parts: parts})
		wantError(t, fmt.Sprint("signing ", parts), err, errs.Invalid, "bad_part")
	}
	for _, parts := range [][]uint32{nil, make([]uint32, 101)} {
		_, err := r.SignParts(t.Context(), alice, &chatv1.SignPartsRequest{Upload: m.Upload, Parts: parts})
		wantError(t, fmt.Sprint("signing ", len(parts)), err, errs.Invalid, "bad_count")
	}
	for what, body := range map[string]io.Reader{"short": bytes.NewReader(last[1:]), "long": bytes.NewReader(threeParts[:1001]), "empty": strings.NewReader(""),
		"short, without a length": struct{ io.Reader }{bytes.NewReader(last[1:])}, "long, without a length": struct{ io.Reader }{bytes.NewReader(threeParts[:1001])}} {
		wantStatus(t, what, r.request(http.MethodPut, r.partURL(m.Upload, 3), body), http.StatusBadRequest, "wrong_size")
	}
	wantStatus(t, "another checksum", r.putPart(m.Upload, 3, last, "Content-Digest: sha-256=:"+base64.StdEncoding.EncodeToString(make([]byte, 32))+":"), http.StatusBadRequest, "wrong_checksum")
	wantStatus(t, "a broken checksum", r.putPart(m.Upload, 3, last, "Content-Digest: sha-256=:x:"), http.StatusBadRequest, "bad_checksum")
	url := r.partURL(m.Upload, 3)
	for what, bad := range map[string]string{"another part": strings.Replace(url, "/parts/3", "/parts/2", 1), "another size": strings.Replace(url, "size=1000", "size=1001", 1),
		"another upload": strings.Replace(url, n.String(), (n + 1).String(), 1), "a later expiry": strings.Replace(url, "exp=", "exp=9", 1)} {
		wantStatus(t, what, r.request(http.MethodPut, bad, bytes.NewReader(last)), http.StatusForbidden, "bad_url")
	}
	r.clock.ms.Add(15 * time.Minute.Milliseconds())
	wantStatus(t, "expired", r.request(http.MethodPut, url, bytes.NewReader(last)), http.StatusForbidden, "url_expired")
	r.wantMissing("after refusals", m.Upload, 1, 2, 3)
	for what, err := range r.foreignCalls(bob, m.Upload) {
		wantError(t, "another user's "+what, err, errs.NotFound, "no_upload")
	}
	plain := r.create(alice, "x", 10)
	calls := r.foreignCalls(alice, plain.Upload)
	delete(calls, "abort")
	for what, err := range calls {
		wantError(t, "a plain upload: "+what, err, errs.Invalid, "not_multipart")
	}
	url = r.partURL(m.Upload, 3)
	if err := r.AbortUpload(t.Context(), alice, n); err != nil {
		t.Error(err)
	}
	wantStatus(t, "aborted", r.request(http.MethodPut, url, bytes.NewReader(last)), http.StatusNotFound, "no_upload")
	wantError(t, "aborted twice", r.AbortUpload(t.Context(), alice, n), errs.NotFound, "no_upload")
	if k := r.files(); k != 0 {
		t.Errorf("%d files are left", k)
	}
}

// foreignCalls makes each call about an upload.
func (r *fixture) foreignCalls(by id.User, n uint64) map[string]error {
	ctx := r.t.Context()
	_, got := r.GetMultipartUpload(ctx, by, id.Upload(n))
	_, signed := r.SignParts(ctx, by, &chatv1.SignPartsRequest{Upload: n, Parts: []uint32{1}})
	_, keys := r.CreateUploadCredentials(ctx, id.Caller{User: by}, id.Upload(n))
	return map[string]error{"get": got, "sign": signed, "keys": keys, "abort": r.AbortUpload(ctx, by, id.Upload(n))}
}

// TestPartsSurviveAKill: whatever step the server is killed after, the client sends at most one part again.
func TestPartsSurviveAKill(t *testing.T) {
	for _, step := range []string{"BeginParts", "PutPart", "JoinParts"} {
		t.Run(step, func(t *testing.T) {
			r := open(t, media.Config{})
			m := r.multipart(alice, len(threeParts))
			killed, sent := false, 0
			putMissing := func() {
				state, err := r.GetMultipartUpload(t.Context(), alice, id.Upload(m.Upload))
				if err != nil {
					t.Fatal(err)
				}
				for _, number := range state.Missing {
					if !killed && (step == "BeginParts" || number == 2 && step == "PutPart") {
						r.store.killed = step
					}
					sent++
					if w := r.putPart(m.Upload, int(number), piece(threeParts, int(number))); w.Code != http.StatusOK {
						if killed {
							t.Fatalf("a part is answered with %d: %s", w.Code, w.Body)
						}
						killed = true
						r.restart()
						return
					}
				}
			}
			putMissing()
			if killed {
				putMissing()
			}
			if step == "JoinParts" {
				r.store.killed = step
				if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(m.Upload)); err == nil {
					t.Fatal("it was not killed")
				}
				killed = true
				r.restart()
			}
			if !killed || sent > 4 {
				t.Errorf("killed: %v; %d parts were sent, of 3", killed, sent)
			}
			r.wantFile(m.Upload, threeParts)
		})
	}
}

// TestAnInterruptedPartIsPutAgain: while a broken connection still sends a part, a new one replaces it. Afterwards the old one changes nothing.
func TestAnInterruptedPartIsPutAgain(t *testing.T) {
	r := open(t, media.Config{})
	file := threeParts[:1000]
	m := r.multipart(alice, len(file))
	url := r.partURL(m.Upload, 1)
	body, client := io.Pipe()
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- r.request(http.MethodPut, url, body) }()
	if _, err := client.Write(make([]byte, 10)); err != nil { // returns when the store has read them
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := httptest.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(file))
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q) // a client that leaves while it waits for the first
	if w.Code == http.StatusOK {
		t.Errorf("a part was stored while another request was writing it")
	}
	if err := client.CloseWithError(io.ErrUnexpectedEOF); err != nil {
		t.Fatal(err)
	}
	if first := <-answered; first.Code == http.StatusOK {
		t.Errorf("half a part is answered with %d", first.Code)
	}
	r.wantMissing("interrupted", m.Upload, 1)
	if w := r.request(http.MethodPut, url, bytes.NewReader(file)); w.Code != http.StatusOK {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
	}
	r.wantFile(m.Upload, file)
}

// TestAbandonedParts: a day later, nothing is left of an upload with parts.
func TestAbandonedParts(t *testing.T) {
	r := open(t, media.Config{Quota: uint64(len(threeParts))})
	m := r.multipart(alice, len(threeParts))
	if w := r.putPart(m.Upload, 3, piece(threeParts, 3)); w.Code != http.StatusOK {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
	}
	_, err := r.CreateMultipartUpload(t.Context(), alice, &chatv1.CreateMultipartUploadRequest{Size: 1})
	wantError(t, "beyond the quota", err, errs.Exhausted, "quota")
	r.clock.ms.Add(24*time.Hour.Milliseconds() + 1)
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = r.GetMultipartUpload(t.Context(), alice, id.Upload(m.Upload))
	wantError(t, "abandoned", err, errs.NotFound, "no_upload")
	r.multipart(alice, len(threeParts))
	if k := r.files(); k != 0 {
		t.Errorf("%d files are left", k)
	}
	if rows := r.ledgerRows(); rows != 1 {
		t.Errorf("%d rows are left of two uploads, of which one was abandoned", rows)
	}
}

// ledgerRows counts the rows of uploads with parts, and of their parts.
func (r *fixture) ledgerRows() (n int) {
	r.t.Helper()
	if err := r.deps.DB.Read().QueryRowContext(r.t.Context(), `SELECT (SELECT count(*) FROM upload_multiparts) + (SELECT count(*) FROM upload_parts)`).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// TestGoldenParts continues uploads that are stored as docs/formats/uploads.md says: one in parts, and one of tus with the beginning of a part.
func TestGoldenParts(t *testing.T) {
	r := open(t, media.Config{})
	r.totalsUnchecked = true // no totals are stored
	const byParts, byTus = 249795419414986786, 249795419414986787
	size := int64(blob.MinPartSize + 1000)
	for n, protocol := range map[int64]int{byParts: 0, byTus: 1} {
		r.exec(`INSERT INTO uploads (id, owner, name, declared, created_ms, traced) VALUES ($1, 1, 'a.bin', $2, $3, 1)`, n, size, r.clock.ms.Load())
		r.exec(`INSERT INTO upload_multiparts (upload, part_size, protocol, metadata, concat, session) VALUES ($1, 5242880, $2, '', '', 'disk')`, n, protocol)
		r.exec(`INSERT INTO upload_parts (upload, number, size, checksum, tag) VALUES ($1, 1, 5242880, $2, '')`, n, fmt.Sprintf("%x", sha256.Sum256(piece(threeParts, 1))))
		r.write(fmt.Sprintf(".part/sessions/media_%d_%d", n%100, n), piece(threeParts, 1))
	}
	r.exec(`UPDATE upload_multiparts SET tail = 3, tail_size = 400, tail_part = 2, tails = 4, tails_deleted = 2 WHERE upload = $1`, int64(byTus))
	r.write("media/87/249795419414986787-t3", threeParts[blob.MinPartSize:blob.MinPartSize+400])
	r.wantMissing("by parts", byParts, 2)
	if w := r.putPart(byParts, 2, threeParts[blob.MinPartSize:size]); w.Code != http.StatusOK {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusOK, w.Body)
	}
	url := "/v1/tus/249795419414986787"
	r.wantOffset("by tus", url, blob.MinPartSize+400)
	if w := r.patch(url, blob.MinPartSize+400, bytes.NewReader(threeParts[blob.MinPartSize+400:size])); w.Code != http.StatusNoContent {
		t.Fatalf("status %d, want %d: %s", w.Code, http.StatusNoContent, w.Body)
	}
	for _, n := range []uint64{byParts, byTus} {
		if _, err := r.CompleteUpload(t.Context(), alice, id.Upload(n)); err != nil {
			t.Fatal(err)
		}
		if w := r.request(http.MethodGet, r.url(n), nil); !bytes.Equal(w.Body.Bytes(), threeParts[:size]) {
			t.Errorf("upload %d has %d bytes", n, w.Body.Len())
		}
		var sum string
		var piece int64
		const want = "30bb56d75768e25f6fd084d2258d7e01ff142663809ab50030a0cefb97ee0ebb"
		if err := r.deps.DB.Read().QueryRowContext(t.Context(), `SELECT checksum, checksum_piece FROM uploads WHERE id = $1`, int64(n)).Scan(&sum, &piece); err != nil || sum != want || piece != blob.MinPartSize {
			t.Errorf("upload %d has the checksum %s of pieces of %d bytes (%v), want %s", n, sum, piece, err, want)
		}
	}
	if k := r.files(); k != 2 {
		t.Errorf("%d files are stored", k)
	}
}

// write creates a file in the store's directory.
func (r *fixture) write(name string, b []byte) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
		r.t.Fatal(err)
	}
}
