package gateway

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Without WebSocket, four bytes with the length of a frame, in network order, are before it. Frames are in protobuf. The connection begins with
// the client's first frame, which has its credentials, and has no frames of WebSocket: no fragments, pings, close frames or compression.

// lengthSize is the size of a length.
const lengthSize = 4

// refuseTime is how long the reason of a refused connection may take to write.
const refuseTime = time.Second

// ServeTCP serves a connection whose frames have their length before them. Its first frame brings the credentials; slot counts it until then, and is
// the gateway's from here on. It does not wait for the client, unless the connection is refused.
func (s *Server) ServeTCP(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot) {
	s.servePrefixed(nc, &conn{prefixed: true, network: network, slot: slot})
}

// ServeTranslator is ServeTCP for a client in this process that translates another protocol: its syncs acknowledge nothing, because what it has read
// is not yet what its own client has.
func (s *Server) ServeTranslator(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot) {
	s.servePrefixed(nc, &conn{prefixed: true, keepsAck: true, network: network, slot: slot})
}

// servePrefixed serves a connection, unless the server takes no more.
func (s *Server) servePrefixed(nc net.Conn, c *conn) {
	c.slot.Detach()
	err, code := s.checkAddress(c.network), uint32(closeAuth)
	if err == nil {
		err, code = s.admit(), closeDrain
	}
	if err != nil {
		s.stats.Refused.Add(1)
		e := errorOf(err)
		// The client may have gone; all that it could learn is the reason.
		if b, err := proto.Marshal(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: code, Reason: e.Message, RetryMs: e.RetryMs}}); err == nil && nc.SetWriteDeadline(time.Now().Add(refuseTime)) == nil {
			_, _ = nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
		}
		_ = nc.Close()
		c.slot.Release()
		return
	}
	s.open(nc, nil, c)
}

// cutFrame cuts the first frame off b. ok is false if b does not have a complete one yet; need is then its total number of bytes, 0 if unknown.
func cutFrame(b []byte, most int) (frame, rest []byte, ok bool, need int, err error) {
	if len(b) < lengthSize {
		return nil, b, false, 0, nil
	}
	n := binary.BigEndian.Uint32(b)
	if n > uint32(most) {
		return nil, nil, false, 0, tooLarge(most)
	}
	end := lengthSize + int(n)
	if len(b) < end {
		return nil, b, false, end, nil
	}
	return b[lengthSize:end:end], b[end:], true, 0, nil
}

// appendHeader appends what is before a frame of n bytes.
func (c *conn) appendHeader(b []byte, op byte, n int) []byte {
	if c.prefixed {
		return binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return appendHeader(b, op, n, false)
}
