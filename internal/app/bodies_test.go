package app

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// withoutBody are requests whose body never comes.
var withoutBody = []string{
	"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
	"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
	"GET /v1/media/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
	"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
	"PUT /rialto-uploads/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n",
}

// TestBodiesThatNeverCome: a connection does not wait for ever for a body that no handler reads.
func TestBodiesThatNeverCome(t *testing.T) {
	for _, request := range withoutBody {
		synctest.Test(t, func(t *testing.T) {
			near, end := connected(t, http.NotFoundHandler())
			if err := near.SetDeadline(time.Now().Add(time.Minute)); err != nil { // of the bubble's clock: a failure, not a hang
				t.Fatal(err)
			}
			if _, err := io.WriteString(near, request); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(near)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404") {
				t.Errorf("%q is answered with %.40q, and then %v, want 404 and the end of the connection", request, answer, err)
			}
			if err := end(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("error %v, want %v", err, net.ErrClosed)
			}
		})
	}
}

// TestHeadersThatNeverEnd: a client that sends a byte of a header each second, in any version of HTTP, is disconnected after ten seconds.
func TestHeadersThatNeverEnd(t *testing.T) {
	for _, begin := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", "PRI * HTTP/2.0\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			near, end := connected(t, http.NotFoundHandler())
			began, gone := time.Now(), make(chan time.Duration, 1)
			go func() {
				_, _ = io.Copy(io.Discard, near) // until the server ends it
				gone <- time.Since(began)
			}()
			_, err := io.WriteString(near, begin)
			for n := 0; n < 60 && err == nil; n++ {
				time.Sleep(time.Second)
				_, err = io.WriteString(near, "x")
			}
			if took := <-gone; err == nil || took != 10*time.Second {
				t.Errorf("%q and a byte each second: the connection ends after %v, %v; want 10s", begin, took, err)
			}
			near.Close()
			if err := end(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("error %v, want %v", err, net.ErrClosed)
			}
		})
	}
}
