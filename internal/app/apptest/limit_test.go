package apptest_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
)

// What a limited user writes to somebody who does not know the user comes to nobody's socket, stream, list or search but the user's own.
func TestLimitedMessagesReachNobody(t *testing.T) {
	var at []string
	h := apptest.Open(t, func(c *config.Config) {
		if at = []string{"--data", c.Data}; c.Postgres != "" {
			at = append(at, "--postgres", c.Postgres)
		}
	})
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	mia := moderators(t, h, at)
	c, other := h.Direct(t, alice, bob), h.Direct(t, carol, bob)
	sent, seen := 0, map[uint64]string{}
	send := func(text string) (visible bool) {
		t.Helper()
		sent++
		seq := h.Send(t, alice, c, fmt.Sprint("a", sent), text).Seq
		page, err := h.Chat().GetMessages(t.Context(), apptest.As(bob, &chatv1.GetMessagesRequest{Conversation: c, Seqs: []uint64{seq}}))
		if err != nil {
			t.Fatal(err)
		}
		if visible = len(page.Msg.Messages) == 1; visible {
			seen[seq] = text
		}
		return visible
	}
	if !send("before") {
		t.Error("a message from before the limit is hidden")
	}
	limit := &moderationv1.BanTargetRequest{Target: &moderationv1.Target{Of: &moderationv1.Target_LimitedUser{LimitedUser: alice.User}}, Reason: moderationv1.ReportReason_REPORT_REASON_SPAM}
	b, err := mia.BanTarget(t.Context(), connect.NewRequest(limit))
	if err != nil {
		t.Fatal(err)
	}
	hidden := 0
	eventually.True(t, "all nodes limit the user", func() bool { // each message goes to another node
		if hidden++; send("a probe") {
			hidden = 0
		}
		return hidden == 3
	})
	socket, _ := bob.Socket(t, "rialto.v1.proto")
	own, _ := alice.Socket(t, "rialto.v1.proto")
	if send("the secretword") {
		t.Error("a message of the limited user is read")
	}
	isText := func(text string, fail bool) func(*gatewayv1.ServerFrame) bool {
		return func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				got := e.GetMessage().GetContent().GetText()
				if fail && strings.Contains(got, "secretword") {
					t.Errorf("the text %q of a limited user is pushed to others", got)
				}
				if got == text {
					return true
				}
			}
			return false
		}
	}
	own.Until(isText("the secretword", false))
	h.Send(t, carol, other, "c1", "hello bob")
	socket.Until(isText("hello bob", true))
	list, _ := conversations(t, bob)
	for _, row := range list {
		if row.Id == c && (int(row.Unread) != len(seen) || seen[row.LastMessage.GetSeq()] == "") {
			t.Errorf("bob's list has %v, want %d unread messages, and the last of %v", row, len(seen), seen)
		}
	}
	synced, err := h.Chat().Sync(t.Context(), apptest.As(bob, &chatv1.SyncRequest{Limit: 500}))
	if err != nil || strings.Contains(synced.Msg.String(), "secretword") {
		t.Errorf("bob syncs %v (%v)", synced, err)
	}
	find := func(p *apptest.Person) (hits int) {
		r, err := searchv1connect.NewSearchServiceClient(h.HTTP, h.URL).Search(t.Context(), apptest.As(p, &searchv1.SearchRequest{Query: "secretword"}))
		if err != nil {
			return -1
		}
		for _, g := range r.Msg.Groups {
			hits += len(g.Hits)
		}
		return hits
	}
	eventually.True(t, "alice finds the message", func() bool { return find(alice) == 1 })
	if n := find(bob); n != 0 {
		t.Errorf("bob finds %d messages", n)
	}
	if _, err := mia.LiftBan(t.Context(), connect.NewRequest(&moderationv1.LiftBanRequest{Ban: b.Msg.Id})); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the limit ends", func() bool { return send("after") })
	page, err := h.Chat().GetMessages(t.Context(), apptest.As(bob, &chatv1.GetMessagesRequest{Conversation: c, Seqs: []uint64{uint64(sent)}}))
	if err != nil || strings.Contains(page.Msg.String(), "secretword") {
		t.Errorf("after the limit bob reads %v (%v)", page, err)
	}
}
