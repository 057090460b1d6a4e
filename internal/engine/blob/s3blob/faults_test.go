package s3blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
)

// content returns bytes of a file that differ at each position.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails unless a file has the expected content.
func same(t *testing.T, s *s3blob.Store, key string, want []byte) {
	t.Helper()
	f, size, err := s.Open(t.Context(), key)
	must(t, err)
	got, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || size != int64(len(want)) || !bytes.Equal(got, want) {
		t.Errorf("%s: got %d bytes, the size is %d, want %d; %v", key, len(got), size, len(want), err)
	}
}

// TestLargeFiles: large files are uploaded in parts. A failed upload leaves neither a file nor billed parts.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	s := open(t, config(server, bucket))
	value := content(2*8<<20 + 12_345)
	for _, n := range []int{8 << 20, 8<<20 + 1, 2 * 8 << 20, len(value)} {
		must(t, s.Put(t.Context(), "large", bytes.NewReader(value[:n]), int64(n)))
		same(t, s, "large", value[:n])
	}
	f, _, err := s.Open(t.Context(), "large")
	must(t, err)
	defer f.Close()
	for _, at := range []int64{16 << 20, 3, 8<<20 - 1, int64(len(value)) - 1} {
		_, err := f.Seek(at, io.SeekStart)
		must(t, err)
		got := make([]byte, min(1000, int64(len(value))-at))
		if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, value[at:at+int64(len(got))]) {
			t.Errorf("from %d: %v", at, err)
		}
	}
	broken := errors.New("broken")
	begun := func(then io.Reader) io.Reader { return io.MultiReader(bytes.NewReader(value[:9<<20]), then) }
	for what, c := range map[string]struct {
		reader func(leave func()) io.Reader
		size   int
		want   error
	}{
		"one more":           {func(func()) io.Reader { return bytes.NewReader(value) }, len(value) - 1, blob.ErrSize},
		"one missing":        {func(func()) io.Reader { return bytes.NewReader(value) }, len(value) + 1, blob.ErrSize},
		"it fails":           {func(func()) io.Reader { return begun(iotest.ErrReader(broken)) }, len(value), broken},
		"the caller cancels": {func(leave func()) io.Reader { return begun(leaving(leave)) }, len(value), context.Canceled},
	} {
		for _, key := range []string{"large", "fresh"} {
			ctx, cancel := context.WithCancel(t.Context())
			if err := s.Put(ctx, key, c.reader(cancel), int64(c.size)); !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", what, err, c.want)
			}
			cancel()
		}
	}
	same(t, s, "large", value)
	if _, _, err := s.Open(t.Context(), "fresh"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a failed upload stored a file: %v", err)
	}
	left, err := server.Client(t).ListMultipartUploads(t.Context(), bucket, "", "", "", "", 100)
	if err != nil || len(left.Uploads) > 0 {
		t.Errorf("%d uploads are left, %v, want none", len(left.Uploads), err)
	}
}

// leaving is a reader that cancels a context when it is read.
func leaving(cancel func()) io.Reader {
	return readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, nil
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestPrefixIsolatesOtherObjects: the bucket's other objects are not affected.
func TestPrefixIsolatesOtherObjects(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	c := config(server, bucket)
	c.Prefix = "rialto/files"
	must(t, open(t, c).Put(t.Context(), "media/1", strings.NewReader("x"), 1))
	info, err := server.Client(t).StatObject(t.Context(), bucket, "rialto/files/media/1", minio.StatObjectOptions{})
	if err != nil || info.Size != 1 {
		t.Errorf("the object is %+v, %v, want its size 1", info, err)
	}
	if _, _, err := open(t, config(server, bucket)).Open(t.Context(), "media/1"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("error %v, want %v", err, blob.ErrNotFound)
	}
}

// TestAReplacedFileIsNeverMixed: a reader of a file that is replaced gets the old file's bytes or an error, never a mixture.
func TestAReplacedFileIsNeverMixed(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := open(t, config(server, server.Bucket(t)))
	old := content(4 << 20)
	must(t, s.Put(t.Context(), "a", bytes.NewReader(old), int64(len(old))))
	f, _, err := s.Open(t.Context(), "a")
	must(t, err)
	defer f.Close()
	must(t, s.Put(t.Context(), "a", bytes.NewReader(make([]byte, len(old))), int64(len(old))))
	_, err = f.Seek(1000, io.SeekStart)
	must(t, err)
	if n, err := f.Read(make([]byte, 100)); n != 0 || errs.Of(err).Reason != "file_changed" {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestWrongConfig: errors of a wrong configuration say what to do.
func TestWrongConfig(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	no := filepath.Join(t.TempDir(), "no.pem")
	must(t, os.WriteFile(no, []byte("no certificate"), 0o600))
	for says, change := range map[string]func(*s3blob.Config){
		"does not exist: create it":    func(c *s3blob.Config) { c.Bucket = "another-one" },
		"does not know the access key": func(c *s3blob.Config) { c.AccessKey = "nobody" },
		"secret key does not match":    func(c *s3blob.Config) { c.SecretKey = "wrong" },
		"both access key and secret":   func(c *s3blob.Config) { c.SecretKey = "" },
		"name a bucket":                func(c *s3blob.Config) { c.Bucket = "" },
		"endpoint is a URL":            func(c *s3blob.Config) { c.Endpoint = "127.0.0.1:9000" },
		"prefix has":                   func(c *s3blob.Config) { c.Prefix = "/a" },
		"uploads is negative":          func(c *s3blob.Config) { c.Uploads = -1 },
		"PEM":                          func(c *s3blob.Config) { c.CA = no },
	} {
		c := config(server, bucket)
		change(&c)
		if _, err := s3blob.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), server.SecretKey) {
			t.Errorf("error %v, want one that contains %q, and no secret key", err, says)
		}
	}
}

// faulty is a proxy before the server that breaks some answers.
type faulty struct {
	http.Handler
	// answers the n-th request itself if it returns true.
	breaks atomic.Pointer[func(n int64, w http.ResponseWriter, r *http.Request) bool]
	n      atomic.Int64
	calls  *outgoing.Calls
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if breaks := f.breaks.Load(); breaks != nil && (*breaks)(f.n.Add(1), w, r) {
		return
	}
	f.Handler.ServeHTTP(w, r)
}

func (f *faulty) set(breaks func(n int64, w http.ResponseWriter, r *http.Request) bool) {
	f.n.Store(0)
	f.breaks.Store(&breaks)
}

func busy(w http.ResponseWriter) {
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprint(w, "<Error><Code>SlowDown</Code><Message>slow down</Message></Error>")
}

func behind(t *testing.T) (*faulty, *s3blob.Store) {
	t.Helper()
	server := s3test.Start(t)
	to, err := url.Parse(server.Endpoint)
	must(t, err)
	f := &faulty{calls: outgoingtest.New(), Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // it is signed
	}}}
	front := httptest.NewServer(f)
	t.Cleanup(front.Close)
	c := config(server, server.Bucket(t))
	c.Endpoint, c.Calls = front.URL, f.calls
	return f, open(t, c)
}

// TestTemporaryFaultsAreRetried: requests that fail once are retried, and interrupted answers are continued.
func TestTemporaryFaultsAreRetried(t *testing.T) {
	t.Parallel()
	front, s := behind(t)
	value := content(8<<20 + 100_000)
	front.set(func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if n%2 == 0 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		busy(w)
		return true
	})
	must(t, s.Put(t.Context(), "small", strings.NewReader("small"), 5))
	same(t, s, "small", []byte("small"))
	must(t, s.Put(t.Context(), "large", bytes.NewReader(value), int64(len(value))))
	// Each answer breaks off after a mebibyte.
	front.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			front.Handler.ServeHTTP(&short{ResponseWriter: w, left: 1 << 20}, r)
			return true
		}
		return false
	})
	same(t, s, "large", value)
	must(t, s.Delete(t.Context(), "large"))
	if front.n.Load() < 9 {
		t.Errorf("only %d requests", front.n.Load())
	}
}

// short breaks the connection after the headers and a number of bytes.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(p []byte) (int, error) {
	if len(p) > s.left {
		_, _ = s.ResponseWriter.Write(p[:s.left])
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	s.left -= len(p)
	return s.ResponseWriter.Write(p)
}

// TestMissingFilesAreNoFailures: a server that says that files are not there is called.
func TestMissingFilesAreNoFailures(t *testing.T) {
	t.Parallel()
	_, s := behind(t)
	for range 30 {
		if _, _, err := s.Open(t.Context(), "nothing"); !errors.Is(err, blob.ErrNotFound) {
			t.Fatalf("error %v, want %v", err, blob.ErrNotFound)
		}
	}
}

// TestPersistentFaultsAreReported: each operation gives up after some tries, returns an error that may be retried, and stores nothing.
func TestPersistentFaultsAreReported(t *testing.T) {
	t.Parallel()
	front, s := behind(t)
	must(t, s.Put(t.Context(), "there", bytes.NewReader(content(100_000)), 100_000))
	f, _, err := s.Open(t.Context(), "there")
	must(t, err)
	defer f.Close()
	_, err = f.Seek(50_000, io.SeekStart)
	must(t, err)
	front.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		busy(w)
		return true
	})
	_, _, opened := s.Open(t.Context(), "there")
	_, read := f.Read(make([]byte, 10))
	for what, err := range map[string]error{"put": s.Put(t.Context(), "a", strings.NewReader("a"), 1), "open": opened, "read": read, "delete": s.Delete(t.Context(), "there")} {
		if e := errs.Of(err); e.Reason != "files_unavailable" || e.Retry == 0 {
			t.Errorf("%s: error %v, want the reason files_unavailable and a time to retry", what, err)
		}
	}
	if n := front.n.Load(); n > 4*6 {
		t.Errorf("%d requests for four operations", n)
	}
	if n := front.n.Load(); n < 5 { // half of all
		t.Errorf("only %d requests", n)
	}
	_, _, opened = s.Open(t.Context(), "there")
	if e := errs.Of(opened); e.Reason != "files_unavailable" || !outgoing.IsRefused(opened) {
		t.Errorf("after many failures: %v", opened)
	}
	outgoingtest.Forget(t, front.calls, outgoing.S3)
	front.set(func(int64, http.ResponseWriter, *http.Request) bool { return false })
	if _, _, err := s.Open(t.Context(), "a"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a failed upload stored a file: %v", err)
	}
	same(t, s, "there", content(100_000))
}

// TestEachAnswerBreaksOff: if every answer breaks off, reading ends with an error, never with a short file.
func TestEachAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	front, s := behind(t)
	must(t, s.Put(t.Context(), "a", bytes.NewReader(content(100_000)), 100_000))
	front.set(func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		front.Handler.ServeHTTP(&short{ResponseWriter: w}, r)
		return true
	})
	f, _, err := s.Open(t.Context(), "a")
	must(t, err)
	_, err = io.ReadAll(f)
	must(t, f.Close())
	if errs.Of(err).Kind != errs.Unavailable {
		t.Errorf("error %v, want one of the kind unavailable", err)
	}
}
