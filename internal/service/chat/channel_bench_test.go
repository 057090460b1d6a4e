package chat_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// BenchmarkChannel measures a channel with a million followers, as rows: a node loads it, a user follows and unfollows, a follower reads a
// page, and an admin lists a page from the middle.
func BenchmarkChannel(b *testing.B) {
	const followers = 1_000_000
	ctx := context.Background()
	h := newHarness(b, chat.Config{MaxFollowers: 2 * followers})
	s := h.node(b)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "news", Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_OPEN})
	must(b, err)
	must(b, s.Send(ctx, draftOf(c, 1, 1, "first")))
	must(b, h.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE s(n) AS (SELECT 1001 UNION ALL SELECT n + 1 FROM s WHERE n < $1)
			INSERT INTO members (conversation, member, role, join_seq, large, follower) SELECT $2, n, 1, 1, TRUE, TRUE FROM s`, followers+1000, int64(c))
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE conversations SET followers = $1 WHERE id = $2`, followers, int64(c))
		}
		return err
	}))
	var elapsed [5]time.Duration
	measure := func(i int, f func() error) {
		b.Helper()
		began := time.Now()
		must(b, f())
		elapsed[i] += time.Since(began)
	}
	for b.Loop() {
		n := h.node(b)
		measure(0, func() error { _, err := n.Describe(ctx, 1, c); return err })
		measure(1, func() error { return follow(n, c, 2) })
		measure(2, func() error { _, err := n.Leave(ctx, c, 2); return err })
		measure(3, func() error {
			_, err := n.History(ctx, id.User(followers/2), &chatv1.HistoryRequest{Conversation: uint64(c)})
			return err
		})
		measure(4, func() error { _, err := n.ListMembers(ctx, c, 1, 100, "500000"); return err })
	}
	b.ReportMetric(0, "ns/op")
	for i, what := range []string{"load", "follow", "unfollow", "history", "list"} {
		b.ReportMetric(float64(elapsed[i].Microseconds())/float64(b.N), "µs/"+what)
	}
}
