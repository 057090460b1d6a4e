package gateway

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	// commentEvery is the interval of comments on an event stream, in heartbeats.
	commentEvery = 3
	// streamPiece is written at once, within stallTime.
	streamPiece = 16 << 10
	// A client reconnects after leastRetry to mostRetry, unless it is told otherwise.
	leastRetry, mostRetry = 500 * time.Millisecond, 3 * time.Second
)

var errNoCredentials = errs.New(errs.Unauthenticated, "no_token", "give an access token (Authorization: Bearer TOKEN) or a ticket (?ticket=TICKET)")

// ServeEvents serves the event stream of a user (Server-Sent Events): the frames of a socket in JSON, from a position on. Authentication, origins
// and limits are those of sockets.
func (s *Server) ServeEvents(w http.ResponseWriter, r *http.Request) {
	c, err := s.openEvents(w, r)
	if err != nil {
		s.stats.Refused.Add(1)
		errs.WriteHTTP(w, err)
		return
	}
	defer c.receiver.cuts.Wait()
	defer c.onClosed()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // else nginx collects what it passes on
	w.WriteHeader(http.StatusOK)
	e := &eventStream{conn: c, receiver: c.receiver, w: w, control: http.NewResponseController(w)}
	e.run(r.Context())
}

// openEvents makes the connection of an event stream, and greets it.
func (s *Server) openEvents(w http.ResponseWriter, r *http.Request) (*conn, error) {
	if err := s.checkRequest(r); err != nil {
		return nil, err
	}
	after, resumes, err := resumePosition(r)
	if err != nil {
		return nil, err
	}
	caller, err := s.credentials(r)
	if err != nil {
		return nil, err
	}
	if caller.User == 0 {
		return nil, errNoCredentials
	}
	inputlimit.SlotOf(r.Context()).Release()
	if err := noticeVanished(outputlimit.ConnectionOf(r.Context())); err != nil {
		return nil, err
	}
	c, err := s.hold(caller, ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied), true)
	if err != nil {
		return nil, err
	}
	control := http.NewResponseController(w)
	c.mu.Lock()
	c.receiver.position, c.receiver.resumes = after, resumes
	c.receiver.cut = func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) } // without deadlines, no write waits for its client
	c.receiver.appendRetry(backoff.Spread(leastRetry, mostRetry))
	c.mu.Unlock()
	if resumes {
		s.deps.Inbox.Ack(caller, after)
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTime)
	defer cancel()
	if err := c.greet(ctx); err != nil {
		c.onClosed()
		return nil, err
	}
	s.enlist(c)
	return c, nil
}

var errBadPosition = errs.New(errs.Invalid, "bad_position", "Last-Event-ID, or after in the address, is the id of an event of this stream: a number")

// resumePosition is the position that a client has named: by the header of a reconnect, or else in the address.
func resumePosition(r *http.Request) (at message.Position, named bool, err error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, false, errBadPosition
	}
	return message.Position(n), true, nil
}

// eventStream writes what is queued for a connection into a response. It belongs to the goroutine of the request.
type eventStream struct {
	conn     *conn
	receiver *receiver
	w        http.ResponseWriter
	control  *http.ResponseController
}

// run writes until the client disconnects, or the connection ends.
func (e *eventStream) run(ctx context.Context) {
	c := e.conn
	every := commentEvery * c.server.config.Heartbeat
	quiet := time.NewTimer(every)
	defer quiet.Stop()
	for {
		b, behind, ending := e.next()
		switch {
		case b != nil:
			err := e.write(b.b)
			b.free()
			if err != nil {
				return
			}
			quiet.Reset(every)
			continue
		case ending:
			return
		case behind:
			if err := e.catchUp(ctx); err != nil && !e.pauseAfter(ctx, err) {
				return
			}
			continue
		}
		select {
		case <-e.receiver.wake:
		case <-quiet.C:
			if e.write([]byte(":\n\n")) != nil { // a comment, which is no event
				return
			}
			c.server.deps.Directory.Active(c.caller)
			quiet.Reset(every)
		case <-e.receiver.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// next returns the queued output; if there is none, whether events were left out, and whether the connection ends.
func (e *eventStream) next() (b *buffer, behind, ending bool) {
	c := e.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state >= stateAborted {
		return nil, false, true
	}
	b = c.takeOutput()
	return b, c.needsHint, c.isEnding()
}

// write writes and flushes, in pieces, each of which the client must take within stallTime.
func (e *eventStream) write(b []byte) error {
	c := e.conn
	defer func() {
		c.mu.Lock()
		c.unsent, c.stalledSince = nil, 0
		c.mu.Unlock()
	}()
	for piece := range slices.Chunk(b, streamPiece) {
		c.mu.Lock()
		over := c.state >= stateAborted // else the deadline would undo that of cut
		if !over {
			c.unsent, c.stalledSince = piece, c.server.now.Load()
			_ = e.control.SetWriteDeadline(time.Now().Add(stallTime * time.Second)) // without deadlines, no write waits for its client
		}
		c.mu.Unlock()
		if over {
			return errDisconnected
		}
		_, err := e.w.Write(piece)
		if err == nil {
			err = e.control.Flush()
		}
		if err != nil {
			return errDisconnected
		}
		c.server.stats.BytesOut.Add(int64(len(piece)))
	}
	// While nothing is written there is no deadline: HTTP/2 would reset the stream when it has passed.
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state < stateAborted {
		_ = e.control.SetWriteDeadline(time.Time{})
	}
	return nil
}

var (
	errDisconnected = errors.New("the client has disconnected, or reads nothing")
	// errStillBehind is the error of a stream that does not have yet what precedes a pushed event.
	errStillBehind = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "an event was pushed before the stream has the one before it", Retry: time.Second}
)

// catchUp writes what the stream has after the client's position. What is pushed meanwhile is withheld, and follows.
func (e *eventStream) catchUp(ctx context.Context) error {
	c := e.conn
	c.withhold()
	c.mu.Lock()
	c.needsHint = false
	from := c.receiver.position
	c.mu.Unlock()
	for {
		more, err := e.writePage(ctx)
		if err != nil {
			c.mu.Lock()
			c.needsHint = true
			c.release()
			c.mu.Unlock()
			return err
		}
		if more {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.release()
		if c.needsHint && c.receiver.position == from {
			return errStillBehind
		}
		return nil
	}
}

// writePage writes the next page of the stream.
func (e *eventStream) writePage(under context.Context) (more bool, err error) {
	c := e.conn
	if err := c.allowCall(0); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(under, callTime)
	defer cancel()
	page, b, err := e.readPage(ctx)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	err = c.holdAnswer(len(b))
	c.mu.Unlock()
	if err != nil {
		return false, err
	}
	err = e.write(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releaseAnswers(0)
	if err == nil {
		c.receiver.position = message.Position(page.GetNext().GetSeq())
	}
	return page.More, err
}

// readPage reads the next page, and encodes it. Few are read at once.
func (e *eventStream) readPage(ctx context.Context) (*chatv1.SyncResponse, []byte, error) {
	c := e.conn
	done, err := c.server.deps.Answers.AcquirePage(ctx, c.owner())
	if err != nil {
		return nil, nil, err
	}
	defer done()
	c.mu.Lock()
	after := c.receiver.position
	c.mu.Unlock()
	b, err := c.server.deps.Inbox.AppendSync(ctx, nil, c.caller.User, after, 0)
	if err != nil {
		return nil, nil, err
	}
	page := &chatv1.SyncResponse{}
	if err := proto.Unmarshal(b, page); err != nil {
		return nil, nil, err
	}
	outputlimit.TruncateSync(page)
	return page, c.appendPage(b[:0], page), nil
}

// appendPage appends the events of a page as messages of an event stream.
func (c *conn) appendPage(b []byte, page *chatv1.SyncResponse) []byte {
	for _, event := range page.Events {
		at := message.Position(event.Seq)
		data, err := protojson.Marshal(event)
		if err != nil {
			c.server.deps.Logger.Error("an event has no JSON form; its place is sent without it", "user", c.caller.User, "error", err)
			data, _ = appendEventJSON(nil, at, message.Position(event.Prev), &payload{}) // an empty body has a JSON form
		}
		b = appendEventMessage(b, at, data)
	}
	if page.Reset_ {
		_, data := c.encode(&gatewayv1.ServerFrame{Sync: &chatv1.SyncResponse{Reset_: true, Next: page.Next}})
		b = appendDataMessage(appendID(b, message.Position(page.GetNext().GetSeq())), data)
	}
	if len(page.Large) > 0 {
		_, data := c.encode(&gatewayv1.ServerFrame{Hint: &gatewayv1.Hint{Conversations: page.Large}})
		b = appendDataMessage(b, data)
	}
	return b
}

// pauseAfter waits until a page that could not be written is tried again. It is false if the stream is over.
func (e *eventStream) pauseAfter(ctx context.Context, err error) bool {
	c := e.conn
	failure := errs.Of(err)
	c.mu.Lock()
	over := c.isEnding()
	c.mu.Unlock()
	if over || ctx.Err() != nil || errors.Is(err, errDisconnected) {
		return false
	}
	if failure.Kind == errs.Internal {
		c.server.deps.Logger.Error("an event stream could not be read", "user", c.caller.User, "error", err)
	}
	again := time.NewTimer(max(failure.Retry, time.Second))
	defer again.Stop()
	select {
	case <-again.C:
		return true
	case <-e.receiver.ended:
	case <-ctx.Done():
	}
	return false
}
