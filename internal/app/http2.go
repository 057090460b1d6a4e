package app

import (
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/rialto-im/rialto/internal/base/outputlimit"
)

// newHTTPServer returns a server of HTTP/1.1 and HTTP/2. net/http reads a frame of HTTP/2 as a whole before a handler can check credentials,
// and keeps what a handler has not read: the defaults, 1 MiB of each, let a thousand connections take a GiB. A client that stops within a
// frame answers no ping, and one that reads nothing is found by the time of a write.
func newHTTPServer(handler http.Handler, tls bool, logger *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(tls)
	protocols.SetUnencryptedHTTP2(!tls) // gRPC without TLS
	h2 := &http.HTTP2Config{MaxConcurrentStreams: 100, MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 256 << 10,
		MaxReceiveBufferPerStream: 256 << 10, SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second, WriteByteTimeout: outputlimit.PieceTime}
	return &http.Server{Handler: boundBodies(handler, bodyTime), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 12 << 10, HTTP2: h2, ConnContext: withConnection, ErrorLog: log.New(httpErrorLog{logger}, "", 0)}
}

// bodyTime is how long a body of HTTP/1.1 may take, unless its handler reads it and sets another time.
const bodyTime = 10 * time.Second

// boundBodies bounds the time of bodies that no handler reads: net/http reads them to their end before it answers. Where a body has no meaning, it is not read, and the
// connection closes after the answer.
//
// So it does after a body in chunks. Such a request may have had a length as well, which a proxy before the server may have obeyed: then what follows is not what that proxy
// let pass. net/http reads the chunks and hides the length, so the request cannot be refused, and nothing that follows is read (RFC 9112, 6.1).
func boundBodies(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit)) // a writer without deadlines, such as a recorder in a test, has no slow client
			if isRead(r) || len(r.TransferEncoding) > 0 {
				w.Header().Set("Connection", "close")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// limitStreams limits the open streams of HTTP/2, for each address and in all. A stream beyond is reset without an answer, which would keep it
// open until its client takes it.
//
// Clients decide how much of an answer may be written, and may answer pings for ever. So each piece of an answer has its time, and a stream
// counts until its answer is sent: net/http would send the end of it after the handler.
func (n *Node) limitStreams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor > 1 { // a socket takes over its connection of HTTP/1.1
			slot, ok := n.streams.Acquire(n.networkOf(r))
			if !ok {
				panic(http.ErrAbortHandler) // resets the stream
			}
			defer slot.Release()
			w = outputlimit.WithWriteDeadlines(w, 0)
			next.ServeHTTP(w, r)
			_ = http.NewResponseController(w).Flush() // the client may have gone
			return
		}
		next.ServeHTTP(w, r)
	})
}
