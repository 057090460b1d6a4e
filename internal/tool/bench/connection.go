package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// connection carries the frames of sockets, in protobuf, between a client and the server. A client is the same over each protocol: what a protocol has in
// place of a frame, its connection translates.
type connection interface {
	// next returns the next ServerFrame, valid until the next call. A frame without bytes only shows that the server is there.
	next() ([]byte, error)
	// write sends a ClientFrame, and does not keep it. Only one goroutine at a time writes.
	write(payload []byte) error
	// setDeadline says by when something must come; a zero time means no deadline.
	setDeadline(at time.Time) error
	close() error
}

// The protocols of --protocol.
const (
	protocolWS     = "ws"
	protocolWSJSON = "ws-json"
	protocolTCP    = "tcp"
	protocolStomp  = "stomp"
	protocolSSE    = "sse"
	protocolPoll   = "poll"
)

var protocols = []string{protocolWS, protocolWSJSON, protocolTCP, protocolStomp, protocolSSE, protocolPoll}

// needsSockets reports whether a protocol has a listener of its own.
func needsSockets(protocol string) bool { return protocol == protocolTCP || protocol == protocolStomp }

// isSocket reports whether a protocol has the frames of sockets.
func isSocket(protocol string) bool {
	return protocol == protocolWS || protocol == protocolWSJSON || protocol == protocolTCP
}

// checkProtocol checks the flags --protocol and --sockets.
func checkProtocol(protocol, sockets, addresses string) error {
	switch {
	case !slices.Contains(protocols, protocol):
		return fmt.Errorf("--protocol is one of %s, not %q", strings.Join(protocols, ", "), protocol)
	case needsSockets(protocol) != (sockets != "") || sockets != "" && len(urls(sockets)) != len(urls(addresses)):
		return fmt.Errorf("--protocol tcp and stomp need --sockets with one address for each of --url; with the others there is none")
	}
	return nil
}

// dialer opens connections of one protocol.
type dialer struct {
	protocol string
	sockets  []string     // for tcp and stomp: the address of each endpoint's listener
	http     *http.Client // for sse and poll
}

// newDialer returns a dialer. connections is how many it opens.
func newDialer(protocol, sockets string, connections int) *dialer {
	d := &dialer{protocol: protocol, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * connections}}}
	if sockets != "" {
		d.sockets = urls(sockets)
	}
	return d
}

// destination is what a connection is opened to, and from where.
type destination struct {
	endpoint *endpoint
	index    int // of the endpoint
	token    string
	after    uint64 // position after which STOMP, event streams and long polls begin; 0: the end of the stream
	from     net.IP // a loopback address, or nil; for sockets only
	buffer   int
}

// open opens a connection. Its first frame is Hello, which it has not read yet. ctx is for opening only.
func (d *dialer) open(ctx context.Context, to destination) (connection, error) {
	secure := strings.HasPrefix(to.endpoint.url, "https:")
	switch d.protocol {
	case protocolTCP:
		return orNil(dialTCP(ctx, d.sockets[to.index], secure, to.token, to.from, to.buffer))
	case protocolStomp:
		return orNil(dialStomp(ctx, d.sockets[to.index], secure, to))
	case protocolWSJSON:
		s, err := dialWebSocket(ctx, to.endpoint.url, "rialto.v1.json", to.token, to.from, to.buffer)
		if err != nil {
			return nil, err
		}
		s.text = true
		return &jsonSocket{s}, nil
	case protocolSSE:
		return orNil(dialEvents(ctx, d.http, to))
	case protocolPoll:
		return newPolling(d.http, to), nil
	}
	return orNil(dial(ctx, to.endpoint.url, to.token, to.from, to.buffer))
}

// orNil returns a connection, or a nil interface with an error.
func orNil[C connection](c C, err error) (connection, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// readHello reads the first frame.
func readHello(c connection) (*gatewayv1.Hello, error) {
	p, err := c.next()
	if err != nil {
		return nil, err
	}
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(p, &f); err != nil {
		return nil, err
	}
	if f.Bye.GetCode() == closeAuth {
		return nil, fmt.Errorf("%w: %s", errBadToken, f.Bye.Reason)
	}
	if f.Hello == nil {
		return nil, fmt.Errorf("the first frame is not Hello: %v", &f)
	}
	return f.Hello, nil
}
