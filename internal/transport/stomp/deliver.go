package stomp

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	maxSubscriptions = 100
	maxOutstanding   = 1000 // messages without an ACK; beyond, no more are sent until half are acknowledged
	syncPage         = 200
)

// stream is where the session is in the user's stream, and what it delivers of it. The session's lock guards it.
type stream struct {
	subscriptions []*subscription
	cursor        message.Position // of the last event that was delivered, or that no subscription wanted
	syncing       uint64           // the request whose answer is awaited; pushed events are ignored, because the next gap is noticed
	needsSync     bool             // a sync is to be requested
	full          bool             // too many messages wait for their ACK
	missed        bool             // events before the cursor are not here any more; the next message says so
	outstanding   []delivery       // without an ACK, in the order in which they were sent
	numbers       uint64           // of deliveries
	acked         message.Position // that the gateway knows
}

// subscription is one SUBSCRIBE.
type subscription struct {
	id, mode     string
	conversation uint64 // 0: all
}

// delivery is a message that waits for its ACK.
type delivery struct {
	number uint64
	of     *subscription
	before message.Position // the cursor before its event
}

// subscribing is a SUBSCRIBE that is being checked.
type subscribing struct{ receipt string }

func (s *stream) subscription(id string) *subscription {
	for _, o := range s.subscriptions {
		if o.id == id {
			return o
		}
	}
	return nil
}

// deliver reads the gateway, until it ends the connection.
func (s *session) deliver() {
	defer close(s.refused)
	in := bufio.NewReader(s.gateway)
	head := make([]byte, 4)
	var b []byte
	for {
		_, err := io.ReadFull(in, head)
		n := binary.BigEndian.Uint32(head)
		if err == nil && n > maxAnswer {
			err = io.ErrUnexpectedEOF // the gateway does not send such frames
		}
		if err == nil {
			if cap(b) < int(n) || cap(b) > 64<<10 {
				b = make([]byte, n)
			}
			b = b[:n]
			_, err = io.ReadFull(in, b)
		}
		f := &gatewayv1.ServerFrame{}
		if err == nil {
			err = proto.Unmarshal(b, f)
		}
		if err != nil {
			s.fail(errLost, "")
			return
		}
		s.handleAnswer(f)
	}
}

// handleAnswer handles a frame of the gateway.
func (s *session) handleAnswer(f *gatewayv1.ServerFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Hello != nil:
		s.greet(f.Hello)
	case f.Bye != nil:
		s.endWith("", &gatewayv1.Error{Code: codeOf(f.Bye.Code), Message: f.Bye.Reason, RetryMs: f.Bye.RetryMs}, header{"bye", strconv.FormatUint(uint64(f.Bye.Code), 10)})
		return
	case f.Error != nil:
		s.endWith(s.calls[f.Request].receipt, f.Error)
		return
	}
	for _, r := range f.Receipts {
		s.stored(r)
	}
	var b []byte
	for _, e := range f.Events {
		b = s.pushed(b, e)
	}
	if f.Sync != nil && f.Request == s.syncing {
		b = s.synced(b, f.Sync)
	}
	s.write(b)
	if f.Hint != nil && len(s.subscriptions) > 0 {
		s.startAt(s.cursor)
	}
	if call, ok := s.calls[f.Request]; ok && f.Result != nil {
		delete(s.calls, f.Request)
		s.receipt(call.receipt)
	}
	if f.Pong != nil && s.leaving != nil && f.Request == s.leaving.request {
		s.leaving.ponged = true
	}
	if s.leaving != nil && s.leaving.ponged && len(s.pending) == 0 {
		s.receipt(s.leaving.receipt)
		s.end(nil)
	}
}

// codeOf returns the code of an error for a code of Bye.
func codeOf(bye uint32) string {
	switch {
	case bye < 4100:
		return errs.Unavailable.String()
	case bye == 4101 || bye == 4102:
		return errs.Unauthenticated.String()
	}
	return errs.Invalid.String()
}

// greet answers CONNECT. The caller holds mu.
func (s *session) greet(h *gatewayv1.Hello) {
	s.caller = id.Caller{User: id.User(h.User), Device: id.Device(h.Device), Session: id.Session(h.Session)}
	s.cursor, s.beats.gateway = message.Position(h.Tail.GetSeq()), time.Duration(h.HeartbeatMs)*time.Millisecond
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	beats := number(uint64(ourHeartbeat.Milliseconds())) + "," + number(uint64(ourHeartbeat.Milliseconds()))
	s.write(appendFrame(nil, &frame{command: "CONNECTED", headers: []header{{"version", "1.2"}, {"heart-beat", beats}, {"session", number(h.Session)}, {"server", "rialto"},
		{"user-name", number(h.User)}, {"device", number(h.Device)}, {"position", number(h.Tail.GetSeq())}}}))
	close(s.ready)
}

// stored answers a SEND. The caller holds mu.
func (s *session) stored(r *gatewayv1.Receipt) {
	key := sendID{r.Conversation, r.ClientMsgId}
	list := s.pending[key]
	if len(list) == 0 {
		return
	}
	one := list[0]
	if s.pending[key] = list[1:]; len(list) == 1 {
		delete(s.pending, key)
	}
	if r.Error != nil {
		s.endWith(one.receipt, r.Error)
		return
	}
	duplicate := ""
	if r.Duplicate {
		duplicate = "true"
	}
	s.receipt(one.receipt, header{"message-id", r.Id}, header{"seq", strconv.FormatUint(r.Seq, 10)}, header{"time-ms", strconv.FormatInt(r.TimeMs, 10)}, header{"duplicate", duplicate})
}

// pushed handles an event that was pushed. The caller holds mu.
func (s *session) pushed(b []byte, e *chatv1.Event) []byte {
	at := message.Position(e.Seq)
	switch {
	case at == 0: // of a large group
		return s.message(b, e, 0)
	case s.syncing != 0 || s.needsSync || s.full || at <= s.cursor:
		return b
	case message.Position(e.Prev) != s.cursor && len(s.subscriptions) > 0:
		s.startAt(s.cursor)
		return b
	}
	return s.process(b, e)
}

// synced handles a page of the stream. The caller holds mu.
func (s *session) synced(b []byte, page *chatv1.SyncResponse) []byte {
	s.syncing = 0
	s.missed = s.missed || page.Reset_
	for _, e := range page.Events {
		if message.Position(e.Seq) > s.cursor {
			if b = s.process(b, e); s.full {
				return b
			}
		}
	}
	s.cursor = message.Position(page.Next.GetSeq())
	if page.More {
		s.startAt(s.cursor)
	}
	return b
}

// process delivers an event, unless too many messages wait for their ACK. The caller holds mu.
func (s *session) process(b []byte, e *chatv1.Event) []byte {
	if s.full = len(s.outstanding) >= maxOutstanding; s.full {
		return b
	}
	b = s.message(b, e, message.Position(e.Seq))
	s.cursor = message.Position(e.Seq)
	return b
}

// message appends the MESSAGE of an event for each subscription that wants it, and writes what becomes long. The caller holds mu.
func (s *session) message(b []byte, e *chatv1.Event, at message.Position) []byte {
	m := e.GetMessage()
	if m == nil {
		return b
	}
	number := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatUint(n, 10)
	}
	for _, o := range s.subscriptions {
		if o.conversation != 0 && o.conversation != m.Conversation {
			continue
		}
		f := &frame{command: "MESSAGE", headers: []header{{"subscription", o.id}, {"message-id", m.Id}, {"destination", conversationPrefix + number(m.Conversation)}}}
		if o.mode != "auto" {
			s.numbers++
			f.headers = append(f.headers, header{"ack", number(s.numbers)})
			s.outstanding = append(s.outstanding, delivery{s.numbers, o, s.cursor})
		}
		missed := ""
		if s.missed {
			missed = "true"
		}
		f.headers = append(f.headers, header{"sender", number(m.Sender)}, header{"seq", number(m.Seq)}, header{"time-ms", number(uint64(m.TimeMs))}, header{"position", number(uint64(at))}, header{"missed", missed})
		if text, ok := m.Content.GetKind().(*chatv1.Content_Text); ok {
			f.headers, f.body = append(f.headers, header{"content-type", "text/plain"}), []byte(text.Text)
		} else {
			var err error
			if f.body, err = protojson.Marshal(m.Content); err != nil { // text that is not UTF-8, which the server refuses
				f.body = []byte("{}")
			}
			f.headers = append(f.headers, header{"content-type", contentType})
		}
		if b = appendFrame(b, f); len(b) > 64<<10 { // many subscriptions may want it
			s.write(b)
			b = b[:0]
		}
	}
	if len(s.subscriptions) > 0 {
		s.missed = false
	}
	return b
}

// startAt has the stream read again after a position. The caller holds mu.
func (s *session) startAt(at message.Position) {
	s.cursor, s.syncing, s.needsSync, s.full = at, 0, true, false
	s.signal()
}

// resume continues once enough messages are acknowledged. The caller holds mu.
func (s *session) resume() {
	if s.full && len(s.outstanding) <= maxOutstanding/2 {
		s.startAt(s.cursor)
	}
}

// addRequests adds what the stream needs of the gateway.
func (s *session) addRequests(f *gatewayv1.ClientFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addAck(f)
	if s.needsSync && !s.over {
		s.requests++
		s.needsSync, s.syncing = false, s.requests
		f.Request, f.Sync = s.requests, &chatv1.SyncRequest{After: positionOf(s.cursor), Limit: syncPage}
	}
}

// addAck adds the device's position, if it has moved: before the first message that waits for its ACK. The caller holds mu.
func (s *session) addAck(f *gatewayv1.ClientFrame) {
	if len(s.subscriptions) == 0 {
		return
	}
	at := s.cursor
	if len(s.outstanding) > 0 {
		at = min(at, s.outstanding[0].before)
	}
	if at > s.acked {
		s.acked, f.Ack = at, positionOf(at)
	}
}

func positionOf(p message.Position) *chatv1.Position {
	return &chatv1.Position{Epoch: p.Epoch(), Seq: uint64(p)}
}
