package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
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
		return nil, explainListen(name, address, err)
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
	tls      *tls.Config // nil: without TLS
	// serve takes over a connection, whose client has the network and is counted by the slot until it is authenticated. It does not block for long.
	serve func(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot)
}

// startSockets serves connections on a listener as a part of the stack.
func (n *Node) startSockets(name string, l net.Listener, serve func(net.Conn, netip.Prefix, *inputlimit.Slot)) {
	s := &socketListener{listener: &countingListener{l, n.unauthenticated, n.config.Plaintext, n.open, n.admission}, serve: serve}
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
		if s.tls == nil {
			s.serve(own, network, own.slot)
			continue
		}
		handshakes.Go(func() { s.handshake(ctx, own, network) })
	}
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
