package gateway

import (
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// payload is an event's body, encoded once per encoding and shared by all connections that get it.
type payload struct {
	proto []byte // a field of Event: tag, length, value
	json  []byte // as `"message":{…}`; nil until somebody needs it
	err   error  // why it has no JSON form

	traced *tracedPush // nil: the message is not sampled
}

// asJSON returns the JSON form. It fails for a body that cannot be decoded, or has a text that is not UTF-8.
func (p *payload) asJSON() ([]byte, error) {
	if p.json == nil && p.err == nil {
		var e chatv1.Event
		if p.err = proto.Unmarshal(p.proto, &e); p.err == nil {
			var b []byte
			if b, p.err = protojson.Marshal(&e); p.err == nil {
				p.json = b[1 : len(b)-1]
			}
		}
	}
	return p.json, p.err
}

// appendEventJSON appends an Event. It leaves out what is zero, as the JSON form of protobuf does: a large group's message has no place in a stream.
func appendEventJSON(b []byte, at, prev message.Position, body *payload) ([]byte, error) {
	j, err := body.asJSON()
	if err != nil {
		return b, err
	}
	b = append(b, '{')
	if at != 0 {
		b = strconv.AppendUint(append(b, `"epoch":`...), uint64(at.Epoch()), 10)
		b = message.AppendJSONID(append(b, `,"seq":`...), uint64(at))
		if prev != 0 {
			b = message.AppendJSONID(append(b, `,"prev":`...), uint64(prev))
		}
	}
	if len(j) > 0 {
		if at != 0 {
			b = append(b, ',')
		}
		b = append(b, j...)
	}
	return append(b, '}'), nil
}

// deliverer passes the bus's messages of one lane to this node's connections, one at a time.
type deliverer struct {
	server  *Server
	span    string     // the name of the batches that it traces
	large   *largeLane // gets what is for followers of large conversations; nil: it is delivered here
	next    message.Delivery
	body    payload
	batch   largeBatch
	yield   func() // lets others go on; nil: they wait
	scratch []byte
	encoded []byte
	traced  tracing.Batch           // what is delivered at once
	records []flightrecorder.Record // of pushes, until the end of the batch
	nowUs   int64                   // of these records
}

func (d *deliverer) deliver(data []byte) {
	failpoint.Hit("gateway/before-deliver")
	s := d.server
	if s.deps.Recorder != nil {
		d.nowUs = s.deps.Recorder.NowUs()
	}
	d.traced = s.deps.Tracer.Batch(d.span)
	delivered := 0
	for len(data) > 0 {
		var err error
		first := data
		if data, err = d.next.Next(data); errors.Is(err, message.ErrUnknownDelivery) {
			s.stats.Unknown.Add(1) // of the next release; what it would have changed in a stream is found by comparing
			continue
		} else if err != nil {
			s.deps.Logger.Error("a delivery cannot be read", "error", err)
			s.reconciler.requestAll()
			continue
		}
		if d.large != nil && d.isForFollowers() {
			d.large.add(first[:len(first)-len(data)])
			continue
		}
		d.deliverNext()
		delivered++
	}
	d.pushBatch()
	d.flushRecords()
	d.traced.End(delivered)
	s.Flush()
}

// isForFollowers reports whether the next delivery is for the followers of a large conversation, or changes who follows one.
func (d *deliverer) isForFollowers() bool {
	return d.next.Large || d.next.Kind == message.DeliverFollow || d.next.Kind == message.DeliverUnfollow
}

func (d *deliverer) deliverNext() {
	switch d.next.Kind {
	case message.DeliverEntry:
		d.deliverEntry()
	case message.DeliverEvent:
		if d.next.Large { // an entry in its present form
			d.addLarge(d.next.Body, 0, false, d.server.textTimeOf(d.next.Body))
			return
		}
		d.body = payload{proto: d.next.Body}
		d.deliverEvents()
		if message.BodyIs(d.next.Body, message.FieldFollow) {
			d.applyFollowChange()
		}
	case message.DeliverFrame:
		d.pushBatch()
		d.deliverFrame()
	case message.DeliverFollow, message.DeliverUnfollow:
		d.pushBatch()
		d.changeFollows(d.next.Conversation, d.next.Seq, d.next.Kind == message.DeliverFollow)
	}
}

func (d *deliverer) deliverEntry() {
	n := &d.next
	m := message.Stored{Conversation: n.Conversation, Seq: n.Seq, Counted: n.Counted}
	if err := m.Entry.Decode(n.Body); err != nil {
		d.server.deps.Logger.Error("a delivered entry cannot be read; its receivers are told to sync", "error", err)
		d.hintReceivers()
		return
	}
	d.scratch = m.AppendProto(d.scratch[:0])
	d.encoded = message.AppendBody(d.encoded[:0], message.FieldMessage, d.scratch)
	d.body = payload{proto: d.encoded, traced: d.beginPush(&m.Entry)}
	if n.Large {
		d.deliverLarge(&m.Entry)
		return
	}
	d.deliverEvents()
	d.endPush()
}

// deliverLarge pushes an entry of a large conversation to its followers here, together with others. A sampled message is pushed alone, so that the trace
// says how long that took. A control entry is pushed before who follows is compared.
func (d *deliverer) deliverLarge(e *message.Entry) {
	traced := d.body.traced
	if traced != nil {
		d.pushBatch()
	}
	correction, hasText := textOf(e)
	textMs := int64(0)
	if hasText {
		textMs = e.ID.Ms()
	}
	d.addLarge(d.encoded, d.server.ageOf(e), correction, textMs)
	if traced != nil {
		d.batch.entries[0].body.traced = traced
		d.notePushes(d.pushBatch())
		d.endPush()
	}
	if e.Control {
		d.pushBatch()
		d.reconcileChanged(e.Content)
	}
}

// hintReceivers tells all to sync who should have got an entry that cannot be read.
func (d *deliverer) hintReceivers() {
	n := &d.next
	if n.Large {
		d.pushBatch()
		d.server.hub.hintIfBehind(n.Conversation, n.Seq)
		return
	}
	for _, t := range n.Targets {
		d.server.hub.each(t.User, func(c *conn) { c.replaceByHint(t.At) })
	}
}

// logUnreadable logs that a body was left out for connections with JSON, which were told to sync.
func (d *deliverer) logUnreadable(body *payload) {
	if body.err != nil {
		d.server.deps.Logger.Error("an event has no JSON form; its receivers are told to sync", "error", body.err)
	}
}

// reconcileChanged has the users reconciled whom a control entry of a large conversation added or removed. The notices that they follow it,
// or no longer do, may be lost; this entry reaches all followers, and the rows were written before it was sent.
func (d *deliverer) reconcileChanged(content []byte) {
	var m chatv1.Content
	if proto.Unmarshal(content, &m) != nil {
		return // of a later version
	}
	control := m.GetControl()
	switch control.GetAction() {
	case chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		for _, u := range control.GetUsers() {
			if d.server.hub.has(id.User(u)) {
				d.server.reconciler.requestUser(id.User(u))
			}
		}
	}
}

// deliverEvents pushes the body to each target with its position in the target's stream.
func (d *deliverer) deliverEvents() {
	defer d.logUnreadable(&d.body)
	for _, t := range d.next.Targets {
		s := d.server.hub.user(t.User)
		s.mu.RLock()
		for c := s.first[t.User]; c != nil; c = c.next {
			if c.pushEvent(t.At, t.Prev, &d.body) {
				d.record(flightrecorder.Pushed, uint64(t.User), uint64(c.caller.Device))
				d.notePushes(1)
			}
		}
		s.mu.RUnlock()
	}
}

// Transient delivers a ServerFrame's bytes to users who are connected to this node.
func (s *Server) Transient(users []id.User, frame []byte) {
	d := deliverer{server: s}
	d.next.Body = frame
	for _, u := range users {
		d.next.Targets = append(d.next.Targets, message.Target{User: u})
	}
	d.deliverFrame()
	s.Flush()
}

// deliverFrame sends a transient frame to all targets, or to the followers of a large conversation. Connections with many waiting bytes do not
// get it.
func (d *deliverer) deliverFrame() {
	var asJSON []byte
	var err error
	send := func(c *conn) {
		op, b := byte(opBinary), d.next.Body
		if c.json {
			if asJSON == nil && err == nil {
				asJSON, err = frameJSON(b)
			}
			op, b = opText, asJSON
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(b) > 0 && c.state == stateReady && c.pending() < hintAbove/4 {
			c.appendFrame(op, b)
			c.queueWrite()
		}
	}
	if d.next.Large {
		d.server.hub.eachFollower(d.next.Conversation, send)
	}
	for _, t := range d.next.Targets {
		d.server.hub.each(t.User, send)
	}
	if err != nil {
		d.server.deps.Logger.Error("a transient frame has no JSON form and is left out", "error", err)
	}
}

func frameJSON(b []byte) ([]byte, error) {
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	return protojson.Marshal(&f)
}

// applyFollowChange repairs what the connections of a channel's follower get. The event is in the user's stream, so that it is not lost, as a
// notice of changeFollows may be. A removal is applied at once, and again in the large lane, where an older notice that the user follows may
// wait. Who follows is reconciled with the rows: the user may have left since.
func (d *deliverer) applyFollowChange() {
	var e chatv1.Event
	if err := proto.Unmarshal(d.next.Body, &e); err != nil {
		d.server.deps.Logger.Error("an event about a channel's follower cannot be read", "error", err)
		return
	}
	if !e.GetFollow().GetFollows() {
		conversation := id.Conversation(e.GetFollow().GetConversation())
		d.changeFollows(conversation, 0, false)
		if d.large != nil {
			d.large.add((&message.Delivery{Kind: message.DeliverUnfollow, Conversation: conversation, Targets: d.next.Targets}).Append(nil))
		}
		return
	}
	for _, t := range d.next.Targets {
		if d.server.hub.has(t.User) {
			d.server.reconciler.requestUser(t.User)
		}
	}
}

// changeFollows makes the connections of users follow a large conversation, or end to.
func (d *deliverer) changeFollows(conversation id.Conversation, seq uint64, follows bool) {
	for _, t := range d.next.Targets {
		var conns []*conn // changed outside of the shard's lock
		d.server.hub.each(t.User, func(c *conn) { conns = append(conns, c) })
		for _, c := range conns {
			if !follows {
				d.server.hub.unfollow(c, conversation)
			} else if d.server.hub.follow(c, conversation, max(seq, 1)) {
				d.server.reconciler.requestConversation(conversation)
			}
		}
	}
}
