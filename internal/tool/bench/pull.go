package bench

import (
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
	"slices"
)

// writeFrame writes a frame with the generated code.
func (c *client) writeFrame(f *gatewayv1.ClientFrame) error {
	b, err := proto.Marshal(f)
	if err != nil {
		return err
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	c.write(b)
	return nil
}

// syncPing is the request number of a ping after which a client catches up.
const syncPing = 1

// catchUp requests everything that the client lacks.
func (c *client) catchUp() error {
	for _, s := range c.conversations {
		if s.conversation.large && s.known == nil {
			if err := c.pull(s); err != nil {
				return err
			}
		}
	}
	return c.sync()
}

// sync requests the events after the client's position.
func (c *client) sync() error {
	if c.syncing {
		return nil
	}
	c.syncing = true
	c.violations.syncs++
	return c.writeFrame(&gatewayv1.ClientFrame{Sync: &chatv1.SyncRequest{After: &chatv1.Position{Epoch: uint32(c.position >> 32), Seq: c.position}, Limit: 2000}})
}

// synced handles a page.
func (c *client) synced(b []byte) error {
	c.syncing = false
	more := false
	var tails []*chatv1.LargeTail
	cur := cursor{b: b}
	for {
		field, v, p, ok := cur.next()
		if !ok {
			break
		}
		var err error
		switch field {
		case 1:
			err = c.event(p, true)
		case 3:
			more = v != 0
		case 4:
			return errReset
		case 5:
			t := &chatv1.LargeTail{}
			err = proto.Unmarshal(p, t)
			tails = append(tails, t)
		}
		if err != nil {
			return err
		}
	}
	if cur.bad {
		return errWire
	}
	if more {
		return c.sync()
	}
	if err := c.processBuffered(); err != nil {
		return err
	}
	for _, t := range tails {
		if err := c.reach(t.Conversation, t.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// maxBuffered is the number of events that wait for the end of a sync; more are dropped: the last page of the sync has them, or a gap
// shows their absence.
const maxBuffered = 10_000

// bufferEvent keeps an event that was pushed during a sync.
func (c *client) bufferEvent(b []byte) error {
	if len(c.buffered) < maxBuffered {
		c.buffered = append(c.buffered, slices.Clone(b))
	}
	return nil
}

// processBuffered handles the events that were pushed during the sync and are not in it. The predecessor of the next event shows whether
// one is missing.
func (c *client) processBuffered() error {
	held := c.buffered
	c.buffered = nil
	for _, b := range held {
		if err := c.event(b, false); err != nil {
			return err
		}
	}
	return nil
}

const historyMethod = "/rialto.chat.v1.ChatService/History"

// pull requests the missing entries of a large conversation.
func (c *client) pull(s *receivedConversation) error {
	if c.pulling[s.conversation.id] {
		return nil
	}
	c.pulling[s.conversation.id] = true
	c.violations.syncs++
	b, err := proto.Marshal(&chatv1.HistoryRequest{Conversation: s.conversation.id, After: s.last, Limit: 200})
	if err != nil {
		return err
	}
	return c.writeFrame(&gatewayv1.ClientFrame{Request: s.conversation.id, Call: &gatewayv1.Call{Method: historyMethod, Payload: b}})
}

// pulled handles a page of history.
func (c *client) pulled(request uint64, b []byte) error {
	delete(c.pulling, request)
	var r gatewayv1.Result
	var page chatv1.HistoryResponse
	if err := proto.Unmarshal(b, &r); err != nil {
		return err
	}
	if err := proto.Unmarshal(r.Payload, &page); err != nil {
		return err
	}
	s := c.conversations[request]
	if s == nil {
		return nil
	}
	for _, m := range page.Messages {
		if m.Seq != s.last+1 {
			continue // it was pushed meanwhile
		}
		mb, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		if err := c.message(mb, true); err != nil {
			return err
		}
	}
	if page.More {
		return c.pull(s)
	}
	return nil
}
