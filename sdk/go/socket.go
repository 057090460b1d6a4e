package rialto

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// socket is an open connection.
type socket struct {
	conn *websocket.Conn
	ctx  context.Context
	fail context.CancelCauseFunc

	frames   chan frame    // what readLoop reads
	received chan struct{} // a frame arrived
	reading  atomic.Bool   // the reader waits for a frame

	retries int          // tries to connect that failed before this one
	pingAt  atomic.Int64 // Unix ns of the ping that is not answered; 0 for none
	rtt     atomic.Int64 // of the last ping that was answered, ns

	run        context.Context // of Run
	mode       chan struct{}   // the client went to the background, or came back
	background atomic.Bool     // the app is in the background
	wroteAt    atomic.Int64    // Unix ns of the last write, 0: none
	sentAt     atomic.Int64    // likewise of one that was no ping
	gotAt      atomic.Int64    // likewise of the last frame that came

	sendsMarks bool // of Client.mu: marks go at once, since the stream is known up to its end

	retry   chan struct{} // resend refused messages, at retryAt
	retryAt atomic.Int64  // Unix ns

	queued chan struct{} // a frame is in queue
	mu     sync.Mutex    // guards queue
	queue  []*gatewayv1.ClientFrame
}

// maxQueuedFrames closes the connection: the server does not read.
const maxQueuedFrames = 4096

// enqueue queues a frame for writeLoop. It does not wait for the server: the reader calls it, and a server whose frames are not read
// does not read either.
func (s *socket) enqueue(f *gatewayv1.ClientFrame) {
	s.mu.Lock()
	if n := len(s.queue); n > 0 && isAck(s.queue[n-1]) && isAck(f) {
		s.queue[n-1] = f
	} else {
		s.queue = append(s.queue, f)
	}
	over := len(s.queue) > maxQueuedFrames
	s.mu.Unlock()
	if over {
		s.fail(errors.New("rialto: the server does not read"))
	}
	select {
	case s.queued <- struct{}{}:
	default:
	}
}

// isAck reports whether a frame has only an acknowledgement. A later one replaces it.
func isAck(f *gatewayv1.ClientFrame) bool {
	return f.Ack != nil && len(f.Sends) == 0 && len(f.Marks) == 0 && f.Watch == nil && f.Typing == 0 && f.Ping == nil
}

// writeLoop writes the queued frames.
func (s *socket) writeLoop() {
	for s.ctx.Err() == nil {
		s.mu.Lock()
		queue := s.queue
		s.queue = nil
		s.mu.Unlock()
		for _, f := range queue {
			s.write(f)
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-s.queued:
		case <-s.ctx.Done():
		}
	}
}

// write waits until the network has accepted a frame.
func (s *socket) write(f *gatewayv1.ClientFrame) {
	b, err := proto.Marshal(f)
	if err == nil {
		ctx, cancel := context.WithTimeout(s.ctx, answerTime)
		defer cancel()
		err = s.conn.Write(ctx, websocket.MessageBinary, b)
	}
	if err != nil {
		s.fail(err)
	}
	now := time.Now().UnixNano()
	s.wroteAt.Store(now)
	if f.Ping == nil {
		s.sentAt.Store(now)
	}
}

// frame is a frame that was read, or the error that ended reading.
type frame struct {
	frame *gatewayv1.ServerFrame
	err   error
}

// readLoop reads frames until the connection ends, one ahead of the consumer.
func (s *socket) readLoop() {
	for {
		f, err := s.read()
		select {
		case s.frames <- frame{f, err}:
		case <-s.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// read waits for a frame. If the client has closed the connection, the error is the reason.
func (s *socket) read() (*gatewayv1.ServerFrame, error) {
	s.reading.Store(true)
	kind, b, err := s.conn.Read(s.ctx)
	s.reading.Store(false)
	if err != nil {
		if cause := context.Cause(s.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		return nil, err
	}
	if kind != websocket.MessageBinary {
		return nil, errors.New("rialto: the server sent text")
	}
	f := &gatewayv1.ServerFrame{}
	if err := proto.Unmarshal(b, f); err != nil {
		return nil, err
	}
	s.gotAt.Store(time.Now().UnixNano())
	if at := s.pingAt.Load(); f.Pong != nil && at != 0 {
		s.rtt.Store(time.Now().UnixNano() - at)
		s.pingAt.Store(0)
	}
	select {
	case s.received <- struct{}{}:
	default:
	}
	return f, nil
}
