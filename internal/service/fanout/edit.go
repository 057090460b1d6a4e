package fanout

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// appendUpdate appends the delivery of an update. Members who joined after the message that an edit changes may not read that, and get the edit
// as an event without content.
func (c *dispatcher) appendUpdate(ctx context.Context, items []item, it item, m *message.Stored) ([]item, error) {
	var content chatv1.Content
	if err := proto.Unmarshal(m.Entry.Content, &content); err != nil || content.GetEdit().GetContent() == nil {
		return append(items, it), nil // one that cannot be decoded is delivered as it is
	}
	later, err := c.worker.deps.Chat.JoinedAfter(ctx, it.conversation, m.Entry.Updates, it.members)
	if err != nil {
		return items, err
	}
	if len(later) == 0 {
		return append(items, it), nil
	}
	content.GetEdit().Content = nil
	hidden := *m
	if hidden.Entry.Content, err = proto.Marshal(&content); err != nil {
		return items, err
	}
	joined := make(map[id.User]bool, len(later))
	for _, u := range later {
		joined[u] = true
	}
	it.members = slices.DeleteFunc(slices.Clone(it.members), func(u id.User) bool { return joined[u] })
	event := message.AppendBody(nil, message.FieldMessage, hidden.AppendProto(nil))
	return append(items, it, item{kind: message.DeliverEvent, body: event, members: later}), nil
}
