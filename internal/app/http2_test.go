package app

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
)

// h2Frame encodes an HTTP/2 frame whose header declares a length.
func h2Frame(length int, kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// single accepts one connection.
type single struct{ conns chan net.Conn }

func (s single) Accept() (net.Conn, error) {
	if c, ok := <-s.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (s single) Close() error   { return nil }
func (s single) Addr() net.Addr { return &net.UnixAddr{} }

// connected returns the client's end of a connection to a server. end stops the server, and returns why it accepts no more.
func connected(t *testing.T, handler http.Handler) (near net.Conn, end func() error) {
	server := newHTTPServer(handler, false, slog.New(slog.DiscardHandler))
	server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return ctx }
	near, far := net.Pipe()
	l := single{make(chan net.Conn, 1)}
	l.conns <- far
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return near, func() error {
		close(l.conns)
		err := <-served
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		return err
	}
}

// waits is a handler that answers when its client has gone.
var waits = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })

// withHTTP2 runs a client of an HTTP/2 server that has begun a request whose body does not end. Time passes when nobody has anything to do.
func withHTTP2(t *testing.T, handler http.Handler, client func(t *testing.T, c net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		near, end := connected(t, handler)
		if err := near.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil { // of the bubble's clock: a failure, not a hang
			t.Fatal(err)
		}
		begin := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2Frame(6, 4, 0, 0, []byte{0, 4, 0, 0, 0, 0})...) // settings: no byte of an answer's body
		post := []byte{0x83, 0x86, 0x84, 0x41, 1, 'a'}                                                                // POST http /, host a
		if _, err := near.Write(append(begin, h2Frame(len(post), 1, 4, 1, post)...)); err != nil {
			t.Fatal(err)
		}
		client(t, near)
		_ = near.Close() // it may be closed
		if err := end(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v, want %v", err, net.ErrClosed)
		}
	})
}

// A frame is read as a whole before anything is known of its sender. So the server accepts no large ones, and says so.
func TestAFrameOfHTTP2IsSmall(t *testing.T) {
	withHTTP2(t, waits, func(t *testing.T, c net.Conn) {
		header := make([]byte, 9)
		if _, err := io.ReadFull(c, header); err != nil || header[3] != 4 {
			t.Fatalf("the first frame is %x, %v; want settings", header, err)
		}
		settings, largest := make([]byte, int(header[1])<<8|int(header[2])), map[uint16]uint32{}
		if _, err := io.ReadFull(c, settings); err != nil {
			t.Fatal(err)
		}
		for ; len(settings) >= 6; settings = settings[6:] {
			largest[binary.BigEndian.Uint16(settings)] = binary.BigEndian.Uint32(settings[2:])
		}
		for setting, want := range map[uint16]uint32{3: 100, 4: 256 << 10, 5: 16 << 10} { // streams, window of each, frame
			if largest[setting] != want {
				t.Errorf("setting %d is %d, want %d", setting, largest[setting], want)
			}
		}
		rest := make(chan []byte, 1)
		go func() {
			b, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			}
			rest <- b
		}()
		if _, err := c.Write(h2Frame(16<<10+1, 0, 0, 1, nil)); err != nil {
			t.Error(err)
		}
		if b := <-rest; !bytes.Contains(b, h2Frame(8, 7, 0, 0, []byte{0, 0, 0, 1, 0, 0, 0, 6})) { // GOAWAY with FRAME_SIZE_ERROR
			t.Errorf("after the header of a larger frame: got %x", b)
		}
	})
}

// Who stops within a frame is disconnected, although a request is in progress.
func TestAFrameOfHTTP2Ends(t *testing.T) {
	withHTTP2(t, waits, func(t *testing.T, c net.Conn) {
		go func() {
			if _, err := c.Write(h2Frame(16<<10, 0, 0, 1, make([]byte, 16<<10-1))); err != nil {
				t.Error(err)
			}
		}()
		if _, err := io.Copy(io.Discard, c); err != nil { // until the server closes
			t.Error(err)
		}
	})
}

// Who goes on sending and reads nothing is disconnected.
func TestAClientOfHTTP2Reads(t *testing.T) {
	withHTTP2(t, waits, func(t *testing.T, c net.Conn) {
		for range 100 {
			if _, err := c.Write(h2Frame(8, 6, 0, 0, make([]byte, 8))); err != nil {
				return
			}
			time.Sleep(time.Second) // of the bubble's clock
		}
		t.Error("the server took 100 pings, and none of its own frames was read")
	})
}

// refusing is a node that answers each request with a refusal, and allows some streams.
func refusing(perNetwork, all int) (*Node, http.Handler) {
	n := &Node{config: &config.Config{}, streams: inputlimit.NewConnections(perNetwork, all)}
	return n, n.limitStreams(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }))
}

// untilReset reads frames, and answers pings, until one of the streams is reset. It returns how.
func untilReset(t *testing.T, c net.Conn, streams ...uint32) (code uint32) {
	t.Helper()
	for header := make([]byte, 9); ; {
		if _, err := io.ReadFull(c, header); err != nil {
			t.Fatalf("none of the streams %d has ended: %v", streams, err)
		}
		payload := make([]byte, int(header[1])<<8|int(header[2]))
		if _, err := io.ReadFull(c, payload); err != nil {
			t.Fatal(err)
		}
		switch kind, flags := header[3], header[4]; {
		case kind == 3 && slices.Contains(streams, binary.BigEndian.Uint32(header[5:])):
			return binary.BigEndian.Uint32(payload)
		case kind == 6 && flags == 0:
			if _, err := c.Write(h2Frame(8, 6, 1, 0, payload)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Who answers pings and does not let the server write an answer loses the stream.
func TestAnAnswerOfHTTP2Ends(t *testing.T) {
	n, refuses := refusing(10, 10)
	withHTTP2(t, refuses, func(t *testing.T, c net.Conn) {
		untilReset(t, c, 1)
		synctest.Wait()
		if open := n.streams.Count(); open != 0 {
			t.Errorf("%d streams are counted after the end of the only one", open)
		}
	})
}

// A stream counts until its answer is taken, not until its handler has returned. Those beyond the limit are reset at once.
func TestStreamsOfHTTP2AreLimited(t *testing.T) {
	n, refuses := refusing(2, 2)
	withHTTP2(t, refuses, func(t *testing.T, c net.Conn) {
		began := time.Now()
		go func() {
			for stream := uint32(3); stream <= 5; stream += 2 {
				get := []byte{0x82, 0x86, 0x84, 0x41, 1, 'a'} // GET http /, host a
				if _, err := c.Write(h2Frame(len(get), 1, 5, stream, get)); err != nil {
					t.Error(err)
				}
			}
		}()
		// Each stream has a goroutine of the server: the one that comes too late is not always the one that was opened last.
		if code := untilReset(t, c, 1, 3, 5); code == 0 || time.Since(began) > time.Second {
			t.Errorf("one stream of three is reset with code %d after %v", code, time.Since(began))
		}
		synctest.Wait()
		if open, refused := n.streams.Count(), n.streams.Refused(); open != 2 || refused != 1 {
			t.Errorf("%d streams are open and %d refused, want 2 and 1", open, refused)
		}
	})
	if open := n.streams.Count(); open != 0 {
		t.Errorf("%d streams are counted after the end of their connection", open)
	}
}
