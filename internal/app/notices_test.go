package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A server makes notices and writes one. A connected user is pushed it, one who was offline has it as unread, also after a restart, until it is
// read; one who registers later has none. A segment is on the list of those alone who are in it.
func TestNoticesReachAllUsers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	start := func() *Node {
		t.Helper()
		h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
		must(t, err)
		return h
	}
	h := start()
	defer func() { must(t, h.Close()) }()
	register := func(handle string, handler func(rialto.Event)) *rialto.Client {
		t.Helper()
		c, err := rialto.New(rialto.Config{URL: url(h), Handler: handler})
		must(t, err)
		must(t, c.Register(t.Context(), handle, "a good password", handle))
		return c
	}
	pushed := make(chan string, 16) // no more texts are sent, but greetings
	greeted := make(chan uint64, 1)
	owner := register("notices", nil)
	online := register("online", func(e rialto.Event) {
		switch text := e.Message.GetContent().GetText(); {
		case strings.HasPrefix(text, "greeting"):
			select {
			case greeted <- e.Message.Conversation:
			default:
			}
		case text != "":
			pushed <- text
		}
	})
	register("offline", nil)
	apiKey := key(t, h)
	create := func(segment bool, key string) uint64 {
		t.Helper()
		made, err := rialto.CreateNotices(t.Context(), rialto.NoticesConfig{URL: url(h), APIKey: apiKey, Owner: owner.User(), Title: "System notices", Key: key, Segment: segment})
		must(t, err)
		return made.Id
	}
	send := func(conversation uint64, text string) {
		t.Helper()
		_, err := owner.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: conversation, ClientMsgId: text, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}))
		must(t, err)
	}
	all, beta := create(false, "all"), create(true, "beta")
	_, err := owner.Chat().Invite(t.Context(), connect.NewRequest(&chatv1.InviteRequest{Conversation: beta, Users: []uint64{online.User()}}))
	must(t, err)
	runs, stop := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { defer close(left); _ = online.Run(runs) }()
	defer func() { stop(); <-left }()
	// To a new device, what a channel had before the first sync is history. It gets what is sent after a greeting that it got.
	greetings := map[uint64]uint64{}
	for _, c := range []uint64{all, beta} {
		for has := false; !has; {
			greetings[c]++
			send(c, fmt.Sprint("greeting ", greetings[c]))
			select {
			case got := <-greeted:
				has = got == c
			case <-time.After(50 * time.Millisecond): // then the next one
			case <-t.Context().Done():
				t.Fatal("no greeting was pushed")
			}
		}
	}
	send(all, "for all")
	send(beta, "for some")
	got := map[string]int{}
	for range 2 {
		select {
		case text := <-pushed:
			got[text]++
		case <-t.Context().Done():
			t.Fatalf("pushed %v", got)
		}
	}
	if got["for all"] != 1 || got["for some"] != 1 {
		t.Errorf("pushed %v", got)
	}
	register("late", nil)
	stop()
	<-left
	must(t, h.Close())
	h = start()

	login := func(handle string) *rialto.Client {
		t.Helper()
		c := client(t, h)
		must(t, c.Login(t.Context(), handle, "a good password"))
		return c
	}
	list := func(c *rialto.Client) *chatv1.ListConversationsResponse {
		t.Helper()
		r, err := c.Chat().ListConversations(t.Context(), connect.NewRequest(&chatv1.ListConversationsRequest{}))
		must(t, err)
		return r.Msg
	}
	offline := login("offline")
	for _, want := range []uint64{greetings[all] + 1, 0} {
		l := list(offline)
		if len(l.Conversations) != 1 || l.Conversations[0].Id != all || l.Conversations[0].Unread != want || l.Conversations[0].LastMessage.GetContent().GetText() != "for all" {
			t.Fatalf("the list of who was offline is %v, want %d unread", l, want)
		}
		_, err := offline.Chat().Mark(t.Context(), connect.NewRequest(&chatv1.MarkRequest{Conversation: all, ReadSeq: l.Conversations[0].LastSeq}))
		must(t, err)
	}
	if l := list(login("online")); len(l.Conversations) != 2 {
		t.Errorf("the list of who is in the segment is %v", l)
	}
	late := login("late")
	if l := list(late); len(l.Conversations) != 1 || l.Conversations[0].Unread != 0 || l.Badge != 0 || l.Conversations[0].LastMessage.GetContent().GetText() != "" {
		t.Errorf("the list of who registered later is %v", l)
	}
	if _, err := late.Chat().Leave(t.Context(), connect.NewRequest(&chatv1.LeaveRequest{Conversation: all})); rialto.Reason(err) != "notices" {
		t.Errorf("leaving: %v", err)
	}
	if _, err := late.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: beta})); rialto.Reason(err) != "no_conversation" {
		t.Errorf("the history of another segment: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
