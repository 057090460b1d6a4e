package rialto

import (
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// reset handles a reset of the stream. The server may have lost messages, as when a backup was restored, and given their seqs to others. So what waits here and
// names a message by its seq could concern another one: cursors are forgotten, edits, recalls, reactions and pins are given up, and answers to a message go
// out without the reference. Unsent messages keep their numbers, and are sent.
func (c *Client) reset() {
	c.mu.Lock()
	c.state.Seen = nil
	clear(c.marks)
	clear(c.unsentMarks)
	kept, refused := c.state.Outbox[:0:0], []*gatewayv1.Receipt(nil)
	for _, u := range c.state.Outbox {
		content := &chatv1.Content{}
		if proto.Unmarshal(u.Content, content) != nil { // whoever sends it reports that
			kept = append(kept, u)
			continue
		}
		if UpdateTarget(&chatv1.Message{Content: content}) == 0 {
			kept = append(kept, c.withoutLostReference(u, content))
			continue
		}
		gone := &gatewayv1.Error{Code: "not_found", Reason: "no_message", Message: "the server does not have all messages any more, so this change may concern another one: repeat it"}
		if w := c.waiters[u.ClientSeq]; w != nil {
			delete(c.waiters, u.ClientSeq)
			w <- outcome{err: &SendError{gone.Code, gone.Reason, gone.Message}}
		} else {
			refused = append(refused, &gatewayv1.Receipt{Conversation: u.Conversation, ClientSeq: u.ClientSeq, Error: gone})
		}
	}
	c.state.Outbox = kept
	c.mu.Unlock()
	c.config.Handler(Event{Reset: true})
	for _, r := range refused {
		c.config.Handler(Event{Refused: r})
	}
}

// withoutLostReference returns an unsent message without what it replies to, if that is named by a seq. A message that the server may have stays as it is: the
// server would take a change for another message with the same number. The caller holds mu.
func (c *Client) withoutLostReference(u Unsent, content *chatv1.Content) Unsent {
	if content.GetReplyTo().GetSeq() == 0 || u.ClientSeq <= c.storedClientSeq {
		return u
	}
	content.ReplyTo = nil
	if b, err := (proto.MarshalOptions{Deterministic: true}).Marshal(content); err == nil {
		u.Content = b
	}
	return u
}
