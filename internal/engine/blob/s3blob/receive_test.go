package s3blob_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
)

// sink is the part of S3 that receives bytes, so that these tests need no S3 server.
type sink struct {
	t *testing.T
	// before is called with each request that has a body, whose bytes have arrived. If it returns false, the server is busy.
	before func(body []byte) bool

	mu       sync.Mutex        // guards the fields below
	requests []string          // method and path with query, in order
	stored   map[string][]byte // bodies by path with query
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := decodeChunks(r)
	if err != nil {
		return // a client that has left
	}
	what := strings.TrimPrefix(r.URL.RequestURI(), "/bucket/")
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+what)
	s.mu.Unlock()
	if r.Method == http.MethodPut && s.before != nil && !s.before(body) {
		busy(w)
		return
	}
	switch {
	case r.Method == http.MethodPut:
		s.mu.Lock()
		s.stored[what] = body
		s.mu.Unlock()
		w.Header().Set("ETag", `"tag"`)
	case r.Method == http.MethodPost && r.URL.Query().Has("uploads"):
		fmt.Fprint(w, xml.Header, `<InitiateMultipartUploadResult><UploadId>session</UploadId></InitiateMultipartUploadResult>`)
	case r.Method == http.MethodPost:
		fmt.Fprint(w, xml.Header, `<CompleteMultipartUploadResult><Bucket>bucket</Bucket><ETag>"tag"</ETag></CompleteMultipartUploadResult>`)
	}
}

// decodeChunks reads the body of a request, without the sizes and signatures of the chunks that it has over plain HTTP.
func decodeChunks(r *http.Request) (body []byte, err error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	for from := bufio.NewReader(r.Body); ; {
		var size int
		line, err := from.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Sscanf(line, "%x;", &size); err != nil {
			return nil, err
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(from, chunk); err != nil {
			return nil, err
		}
		if size == 0 {
			return body, nil
		}
		body = append(body, chunk[:size]...)
	}
}

func (s *sink) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// got fails unless the bytes of a request are as expected.
func (s *sink) got(what string, want []byte) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got, ok := s.stored[what]; !ok || !bytes.Equal(got, want) {
		s.t.Errorf("%s: stored %d bytes, want %d with the same content (stored: %t)", what, len(got), len(want), ok)
	}
}

// openSink opens a store before a sink, with a number of concurrent requests; files are where they are created.
func openSink(t *testing.T, s *sink, uploads int, files *spool.Dir) *s3blob.Store {
	t.Helper()
	s.t, s.stored = t, map[string][]byte{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return open(t, s3blob.Config{Endpoint: server.URL, Bucket: "bucket", AccessKey: "key", SecretKey: "secret", Uploads: uploads, ReadOnly: true, Spool: files, Calls: outgoingtest.New()})
}

func openSpool(t *testing.T) *spool.Dir {
	t.Helper()
	d, err := spool.Open(t.TempDir())
	must(t, err)
	return d
}

// slowly gives all bytes but the last, and this one when it may.
func slowly(value []byte, waiting chan<- struct{}, end <-chan struct{}) io.Reader {
	var once sync.Once
	return io.MultiReader(bytes.NewReader(value[:len(value)-1]), readerFunc(func(p []byte) (int, error) {
		once.Do(func() {
			waiting <- struct{}{}
			<-end
		})
		return copy(p[:1], value[len(value)-1:]), io.EOF
	}))
}

// TestSlowReaders of files and parts keep no request from a reader that is fast, however many they are.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	server := &sink{}
	s := openSink(t, server, 2, openSpool(t))
	value := content(3 * spool.BufferSize)
	waiting, end := make(chan struct{}), make(chan struct{})
	var slow sync.WaitGroup
	for i := range 20 {
		slow.Go(func() {
			if err := s.Put(t.Context(), fmt.Sprintf("slow-%d", i), slowly(value, waiting, end), int64(len(value))); err != nil {
				t.Error(err)
			}
		})
		slow.Go(func() {
			if _, err := s.PutPart(t.Context(), "parts", "session", blob.Part{Number: i + 1, Size: int64(len(value))}, slowly(value, waiting, end)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 40 {
		eventually.Receive(t, "a slow reader waits", waiting)
	}
	fast := make(chan error)
	go func() {
		err := s.Put(t.Context(), "fast", bytes.NewReader(value), int64(len(value)))
		_, perr := s.PutPart(t.Context(), "fast", "session", blob.Part{Number: 1, Size: int64(len(value))}, bytes.NewReader(value))
		fast <- errors.Join(err, perr)
	}()
	must(t, eventually.Receive(t, "the fast ones are stored", fast))
	if n := len(server.seen()); n != 2 {
		t.Errorf("%d requests while the slow ones wait: %v", n, server.seen())
	}
	close(end)
	eventually.Done(t, "the slow ones are stored", &slow)
	for i := range 20 {
		server.got(fmt.Sprintf("slow-%d", i), value)
		server.got(fmt.Sprintf("parts?partNumber=%d&uploadId=session", i+1), value)
	}
}

// TestConcurrentRequests are at most as many as configured; others wait.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	current, most := 0, 0
	arrived, end := make(chan struct{}, 100), make(chan struct{})
	add := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		current += n
		most = max(most, current)
	}
	s := openSink(t, &sink{before: func([]byte) bool {
		add(1)
		defer add(-1)
		arrived <- struct{}{}
		<-end
		return true
	}}, 2, openSpool(t))
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if err := s.Put(t.Context(), fmt.Sprintf("file-%d", i), strings.NewReader("x"), 1); err != nil {
				t.Error(err)
			}
			if _, err := s.PutPart(t.Context(), "parts", "session", blob.Part{Number: i + 1, Size: 1}, strings.NewReader("x")); err != nil {
				t.Error(err)
			}
			if err := s.PutObject(t.Context(), fmt.Sprintf("object-%d", i), []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		eventually.Receive(t, "a request arrives", arrived)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.PutObject(canceled, "canceled", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has left: %v", err)
	}
	close(end)
	eventually.Done(t, "all are stored", &all)
	if most != 2 {
		t.Errorf("%d requests at once, not 2", most)
	}
}

// TestAttemptsSendTheSameBytes: a request that is repeated sends all bytes again.
func TestAttemptsSendTheSameBytes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	attempts := map[string]int{} // by the bytes
	server := &sink{before: func(body []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		attempts[string(body)]++
		return attempts[string(body)] == 2
	}}
	s := openSink(t, server, 0, openSpool(t))
	value := content(8<<20 + 3*spool.BufferSize)
	short := content(3*spool.BufferSize + 1)
	must(t, s.Put(t.Context(), "small", strings.NewReader("small"), 5))
	must(t, s.Put(t.Context(), "short", bytes.NewReader(short), int64(len(short))))
	must(t, s.Put(t.Context(), "large", iotest.HalfReader(bytes.NewReader(value)), int64(len(value))))
	server.got("small", []byte("small"))
	server.got("short", short)
	server.got("large?partNumber=1&uploadId=session", value[:8<<20])
	server.got("large?partNumber=2&uploadId=session", value[8<<20:])
	for body, n := range attempts {
		if n != 2 {
			t.Errorf("%d attempts with %d bytes", n, len(body))
		}
	}
	if len(attempts) != 4 {
		t.Errorf("%d different bodies, not 4", len(attempts))
	}
}

// TestAReaderThatFails makes no request, and leaves no file. So does one that ends too early or too late, and a full disk.
func TestAReaderThatFails(t *testing.T) {
	t.Parallel()
	var files []*os.File // all that were created
	path := ""
	dir := spool.New(func() (*os.File, error) {
		if path == "" {
			f, err := os.CreateTemp(t.TempDir(), "")
			files = append(files, f)
			return f, err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		files = append(files, f)
		return f, err
	})
	server := &sink{}
	s := openSink(t, server, 0, dir)
	value := content(3 * spool.BufferSize)
	broken := errors.New("broken")
	fails := func(what string, reader func() io.Reader, size int64, want func(error) bool) {
		t.Helper()
		before := len(files)
		if err := s.Put(t.Context(), "a", reader(), size); !want(err) {
			t.Errorf("put, %s: %v", what, err)
		}
		if size <= int64(len(value))+1 {
			if _, err := s.PutPart(t.Context(), "a", "session", blob.Part{Number: 1, Size: size}, reader()); !want(err) {
				t.Errorf("part, %s: %v", what, err)
			}
		}
		if len(files) == before {
			t.Errorf("%s: no file was used", what)
		}
	}
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	begun := func(then string, last error) func() io.Reader {
		return func() io.Reader {
			return io.MultiReader(bytes.NewReader(value), strings.NewReader(then), iotest.ErrReader(last))
		}
	}
	fails("it fails", begun("", broken), int64(len(value))+1, is(broken))
	fails("it fails at the end", begun("", broken), int64(len(value)), is(broken))
	fails("it fails in the first part", begun("", broken), 20<<20, is(broken))
	fails("one missing", begun("", io.EOF), int64(len(value))+1, is(blob.ErrSize))
	fails("one more", begun("x", io.EOF), int64(len(value)), is(blob.ErrSize))
	if _, err := os.Stat("/dev/full"); err == nil {
		path = "/dev/full"
		full := func(err error) bool { return errs.Of(err).Reason == "storage_full" && errs.Of(err).Retry > 0 }
		fails("the disk is full", begun("", io.EOF), int64(len(value)), full)
		path = ""
	}
	if len(server.seen()) > 0 {
		t.Errorf("the server got the requests %v, want none", server.seen())
	}
	must(t, s.Put(t.Context(), "a", bytes.NewReader(value), int64(len(value))))
	server.got("a", value)
	for i, f := range files {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file %d is still open: %v", i, err)
		}
	}
}
