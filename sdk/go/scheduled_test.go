package rialto_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// scheduleOf is what a server has of scheduled messages. Nothing calls it from two goroutines.
type scheduleOf struct {
	lost int // answers, the next ones, that do not arrive; the call has its effect
	// refused is the answer to each call, if it is not nil.
	refused error
	calls   []string // "what id time text"
	ids     []string // the ids of clients
}

func (s *server) scheduled(what string, id any, ms int64, content *chatv1.Content) error {
	s.schedule.calls = append(s.schedule.calls, fmt.Sprint(what, " ", id, " ", ms, " ", content.GetText()))
	if s.schedule.lost > 0 {
		s.schedule.lost--
		return connect.NewError(connect.CodeUnavailable, errors.New("lost"))
	}
	return s.schedule.refused
}

func (s *server) ScheduleMessage(_ context.Context, r *connect.Request[chatv1.ScheduleMessageRequest]) (*connect.Response[chatv1.ScheduledMessage], error) {
	s.schedule.ids = append(s.schedule.ids, r.Msg.ClientMsgId)
	err := s.scheduled("schedule", r.Msg.Conversation, r.Msg.SendMs, r.Msg.Content)
	return connect.NewResponse(&chatv1.ScheduledMessage{Id: 50, ClientMsgId: r.Msg.ClientMsgId, SendMs: r.Msg.SendMs}), err
}

func (s *server) UpdateScheduled(_ context.Context, r *connect.Request[chatv1.UpdateScheduledRequest]) (*connect.Response[chatv1.ScheduledMessage], error) {
	err := s.scheduled("update", r.Msg.Id, r.Msg.SendMs, r.Msg.Content)
	return connect.NewResponse(&chatv1.ScheduledMessage{Id: r.Msg.Id, SendMs: r.Msg.SendMs}), err
}

func (s *server) CancelScheduled(_ context.Context, r *connect.Request[chatv1.CancelScheduledRequest]) (*connect.Response[chatv1.CancelScheduledResponse], error) {
	return connect.NewResponse(&chatv1.CancelScheduledResponse{}), s.scheduled("cancel", r.Msg.Id, 0, nil)
}

func (s *server) ListScheduled(_ context.Context, r *connect.Request[chatv1.ListScheduledRequest]) (*connect.Response[chatv1.ListScheduledResponse], error) {
	if r.Msg.Page == "" {
		return connect.NewResponse(&chatv1.ListScheduledResponse{Messages: []*chatv1.ScheduledMessage{{Id: r.Msg.Conversation + 1}, {Id: r.Msg.Conversation + 2}}, Next: "2"}), nil
	}
	return connect.NewResponse(&chatv1.ListScheduledResponse{Messages: []*chatv1.ScheduledMessage{{Id: r.Msg.Conversation + 3}}}), nil
}

// TestScheduledMessages: a message is scheduled once although answers are lost, by the same id in each try; and it is listed, changed and cancelled.
func TestScheduledMessages(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	at := time.UnixMilli(90_000)
	s.schedule.lost = 2
	m, err := c.ScheduleText(t.Context(), 7, "reminder-1", "lunch?", at)
	if err != nil || m.Id != 50 || m.SendMs != 90_000 {
		t.Errorf("scheduled %v, %v", m, err)
	}
	if want := []string{"reminder-1", "reminder-1", "reminder-1"}; !slices.Equal(s.schedule.ids, want) {
		t.Errorf("tries with the ids %q", s.schedule.ids)
	}
	s.schedule.ids, s.schedule.lost = nil, 1
	for range 2 {
		if _, err := c.ScheduleText(t.Context(), 7, "", "lunch?", at); err != nil {
			t.Fatal(err)
		}
	}
	if ids := s.schedule.ids; len(ids) != 3 || len(ids[0]) < 16 || len(ids[0]) > 64 || ids[1] != ids[0] || ids[2] == ids[0] {
		t.Errorf("ids of two calls, of which the first was repeated: %q", ids)
	}
	s.schedule.calls, s.schedule.lost = nil, 2
	_, err = c.Reschedule(t.Context(), 50, at.Add(time.Second), nil)
	_, err2 := c.Reschedule(t.Context(), 50, time.Time{}, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "dinner?"}})
	if err := errors.Join(err, err2, c.CancelScheduled(t.Context(), 50)); err != nil {
		t.Error(err)
	}
	if want := []string{"update 50 91000 ", "update 50 91000 ", "update 50 91000 ", "update 50 0 dinner?", "cancel 50 0 "}; !slices.Equal(s.schedule.calls, want) {
		t.Errorf("called %q, want %q", s.schedule.calls, want)
	}
	var ids []uint64
	if err := c.Scheduled(t.Context(), 7, func(m *chatv1.ScheduledMessage) bool { ids = append(ids, m.Id); return true }); err != nil || !slices.Equal(ids, []uint64{8, 9, 10}) {
		t.Errorf("listed %v, %v", ids, err)
	}
	ids = nil
	if err := c.Scheduled(t.Context(), 0, func(m *chatv1.ScheduledMessage) bool { ids = append(ids, m.Id); return false }); err != nil || !slices.Equal(ids, []uint64{1}) {
		t.Errorf("listed up to the first %v, %v", ids, err)
	}
}

// TestCallsAreRepeatedOnlyWhileAnswersAreLost: after four tries, and after a refusal, the error is the caller's.
func TestCallsAreRepeatedOnlyWhileAnswersAreLost(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	s.schedule.lost = 10
	if err := c.CancelScheduled(t.Context(), 50); connect.CodeOf(err) != connect.CodeUnavailable || len(s.schedule.calls) != 4 {
		t.Errorf("all answers lost: %v after %d tries", err, len(s.schedule.calls))
	}
	s.schedule.lost, s.schedule.calls = 0, nil
	s.schedule.refused = refusal(connect.CodeNotFound, &gatewayv1.Error{Code: "not_found", Reason: "not_found", Message: "it is sent"})
	if err := c.CancelScheduled(t.Context(), 50); rialto.Reason(err) != "not_found" || len(s.schedule.calls) != 1 {
		t.Errorf("a refusal: %v after %d tries", err, len(s.schedule.calls))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.schedule.calls = nil
	if err := c.CancelScheduled(ended, 50); !errors.Is(err, context.Canceled) || len(s.schedule.calls) != 0 {
		t.Errorf("a context that has ended: %v after %d tries", err, len(s.schedule.calls))
	}
}
