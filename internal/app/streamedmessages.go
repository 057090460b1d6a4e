package app

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
)

// openStreamedMessages makes the service of messages that their senders write in parts. Transient frames go to connections of users.
func (n *Node) openStreamedMessages(ctx context.Context, transient func(users []id.User, frame []byte)) (err error) {
	deps := streamedmessage.Deps{DB: n.db, Chat: n.chat, Bus: n.bus, Node: n.name, IsCoordinator: n.isCoordinator, Send: transient,
		SendLarge: func(c id.Conversation, frame []byte) { n.fanout.TransientLarge(c, frame) }, Clock: n.clock, Logger: n.logger}
	if n.config.Clustered() {
		deps.IsAlive = func(node string) bool { return slices.Contains(n.liveNodeNames(), node) }
	}
	n.streamed, err = streamedmessage.New(ctx, deps, n.config.StreamedMessages)
	return err
}

// onStreamed tells the service of streamed messages that one begins or has ended.
func (n *Node) onStreamed(ctx context.Context, tx *sql.Tx, change message.StreamedChange) (was bool, err error) {
	return n.streamed.OnStreamed(ctx, tx, change)
}
