package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gobwas/ws"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// socket is a minimal client of the protobuf subprotocol of WebSocket, or of sockets over TCP.
type socket struct {
	net      net.Conn
	in       *bufio.Reader
	big      []byte // for frames larger than the buffer
	out      []byte
	prefixed bool // over TCP: frames have their length before them
	text     bool // of WebSocket: frames are texts
}

// dialTCP opens a socket over TCP, and sends the token in the first frame.
func dialTCP(ctx context.Context, address string, secure bool, token string, from net.IP, buffer int) (*socket, error) {
	nc, err := dialNet(ctx, address, secure, from)
	if err != nil {
		return nil, err
	}
	s := &socket{net: nc, in: bufio.NewReaderSize(nc, buffer), prefixed: true}
	first, err := proto.Marshal(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: token}})
	if err == nil {
		err = s.write(first)
	}
	if err != nil {
		_ = nc.Close() // the first error is reported
		return nil, fmt.Errorf("socket: %w", err)
	}
	return s, nil
}

// dial opens a socket with an access token, from a given loopback address if from is set.
func dial(ctx context.Context, base, token string, from net.IP, buffer int) (*socket, error) {
	return dialWebSocket(ctx, base, "rialto.v1.proto", token, from, buffer)
}

// dialWebSocket is dial with a subprotocol.
func dialWebSocket(ctx context.Context, base, protocol, token string, from net.IP, buffer int) (*socket, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.Path = "/v1/socket"
	nd := net.Dialer{}
	if from != nil {
		nd.LocalAddr = &net.TCPAddr{IP: from}
	}
	d := ws.Dialer{Protocols: []string{protocol}, Header: ws.HandshakeHeaderHTTP(http.Header{"Authorization": {"Bearer " + token}}),
		NetDial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return nd.DialContext(ctx, network, address)
		}}
	retry := time.Duration(0)
	d.OnStatusError = func(_ int, _ []byte, answer io.Reader) { retry = retryAfter(answer) }
	nc, ahead, _, err := d.Dial(ctx, u.String())
	if err != nil {
		if refused := ws.StatusError(0); errors.As(err, &refused) && refused == http.StatusServiceUnavailable {
			err = &lostError{cause: err, retry: retry}
		}
		return nil, fmt.Errorf("socket: %w", err)
	}
	s := &socket{net: nc}
	if ahead != nil && ahead.Buffered() > 0 {
		p, err := ahead.Peek(ahead.Buffered())
		if err != nil {
			return nil, err
		}
		first := append([]byte(nil), p...)
		s.in = bufio.NewReaderSize(io.MultiReader(newSingleRead(first), nc), buffer)
	} else {
		s.in = bufio.NewReaderSize(nc, buffer)
	}
	return s, nil
}

// retryAfter is how long the answer to a handshake asks to wait.
func retryAfter(answer io.Reader) time.Duration {
	r, err := http.ReadResponse(bufio.NewReader(answer), nil)
	if err != nil {
		return 0 // the refusal itself is reported
	}
	_ = r.Body.Close() // its connection is closed by the dialer
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// singleRead returns its bytes once.
type singleRead struct{ b []byte }

func newSingleRead(b []byte) *singleRead { return &singleRead{b} }

func (o *singleRead) Read(p []byte) (int, error) {
	if len(o.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.b)
	o.b = o.b[n:]
	return n, nil
}

var errClosed = errors.New("the server closed the connection")

// next returns the payload of the next frame, valid until the next call.
func (s *socket) next() ([]byte, error) {
	for {
		if s.prefixed {
			return s.nextPrefixed()
		}
		head, err := s.in.Peek(2)
		if err != nil {
			return nil, &lostError{cause: err}
		}
		op, n, size := head[0], uint64(head[1]&0x7f), 2
		if n >= 126 {
			size = 4
			if n == 127 {
				size = 10
			}
			if head, err = s.in.Peek(size); err != nil {
				return nil, &lostError{cause: err}
			}
			if size == 4 {
				n = uint64(binary.BigEndian.Uint16(head[2:]))
			} else {
				n = binary.BigEndian.Uint64(head[2:])
			}
		}
		if _, err := s.in.Discard(size); err != nil {
			return nil, err
		}
		if n > 64<<20 {
			return nil, errors.New("the server sent a frame of over 64 MiB")
		}
		p, err := s.payload(int(n))
		if err != nil {
			return nil, &lostError{cause: err}
		}
		switch op & 15 {
		case 1, 2:
			if (op&15 == 1) != s.text {
				return nil, errWire
			}
			return p, nil
		case 8:
			if len(p) >= 2 {
				code, err := binary.BigEndian.Uint16(p), fmt.Errorf("%w: %d %s", errClosed, binary.BigEndian.Uint16(p), p[2:])
				if code >= stayAway {
					return nil, err
				}
				return nil, &lostError{cause: err}
			}
			return nil, &lostError{cause: errClosed}
		}
	}
}

// nextPrefixed is next over TCP.
func (s *socket) nextPrefixed() ([]byte, error) {
	head, err := s.in.Peek(4)
	if err != nil {
		return nil, &lostError{cause: err}
	}
	n := binary.BigEndian.Uint32(head)
	if n > 64<<20 {
		return nil, errors.New("the server sent a frame of over 64 MiB")
	}
	if _, err := s.in.Discard(4); err != nil {
		return nil, err
	}
	p, err := s.payload(int(n))
	if err != nil {
		return nil, &lostError{cause: err}
	}
	return p, nil
}

// errBadToken is the goodbye to a token that is not valid, or has expired.
var errBadToken = errors.New("the server does not accept the token")

// closeAuth is the code of that goodbye.
const closeAuth = 4101

func (s *socket) setDeadline(at time.Time) error { return s.net.SetDeadline(at) }

func (s *socket) close() error { return s.net.Close() }

func (s *socket) payload(n int) ([]byte, error) {
	if n <= s.in.Size() {
		p, err := s.in.Peek(n)
		if err != nil {
			return nil, err
		}
		_, err = s.in.Discard(n) // p stays valid until the next read
		return p, err
	}
	if cap(s.big) < n {
		s.big = make([]byte, n)
	}
	p := s.big[:n]
	_, err := io.ReadFull(s.in, p)
	return p, err
}

// write sends a payload as one frame. The mask is zero, which leaves the bytes unchanged.
func (s *socket) write(payload []byte) error {
	b := s.out[:0]
	if s.prefixed {
		s.out = append(binary.BigEndian.AppendUint32(b, uint32(len(payload))), payload...)
		_, err := s.net.Write(s.out)
		return err
	}
	if s.text {
		b = append(b, 0x81)
	} else {
		b = append(b, 0x82)
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(append(b, 0, 0, 0, 0), payload...)
	s.out = b
	_, err := s.net.Write(b)
	return err
}

var errWire = errors.New("the server sent invalid protobuf")

// cursor iterates over the fields of a message without allocation.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) next() (field int, v uint64, p []byte, ok bool) {
	if len(c.b) == 0 {
		return 0, 0, nil, false
	}
	t := c.b[0]
	k := 1
	tag := uint64(t)
	if t >= 0x80 {
		tag, k = binary.Uvarint(c.b)
	}
	if k > 0 {
		c.b = c.b[k:]
		v, k = binary.Uvarint(c.b)
	}
	if k <= 0 {
		c.bad = true
		return 0, 0, nil, false
	}
	c.b = c.b[k:]
	switch tag & 7 {
	case 0:
	case 2:
		if v > uint64(len(c.b)) {
			c.bad = true
			return 0, 0, nil, false
		}
		p, c.b = c.b[:v], c.b[v:]
	default:
		c.bad = true
		return 0, 0, nil, false
	}
	return int(tag >> 3), v, p, true
}

// fields reads two numeric fields and a bytes field of a message. Absent fields are zero.
func fields(b []byte, first, second, bytes int) (v1, v2 uint64, p []byte, err error) {
	cur := cursor{b: b}
	for {
		field, v, payload, ok := cur.next()
		if !ok {
			break
		}
		switch field {
		case first:
			v1 = v
		case second:
			v2 = v
		case bytes:
			p = payload
		}
	}
	if cur.bad {
		return 0, 0, nil, errWire
	}
	return v1, v2, p, nil
}
