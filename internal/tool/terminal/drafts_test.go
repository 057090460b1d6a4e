package terminal

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// typing is the screen of user 1 at a keyboard with chats 7 and 8, without a server. Its messages are queued, and its drafts wait.
func typing(t *testing.T, keys string) *screen {
	t.Helper()
	s := newScreen()
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint64{7, 8} {
		s.chats[id] = &chatv1.Conversation{Id: id, Peer: 1, State: &chatv1.ConversationState{Conversation: id}}
	}
	s.keyed = true
	s.console = newKeyboard(strings.NewReader(keys), io.Discard, func() int { return 80 }, s.pressed)
	s.setOpen(t.Context(), s.chats[7])
	return s
}

// kept returns the draft that the client has of a chat.
func (s *screen) kept(conversation uint64) string {
	s.keepTyped()
	return s.client.Draft(&chatv1.ConversationState{Conversation: conversation})
}

// What is typed is the draft of the open chat. Commands are none, Ctrl-C leaves it, and a message that is sent leaves none.
func TestWhatIsTypedIsTheDraft(t *testing.T) {
	for keys, want := range map[string]string{
		"hello":                         "hello",
		"hello\x7f\x7f":                 "hel",
		"hello\x15":                     "",
		"hello\x03":                     "hello",
		"hello\x03/open 8":              "hello",
		"hello\x03/open 8\x15bye":       "bye",
		"hello\x01\x1b[3~":              "ello",
		"hello\x01\x0b":                 "",
		"/open 8":                       "",
		"//shrug":                       "/shrug",
		"\x1b[200~two\nlines\x1b[201~":  "two\nlines",
		"sent\r":                        "",
		"sent\rnext":                    "next",
		"sent\r\x1b[A":                  "",
		"one\\\rtwo":                    "one\ntwo",
		"one\\\rtwo\r":                  "",
		"hello\x03/close\r":             "hello",
		"hello\x03/draft clear\r":       "",
		"/draft bye\r":                  "bye",
		"hello\x03/draft clear\rhi\x7f": "h",
	} {
		s := typing(t, keys)
		for {
			line, err := s.console.Line()
			if err != nil {
				break
			}
			if err := s.do(t.Context(), line); err != nil {
				t.Errorf("keys %q: %v", keys, err)
			}
		}
		if got := s.kept(7); got != want {
			t.Errorf("keys %q: the draft is %q, want %q", keys, got, want)
		}
		if got := s.kept(8); got != "" {
			t.Errorf("keys %q: the draft of another chat is %q", keys, got)
		}
	}
}

// A draft is in the row when its chat is opened. A row that is sent takes it away; one that is not typed in stays.
func TestDraftsAreOfferedInTheRow(t *testing.T) {
	for draft, want := range map[string]string{"hello": "hello!", "/shrug": "//shrug!", "two\nlines": "two\nlines!", "": "!"} {
		s := typing(t, "!\r")
		s.configured(&chatv1.ConversationState{Conversation: 7, Draft: draft})
		if got := s.offerDraft(s.chats[7]); got != (draft != "") {
			t.Errorf("the draft %q is offered: %v", draft, got)
		}
		if got := s.draftOf(s.chats[7]); got != draft {
			t.Errorf("the draft %q is %q", draft, got)
		}
		line, err := s.console.Line()
		if err != nil || line != want {
			t.Errorf("the draft %q: the row is %q, %v", draft, line, err)
		}
		if err := s.do(t.Context(), line); err != nil {
			t.Fatal(err)
		}
		if got := s.draftOf(s.chats[7]); got != "" {
			t.Errorf("the draft %q: after it was sent, the draft is %q", draft, got)
		}
	}
	s := typing(t, "")
	if !s.console.Fill("typed") || s.console.Fill("a draft") {
		t.Error("a draft replaces what is in the row")
	}
}

// A draft is kept when nothing was typed for a moment, and at the end.
func TestDraftsAreKeptAfterAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := typing(t, "")
		waits := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := s.client.Draft(s.chats[7].State); got != want {
				t.Errorf("the draft that is kept is %q, want %q", got, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			s.keepDrafts(ctx)
		}()
		s.pressed("h")
		time.Sleep(draftAfter - time.Millisecond)
		s.pressed("he")
		time.Sleep(draftAfter - time.Millisecond)
		waits("")
		time.Sleep(time.Millisecond)
		waits("he")
		s.pressed("hey")
		cancel()
		<-stopped
		waits("hey")
	})
}

// An answer to a question is no draft.
func TestAnswersAreNoDrafts(t *testing.T) {
	s := typing(t, "yes\r")
	if sure, err := s.confirm("Join? "); !sure || err != nil {
		t.Errorf("the answer is %v, %v", sure, err)
	}
	if got := s.kept(7); got != "" {
		t.Errorf("the draft is %q", got)
	}
}
