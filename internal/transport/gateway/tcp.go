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

// Without WebSocket, each frame is preceded by its length: four bytes in network order. Frames are in protobuf. The client's first frame has its
// credentials. WebSocket's own features do not exist: no fragments, pings, close frames or compression.

// lengthSize is the size of a length.
const lengthSize = 4

// refuseTime is how long writing the reason to a refused connection may take.
const refuseTime = time.Second

// ServeTCP serves a connection whose frames are preceded by their length. Its first frame has the credentials. slot counts the connection until then; the gateway
// releases it. ServeTCP does not wait for the client, unless the connection is refused.
func (s *Server) ServeTCP(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot) {
	s.servePrefixed(nc, &conn{prefixed: true, network: network, slot: slot})
}

// ServeTranslator is ServeTCP for a client in this process that translates another protocol. Its syncs acknowledge nothing, because its own client
// has not yet received what the translator has read.
func (s *Server) ServeTranslator(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot) {
	s.servePrefixed(nc, &conn{prefixed: true, keepsAck: true, network: network, slot: slot})
}

// servePrefixed serves a connection, unless the server accepts no more.
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

// appendHeader appends the header of a frame of n bytes.
func (c *conn) appendHeader(b []byte, op byte, n int) []byte {
	if c.prefixed {
		return binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return appendHeader(b, op, n, false)
}
