package apptest_test

import (
	"math"
	"net/http"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// One user's polls are connections: those beyond the limit are refused with a reason, those of others are not, and each one that waits gets what comes.
func TestPollsOfOneUserAreBounded(t *testing.T) {
	const limit, polls = 20, 100
	h := apptest.Open(t, func(c *config.Config) { c.Gateway.MaxConnectionsUser, c.Limits.CallUser = limit, "1000000/s" })
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	node := chatv1connect.NewChatServiceClient(&http.Client{Transport: &http.Transport{}}, h.URL) // one of them, if there are several
	poll := func(who *apptest.Person, after uint64, waitMs uint32) (*chatv1.SyncResponse, error) {
		r, err := node.Sync(t.Context(), apptest.As(who, &chatv1.SyncRequest{After: &chatv1.Position{Seq: after}, WaitMs: waitMs}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	begin, err := poll(bob, 0, 0)
	must(t, err)
	pages, refusals := make(chan *chatv1.SyncResponse, polls), make(chan error, polls)
	for range polls {
		go func() { // ends with the test at the latest
			page, err := poll(bob, begin.Next.GetSeq(), 25_000)
			if err != nil {
				refusals <- err
			} else {
				pages <- page
			}
		}()
	}
	for range polls - limit {
		select {
		case err := <-refusals:
			if connect.CodeOf(err) != connect.CodeResourceExhausted || reasonOf(err) != "too_many_connections" {
				t.Fatalf("a poll beyond the limit is answered %v", err)
			}
		case page := <-pages:
			t.Fatalf("a poll is answered %v before anything came", page)
		}
	}
	if _, err := poll(alice, 0, 1); err != nil {
		t.Errorf("another user's poll: %v", err)
	}
	h.Send(t, alice, c, "1", "for all")
	for range limit {
		select {
		case err := <-refusals:
			t.Fatalf("a poll within the limit is answered %v", err)
		case page := <-pages:
			if len(page.Events) != 1 || page.Events[0].GetMessage().GetContent().GetText() != "for all" {
				t.Errorf("a poll is answered %v", page)
			}
		}
	}
}

// A position that the server never gave, because it is beyond the end, another user's or as large as can be, loses nothing: the client is told to begin
// anew, or goes on where the server says, and gets what comes then.
func TestPositionsThatTheServerNeverGave(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	h.Send(t, alice, c, "before", "before")
	sync := func(who *apptest.Person, after uint64) *chatv1.SyncResponse {
		t.Helper()
		r, err := h.Chat().Sync(t.Context(), apptest.As(who, &chatv1.SyncRequest{After: &chatv1.Position{Seq: after}}))
		must(t, err)
		return r.Msg
	}
	end := sync(bob, 0).Next.GetSeq()
	others := sync(alice, 0).Next.GetSeq()
	for name, after := range map[string]uint64{"beyond the end": end + 1000, "another user's": others + 1, "in the next epoch": end + 1<<32, "2^63": 1 << 63, "2^64-1": math.MaxUint64} {
		page := sync(bob, after)
		if after > end && !page.Reset_ || len(page.Events) > 0 && after > end {
			t.Errorf("%s: answered %v", name, page)
		}
		text := "after " + name
		h.Send(t, alice, c, text, text)
		eventually.True(t, "after "+name+", a client that goes on gets the next message", func() bool { // it is fanned out after its receipt
			return slices.ContainsFunc(sync(bob, page.Next.GetSeq()).Events, func(e *chatv1.Event) bool { return e.GetMessage().GetContent().GetText() == text })
		})
		end = sync(bob, 0).Next.GetSeq()
	}
}
