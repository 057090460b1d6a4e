package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/proxyheader"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// bindSockets opens the listeners that do not speak HTTP.
func (n *Node) bindSockets(ctx context.Context) (err error) {
	if n.config.TLS.Cert != "" {
		pair, err := tls.LoadX509KeyPair(n.config.TLS.Cert, n.config.TLS.Key)
		if err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		n.certificate = &pair
	}
	if n.tcpListener, err = n.listenSockets(ctx, "tcp.listen", n.config.TCP.Listen); err != nil {
		return err
	}
	n.stompListener, err = n.listenSockets(ctx, "stomp.listen", n.config.Stomp.Listen)
	return err
}

// listenSockets binds the address of a setting, if there is one.
func (n *Node) listenSockets(ctx context.Context, name, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, n.explainListen(name, address, err)
	}
	n.closers = append(n.closers, closeListener(l))
	return l, nil
}

// TCPAddress on which the node listens for sockets without WebSocket, if it does.
func (n *Node) TCPAddress() net.Addr { return n.tcpListener.Addr() }

// StompAddress on which the node listens for STOMP over TCP, if it does.
func (n *Node) StompAddress() net.Addr { return n.stompListener.Addr() }

// acceptPause is the wait after an error that does not concern later connections.
const acceptPause = 100 * time.Millisecond

// isTemporary reports whether a later connection may be accepted after the error: this one was gone, or there was no descriptor or memory for it.
func isTemporary(err error) bool {
	for _, known := range []error{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// handshakeTime is how long a client may take for the handshake of TLS.
const handshakeTime = 10 * time.Second

// socketListener serves connections that do not speak HTTP, with the limits of countingListener.
type socketListener struct {
	listener *countingListener
	proxies  bool        // trusted proxies begin each connection with a header of the PROXY protocol
	tls      *tls.Config // nil: without TLS
	// serve takes over a connection, whose client has the network and is counted by the slot until it is authenticated. It does not block for long.
	serve func(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot)

	headerTime     time.Duration // how long a proxy may take for its header
	name           string
	logger         *slog.Logger
	refusedHeaders sync.Once // the log says once that a header is missing
}

// startSockets serves connections on a listener as a part of the stack.
func (n *Node) startSockets(name string, l net.Listener, proxies bool, serve func(net.Conn, netip.Prefix, *inputlimit.Slot)) {
	s := &socketListener{listener: &countingListener{l, n.unauthenticated, n.config.Plaintext, n.open, n.admission}, proxies: proxies, serve: serve, headerTime: handshakeTime, name: name, logger: n.logger}
	if n.certificate != nil {
		s.tls = &tls.Config{Certificates: []tls.Certificate{*n.certificate}}
	}
	n.stack.Start(name, s.run)
}

// run accepts connections until ctx ends. It returns when no handshake is in progress.
func (s *socketListener) run(ctx context.Context) error {
	var handshakes sync.WaitGroup
	defer handshakes.Wait()
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() }) // ends Accept, which reports what is wrong
	defer stop()
	for {
		nc, err := s.listener.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil && errors.Is(err, net.ErrClosed):
			return nil
		case isTemporary(err):
			if backoff.Sleep(ctx, acceptPause) != nil {
				return nil
			}
			continue
		default:
			return err
		}
		own, counted := nc.(*countedConn)
		if !counted {
			_ = nc.Close() // a listener of TCP has no other ones
			continue
		}
		network := s.listener.network(own)
		proxied := s.proxies && s.isTrustedProxy(own.RemoteAddr())
		if s.tls == nil && !proxied {
			s.serve(own, network, own.slot)
			continue
		}
		handshakes.Go(func() { s.begin(ctx, own, network, proxied) })
	}
}

// begin reads the header of a proxy, makes the handshake of TLS, or both, and has the connection served.
func (s *socketListener) begin(ctx context.Context, own *countedConn, network netip.Prefix, proxied bool) {
	if proxied {
		var err error
		if network, err = s.readProxyHeader(ctx, own); err != nil {
			if !errors.Is(err, errFromOneAddress) && ctx.Err() == nil {
				s.refusedHeaders.Do(func() {
					s.logger.Warn("a connection of a proxy began without a header of the PROXY protocol, and was closed: let the proxy send it (send-proxy-v2), or turn proxy_protocol off for this listener", "listener", s.name, "peer", own.RemoteAddr().String(), "error", err)
				})
			}
			_ = own.Close() // what the proxy sees of it
			return
		}
	}
	if s.tls != nil {
		s.handshake(ctx, own, network)
		return
	}
	s.serve(own, network, own.slot)
}

// isTrustedProxy reports whether a peer may say where its connections come from. They are those whose X-Forwarded-For is trusted: programs on this machine,
// and with plaintext all peers. Of others, a header is no frame of the protocol that follows, which ends the connection.
func (s *socketListener) isTrustedProxy(peer net.Addr) bool {
	at, err := netip.ParseAddrPort(peer.String())
	return err == nil && (s.listener.proxied || at.Addr().Unmap().IsLoopback())
}

var errFromOneAddress = errors.New("too many connections without credentials come from the client's address")

// readProxyHeader reads the header with which a trusted proxy begins a connection, and counts the connection for the network that it names. A connection
// without one fails: else the clients of a proxy that sends none could write it.
func (s *socketListener) readProxyHeader(ctx context.Context, own *countedConn) (netip.Prefix, error) {
	if err := own.SetReadDeadline(time.Now().Add(s.headerTime)); err != nil {
		return netip.Prefix{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = own.SetReadDeadline(time.Unix(1, 0)) }) // it may be closed already
	client, err := proxyheader.Read(own)
	if !stop() {
		return netip.Prefix{}, context.Cause(ctx)
	}
	if err == nil {
		err = own.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	network := netip.Prefix{} // of the proxy's own connections, and of this machine
	if client.IsValid() {
		network = ratelimit.Network(client.String(), nil, false)
	}
	slot, ok := s.listener.unauthenticated.Acquire(network)
	if !ok {
		return netip.Prefix{}, errFromOneAddress
	}
	own.slot.Release()
	own.slot = slot
	return network, nil
}

// handshake makes the handshake of TLS, and has the connection served.
func (s *socketListener) handshake(ctx context.Context, own *countedConn, network netip.Prefix) {
	within, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	over := tls.Server(own, s.tls)
	if err := over.HandshakeContext(within); err != nil {
		_ = own.Close() // also what the client sees of a failed handshake
		return
	}
	s.serve(over, network, own.slot)
}
