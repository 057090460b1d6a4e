package chat_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// slowTail is a log whose tails are counted, and wait for go while it is set.
type slowTail struct {
	timeline.Log
	tails atomic.Int64
	wait  atomic.Pointer[chan struct{}]
}

func (l *slowTail) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	l.tails.Add(1)
	if wait := l.wait.Load(); wait != nil {
		<-*wait
	}
	return l.Log.Tail(ctx, k)
}

// TestUsersWhoConnectAtOnceShareATransaction when they begin to follow the notices: each transaction changes the same row.
func TestUsersWhoConnectAtOnceShareATransaction(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	log := &slowTail{Log: h.log}
	deps := h.deps(h.db)
	deps.Log = log
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c := notices(t, s, chatv1.Notices_NOTICES_EVERYBODY, "all")
	wait := make(chan struct{})
	log.wait.Store(&wait)
	log.tails.Store(0)
	var users sync.WaitGroup
	connect := func(u id.User) {
		users.Go(func() {
			of, err := s.LargeGroups(ctx, []id.User{u})
			if err != nil || len(of[0]) != 1 || of[0][0] != c {
				t.Errorf("user %d follows %v, %v", u, of, err)
			}
		})
	}
	connect(2)
	eventually.True(t, "the first transaction begins", func() bool { return log.tails.Load() == 1 })
	for u := id.User(2); u <= 41; u++ { // user 2 with another device
		connect(u)
	}
	eventually.True(t, "the others wait", func() bool { return chat.WaitingForNotices(s, c) == 40 })
	gone, leave := context.WithCancel(ctx)
	leave()
	if _, err := s.LargeGroups(gone, []id.User{50}); err == nil {
		t.Error("a call that ended waits for no transaction, and has no groups")
	}
	close(wait)
	users.Wait()
	if n := log.tails.Load(); n != 2 {
		t.Errorf("there were %d transactions, want 2", n)
	}
	v, err := s.Describe(ctx, 2, c)
	must(t, err)
	if v.MemberCount < 41 || v.MemberCount > 42 { // 1 to 41, and perhaps 50
		t.Errorf("the notices have %d members", v.MemberCount)
	}
	var rows int
	must(t, h.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM members WHERE conversation = $1`, int64(c)).Scan(&rows))
	if uint32(rows) != v.MemberCount {
		t.Errorf("%d rows are counted as %d", rows, v.MemberCount)
	}
}
