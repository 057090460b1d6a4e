package stomp

import (
	"bufio"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// wire carries the bytes of a client's connection. One goroutine reads, and one at a time writes.
type wire interface {
	io.ReadWriteCloser
	SetReadDeadline(at time.Time) error
	SetWriteDeadline(at time.Time) error
	// CloseWrite tells the client that nothing more comes.
	CloseWrite() error
}

// tcpWire is a connection over TCP or TLS.
type tcpWire struct{ net.Conn }

func (w *tcpWire) CloseWrite() error {
	switch c := w.Conn.(type) {
	case interface{ TCP() *net.TCPConn }:
		return c.TCP().CloseWrite()
	case interface{ CloseWrite() error }:
		return c.CloseWrite()
	}
	return nil
}

// webSocketWire is a connection over WebSocket. Messages of either kind are read as one stream of bytes, and each write is a text message.
type webSocketWire struct {
	net.Conn
	in      wsutil.Reader
	reading bool         // a message
	closing bool         // the client has sent a close frame
	pings   rate         // and frames without a payload
	onPing  func() error // called for each of them

	writing sync.Mutex // guards writes: pongs are written by the goroutine that reads
}

func newWebSocketWire(nc net.Conn, in *bufio.Reader) *webSocketWire {
	w := &webSocketWire{Conn: nc, onPing: func() error { return nil }}
	w.in = wsutil.Reader{Source: in, State: ws.StateServerSide, OnIntermediate: w.control}
	return w
}

// Read reads parts of messages. The decoder bounds what is kept of them.
func (w *webSocketWire) Read(p []byte) (int, error) {
	for {
		if w.reading {
			n, err := w.in.Read(p)
			if err == io.EOF {
				w.reading, err = false, nil
			}
			if n > 0 || err != nil {
				return n, err
			}
		}
		if w.closing {
			return 0, io.EOF
		}
		h, err := w.in.NextFrame()
		if err != nil {
			return 0, err
		}
		if !h.OpCode.IsControl() {
			if h.Length == 0 {
				if err := w.countPing(); err != nil {
					return 0, err
				}
			}
			w.reading = true
			continue
		}
		if err := w.control(h, &w.in); err != nil {
			return 0, err
		}
	}
}

// control answers a control frame, whose payload has at most 125 bytes.
func (w *webSocketWire) control(h ws.Header, body io.Reader) error {
	payload := make([]byte, h.Length)
	if _, err := io.ReadFull(body, payload); err != nil {
		return err
	}
	switch h.OpCode {
	case ws.OpPing:
		if err := w.countPing(); err != nil {
			return err
		}
		return w.write(ws.OpPong, payload)
	case ws.OpPong:
		return w.countPing()
	case ws.OpClose:
		w.closing = true
		return w.write(ws.OpClose, nil)
	}
	return nil
}

// countPing counts what brings nothing.
func (w *webSocketWire) countPing() error {
	if !w.pings.allow() {
		return errFlood
	}
	return w.onPing()
}

func (w *webSocketWire) Write(p []byte) (int, error) {
	if err := w.write(ws.OpText, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// write writes one frame.
func (w *webSocketWire) write(op ws.OpCode, p []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if err := w.Conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	b, err := ws.CompileFrame(ws.NewFrame(op, true, p))
	if err == nil {
		_, err = w.Conn.Write(b)
	}
	return err
}

func (w *webSocketWire) CloseWrite() error {
	return w.write(ws.OpClose, ws.NewCloseFrameBody(ws.StatusNormalClosure, ""))
}
