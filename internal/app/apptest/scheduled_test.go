package apptest_test

import (
	"fmt"
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

// A scheduled message replies to no message that its sender may not read: one of another conversation, or from before the sender joined. What was
// recalled when its time comes is not replied to either; the message stays, with the reason.
func TestScheduledRepliesToForeignMessages(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	ann, bob, eve := h.Register(t, "anna"), h.Register(t, "bobo"), h.Register(t, "evee")
	group, talk := h.Group(t, ann, bob), h.Direct(t, ann, eve)
	secret, early := uint64(0), h.Send(t, ann, group, "early", "before eve came").Seq
	for n := range 20 { // so that the seq is of no message in another conversation
		secret = h.Send(t, ann, talk, fmt.Sprint("secret ", n), "for eve alone").Seq
	}
	_, err := h.Chat().Invite(t.Context(), apptest.As(ann, &chatv1.InviteRequest{Conversation: group, Users: []uint64{eve.User}}))
	must(t, err)
	schedule := func(by *apptest.Person, id string, to uint64, in time.Duration) (*chatv1.ScheduledMessage, string) {
		r, err := h.Chat().ScheduleMessage(t.Context(), apptest.As(by, &chatv1.ScheduleMessageRequest{Conversation: group, ClientMsgId: id,
			Content: &chatv1.Content{Kind: apptest.Text(id).Kind, ReplyTo: ref(to)}, SendMs: time.Now().Add(in).UnixMilli()}))
		if err != nil {
			return nil, reasonOf(err)
		}
		return r.Msg, ""
	}
	for name, c := range map[string]struct {
		by   *apptest.Person
		to   uint64
		want string
	}{
		"a message of another conversation":         {bob, secret, "no_message"},
		"one from before the sender joined":         {eve, early, "no_message"},
		"the entry of the log with which it begins": {bob, 1, "no_message"},
		"none":               {bob, 0, "bad_ref"},
		"one of one's group": {bob, early, ""},
	} {
		if _, why := schedule(c.by, name, c.to, time.Hour); why != c.want {
			t.Errorf("a scheduled reply to %s was answered %q, want %q", name, why, c.want)
		}
	}
	kept, why := schedule(ann, "change", early, time.Hour)
	if why != "" {
		t.Fatal(why)
	}
	_, err = h.Chat().UpdateScheduled(t.Context(), apptest.As(ann, &chatv1.UpdateScheduledRequest{Id: kept.Id, Content: &chatv1.Content{Kind: apptest.Text("x").Kind, ReplyTo: ref(secret)}}))
	if reasonOf(err) != "no_message" {
		t.Errorf("a scheduled message was given a foreign quote: %v", err)
	}

	s, _ := bob.Socket(t, "rialto.v1.proto")
	due, why := schedule(bob, "late", early, 3*time.Second)
	if why != "" {
		t.Fatal(why)
	}
	mustSend(t, h, ann, group, "recall", recallOf(early))
	_, err = h.Chat().ScheduleMessage(t.Context(), apptest.As(bob, &chatv1.ScheduleMessageRequest{Conversation: group, ClientMsgId: "after it", Content: apptest.Text("after it"), SendMs: due.SendMs + 1}))
	must(t, err)
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if e.GetMessage().GetContent().GetText() == "late" {
				t.Error("a reply to a recalled message was sent")
			}
			if e.GetMessage().GetContent().GetText() == "after it" {
				return true
			}
		}
		return f.Hint != nil
	})
	list, err := h.Chat().ListScheduled(t.Context(), apptest.As(bob, &chatv1.ListScheduledRequest{Conversation: group}))
	must(t, err)
	for _, m := range list.Msg.Messages {
		if m.Id == due.Id && m.Failed != "recalled" {
			t.Errorf("the reply to a recalled message failed because of %q", m.Failed)
		}
	}
}
