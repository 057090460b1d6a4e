package apptest_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A scheduled message is pushed like any other once its time has come, and its file can be read then.
func TestScheduledMessagesAreSent(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	later := func(by *apptest.Person, clientID string, in time.Duration) *chatv1.ScheduledMessage {
		t.Helper()
		r, err := h.Chat().ScheduleMessage(t.Context(), apptest.As(by, &chatv1.ScheduleMessageRequest{Conversation: c, ClientMsgId: clientID,
			Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: clientID}}, SendMs: time.Now().Add(in).UnixMilli()}))
		must(t, err)
		return r.Msg
	}
	s, _ := bob.Socket(t, "rialto.v1.proto")
	cancelled := later(ann, "cancelled", time.Hour)
	later(ann, "at its time", 2*time.Second)
	_, err := h.Chat().CancelScheduled(t.Context(), apptest.As(ann, &chatv1.CancelScheduledRequest{Id: cancelled.Id}))
	must(t, err)
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if e.GetMessage().GetContent().GetText() == "at its time" {
				return true
			}
		}
		return f.Hint != nil
	})
	file := upload(t, ann, "the plan")
	content := func(upload uint64) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: upload, Name: "plan.txt"}}}
	}
	if _, err := h.Chat().ScheduleMessage(t.Context(), apptest.As(bob, &chatv1.ScheduleMessageRequest{Conversation: c, ClientMsgId: "foreign", Content: content(file), SendMs: time.Now().Add(time.Hour).UnixMilli()})); reasonOf(err) != "no_upload" {
		t.Errorf("another user's file: %v", err)
	}
	_, err = h.Chat().ScheduleMessage(t.Context(), apptest.As(ann, &chatv1.ScheduleMessageRequest{Conversation: c, ClientMsgId: "file", Content: content(file), SendMs: time.Now().Add(time.Second).UnixMilli()}))
	must(t, err)
	var sent *chatv1.Message
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if e.GetMessage().GetContent().GetFile() != nil {
				sent = e.GetMessage()
			}
		}
		return sent != nil
	})
	_, err = chatv1connect.NewMediaServiceClient(h.HTTP, h.URL).GetDownload(t.Context(), apptest.As(bob, &chatv1.GetDownloadRequest{Upload: file, Conversation: c, Seq: sent.Seq}))
	must(t, err)
	if _, err := h.Chat().CancelScheduled(t.Context(), apptest.As(bob, &chatv1.CancelScheduledRequest{Id: cancelled.Id})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("cancelling another user's: %v", err)
	}
}
