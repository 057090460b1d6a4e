package app

import (
	"context"
	"io"
	"log/slog"
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
			server := newHTTPServer(http.NotFoundHandler(), false, slog.New(slog.DiscardHandler))
			server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return ctx }
			near, far := net.Pipe()
			l := single{make(chan net.Conn, 1)}
			l.conns <- far
			served := make(chan error, 1)
			go func() { served <- server.Serve(l) }()
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
			close(l.conns)
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			<-served
		})
	}
}
