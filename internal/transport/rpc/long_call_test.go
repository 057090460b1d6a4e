package rpc_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/transport/rpc"
)

// single is a listener with one connection.
type single struct{ conns chan net.Conn }

func (s single) Accept() (net.Conn, error) {
	if c, ok := <-s.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (single) Close() error   { return nil }
func (single) Addr() net.Addr { return &net.TCPAddr{} }

// TestACallOutlivesASlowBody: over HTTP/1.1, a call has its time after a body that took most of its own. If its client disconnects, it ends at once.
func TestACallOutlivesASlowBody(t *testing.T) {
	const chunks, pause, call = 6, 9 * time.Second, 29 * time.Second
	for leaves, want := range map[bool]string{false: "after 29s, <nil>", true: "after 0s, context canceled"} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan string, 1)
			server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, setDecoded := rpc.NewBody(w, r)
				if n, err := io.Copy(io.Discard, body); n != chunks*16<<10 || err != nil {
					t.Errorf("%d bytes of the body were read, %v", n, err)
				}
				setDecoded()
				began := time.Now()
				select {
				case <-r.Context().Done():
				case <-time.After(call):
				}
				ended <- fmt.Sprintf("after %v, %v", time.Since(began), r.Context().Err())
			})}
			near, far := net.Pipe()
			l := single{make(chan net.Conn, 1)}
			l.conns <- far
			served := make(chan error, 1)
			go func() { served <- server.Serve(l) }()
			send := func(text string) {
				t.Helper()
				if _, err := io.WriteString(near, text); err != nil {
					t.Fatal(err)
				}
			}
			send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", chunks*16<<10))
			for range chunks {
				time.Sleep(pause)
				send(strings.Repeat("x", 16<<10))
			}
			if leaves {
				synctest.Wait() // the call is at work
				near.Close()
			} else if res, err := http.ReadResponse(bufio.NewReader(near), nil); err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("answered %v, %v", res, err)
			}
			if got := <-ended; got != want {
				t.Errorf("client that leaves %v: the call ends %s, want %s", leaves, got, want)
			}
			near.Close()
			close(l.conns)
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			<-served
		})
	}
}
