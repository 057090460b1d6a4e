package gateway

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// A page of a sync ends where the stream ended when it was read. An event that is pushed between this reading and the answer would
// reach the client before a page that does not have it, and a client that drops events while it syncs would never see it. So
// events that are pushed while the server reads a page for the connection are withheld, and sent after the page.

// maxWithheld bounds the bytes that are withheld on one connection; beyond, a hint takes their place.
const maxWithheld = 64 << 10

// withheld has the events that were pushed to a connection during its syncs.
type withheld struct {
	syncs  int // under way
	events []withheldEvent
	bytes  int
}

// withheldEvent is an event in the connection's encoding: an object in JSON, or whole fields of a ServerFrame.
type withheldEvent struct {
	at, prev message.Position
	data     []byte
}

// withhold begins to withhold events, until release.
func (c *conn) withhold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.withheld == nil {
		c.withheld = &withheld{}
	}
	c.withheld.syncs++
}

// withholdEvent withholds an event. The caller holds mu.
func (c *conn) withholdEvent(event withheldEvent) {
	w := c.withheld
	if w.bytes += len(event.data); w.bytes > maxWithheld {
		w.events, w.bytes = nil, 0
		c.setHint()
		return
	}
	w.events = append(w.events, event)
}

// releaseWithheld ends one withhold; the last of several sends the events. The page may contain some of them: a client ignores events that
// are not above its position.
func (c *conn) releaseWithheld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
}

// release is releaseWithheld for a caller that holds mu.
func (c *conn) release() {
	w := c.withheld
	if w.syncs--; w.syncs > 0 {
		return
	}
	c.withheld = nil
	if c.isEnding() {
		return
	}
	if len(w.events) > 0 && !c.needsHint && c.pending()-c.answerBytes > hintAbove {
		c.setHint()
	}
	if !c.needsHint { // else the hint replaces them all
		for _, e := range w.events {
			if c.receiver == nil {
				c.appendEvent(e.data)
			} else if c.receiver.follows(e.at, e.prev) {
				c.receiver.appendEvent(e.at, e.data)
			}
		}
	}
	if c.needsHint || len(w.events) > 0 || len(c.grown) > 0 {
		c.queueWrite()
	}
}

// sync answers with a page of the stream.
func (c *conn) sync(ctx context.Context, request uint64, r *chatv1.SyncRequest) error {
	if r.WaitMs > 0 {
		return inputlimit.ErrWaitOnSocket
	}
	if err := c.allowCall(0); err != nil {
		return err
	}
	if !c.keepsAck { // a request with a position acknowledges everything before it
		c.server.deps.Inbox.Ack(c.caller, message.Position(r.GetAfter().GetSeq()))
	}
	c.withhold()
	defer c.releaseWithheld()
	page, err := c.server.deps.Inbox.AppendSync(ctx, nil, c.caller.User, message.Position(r.GetAfter().GetSeq()), int(r.Limit))
	if err != nil {
		return err
	}
	if c.json {
		f := &gatewayv1.ServerFrame{Request: request, Sync: &chatv1.SyncResponse{}}
		if err := proto.Unmarshal(page, f.Sync); err != nil {
			return err
		}
		outputlimit.TruncateSync(f.Sync)
		op, b := c.encode(f)
		c.sendAnswer(request, op, b)
		return nil
	}
	b, err := proto.Marshal(&gatewayv1.ServerFrame{Request: request})
	if err != nil {
		return err
	}
	c.sendAnswer(request, opBinary, message.AppendBody(b, 12, page))
	return nil
}
