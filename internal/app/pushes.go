package app

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/service/push"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// openPushes makes the service of push notifications.
func (n *Node) openPushes(ctx context.Context) error {
	secret, err := n.accounts.Secret(ctx, "push")
	if err != nil {
		return err
	}
	n.pushes, err = push.New(ctx, push.Deps{DB: n.db, Inbox: n.inbox, Chat: n.chat, Accounts: n.accounts, Directory: n.directory, Jobs: n.jobs, Secret: secret, OwnsUser: n.ownsStream,
		IsCoordinator: n.isCoordinator, Recorder: n.recorder, Tracer: n.tracer, Calls: n.outgoing, Clock: n.clock, Logger: n.logger}, n.config.Push)
	if err != nil {
		return err
	}
	for name, result := range map[string]pushv1.PushResult{"sent": pushv1.PushResult_PUSH_RESULT_SENT, "retry": pushv1.PushResult_PUSH_RESULT_RETRY, "failed": pushv1.PushResult_PUSH_RESULT_FAILED,
		"gone": pushv1.PushResult_PUSH_RESULT_GONE, "dropped": pushv1.PushResult_PUSH_RESULT_DROPPED} {
		telemetry.CountBy(n.registry, "push_attempts_total", "Attempts to send push notifications, by what became of them.", "result", name, func() float64 { return float64(n.pushes.Attempts(result)) })
	}
	return nil
}

// ownsStream reports whether this node posts to a user's stream.
func (n *Node) ownsStream(u id.User) bool {
	return n.ownsPartition(timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}.Partition())
}

// pushDeparted has the push notifications of users sent who are gone.
func (n *Node) pushDeparted(list []directory.Departure) {
	users := make([]id.User, len(list))
	for i, d := range list {
		users[i] = d.User
	}
	n.pushes.Departed(users)
}

// onMentioned is called in the transaction that stores whom a message of a large group mentions.
func (n *Node) onMentioned(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64, users []id.User) error {
	return n.pushes.Mentioned(ctx, tx, c, seq, users)
}

// streamChanged is called for each post to a user's stream. It must not block.
func (n *Node) streamChanged(u id.User) {
	n.officials.StreamChanged(u)
	n.pushes.StreamChanged(u)
	n.serverEvents.Posted(u)
}
