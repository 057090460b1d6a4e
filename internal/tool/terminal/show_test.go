package terminal

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// shelf is a server with messages of one conversation: five texts, unless the test gives others. Of the user's own, it keeps none.
type shelf struct {
	chatv1connect.UnimplementedChatServiceHandler
	messages []*chatv1.Message // in order of seq, from 1 on
	reads    []uint64          // seqs that were asked for by GetMessages
	chats    []*chatv1.Conversation
}

func (l *shelf) ListConversations(context.Context, *connect.Request[chatv1.ListConversationsRequest]) (*connect.Response[chatv1.ListConversationsResponse], error) {
	return connect.NewResponse(&chatv1.ListConversationsResponse{Conversations: l.chats}), nil
}

func message(conversation, seq uint64) *chatv1.Message {
	return &chatv1.Message{Conversation: conversation, Seq: seq, Sender: 2, TimeMs: 1_800_000_000_000, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: fmt.Sprint("no. ", seq)}}}
}

func (l *shelf) History(_ context.Context, r *connect.Request[chatv1.HistoryRequest]) (*connect.Response[chatv1.HistoryResponse], error) {
	before := r.Msg.Before
	if before == 0 {
		before = uint64(len(l.messages)) + 1
	}
	from := max(before-min(before, uint64(r.Msg.Limit)), 1)
	return connect.NewResponse(&chatv1.HistoryResponse{More: from > 1, Messages: l.messages[from-1 : before-1]}), nil
}

func (l *shelf) GetMessages(_ context.Context, r *connect.Request[chatv1.GetMessagesRequest]) (*connect.Response[chatv1.GetMessagesResponse], error) {
	l.reads = append(l.reads, r.Msg.Seqs...)
	res := &chatv1.GetMessagesResponse{}
	for _, seq := range r.Msg.Seqs {
		if seq <= uint64(len(l.messages)) {
			res.Messages = append(res.Messages, l.messages[seq-1])
		}
	}
	return connect.NewResponse(res), nil
}

func (l *shelf) ListFolders(context.Context, *connect.Request[chatv1.ListFoldersRequest]) (*connect.Response[chatv1.ListFoldersResponse], error) {
	return connect.NewResponse(&chatv1.ListFoldersResponse{Folders: []*chatv1.Folder{{Id: 5, Name: "work", Conversations: []uint64{7}}}}), nil
}

// seated is seatedAt a shelf of five texts.
func seated(t *testing.T) (s *screen, said func() string) {
	l := &shelf{}
	for seq := range uint64(5) {
		l.messages = append(l.messages, message(7, seq+1))
	}
	return seatedAt(t, l)
}

// seatedAt returns the screen of user 1, who is signed in at a shelf; said returns what it printed since the last call.
func seatedAt(t *testing.T, l *shelf) (s *screen, said func() string) {
	mux := http.NewServeMux()
	mux.Handle(chatv1connect.NewChatServiceHandler(l))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s = newScreen()
	out := &strings.Builder{}
	s.console = &pipe{in: bufio.NewReader(strings.NewReader("")), out: out}
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	s.people[2] = person{"bob", "Bob"}
	for _, id := range []uint64{7, 8, 9} {
		s.chats[id] = &chatv1.Conversation{Id: id, Title: fmt.Sprint("chat ", id), State: &chatv1.ConversationState{Conversation: id}}
	}
	return s, func() string {
		text := out.String()
		out.Reset()
		return text
	}
}

// Each message is printed once, whether a page or an event contains it.
func TestEachMessageIsOnTheScreenOnce(t *testing.T) {
	s, said := seated(t)
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	if err := s.history(t.Context(), "3"); err != nil {
		t.Fatal(err)
	}
	said()
	for _, seq := range []uint64{4, 5, 6, 6, 3} {
		s.show(t.Context(), rialto.Event{Message: message(7, seq)})
	}
	if text := said(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "Bob: no. 6") {
		t.Errorf("printed by events: got %q", text)
	}
	if err := s.more(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	if text := said(); strings.Contains(text, "no. 3") || !strings.Contains(text, "no. 1\n") || !strings.Contains(text, "no. 2\n") {
		t.Errorf("printed by the previous page: got %q", text)
	}
	if err := s.more(t.Context(), ""); err != nil || said() != "There is nothing older.\n" {
		t.Errorf("before the first message: got %v", err)
	}
}

// Messages of other chats are announced with the title, except those from before the start, the user's own, and those of muted chats.
func TestMessagesOfOtherChatsAreAnnounced(t *testing.T) {
	s, said := seated(t)
	s.before[7] = 5
	s.show(t.Context(), rialto.Event{Message: message(7, 5)})
	own := message(7, 6)
	own.Sender = 1
	s.show(t.Context(), rialto.Event{Message: own})
	s.show(t.Context(), rialto.Event{Conversation: &chatv1.ConversationState{Conversation: 8, Muted: true}})
	s.show(t.Context(), rialto.Event{Message: message(8, 1)})
	if text := said(); text != "" {
		t.Errorf("printed: got %q", text)
	}
	s.show(t.Context(), rialto.Event{Message: message(7, 7)})
	s.show(t.Context(), rialto.Event{Message: message(9, 1)})
	if text := said(); !strings.HasPrefix(text, "[chat 7] ") || !strings.Contains(text, "no. 7\n[chat 9] ") {
		t.Errorf("printed: got %q", text)
	}
}

// Transient events of the open chat are printed once, those of other chats are not.
func TestTransientEventsOfTheOpenChat(t *testing.T) {
	s, said := seated(t)
	s.chats[7].Peer = 2
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	own := message(7, 6)
	own.Sender = 1
	s.show(t.Context(), rialto.Event{Message: own})
	said()
	online, offline := presencev1.Status_STATUS_ONLINE, presencev1.Status_STATUS_OFFLINE
	for _, e := range []rialto.Event{
		{Presence: &presencev1.Presence{User: 2, Status: online}}, // the previous state is unknown
		{Presence: &presencev1.Presence{User: 2, Status: online}},
		{Presence: &presencev1.Presence{User: 2, Status: offline}},
		{Presence: &presencev1.Presence{User: 3, Status: online}},
		{Presence: &presencev1.Presence{User: 3, Status: offline}},
		{Mark: &chatv1.MemberMark{Conversation: 7, User: 2, DeliveredSeq: 5, ReadSeq: 5}},
		{Mark: &chatv1.MemberMark{Conversation: 7, User: 2, DeliveredSeq: 6}},
		{Mark: &chatv1.MemberMark{Conversation: 7, User: 2, DeliveredSeq: 6}},
		{Mark: &chatv1.MemberMark{Conversation: 7, User: 2, ReadSeq: 6}},
		{Mark: &chatv1.MemberMark{Conversation: 7, User: 2, ReadSeq: 6}},
		{Mark: &chatv1.MemberMark{Conversation: 8, User: 2, ReadSeq: 60}},
		{Relation: &chatv1.Relation{User: 2, Asked: true, Message: "hi\nthere"}, Live: true},
		{Relation: &chatv1.Relation{User: 2, Asked: true, Message: "hi\nthere"}, Live: true},
		{Relation: &chatv1.Relation{User: 2, Friend: true}, Live: true},
		{Relation: &chatv1.Relation{User: 2, Blocked: true}, Live: true},
	} {
		s.show(t.Context(), e)
	}
	want := "* Bob is offline\n       (delivered)\n       (read)\n* Bob wants to be your friend: /accept @bob, or /decline. hi there\n* Bob and you are friends now\n"
	if text := said(); text != want {
		t.Errorf("printed: got %q", text)
	}
}
