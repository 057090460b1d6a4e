package chat_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Only the admins of a group are notified of join requests, once each, and of the answers.
func TestAdminsAreNotifiedOfJoinRequests(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	outbox, err := job.NewOutbox(ctx, h.db, slog.New(slog.DiscardHandler))
	must(t, err)
	deps := h.deps(h.db)
	deps.Outbox = outbox
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_APPROVAL})
	must(t, err)
	_, err = s.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	join := func(u id.User, message string) {
		t.Helper()
		joined, _, err := s.Join(ctx, u, &chatv1.JoinRequest{Conversation: uint64(c), Message: message})
		if err != nil || joined {
			t.Fatalf("a join of %d returned %v, %v", u, joined, err)
		}
	}
	answer := func(u id.User, accept bool, reason string) {
		t.Helper()
		if _, err := s.AnswerJoinRequest(ctx, c, 1, u, accept); reasonOf(err) != reason {
			t.Fatalf("answering the request of %d returned %v, want %q", u, err, reason)
		}
	}
	join(5, "please")
	join(5, "pretty please") // repeated: no notification
	join(6, "")
	answer(5, true, "")
	answer(5, true, "no_request")
	answer(6, false, "")
	list, err := s.ListJoinRequests(ctx, c, 1)
	if err != nil || len(list.Requests) != 0 {
		t.Errorf("requests are %v (%v)", list, err)
	}
	join(6, "again")
	if list, err = s.ListJoinRequests(ctx, c, 2); err != nil || len(list.Requests) != 1 || list.Requests[0].Message != "again" {
		t.Errorf("requests are %v (%v)", list, err)
	}

	// A ban deletes the request of the banned user, also of one who was banned before, and of no other.
	join(7, "me too")
	for range 2 {
		_, err = s.Ban(ctx, c, 2, []uint64{6, 8})
		must(t, err)
	}
	if list, err = s.ListJoinRequests(ctx, c, 1); err != nil || len(list.Requests) != 1 || list.Requests[0].User != 7 {
		t.Errorf("requests after a ban are %v (%v)", list, err)
	}
	_, err = s.Unban(ctx, c, 1, []uint64{6})
	must(t, err)
	answer(6, true, "no_request")

	var want, got []string
	for _, e := range []string{"1 wait, 5", "2 wait, 6", "1 wait, 0", "0 wait, 0", "1 wait, 6", "2 wait, 7", "1 wait, 0"} {
		want = append(want, "1: "+e, "2: "+e)
	}
	run, stop := context.WithCancel(ctx)
	err = outbox.Run(run, func(_ context.Context, events []job.Event) error {
		for _, e := range events {
			var event chatv1.Event
			must(t, proto.Unmarshal(e.Body, &event))
			r := event.GetJoinRequests()
			if r.GetConversation() != uint64(c) {
				t.Errorf("unexpected notification %v", &event)
			}
			got = append(got, fmt.Sprintf("%d: %d wait, %d", e.User, r.GetWaiting(), r.GetUser()))
		}
		stop()
		return nil
	})
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("notifications are %q, want %q", got, want)
	}
}
