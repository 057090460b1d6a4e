package apiclient_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
)

// failingFile is a file that cannot be read.
type failingFile struct {
	*bytes.Reader
	failed error
}

func (f failingFile) Read([]byte) (int, error) { return 0, f.failed }

// TestOwnFilesEndATransfer: what fails on this machine, such as a full disk, is not tried again. What breaks off on the way is.
func TestOwnFilesEndATransfer(t *testing.T) {
	asked := map[string]*atomic.Int32{"/p": {}, "/written": {}, "/read": {}, "/breaks": {}} // a request may come to its handler after its call has ended
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked[r.URL.Path].Add(1); {
		case r.Method == http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body)
		case r.URL.Path == "/breaks" && n == 1:
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("half"))
		default:
			_, _ = w.Write([]byte("whole file"))
		}
	}))
	t.Cleanup(s.Close)
	client, err := apiclient.New(apiclient.Config{URL: s.URL, Key: "key", Patience: apiclient.DefaultPatience})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CallOnce(t.Context(), "/p", &idv1.PingRequest{}, &idv1.PingResponse{}); err == nil {
		t.Fatal("a file is an answer to a call")
	}
	full := errors.New("no space left on device")
	var got string
	for path, c := range map[string]struct {
		do    func(path string) error
		calls int32 // 0: unknown
		want  error
	}{
		"/written": {func(path string) error { return client.Get(t.Context(), path, func(io.Reader) error { return full }) }, 1, full},
		"/read": {func(path string) error {
			return client.Put(t.Context(), path, failingFile{bytes.NewReader([]byte("x")), full}, 1)
		}, 0, full},
		"/breaks": {func(path string) error {
			return client.Get(t.Context(), path, func(r io.Reader) error {
				b, err := io.ReadAll(r)
				got = string(b)
				return err
			})
		}, 2, nil},
	} {
		err := client.Retry(t.Context(), func() error { return c.do(path) })
		if n := asked[path].Load(); !errors.Is(err, c.want) || c.calls > 0 && n != c.calls {
			t.Errorf("%s: %v, want %v; the server was asked %d times, want %d", path, err, c.want, n, c.calls)
		}
	}
	if got != "whole file" {
		t.Errorf("the download is %q", got)
	}
}
