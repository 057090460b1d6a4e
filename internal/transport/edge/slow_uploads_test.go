package edge_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

// slowOrigin is the origin of an edge, which answers some time after the last byte of an upload.
type slowOrigin struct{ after time.Duration }

func (o slowOrigin) Stream(ctx context.Context, _ uint32, u egress.Upload) (*egress.Answer, error) {
	within, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	if _, err := io.Copy(io.Discard, u.Body); err != nil {
		return nil, err
	}
	if n, err := u.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) { // net/http asks whether there is more
		return nil, fmt.Errorf("after the end, %d bytes were read, %w", n, err)
	}
	select {
	case <-within.Done():
		return nil, within.Err()
	case <-time.After(o.after):
		return &egress.Answer{Status: http.StatusNoContent}, nil
	}
}

func (slowOrigin) Close() {}

// single is a listener for one connection.
type single struct{ conns chan net.Conn }

func (s single) Accept() (net.Conn, error) {
	if c, ok := <-s.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (s single) Close() error   { return nil }
func (s single) Addr() net.Addr { return &net.UnixAddr{} }

// withConnection runs a client with a connection to an edge. Time passes when nobody has anything to do.
func withConnection(t *testing.T, by edge.Streamer, client func(t *testing.T, s *edge.Server, c net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newEdge(t, clocktest.NewManual(), edge.Config{Origins: []string{"http://127.0.0.1:1"}})
		edge.SendUploadsBy(s, by)
		server := &http.Server{Handler: s}
		near, far := net.Pipe()
		if err := near.SetDeadline(time.Now().Add(time.Hour)); err != nil { // of the bubble's clock: a failure, not a hang
			t.Fatal(err)
		}
		l := single{make(chan net.Conn, 1)}
		l.conns <- far
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		defer func() {
			close(l.conns)
			if err := errors.Join(near.Close(), server.Close()); err != nil {
				t.Error(err)
			}
			<-served
		}()
		client(t, s, near)
	})
}

// TestSlowUploads: an origin has two minutes after the last byte, and a client half a minute for 16 KiB. What is not stored is never answered with 2xx.
func TestSlowUploads(t *testing.T) {
	const head = "PUT " + partTarget + " HTTP/1.1\r\nHost: edge.example.com\r\nContent-Length: 4\r\n\r\n"
	for name, c := range map[string]struct {
		body    string
		after   time.Duration
		status  int
		text    string
		stalled bool
	}{
		"an origin that answers late":     {"part", 119 * time.Second, http.StatusNoContent, "", false},
		"an origin that answers too late": {"part", 181 * time.Second, http.StatusServiceUnavailable, "storage", false}, // a minute is for the transfer
		"a client that falls silent":      {"par", 0, http.StatusServiceUnavailable, "timeout", true},
	} {
		t.Run(name, func(t *testing.T) {
			withConnection(t, slowOrigin{c.after}, func(t *testing.T, s *edge.Server, conn net.Conn) {
				began := time.Now()
				if _, err := io.WriteString(conn, head+c.body); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != c.status || !strings.Contains(string(text), c.text) {
					t.Errorf("the answer is %s: %s, %v", answer.Status, text, err)
				}
				if spent := time.Since(began); c.stalled && spent != 30*time.Second {
					t.Errorf("the client had %v", spent)
				}
			})
		})
	}
}

// TestTricklingUploads: an upload does not hold its slot for hours with few bytes, whatever length it says, or none. One that is starved for a minute arrives.
func TestTricklingUploads(t *testing.T) {
	const piece = 16 << 10
	for name, c := range map[string]struct {
		length string
		pauses []time.Duration // before each piece
		status int
		spent  time.Duration
	}{
		"of a large file":          {"Content-Length: 5000000000", slices.Repeat([]time.Duration{29 * time.Second}, 100), http.StatusServiceUnavailable, 68 * time.Second},
		"of an unknown length":     {"Transfer-Encoding: chunked", slices.Repeat([]time.Duration{29 * time.Second}, 100), http.StatusServiceUnavailable, 68 * time.Second},
		"that is starved at first": {"Transfer-Encoding: chunked", []time.Duration{29 * time.Second, 29 * time.Second, time.Second, time.Second}, http.StatusNoContent, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			withConnection(t, slowOrigin{}, func(t *testing.T, s *edge.Server, conn net.Conn) {
				began := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() { // until the edge reads no more
					before, after, end := "", "", ""
					if strings.HasPrefix(c.length, "Transfer") {
						before, after, end = fmt.Sprintf("%x\r\n", piece), "\r\n", "0\r\n\r\n"
					}
					_, err := io.WriteString(conn, "PUT "+fileTarget+" HTTP/1.1\r\nHost: edge.example.com\r\n"+c.length+"\r\n\r\n")
					for _, pause := range c.pauses {
						if err == nil {
							time.Sleep(pause)
							_, err = io.WriteString(conn, before+strings.Repeat("x", piece)+after)
						}
					}
					if err == nil {
						_, _ = io.WriteString(conn, end)
					}
				})
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if spent := time.Since(began); answer.StatusCode != c.status || spent != c.spent {
					t.Errorf("the answer is %s, after %v; want %d, after %v", answer.Status, spent, c.status, c.spent)
				}
				if err := errors.Join(answer.Body.Close(), conn.Close()); err != nil {
					t.Error(err)
				}
				sending.Wait()
			})
		})
	}
}

// earlyOrigin answers an upload before it has read it, and keeps its body.
type earlyOrigin struct{ body chan io.Reader }

func (o earlyOrigin) Stream(_ context.Context, _ uint32, u egress.Upload) (*egress.Answer, error) {
	o.body <- u.Body
	return &egress.Answer{Status: http.StatusForbidden}, nil
}

func (earlyOrigin) Close() {}

// TestUploadsAreNotReadLater: what sends an upload on cannot read it after its request, when the connection may have the next one.
func TestUploadsAreNotReadLater(t *testing.T) {
	s := newUploadEdge(t, "http://127.0.0.1:1")
	o := earlyOrigin{make(chan io.Reader, 1)}
	edge.SendUploadsBy(s, o)
	checkCode(t, "an upload that is refused early", send(s, http.MethodPut, partTarget, "part"), http.StatusForbidden)
	if n, err := (<-o.body).Read(make([]byte, 4)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("after the request, %d bytes are read, %v", n, err)
	}
}

// gone is a streamer whose request has ended while it was under way: the client has gone, as far as the edge knows.
type gone struct{ end context.CancelFunc }

func (g gone) Stream(ctx context.Context, _ uint32, u egress.Upload) (*egress.Answer, error) {
	g.end()
	return nil, context.Cause(ctx)
}

func (gone) Close() {}

// TestAnUploadWithoutAnAnswerIsNotAnswered: where a request ends before an origin has answered, its connection ends. A client that is still there must not take that for
// an answer.
func TestAnUploadWithoutAnAnswerIsNotAnswered(t *testing.T) {
	s := newUploadEdge(t, "http://127.0.0.1:1")
	ctx, cancel := context.WithCancel(t.Context())
	edge.SendUploadsBy(s, gone{cancel})
	defer func() {
		if reason := recover(); reason != http.ErrAbortHandler {
			t.Errorf("the upload ended with %v", reason)
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, partTarget, strings.NewReader("part"))
	if err != nil {
		t.Fatal(err)
	}
	s.ServeHTTP(nothing{t}, r)
}

// nothing is a writer to which nothing may be written.
type nothing struct{ t *testing.T }

func (n nothing) Header() http.Header         { return http.Header{} }
func (n nothing) WriteHeader(status int)      { n.t.Errorf("the answer is %d", status) }
func (n nothing) Write(b []byte) (int, error) { n.t.Errorf("the answer is %s", b); return len(b), nil }
