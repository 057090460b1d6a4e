package bench

import (
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// ask writes a frame of the slow path.
func (c *client) ask(f *gatewayv1.ClientFrame) error {
	b, err := proto.Marshal(f)
	if err != nil {
		return err
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	return c.sock.write(b)
}

// nudge is the request number of a ping after which a client catches up.
const nudge = 1

// catchUp reads all that the client does not have.
func (c *client) catchUp() error {
	for _, s := range c.rooms {
		if s.room.large {
			if err := c.pull(s); err != nil {
				return err
			}
		}
	}
	return c.sync()
}

// sync asks for what came after the client's position.
func (c *client) sync() error {
	if c.syncing {
		return nil
	}
	c.syncing = true
	c.faults.syncs++
	return c.ask(&gatewayv1.ClientFrame{Sync: &chatv1.SyncRequest{After: &chatv1.Position{Epoch: uint32(c.position >> 32), Seq: c.position}, Limit: 2000}})
}

// synced takes a page.
func (c *client) synced(b []byte) error {
	c.syncing = false
	more, behind := false, false
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
			behind = c.behind(p)
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
	if behind {
		for _, s := range c.rooms {
			if s.room.large {
				if err := c.pull(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// behind tells whether a large group has come further than this client.
func (c *client) behind(b []byte) bool {
	var t chatv1.LargeTail
	if err := proto.Unmarshal(b, &t); err != nil {
		return false
	}
	s := c.rooms[t.Conversation]
	return s != nil && t.LastSeq > s.last
}

const historyMethod = "/rialto.chat.v1.ChatService/History"

// pull asks for what is missing of a large conversation.
func (c *client) pull(s *seen) error {
	if c.pulling[s.room.id] {
		return nil
	}
	c.pulling[s.room.id] = true
	c.faults.syncs++
	b, err := proto.Marshal(&chatv1.HistoryRequest{Conversation: s.room.id, After: s.last, Limit: 200})
	if err != nil {
		return err
	}
	return c.ask(&gatewayv1.ClientFrame{Request: s.room.id, Call: &gatewayv1.Call{Method: historyMethod, Payload: b}})
}

// pulled takes a page of history.
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
	s := c.rooms[request]
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
