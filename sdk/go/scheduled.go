package rialto

import (
	"context"
	"crypto/rand"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Schedule has the server send a message at a time, which is later than now and within a year. The content is a text, a location, a card, a custom message,
// or files that were uploaded. clientMsgID, of 1 to 64 bytes and new for each message, names it: while the answer is lost the call is repeated with it, and a
// second call with it schedules nothing more. An empty one is replaced by a random one, so that a second call schedules a second message.
func (c *Client) Schedule(ctx context.Context, conversation uint64, clientMsgID string, content *chatv1.Content, at time.Time) (*chatv1.ScheduledMessage, error) {
	if clientMsgID == "" {
		clientMsgID = rand.Text()
	}
	r := &chatv1.ScheduleMessageRequest{Conversation: conversation, ClientMsgId: clientMsgID, Content: content, SendMs: at.UnixMilli()}
	return resend(ctx, c, func() (*chatv1.ScheduledMessage, error) { return unary(ctx, c.chat.ScheduleMessage, r) })
}

// ScheduleText is Schedule of a text of 1 to 100,000 characters.
func (c *Client) ScheduleText(ctx context.Context, conversation uint64, clientMsgID, text string, at time.Time) (*chatv1.ScheduledMessage, error) {
	return c.Schedule(ctx, conversation, clientMsgID, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}, at)
}

// Scheduled calls f with each message that this user has scheduled in a conversation, or in all for 0, the next to be sent first, until it returns false. One
// that could not be sent has the reason in Failed, and stays until it is changed or cancelled.
func (c *Client) Scheduled(ctx context.Context, conversation uint64, f func(*chatv1.ScheduledMessage) bool) error {
	for page := ""; ; {
		r, err := unary(ctx, c.chat.ListScheduled, &chatv1.ListScheduledRequest{Conversation: conversation, Page: page})
		if err != nil {
			return err
		}
		for _, m := range r.Messages {
			if !f(m) {
				return nil
			}
		}
		if page = r.Next; page == "" {
			return nil
		}
	}
}

// Reschedule changes when a scheduled message is sent, its content, or both: a zero time and a nil content stay as they are. One that failed is tried again.
// The server refuses it while the message is being sent, and once it is sent.
func (c *Client) Reschedule(ctx context.Context, scheduled uint64, at time.Time, content *chatv1.Content) (*chatv1.ScheduledMessage, error) {
	r := &chatv1.UpdateScheduledRequest{Id: scheduled, Content: content}
	if !at.IsZero() {
		r.SendMs = at.UnixMilli()
	}
	return resend(ctx, c, func() (*chatv1.ScheduledMessage, error) { return unary(ctx, c.chat.UpdateScheduled, r) })
}

// CancelScheduled deletes a scheduled message: when it returns without an error, the message is not sent. The reason not_found says that it was sent or
// cancelled before; as the call is repeated while its answer is lost, that may have been an earlier try of the same call.
func (c *Client) CancelScheduled(ctx context.Context, scheduled uint64) error {
	_, err := resend(ctx, c, func() (*chatv1.CancelScheduledResponse, error) {
		return unary(ctx, c.chat.CancelScheduled, &chatv1.CancelScheduledRequest{Id: scheduled})
	})
	return err
}

// unary makes a call.
func unary[Req, Res any](ctx context.Context, method func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), r *Req) (*Res, error) {
	res, err := method(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}
