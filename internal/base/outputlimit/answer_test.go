package outputlimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"golang.org/x/net/http2"
)

// client reads an answer, and returns what was wrong with it.
type client func(t *testing.T, c net.Conn, length int) error

// readAt reads an HTTP/1 answer, so many bytes each second.
func readAt(rate int) client {
	return func(t *testing.T, c net.Conn, length int) error {
		t.Helper()
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); err != nil {
			return err
		}
		if rate == 0 {
			return nothing(c)
		}
		for n, b := 0, make([]byte, rate); ; time.Sleep(time.Second) {
			k, err := io.ReadFull(c, b)
			if n += k; err != nil && n > length { // with its headers
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// ask sends an HTTP/2 request whose stream has a window.
func ask(t *testing.T, c net.Conn, window uint32) *http2.Framer {
	t.Helper()
	f := http2.NewFramer(c, c)
	_, err := c.Write([]byte(http2.ClientPreface))
	err = errors.Join(err, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: []byte{0x82, 0x86, 0x84, 0x41, 1, 'a'}}))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// aClosedWindow reads all frames of HTTP/2, but lets the server send no byte of the answer. The stream is reset, and the connection stays.
func aClosedWindow(t *testing.T, c net.Conn, _ int) error {
	t.Helper()
	for f := ask(t, c, 0); ; {
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok {
			return http2.StreamError{StreamID: reset.StreamID, Code: reset.ErrCode}
		}
	}
}

// noFrame asks by HTTP/2, and reads no byte until the connection is closed.
func noFrame(t *testing.T, c net.Conn, _ int) error {
	t.Helper()
	ask(t, c, 1<<30)
	return nothing(c)
}

// nothing reads nothing until the server must have closed the connection.
func nothing(c net.Conn) error {
	time.Sleep(10 * time.Minute)
	_, err := c.Read(make([]byte, 1))
	return err
}

// A client that does not read its answer over HTTP is disconnected soon if unread answers use much of the memory, and what its answer held is
// free again. One that reads slowly gets all, and so does any client while there is enough memory.
func TestUnreadAnswersAreCutUnderPressure(t *testing.T) {
	const length = 300 << 10
	for name, test := range map[string]struct {
		read      client
		others    int // bytes that other answers hold
		whole     bool
		least, to time.Duration // how long the answer is written
	}{
		"reads nothing under pressure":           {readAt(0), 9 << 20, false, 5 * time.Second, 7 * time.Second},
		"reads nothing":                          {readAt(0), 0, false, 30 * time.Second, 31 * time.Second},
		"reads slowly under pressure":            {readAt(5 << 10), 9 << 20, true, 50 * time.Second, time.Minute},
		"too slowly under pressure":              {readAt(1 << 10), 9 << 20, false, 5 * time.Second, 8 * time.Second},
		"slowly":                                 {readAt(3 << 10), 0, true, 90 * time.Second, 2 * time.Minute},
		"a closed window of HTTP/2, pressure":    {aClosedWindow, 9 << 20, false, 5 * time.Second, 6 * time.Second},
		"no frame of HTTP/2 under pressure":      {noFrame, 9 << 20, false, 10 * time.Second, 12 * time.Second},
		"no frame of HTTP/2, with enough memory": {noFrame, 0, false, 30 * time.Second, 61 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := outputlimit.New(outputlimit.Config{}, 1)
				for n := range test.others >> 20 {
					if err := l.Hold(user(uint64(100+n)), 1<<20); err != nil {
						t.Fatal(err)
					}
				}
				wrote := make(chan error, 1)
				var took time.Duration
				protocols := &http.Protocols{}
				protocols.SetHTTP1(true)
				protocols.SetUnencryptedHTTP2(true)
				server := &http.Server{Protocols: protocols, HTTP2: &http.HTTP2Config{WriteByteTimeout: outputlimit.PieceTime}, ConnContext: func(ctx context.Context, c net.Conn) context.Context { return outputlimit.WithConnection(ctx, c) },
					Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						began := time.Now()
						a := l.NewAnswerWriter(r.Context(), w, 2*time.Minute)
						defer func() { wrote <- nil }()
						defer func() { took = time.Since(began) }()
						defer a.Close()
						if err := a.Hold(user(1), length); err != nil {
							t.Error(err)
						}
						n, err := a.Write(bytes.Repeat([]byte("x"), length))
						if (err == nil) != test.whole || (err == nil) != (n == length) {
							t.Errorf("%d bytes are written: %v", n, err)
						}
					})}
				list := pipes{make(chan net.Conn, 1)}
				served := make(chan error, 1)
				go func() { served <- server.Serve(list) }()
				here, there := net.Pipe()
				list.conns <- there
				read := make(chan error, 1)
				go func() { read <- test.read(t, here, length) }()
				<-wrote
				if took < test.least || took > test.to {
					t.Errorf("it is written for %v, want %v to %v", took, test.least, test.to)
				}
				if held := l.Held(); held != int64(test.others) {
					t.Errorf("%d bytes are held after the end of the answer, want %d of others", held, test.others)
				}
				if cut := l.Cut(); (cut == 1) != (!test.whole && test.others > 0) {
					t.Errorf("%d answers are counted as cut", cut)
				}
				if err := <-read; (err == nil) != test.whole {
					t.Errorf("the client gets %v", err)
				}
				close(list.conns)
				_ = here.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				<-served
			})
		})
	}
}
