package rpc_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// BenchmarkListConversations reads pages of a user in 100 groups and of one in 100,000, each with an unread message. The ratio of the times
// is the growth of a page's cost with the list.
func BenchmarkListConversations(b *testing.B) {
	h := newHarness(b)
	alice := h.person("alice")
	for _, n := range []int{100, 100_000} {
		bob := h.person(fmt.Sprint("bob", n))
		for left := n; left > 0; left -= 1000 {
			h.groups(b, alice, bob, min(left, 1000))
		}
		began := time.Now()
		if _, err := h.inbox.ListConversations(b.Context(), bob.user(), &chatv1.ListConversationsRequest{}); err != nil {
			b.Fatal(err)
		}
		b.Logf("the first list of %d, which refreshes all: %v", n, time.Since(began))
		for _, limit := range []uint32{1, 50} {
			b.Run(fmt.Sprintf("conversations=%d/limit=%d", n, limit), func(b *testing.B) {
				for b.Loop() {
					page, err := h.inbox.ListConversations(b.Context(), bob.user(), &chatv1.ListConversationsRequest{Limit: limit})
					if err != nil || len(page.Conversations) != int(limit) || page.Badge != 100 {
						b.Fatalf("%d conversations, want %d; badge %d, want 100; error %v", len(page.GetConversations()), limit, page.GetBadge(), err)
					}
				}
			})
		}
	}
}

// groups creates n groups of an owner with a member, and a message in each. It writes the same log entries and rows as the calls, in one
// transaction.
func (h *harness) groups(b *testing.B, owner, member person, n int) {
	b.Helper()
	ctx := context.Background()
	control := &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: owner.User, Users: []uint64{member.User}, Text: "a group", JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_INVITE}
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: control}})
	if err != nil {
		b.Fatal(err)
	}
	err = h.db.Write(ctx, func(tx *sql.Tx) error {
		for i := range n {
			ms := h.clock.ms.Add(1)
			c := id.Conversation(ms)
			key := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
			created := message.Entry{ID: id.MessageOf(ms, 1, 1, c), Sender: owner.user(), Control: true, Content: content}
			hello := message.Entry{ID: id.MessageOf(ms, 2, 1, c), Sender: owner.user(), Content: message.AppendText(nil, "hello")}
			timelinetest.Append(h.log, &timeline.AppendRequest{Key: key, Payload: created.Append(nil), SetAccess: true})
			timelinetest.Append(h.log, &timeline.AppendRequest{Key: key, Payload: hello.Append(nil), Author: owner.User, Counts: true})
			if _, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, title, creator, applied) VALUES ($1, 2, 'a group', $2, 1)`, int64(c), int64(owner.User)); err != nil {
				return err
			}
			for u, role := range map[uint64]chatv1.Role{owner.User: chatv1.Role_ROLE_OWNER, member.User: chatv1.Role_ROLE_MEMBER} {
				if _, err := tx.ExecContext(ctx, `INSERT INTO members (conversation, member, role, join_seq, active_ms) VALUES ($1, $2, $3, 1, $4)`, int64(c), int64(u), role, ms); err != nil {
					return fmt.Errorf("group %d: %w", i, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
