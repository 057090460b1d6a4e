package terminal

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A message that is being typed in the row is the draft of the open chat, on all devices. Commands are none. Ctrl-C clears the row and leaves the draft, so
// that another chat can be opened. Without a keyboard only /draft, and the end of the input in the middle of a text, change a draft.

// draftAfter is how long nothing is typed before a draft is kept, as in the web app.
const draftAfter = 800 * time.Millisecond

// messageIn returns the message that a row would send. A row that begins with one slash is a command.
func messageIn(row string) (text string, isMessage bool) {
	if strings.HasPrefix(row, "//") {
		return row[1:], true
	}
	return row, !strings.HasPrefix(row, "/")
}

// noteDraft notes what is typed in a chat, to be kept when nothing more is typed for a moment. The caller holds mu.
func (s *screen) noteDraft(conversation uint64, text string) {
	s.typedDrafts[conversation] = text
	select {
	case s.draftTyped <- struct{}{}:
	default:
	}
}

// keepDrafts keeps what is typed, a moment after the last key, until ctx ends.
func (s *screen) keepDrafts(ctx context.Context) {
	defer s.keepTyped()
	for {
		var pause <-chan time.Time
		for waits := true; waits; {
			select {
			case <-s.draftTyped:
				pause = time.After(draftAfter)
			case <-pause:
				waits = false
			case <-ctx.Done():
				return
			}
		}
		s.keepTyped()
	}
}

// keepTyped gives the client the drafts that were noted.
func (s *screen) keepTyped() {
	s.draftSetting.Lock()
	defer s.draftSetting.Unlock()
	s.mu.Lock()
	typed := maps.Clone(s.typedDrafts)
	clear(s.typedDrafts)
	s.mu.Unlock()
	for conversation, text := range typed {
		s.putDraft(conversation, text)
	}
}

// setDraft sets the draft of a chat, in place of what was typed there: in the session file at once, and at the server when it can be reached.
func (s *screen) setDraft(conversation uint64, text string) {
	s.draftSetting.Lock()
	defer s.draftSetting.Unlock()
	s.mu.Lock()
	delete(s.typedDrafts, conversation)
	s.mu.Unlock()
	s.putDraft(conversation, text)
}

// putDraft gives the client a draft, unless it has it. The caller holds draftSetting.
func (s *screen) putDraft(conversation uint64, text string) {
	s.mu.Lock()
	c := s.chats[conversation]
	s.mu.Unlock()
	if c != nil && s.client.Draft(c.State) == text {
		return
	}
	if err := s.client.SetDraft(conversation, text); err != nil {
		if !errors.Is(err, rialto.ErrSignedOut) {
			s.say("! the draft is not kept: %s", explain(err))
		}
		return
	}
	if c != nil { // the server's answer comes as an event, maybe after the chat was opened again
		state := proto.CloneOf(c.State)
		if state == nil {
			state = &chatv1.ConversationState{Conversation: conversation}
		}
		state.Draft = text
		s.configured(state)
	}
}

// draftOf returns the draft of a chat, typed here or on another device.
func (s *screen) draftOf(c *chatv1.Conversation) string {
	s.mu.Lock()
	typed, ok := s.typedDrafts[c.Id]
	s.mu.Unlock()
	if ok {
		return typed
	}
	return s.client.Draft(c.State)
}

// offerDraft puts the draft of a chat that was opened into the row or, without a keyboard, says it.
func (s *screen) offerDraft(c *chatv1.Conversation) bool {
	text := s.draftOf(c)
	if text == "" {
		return false
	}
	row := text
	if strings.HasPrefix(text, "/") {
		row = "/" + text
	}
	if !s.console.Fill(row) {
		s.say("draft: %s", indented(plain(text)))
		s.say("    /draft send sends it, /draft clear deletes it")
	}
	return true
}

// leaveDraft keeps a text whose end was not typed, as the user quits.
func (s *screen) leaveDraft() {
	if c, err := s.current(); err == nil && s.begun != "" {
		s.mu.Lock()
		s.noteDraft(c.Id, strings.TrimSuffix(s.begun, "\n"))
		s.mu.Unlock()
	}
	s.keepTyped()
}

// draft shows, sends, deletes or replaces the draft of the open chat.
func (s *screen) draft(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	switch rest {
	case "":
		if !s.offerDraft(c) {
			s.say("There is no draft.")
		}
		return nil
	case "send":
		text := strings.TrimSpace(s.draftOf(c))
		if text == "" {
			return errorf("there is no draft here; /draft TEXT makes one")
		}
		if err := s.send(ctx, text); err != nil {
			return err
		}
		s.setDraft(c.Id, "")
		return nil
	case "clear":
		rest = ""
	}
	s.setDraft(c.Id, rest)
	return s.done(nil)
}
