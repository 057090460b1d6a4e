package media_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/service/media"
)

// slowBody gives some bytes, says then that it is read, and ends when it may.
type slowBody struct {
	bytes.Reader
	once  sync.Once
	begun chan<- struct{}
	end   <-chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.Len() > 0 {
		return b.Reader.Read(p)
	}
	b.once.Do(func() { b.begun <- struct{}{} })
	<-b.end
	return 0, io.EOF
}

func bearerOf(user int) string { return "Authorization: Bearer user " + strconv.Itoa(user) }

// TestSlowBodiesWithoutALength keep none from others, neither of the same user nor of another, however many they are. Nothing of them is in the
// store before their part is complete, or they end.
func TestSlowBodiesWithoutALength(t *testing.T) {
	r := open(t, media.Config{})
	r.totalsUnchecked = true // incomplete uploads
	begun, end := make(chan struct{}), make(chan struct{})
	var slow sync.WaitGroup
	file := threeParts[:3*spool.BufferSize]
	var urls []string
	for user := 1; user <= 4; user++ {
		for range 8 {
			url := r.createTus(len(file)+10, bearerOf(user))
			urls = append(urls, url)
			slow.Go(func() {
				body := &slowBody{Reader: *bytes.NewReader(file), begun: begun, end: end}
				if w := r.patch(url, 0, struct{ io.Reader }{body}, bearerOf(user)); w.Code != http.StatusNoContent || w.Header().Get("Upload-Offset") != strconv.Itoa(len(file)) {
					t.Errorf("a slow body of user %d: %d %v %s", user, w.Code, w.Header(), w.Body)
				}
			})
			eventually.Receive(t, "the slow body is read", begun)
		}
	}
	for user := 1; user <= 5; user++ {
		if w := r.patch(r.createTus(len(file), bearerOf(user)), 0, struct{ io.Reader }{bytes.NewReader(file)}, bearerOf(user)); w.Code != http.StatusNoContent {
			t.Errorf("user %d, while 32 slow bodies wait: %d %s", user, w.Code, w.Body)
		}
	}
	if n := r.files(); n != 5 {
		t.Errorf("%d files are stored, not only the 5 of fast bodies", n)
	}
	close(end)
	eventually.Done(t, "the slow bodies end", &slow)
	if n := r.files(); n != 5+len(urls) {
		t.Errorf("%d files are stored, not %d", n, 5+len(urls))
	}
}

// TestBodiesWithoutALengthOnAFullDisk are answered storage_full, and stored as soon as there is space. A checksum is that of all their bytes.
func TestBodiesWithoutALengthOnAFullDisk(t *testing.T) {
	r := open(t, media.Config{})
	dir, path := t.TempDir(), "/dev/full"
	if _, err := os.Stat(path); err != nil {
		t.Log("this system has no /dev/full")
		return
	}
	var files []*os.File // all that were created
	r.deps.Spool = spool.New(func() (f *os.File, err error) {
		if path != "" {
			f, err = os.OpenFile(path, os.O_RDWR, 0)
		} else {
			f, err = os.CreateTemp(dir, "")
		}
		files = append(files, f)
		return f, err
	})
	r.restart()
	file := threeParts
	sum := sha1.Sum(file)
	checked := "Upload-Checksum: sha1 " + base64.StdEncoding.EncodeToString(sum[:])
	url := r.createTus(len(file))
	for _, headers := range [][]string{nil, {checked}} {
		w := r.patch(url, 0, struct{ io.Reader }{bytes.NewReader(file)}, headers...)
		wantStatus(t, "a full disk", w, http.StatusServiceUnavailable, "storage_full")
		r.wantOffset("after a full disk", url, 0)
	}
	path = ""
	wantStatus(t, "other bytes", r.patch(url, 0, struct{ io.Reader }{bytes.NewReader(make([]byte, len(file)))}, checked), 460, "wrong_checksum")
	r.wantOffset("after other bytes", url, 0)
	if w := r.patch(url, 0, struct{ io.Reader }{bytes.NewReader(file)}, checked); w.Code != http.StatusNoContent {
		t.Errorf("there is space again: %d %s", w.Code, w.Body)
	}
	r.wantFile(tusUpload(url), file)
	if len(files) < 2+2*(len(file)/blob.MinPartSize) {
		t.Errorf("only %d files were used", len(files))
	}
	for i, f := range files {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file %d is still open: %v", i, err)
		}
	}
}

// readAt calls a function before bytes at a position are read, with that position.
type readAt struct {
	io.Reader
	at     int
	before func(at int)
}

func (r *readAt) Read(p []byte) (int, error) {
	r.before(r.at)
	n, err := r.Reader.Read(p)
	r.at += n
	return n, err
}

// TestAPartOfTusIsRecordedBeforeTheNextIsRead: a kill costs the client one part. What fails is not recorded, nor is what comes after it.
func TestAPartOfTusIsRecordedBeforeTheNextIsRead(t *testing.T) {
	for name, failure := range map[string]error{"all are stored": nil, "the second one fails": errKilled} {
		t.Run(name, func(t *testing.T) {
			r := open(t, media.Config{})
			r.totalsUnchecked = failure != nil // an incomplete upload
			r.store.afterPart = func(number int) error {
				if number == 2 {
					return failure
				}
				return nil
			}
			url := r.createTus(len(threeParts))
			early := 0
			q := httptest.NewRequest(http.MethodPatch, url, &readAt{Reader: bytes.NewReader(threeParts), before: func(at int) {
				if rows := r.ledgerRows(); rows < 1+at/blob.MinPartSize && at < len(threeParts) { // that of the upload, and those of its parts
					early++
				}
			}})
			q.ContentLength = int64(len(threeParts))
			for name, value := range map[string]string{"Tus-Resumable": "1.0.0", "Authorization": "Bearer alice", "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"} {
				q.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			r.Handler().ServeHTTP(w, q)
			if early > 0 {
				t.Errorf("%d times bytes of a part were read before the part before it was recorded", early)
			}
			if failure == nil {
				if w.Code != http.StatusNoContent {
					t.Errorf("all parts are stored: %d %s", w.Code, w.Body)
				}
				r.wantFile(tusUpload(url), threeParts)
				return
			}
			if w.Code < 500 {
				t.Errorf("after the second part has failed: %d", w.Code)
			}
			r.wantOffset("after the second part has failed", url, blob.MinPartSize)
		})
	}
}
