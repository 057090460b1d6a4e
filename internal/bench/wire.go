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

	"github.com/gobwas/ws"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// socket is a lean WebSocket client of the protobuf subprotocol.
type socket struct {
	net net.Conn
	in  *bufio.Reader
	big []byte // of frames larger than the buffer
	out []byte
}

// dial opens a socket with an access token, from a loopback address of its own where one is given.
func dial(ctx context.Context, base, token string, from net.IP, buffer int) (*socket, error) {
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
	d := ws.Dialer{Protocols: []string{"rialto.v1.proto"}, Header: ws.HandshakeHeaderHTTP(http.Header{"Authorization": {"Bearer " + token}}),
		NetDial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return nd.DialContext(ctx, network, address)
		}}
	nc, ahead, _, err := d.Dial(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	s := &socket{net: nc}
	if ahead != nil && ahead.Buffered() > 0 {
		p, err := ahead.Peek(ahead.Buffered())
		if err != nil {
			return nil, err
		}
		first := append([]byte(nil), p...)
		s.in = bufio.NewReaderSize(io.MultiReader(newOnce(first), nc), buffer)
	} else {
		s.in = bufio.NewReaderSize(nc, buffer)
	}
	return s, nil
}

// once reads its bytes, once.
type once struct{ b []byte }

func newOnce(b []byte) *once { return &once{b} }

func (o *once) Read(p []byte) (int, error) {
	if len(o.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.b)
	o.b = o.b[n:]
	return n, nil
}

var errClosed = errors.New("the server closed the connection")

// next gives the next frame's payload, good until the next call.
func (s *socket) next() ([]byte, error) {
	for {
		head, err := s.in.Peek(2)
		if err != nil {
			return nil, err
		}
		op, n, size := head[0], uint64(head[1]&0x7f), 2
		if n >= 126 {
			size = 4
			if n == 127 {
				size = 10
			}
			if head, err = s.in.Peek(size); err != nil {
				return nil, err
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
			return nil, err
		}
		switch op & 15 {
		case 2:
			return p, nil
		case 8:
			if len(p) >= 2 {
				return nil, fmt.Errorf("%w: %d %s", errClosed, binary.BigEndian.Uint16(p), p[2:])
			}
			return nil, errClosed
		}
	}
}

// hello reads the first frame.
func (s *socket) hello() (*gatewayv1.Hello, error) {
	p, err := s.next()
	if err != nil {
		return nil, err
	}
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(p, &f); err != nil {
		return nil, err
	}
	if f.Hello == nil {
		return nil, fmt.Errorf("the first frame is not Hello: %v", &f)
	}
	return f.Hello, nil
}

func (s *socket) payload(n int) ([]byte, error) {
	if n <= s.in.Size() {
		p, err := s.in.Peek(n)
		if err != nil {
			return nil, err
		}
		_, err = s.in.Discard(n) // p stays as it is until the next read
		return p, err
	}
	if cap(s.big) < n {
		s.big = make([]byte, n)
	}
	p := s.big[:n]
	_, err := io.ReadFull(s.in, p)
	return p, err
}

// write sends a payload as one frame. The mask is zero, which leaves the bytes as they are.
func (s *socket) write(payload []byte) error {
	b := append(s.out[:0], 0x82)
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

var errWire = errors.New("the server sent what is not protobuf")

// cursor walks over the fields of a message without calls.
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
