package gateway

import (
	"errors"
	"strconv"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// payload is an event's body, encoded once per codec and shared by all who get it.
type payload struct {
	proto []byte // a field of Event: tag, length, value
	json  []byte // as `"message":{…}`; nil until somebody needs it
}

// asJSON gives the JSON form.
func (p *payload) asJSON() []byte {
	if p.json == nil {
		var e chatv1.Event
		b := []byte("{}")
		if err := proto.Unmarshal(p.proto, &e); err == nil {
			if j, err := protojson.Marshal(&e); err == nil {
				b = j
			}
		}
		p.json = b[1 : len(b)-1]
	}
	return p.json
}

// appendEventJSON leaves out what is zero, as the JSON form of protobuf does: a large group's message has no place in a stream.
func appendEventJSON(b []byte, at, prev message.Position, body *payload) []byte {
	b = append(b, `{"events":[{`...)
	if at != 0 {
		b = strconv.AppendUint(append(b, `"epoch":`...), uint64(at.Epoch()), 10)
		b = message.AppendJSONID(append(b, `,"seq":`...), uint64(at))
		if prev != 0 {
			b = message.AppendJSONID(append(b, `,"prev":`...), uint64(prev))
		}
	}
	if j := body.asJSON(); len(j) > 0 {
		if at != 0 {
			b = append(b, ',')
		}
		b = append(b, j...)
	}
	return append(b, "}]}"...)
}

// deliverer brings the bus's messages of one lane to this node's connections, one at a time.
type deliverer struct {
	server  *Server
	next    message.Delivery
	body    payload
	scratch []byte
	encoded []byte
	shared  []byte
}

func (d *deliverer) deliver(data []byte) {
	failpoint.Hit("gateway/before-deliver")
	s := d.server
	for len(data) > 0 {
		var err error
		if data, err = d.next.Next(data); errors.Is(err, message.ErrUnknownDelivery) {
			s.stats.Unknown.Add(1) // of the next release; what it would have changed in a stream is found by comparing
			continue
		} else if err != nil {
			s.deps.Logger.Error("a delivery cannot be read", "error", err)
			s.check.all()
			continue
		}
		switch d.next.Kind {
		case message.DeliverEntry:
			d.entry()
		case message.DeliverEvent:
			d.body = payload{proto: d.next.Body}
			d.events()
		case message.DeliverFrame:
			d.frame()
		case message.DeliverFollow, message.DeliverUnfollow:
			d.follow()
		}
	}
	s.Flush()
}

func (d *deliverer) entry() {
	n := &d.next
	m := message.Stored{Conversation: n.Conversation, Seq: n.Seq, Counted: n.Counted}
	if err := m.Entry.Decode(n.Body); err != nil {
		d.server.deps.Logger.Error("a delivered entry cannot be read", "conversation", n.Conversation, "seq", n.Seq, "error", err)
		return
	}
	d.scratch = m.AppendProto(d.scratch[:0])
	d.encoded = message.AppendBody(d.encoded[:0], message.FieldMessage, d.scratch)
	d.body = payload{proto: d.encoded}
	if !n.Large {
		d.events()
		return
	}
	d.large()
	if m.Entry.Control {
		d.changed(m.Entry.Content)
	}
}

// large gives an entry of a large conversation to who follows it here.
func (d *deliverer) large() {
	n := &d.next
	d.shared = message.AppendEventField(d.shared[:0], 4, 0, 0, d.body.proto)
	s := d.server.hub.conversation(n.Conversation)
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.rooms[n.Conversation]
	if r == nil {
		return
	}
	r.reach(n.Seq)
	for _, c := range r.conns {
		if c.json {
			c.event(0, 0, &d.body)
		} else {
			c.events(d.shared)
		}
	}
}

// changed has users compared who came or went by a control entry of a large conversation. That they follow it, or do no longer, is
// told by their homes, and may be lost; whoever has its messages has this entry as well, and the rows knew before it was sent.
func (d *deliverer) changed(content []byte) {
	var m chatv1.Content
	if proto.Unmarshal(content, &m) != nil {
		return // of a later version
	}
	control := m.GetControl()
	switch control.GetAction() {
	case chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		for _, u := range control.GetUsers() {
			if d.server.hub.has(id.User(u)) {
				d.server.check.user(id.User(u))
			}
		}
	}
}

// events gives the body to each target with its place in the target's stream.
func (d *deliverer) events() {
	for _, t := range d.next.Targets {
		s := d.server.hub.user(t.User)
		s.mu.RLock()
		for c := s.first[t.User]; c != nil; c = c.next {
			c.event(t.At, t.Prev, &d.body)
		}
		s.mu.RUnlock()
	}
}

// Transient gives a ServerFrame's bytes to users who are connected to this node.
func (s *Server) Transient(users []id.User, frame []byte) {
	d := deliverer{server: s}
	d.next.Body = frame
	for _, u := range users {
		d.next.Targets = append(d.next.Targets, message.Target{User: u})
	}
	d.frame()
	s.Flush()
}

// frame gives a transient frame to all targets; connections with much waiting do without.
func (d *deliverer) frame() {
	var asJSON []byte
	for _, t := range d.next.Targets {
		d.server.hub.each(t.User, func(c *conn) {
			op, b := byte(opBinary), d.next.Body
			if c.json {
				if asJSON == nil {
					asJSON = frameJSON(b)
				}
				op, b = opText, asJSON
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.ready && !c.closing && c.pending() < hintPending/4 {
				c.alone(op, b)
				c.queue()
			}
		})
	}
}

func frameJSON(b []byte) []byte {
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(b, &f); err == nil {
		if j, err := protojson.Marshal(&f); err == nil {
			return j
		}
	}
	return []byte("{}")
}

func (d *deliverer) follow() {
	for _, t := range d.next.Targets {
		var conns []*conn // changed outside of the shard's lock
		d.server.hub.each(t.User, func(c *conn) { conns = append(conns, c) })
		for _, c := range conns {
			if d.next.Kind == message.DeliverFollow {
				if d.server.hub.follow(c, d.next.Conversation, max(d.next.Seq, 1)) {
					d.server.check.follow(d.next.Conversation)
				}
			} else {
				d.server.hub.unfollow(c, d.next.Conversation)
			}
		}
	}
}
