package rialto_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// draftsOf is what a server has of drafts. The server's mu guards it.
type draftsOf struct {
	away int      // calls, the next ones, that get no answer
	told []string // "conversation text", of calls that were answered
	new  chan string
	// during is called while a call is under way.
	during func()
}

// Configure refuses drafts that begin with "bad".
func (s *server) Configure(_ context.Context, r *connect.Request[chatv1.ConfigureRequest]) (*connect.Response[chatv1.ConversationState], error) {
	s.mu.Lock()
	if s.drafts.away > 0 {
		s.drafts.away--
		s.mu.Unlock()
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("away"))
	}
	during := s.drafts.during
	s.drafts.during = nil
	told := fmt.Sprint(r.Msg.Conversation, " ", r.Msg.GetDraft())
	s.drafts.told = append(s.drafts.told, told)
	s.mu.Unlock()
	if during != nil {
		during()
	}
	if s.drafts.new != nil {
		s.drafts.new <- told
	}
	if strings.HasPrefix(r.Msg.GetDraft(), "bad") {
		return nil, refusal(connect.CodeInvalidArgument, &gatewayv1.Error{Code: "invalid_argument", Reason: "bad_draft", Message: "no"})
	}
	return connect.NewResponse(&chatv1.ConversationState{Conversation: r.Msg.Conversation, Draft: r.Msg.GetDraft()}), nil
}

// TestDraftsAreKeptUntilTheServerHasThem: a draft that could not be told is shown in place of the server's, is kept by the store, and is told by the next process.
func TestDraftsAreKeptUntilTheServerHasThem(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) { c.untilGone() }})
	path := filepath.Join(t.TempDir(), "state.json")
	c, _ := s.client(rialto.NewFileStore(path))
	elsewhere := &chatv1.ConversationState{Conversation: 7, Draft: "from elsewhere"}
	if got := c.Draft(elsewhere); got != "from elsewhere" {
		t.Errorf("the draft of another device is %q", got)
	}
	for _, text := range []string{"see", "see you"} {
		if err := c.SetDraft(7, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetDraft(9, ""); err != nil {
		t.Fatal(err)
	}
	s.drafts.away = 1
	if err := c.FlushDrafts(t.Context()); connect.CodeOf(err) != connect.CodeUnavailable || len(s.drafts.told) != 1 {
		t.Errorf("a server that is away for one call: %v, told %q", err, s.drafts.told)
	}
	if got := c.Draft(elsewhere); got != "see you" {
		t.Errorf("the draft that waits is %q", got)
	}

	s.drafts.told, s.drafts.new = nil, make(chan string, 10)
	again, _ := s.client(rialto.NewFileStore(path))
	if got := again.Draft(elsewhere); got != "see you" {
		t.Errorf("after a restart, the draft that waits is %q", got)
	}
	s.drafts.away = 2
	run(t, again)
	if told := <-s.drafts.new; told != "7 see you" {
		t.Errorf("told %q", told)
	}
	if err := again.FlushDrafts(t.Context()); err != nil { // waits until the answer is kept
		t.Fatal(err)
	}
	if got := again.Draft(elsewhere); got != "from elsewhere" {
		t.Errorf("after the server has it, the draft is %q", got)
	}
	if err := again.SetDraft(7, ""); err != nil {
		t.Fatal(err)
	}
	if told := <-s.drafts.new; told != "7 " {
		t.Errorf("told %q", told)
	}
	saved, err := rialto.NewFileStore(path).Load()
	if err := errors.Join(err, again.FlushDrafts(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, waits := saved.Drafts[9]; waits {
		t.Errorf("what the server has waits still: %v", saved.Drafts)
	}
}

// TestADraftThatChangesWhileItIsTold: the later text is told, too. A refused one does not come back.
func TestADraftThatChangesWhileItIsTold(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	s.drafts.during = func() {
		if err := c.SetDraft(7, "two"); err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{c.SetDraft(7, "one"), c.SetDraft(8, "bad"), c.FlushDrafts(t.Context()), c.FlushDrafts(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"7 one", "8 bad", "7 two"}; !slices.Equal(s.drafts.told, want) {
		t.Errorf("told %q, want %q", s.drafts.told, want)
	}
	if got := c.Draft(&chatv1.ConversationState{Conversation: 8, Draft: "good"}); got != "good" {
		t.Errorf("after the server refused a draft, it is %q", got)
	}
}

func TestBoundsOfDrafts(t *testing.T) {
	c, _ := start(t, &server{}).client(nil)
	for text, want := range map[string]string{strings.Repeat("好", 100_000): "", strings.Repeat("好", 100_001): "bad_draft", "a\xff": "bad_draft", "a\x00": "bad_draft"} {
		if got := rialto.Reason(c.SetDraft(1, text)); got != want {
			t.Errorf("a draft of %d bytes: reason %q, want %q", len(text), got, want)
		}
	}
	for n := range uint64(rialto.MostDrafts) {
		if err := c.SetDraft(n+1, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetDraft(rialto.MostDrafts+1, "x"); !errors.Is(err, rialto.ErrTooManyDrafts) {
		t.Errorf("one draft more: %v", err)
	}
	if err := c.SetDraft(5, "y"); err != nil {
		t.Errorf("another text of a draft that waits: %v", err)
	}
	signedOut, err := rialto.New(rialto.Config{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := signedOut.SetDraft(7, "x"); !errors.Is(err, rialto.ErrSignedOut) {
		t.Errorf("without a session: %v", err)
	}
}
