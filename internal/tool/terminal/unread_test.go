package terminal

import (
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func TestChatsAreListedByKind(t *testing.T) {
	group := &chatv1.Conversation{}
	marked := &chatv1.Conversation{Peer: 2, State: &chatv1.ConversationState{MarkedUnread: true}}
	unread := &chatv1.Conversation{Unread: 1}
	for by, want := range map[string][]bool{"": {true, true, true}, "all": {true, true, true}, "unread": {false, true, true}, "groups": {true, false, true}, "direct": {false, true, false}} {
		for i, c := range []*chatv1.Conversation{group, marked, unread} {
			if got := listedBy[by](c); got != want[i] {
				t.Errorf("/chats %s lists chat %d: %v", by, i, got)
			}
		}
	}
	s, said := seated(t)
	if err := s.folders(t.Context(), ""); err != nil || !strings.Contains(said(), "work  1 chat") {
		t.Errorf("/folders: %v, %q", err, said())
	}
	if err := s.folders(t.Context(), "delete home"); err != errNoFolder {
		t.Errorf("/folders delete home: %v", err)
	}
	if got := s.entry(t.Context(), marked, "tea"); !strings.Contains(got, "(marked unread)") {
		t.Errorf("the chat is listed as %q", got)
	}
	made := &chatv1.Message{TimeMs: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_LARGE}}}}
	if got := s.entry(t.Context(), &chatv1.Conversation{LastMessage: made}, "News"); !strings.HasSuffix(got, "News") {
		t.Errorf("a chat whose last entry is shown to nobody is listed as %q", got)
	}
	if err := s.listChats(t.Context(), "bogus"); err == nil || !strings.Contains(err.Error(), "groups") {
		t.Errorf("/chats bogus: %v", err)
	}
}
