package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// endedSessions has sessions that end.
type endedSessions struct {
	*fakeServices
	ended bool
}

func (e *endedSessions) Live(context.Context, id.Caller) error {
	if e.ended {
		return errs.New(errs.Unauthenticated, "session_ended", "log in again")
	}
	return nil
}

// A program with an API key has no session that could be connected.
func TestNoSyncWaitsForAnAPIKey(t *testing.T) {
	c, _ := bench(t)
	if err := c.server.Await(t.Context(), id.Caller{User: storeUser, Server: true}, &chatv1.SyncRequest{WaitMs: 1}); err == nil || errs.Of(err).Reason != "no_session" {
		t.Errorf("answered %v", err)
	}
}

// countedTails counts the conversations whose tails are read.
type countedTails struct {
	*fakeServices
	read int
}

func (k *countedTails) LargeTails(ctx context.Context, list []id.Conversation) ([]uint64, error) {
	k.read += len(list)
	return k.fakeServices.LargeTails(ctx, list)
}

// What a client names often is read once, and the lowest that it names counts.
func TestAWaitingSyncReadsEachLargeGroupOnce(t *testing.T) {
	c, fake := bench(t)
	k := &countedTails{fakeServices: fake}
	c.server.deps.Inbox = k
	fake.tail.Store(10)
	c.follows, c.followsAbove = []id.Conversation{5, 6}, []uint64{0, 0}
	var known []*chatv1.LargeTail
	for n := range 1000 {
		known = append(known, &chatv1.LargeTail{Conversation: 5 + uint64(n%3), LastSeq: 10})
	}
	for _, test := range []struct {
		last  uint64
		grown bool
	}{{10, false}, {9, true}} {
		known[0].LastSeq = test.last
		if grown, err := c.hasGrown(t.Context(), known); err != nil || grown != test.grown {
			t.Errorf("with %d, grown is %v, %v", test.last, grown, err)
		}
	}
	if k.read != 4 {
		t.Errorf("%d tails were read, want 2 at each time", k.read)
	}
}

// A sync waits until there is something to answer: at once where the stream or a large group is ahead of the client, else at a push, and not longer than
// was asked for. The stream is at 10, large group 5 at 10.
func TestASyncWaitsForSomethingToAnswer(t *testing.T) {
	event := func(s *Server, at message.Position) {
		s.hub.each(storeUser, func(c *conn) { c.push(at) })
	}
	for name, test := range map[string]struct {
		after  uint64
		waitMs uint32
		large  []*chatv1.LargeTail
		act    func(s *Server, e *endedSessions) // a second later
		took   time.Duration
		reason string
	}{
		"the stream is ahead":          {after: 9, waitMs: 5000},
		"nothing comes":                {after: 10, waitMs: 5000, took: 5 * time.Second},
		"a long time":                  {after: 10, waitMs: 1 << 31, took: maxAwait},
		"an event comes":               {after: 10, waitMs: 5000, act: func(s *Server, _ *endedSessions) { event(s, 11) }, took: time.Second},
		"an event that the client has": {after: 12, waitMs: 5000, act: func(s *Server, _ *endedSessions) { event(s, 11) }, took: 5 * time.Second},
		"a lost event is noticed":      {after: 10, waitMs: 5000, act: func(s *Server, _ *endedSessions) { s.hub.each(storeUser, func(c *conn) { c.hintIfBehind(12) }) }, took: time.Second},
		"a message of a large group":   {after: 10, waitMs: 5000, act: func(s *Server, _ *endedSessions) { (&conn{server: s}).deliverLarge(11) }, took: time.Second},
		"a large group is hot": {after: 10, waitMs: 5000, act: func(s *Server, _ *endedSessions) {
			s.heats.hint(s.ctx, []growth{{conversation: 5, seq: 11, conns: s.hub.conversation(5).audiences[5].conns}})
		}, took: time.Second},
		"a large group is ahead":                  {after: 10, waitMs: 5000, large: []*chatv1.LargeTail{{Conversation: 5, LastSeq: 9}}},
		"a large group is where the client knows": {after: 10, waitMs: 5000, large: []*chatv1.LargeTail{{Conversation: 5, LastSeq: 10}}, took: 5 * time.Second},
		"a group of others":                       {after: 10, waitMs: 5000, large: []*chatv1.LargeTail{{Conversation: 6, LastSeq: 9}}, took: 5 * time.Second},
		"the session ends":                        {after: 10, waitMs: 5000, act: func(s *Server, e *endedSessions) { e.ended = true; s.EndSession(storeUser, 9, "revoked") }, took: time.Second, reason: "session_ended"},
		"the node stops":                          {after: 10, waitMs: 5000, act: func(s *Server, _ *endedSessions) { s.ReleaseHeld() }, took: time.Second, reason: "closing"},
		"another session ends":                    {after: 10, waitMs: 5000, act: func(s *Server, _ *endedSessions) { s.EndSession(storeUser, 10, "revoked") }, took: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, fake := bench(t)
				s := first.server
				e := &endedSessions{fakeServices: fake}
				s.deps.Accounts = e
				fake.tail.Store(10)
				fake.in(5)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); s.flush[0].run(ctx) }()
				began, answered := time.Now(), make(chan error, 1)
				go func() {
					answered <- s.Await(ctx, id.Caller{User: storeUser, Device: 8, Session: 9}, &chatv1.SyncRequest{After: &chatv1.Position{Seq: test.after}, WaitMs: test.waitMs, Large: test.large})
				}()
				pass(time.Second)
				if waits := s.hub.has(storeUser); waits != (test.took != 0) {
					t.Errorf("after a second, it waits: %v", waits)
				}
				if test.act != nil {
					test.act(s, e)
					s.Flush()
				}
				if err := <-answered; test.reason == "" && err != nil || test.reason != "" && (err == nil || errs.Of(err).Reason != test.reason) {
					t.Errorf("answered %v, want %q", err, test.reason)
				}
				if took := time.Since(began); took != max(test.took, time.Second) {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if s.hub.has(storeUser) || s.stats.Connections.Load() != 0 || s.stats.Held.Load() != 0 || s.stats.Streams.Load() != 0 {
					t.Error("the connection remains")
				}
				if len(fake.asked) == 0 || !strings.HasPrefix(fake.asked[0], "ack ") || !strings.HasSuffix(fake.asked[0], fmt.Sprint(" ", test.after)) {
					t.Errorf("the first that services were asked is %q", fake.asked)
				}
				cancel()
				<-done
			})
		})
	}
}
