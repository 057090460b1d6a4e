package chat_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"google.golang.org/protobuf/proto"
)

// The admins of a group are told of who wants to join, once, and of answers; nobody else is.
func TestAdminsAreToldOfRequests(t *testing.T) {
	ctx, h := t.Context(), newHouse(t, chat.Config{})
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
			t.Fatalf("%d joins: %v, %v", u, joined, err)
		}
	}
	answer := func(u id.User, accept bool, reason string) {
		t.Helper()
		if _, err := s.AnswerJoinRequest(ctx, c, 1, u, accept); reasonOf(err) != reason {
			t.Fatalf("%d is answered: %v, want %q", u, err, reason)
		}
	}
	join(5, "please")
	join(5, "pretty please") // again, which nobody is told
	join(6, "")
	answer(5, true, "")
	answer(5, true, "no_request")
	answer(6, false, "")
	list, err := s.ListJoinRequests(ctx, c, 1)
	if err != nil || len(list.Requests) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	join(6, "again")
	if list, err = s.ListJoinRequests(ctx, c, 2); err != nil || len(list.Requests) != 1 || list.Requests[0].Message != "again" {
		t.Errorf("%v, %v", list, err)
	}

	var want, got []string
	for _, e := range []string{"1 wait, 5", "2 wait, 6", "1 wait, 0", "0 wait, 0", "1 wait, 6"} {
		want = append(want, "1: "+e, "2: "+e)
	}
	run, stop := context.WithCancel(ctx)
	err = outbox.Run(run, func(_ context.Context, events []job.Event) error {
		for _, e := range events {
			var event chatv1.Event
			must(t, proto.Unmarshal(e.Body, &event))
			r := event.GetJoinRequests()
			if r.GetConversation() != uint64(c) {
				t.Errorf("%v is told", &event)
			}
			got = append(got, fmt.Sprintf("%d: %d wait, %d", e.User, r.GetWaiting(), r.GetUser()))
		}
		stop()
		return nil
	})
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
