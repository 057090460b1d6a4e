package stomp

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	writeTime  = 30 * time.Second // for which a client may take nothing
	lingerTime = 2 * time.Second  // for which a client that was told the end may still send
	maxLinger  = 1 << 20          // bytes that it may send
	chunkSize  = 16 << 10         // of an incomplete frame, or its rest, must come every chunkTime
	chunkTime  = 30 * time.Second
	tickTime   = 2 * time.Second // of acknowledgements and heartbeats
	maxFrames  = 1000            // frames a second that are no messages
	maxAnswer  = 64 << 20        // of a frame of the gateway
)

// Heartbeats of the server: it can send one each ourHeartbeat, and wants one as often.
const ourHeartbeat = 5 * time.Second

var (
	errSilent     = &errs.Error{Kind: errs.Unavailable, Reason: "bad_stomp", Message: "no heartbeat came in twice the negotiated time; reconnect"}
	errIncomplete = &errs.Error{Kind: errs.Unavailable, Reason: "bad_stomp", Message: "an incomplete frame brought less than 16 KiB in 30 seconds; reconnect"}
	errFlood      = badFrame("more than 1,000 frames that are neither SEND nor ACK in a second")
	errLost       = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server ended the connection; reconnect", Retry: time.Second}
)

// rate counts what happens in a second.
type rate struct {
	second int64
	count  int
}

// allow counts one more, and reports whether that may be.
func (r *rate) allow() bool {
	if now := time.Now().Unix(); now != r.second {
		r.second, r.count = now, 0
	}
	r.count++
	return r.count <= maxFrames
}

// session is one client's connection.
type session struct {
	server  *Server
	client  wire
	gateway net.Conn // our end of the pipe
	network netip.Prefix
	ready   chan struct{} // closed once the gateway has greeted
	refused chan struct{} // closed when the gateway has ended the connection
	ended   chan struct{} // closed when the client is not read any more
	wake    chan struct{} // something is to be requested of the gateway

	// Of the goroutine that reads the client.
	in         decoder
	held       budget.Hold
	out        []byte    // for the gateway
	frames     rate      // that are no messages
	incomplete time.Time // since when a frame is incomplete and brings less than chunkSize
	brought    int       // bytes of that frame then

	mu        sync.Mutex // guards what follows, and writing to the client
	over      bool       // the client was told the end, or is gone
	connected bool       // CONNECT was sent to the gateway
	caller    id.Caller  // set before ready is closed
	beats     heartbeats
	requests  uint64 // the number of the last one
	pending   map[sendID][]*pendingSend
	calls     map[uint64]subscribing // checks of subscriptions
	leaving   *leaving
	stream
}

// heartbeats are the negotiated intervals; 0 without.
type heartbeats struct {
	client, server time.Duration
	gateway        time.Duration // that the gateway wants
	written        time.Time     // when the client was last written
}

// sendID is how the client names a message.
type sendID struct {
	conversation uint64
	id           string
}

// pendingSend is a message without a receipt of the gateway.
type pendingSend struct{ receipt string }

// leaving is a DISCONNECT: its receipt is sent when all before it is done.
type leaving struct {
	receipt string
	request uint64 // of the ping that follows all frames
	ponged  bool
}

func newSession(s *Server, client wire, gateway net.Conn, network netip.Prefix) *session {
	return &session{server: s, client: client, gateway: gateway, network: network, ready: make(chan struct{}), refused: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		pending: map[sendID][]*pendingSend{}, calls: map[uint64]subscribing{}}
}

// run serves the session until the client or the gateway ends it.
func (s *session) run() {
	var group sync.WaitGroup
	group.Go(s.deliver)
	group.Go(s.request)
	s.read()
	close(s.ended)
	s.cut()
	group.Wait()
	s.held.Release()
}

// cut ends the session at once.
func (s *session) cut() {
	_ = s.gateway.Close() // a pipe's never fails
	_ = s.client.Close()  // the client may have gone
}

// read reads the client.
func (s *session) read() {
	buf := make([]byte, 4096)
	after := 0 // bytes after the end
	for after < maxLinger {
		if !s.setDeadline() {
			return
		}
		n, err := s.client.Read(buf)
		switch {
		case s.isOver():
			after += n
		case n > 0:
			if err := s.input(buf[:n]); err != nil {
				s.fail(err, "")
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && !s.isOver():
			if s.incomplete.IsZero() {
				s.fail(errSilent, "")
			} else {
				s.fail(errIncomplete, "")
			}
		default:
			return
		}
	}
}

func (s *session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// setDeadline sets how long the next read may take.
func (s *session) setDeadline() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return true // it is set
	}
	at := time.Time{} // the gateway has a deadline for credentials, and the network finds clients that have gone
	if s.beats.client > 0 {
		at = time.Now().Add(2 * s.beats.client)
	}
	if !s.incomplete.IsZero() && (at.IsZero() || s.incomplete.Add(chunkTime).Before(at)) {
		at = s.incomplete.Add(chunkTime)
	}
	return s.client.SetReadDeadline(at) == nil
}

// input handles bytes of the client.
func (s *session) input(p []byte) error {
	s.in.feed(p)
	complete := false
	for {
		f, err := s.in.next()
		if err != nil {
			return err
		}
		if f == nil {
			break
		}
		complete = true
		if err := s.handle(f); err != nil {
			_ = s.flush() // what came before it is executed; the session ends anyway
			s.fail(err, f.get("receipt"))
			return nil
		}
		if s.isOver() {
			return nil
		}
	}
	for ; s.in.beats > 0; s.in.beats-- {
		if err := s.chargeEmpty(); err != nil {
			return err
		}
	}
	if err := s.flush(); err != nil && !s.isOver() {
		return errLost
	}
	if s.in.incomplete() > maxHead && !s.isReady() { // it has a body, of a client that is not known
		s.mu.Lock()
		connected := s.connected
		s.mu.Unlock()
		if !connected {
			return errFirst
		}
		if err := s.await(); err != nil {
			return err
		}
	}
	s.trackIncomplete(complete)
	memory, owner := s.server.deps.Input.Unauthenticated, budget.Owner{Network: s.network}
	if s.isReady() {
		memory, owner = s.server.deps.Input.Authenticated, budget.Owner{User: uint64(s.caller.User), Network: s.network}
	}
	if !s.held.Set(memory, owner, cap(s.in.buf)) {
		return inputlimit.ErrBusy
	}
	return nil
}

// flush writes what is for the gateway. It waits while the gateway does not read from this client.
func (s *session) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.gateway.Write(s.out)
	if s.out = s.out[:0]; cap(s.out) > 64<<10 {
		s.out = nil
	}
	return err
}

func (s *session) isReady() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// trackIncomplete notes since when a frame is incomplete and brings less than chunkSize.
func (s *session) trackIncomplete(complete bool) {
	n := s.in.incomplete()
	switch {
	case n == 0:
		s.incomplete = time.Time{}
	case complete || s.incomplete.IsZero() || n-s.brought >= chunkSize:
		s.incomplete, s.brought = time.Now(), n
	}
}

// toGateway appends a frame for the gateway to b.
func toGateway(b []byte, f *gatewayv1.ClientFrame) ([]byte, error) {
	at := len(b)
	b, err := proto.MarshalOptions{}.MarshalAppend(append(b, 0, 0, 0, 0), f)
	if err != nil {
		return b[:at], errs.Wrap(errs.Invalid, "bad_stomp", "the frame has text that is not UTF-8", err)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b, nil
}

// write writes to the client. The caller holds mu.
func (s *session) write(b []byte) {
	if s.over || len(b) == 0 {
		return
	}
	s.beats.written = time.Now()
	err := s.client.SetWriteDeadline(s.beats.written.Add(writeTime))
	if err == nil {
		_, err = s.client.Write(b)
	}
	if err != nil { // it has gone, or takes nothing
		s.over = true
		s.cut()
	}
}

// end says a last frame, if there is one, and ends the session. The caller holds mu.
func (s *session) end(last []byte) {
	s.write(last)
	if s.over {
		return
	}
	s.over = true
	_ = s.gateway.Close()
	if s.client.CloseWrite() != nil || s.client.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		_ = s.client.Close() // it has gone
	}
}

// fail ends the session with an ERROR. receipt is that of the frame that caused it, if any.
func (s *session) fail(err error, receipt string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err, receipt)
}

// failLocked is fail for a caller that holds mu.
func (s *session) failLocked(err error, receipt string) {
	e := errs.Of(err)
	s.endWith(receipt, &gatewayv1.Error{Code: e.Kind.String(), Reason: e.Reason, Message: e.Message, RetryMs: uint32(min(e.Retry.Milliseconds(), 1<<31))})
}

// endWith ends the session with an ERROR. The caller holds mu.
func (s *session) endWith(receipt string, e *gatewayv1.Error, more ...header) {
	retry := ""
	if e.RetryMs > 0 {
		retry = strconv.FormatUint(uint64(e.RetryMs), 10)
	}
	headers := append([]header{{"message", e.Message}, {"receipt-id", receipt}, {"code", e.Code}, {"reason", e.Reason}, {"retry-ms", retry}, {"version", "1.2"}, {"content-type", "text/plain"}}, more...)
	s.end(appendFrame(nil, &frame{command: "ERROR", headers: headers, body: []byte(e.Message)}))
}

// receipt says that a frame is done. The caller holds mu.
func (s *session) receipt(of string, more ...header) {
	if of != "" {
		s.write(appendFrame(nil, &frame{command: "RECEIPT", headers: append([]header{{"receipt-id", of}}, more...)}))
	}
}

// request sends to the gateway what the session itself wants of it, and heartbeats to both sides.
func (s *session) request() {
	select {
	case <-s.ready:
	case <-s.ended:
		return
	}
	s.mu.Lock()
	every := max(min(tickTime, s.beats.gateway/2), 50*time.Millisecond)
	s.mu.Unlock()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		frames := &gatewayv1.ClientFrame{}
		select {
		case <-s.wake:
		case <-tick.C:
			frames.Ping = &gatewayv1.Ping{}
			s.heartbeat(every)
		case <-s.ended:
			return
		}
		s.addRequests(frames)
		b, err := toGateway(nil, frames)
		if err == nil {
			_, err = s.gateway.Write(b)
		}
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			s.fail(err, "")
		}
	}
}

// heartbeat sends a heartbeat to the client, if one would be due before the next tick.
func (s *session) heartbeat(tick time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if every := s.beats.server; every > 0 && time.Since(s.beats.written)+tick >= every {
		s.write([]byte("\n"))
	}
}

// signal has the requests sent. The caller holds mu.
func (s *session) signal() { wakeup.Signal(s.wake) }
