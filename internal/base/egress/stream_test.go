package egress_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
)

// TestWhichUploadsOpenTheCircuit: a server that breaks off after it has all of an upload, which may have no body, is not called after ten of them. Who breaks off an upload
// says nothing of the server.
func TestWhichUploadsOpenTheCircuit(t *testing.T) {
	server, _ := answering(t)
	for name, c := range map[string]struct {
		path   string
		body   func() io.Reader
		length int64
		want   int
	}{
		"a body":                           {"/break", func() io.Reader { return strings.NewReader("body") }, 4, 10},
		"a body of unknown length":         {"/break", func() io.Reader { return strings.NewReader("body") }, -1, 10},
		"no body":                          {"/break", func() io.Reader { return http.NoBody }, 0, 10},
		"a body that breaks off":           {"/", func() io.Reader { return iotest.ErrReader(errors.New("the client has gone")) }, 4, 100},
		"no body, and a server that works": {"/", func() io.Reader { return http.NoBody }, 0, 100},
	} {
		servers, err := egress.NewServers([]string{server.URL}, egress.Config{Kind: outgoing.EdgeUpload, Calls: outgoingtest.New()})
		if err != nil {
			t.Fatal(err)
		}
		upload := func() error {
			_, err := servers.Stream(t.Context(), 0, egress.Upload{Method: http.MethodPost, Target: c.path, Header: http.Header{}, Body: c.body(), Length: c.length, Timeout: time.Minute})
			return err
		}
		if n := refusedAfter(t, upload); n != c.want {
			t.Errorf("%s: uploads are refused after %d, want %d", name, n, c.want)
		}
		servers.Close()
	}
}
