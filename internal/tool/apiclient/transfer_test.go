package apiclient_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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
	var asked int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case r.Method == http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body)
		case r.URL.Path == "/breaks" && asked == 1:
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
	for name, c := range map[string]struct {
		do    func() error
		calls int
		want  error
	}{
		"a file that cannot be written": {func() error { return client.Get(t.Context(), "/file", func(io.Reader) error { return full }) }, 1, full},
		"a file that cannot be read": {func() error {
			return client.Put(t.Context(), "/file", failingFile{bytes.NewReader([]byte("x")), full}, 1)
		}, 0, full},
		"a download that breaks off": {func() error {
			return client.Get(t.Context(), "/breaks", func(r io.Reader) error {
				b, err := io.ReadAll(r)
				got = string(b)
				return err
			})
		}, 2, nil},
	} {
		asked = 0
		if err := client.Retry(t.Context(), c.do); !errors.Is(err, c.want) || c.calls > 0 && asked != c.calls {
			t.Errorf("%s: %v, want %v; the server was asked %d times, want %d", name, err, c.want, asked, c.calls)
		}
	}
	if got != "whole file" {
		t.Errorf("the download is %q", got)
	}
}
