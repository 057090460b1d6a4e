package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func to(seq uint64) *chatv1.Ref { return &chatv1.Ref{Seq: seq} }

func replyTo(m *chatv1.Message, seq uint64) *chatv1.Message {
	m.Content.ReplyTo = to(seq)
	return m
}

// bobs is an update by Bob in conversation 7, as it is pushed.
func bobs(seq uint64, content *chatv1.Content) rialto.Event {
	m := message(7, seq)
	m.Content = content
	return rialto.Event{Message: m, Live: true}
}

func editOf(seq uint64, content *chatv1.Content) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: to(seq), Content: content}}}
}

func recallOf(seq uint64) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: to(seq)}}}
}

func pinOf(seq uint64, remove bool) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: to(seq), Remove: remove}}}
}

func reactionOf(seq uint64, emoji string, remove bool, now *chatv1.Reactions) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: to(seq), Emoji: emoji, Remove: remove, Reactions: now}}}
}

// body is what is printed, without times and dates.
func body(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > 7 && line[2] == ':' {
			line = line[7:]
		}
		if !strings.HasSuffix(line, " January 2027\n") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Updates of the open chat are printed as what they do, and what is printed later shows their effect.
func TestUpdatesAreNotShownAsMessages(t *testing.T) {
	s, said := seated(t)
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	said()
	thumbs := &chatv1.Reactions{Version: 2, Counts: []*chatv1.ReactionCount{{Emoji: "👍", Count: 2}, {Emoji: "\x1b🎉", Count: 1}}}
	admins := bobs(16, recallOf(5))
	admins.Message.Sender = 1
	for _, step := range []struct {
		event rialto.Event
		want  string
	}{
		{bobs(6, editOf(2, textContent("a new text"))), "#2  Bob: a new text  (edited)\n"},
		{bobs(7, reactionOf(2, "👍", false, thumbs)), "* Bob reacted with 👍 to #2: a new text  (👍 2, 🎉 1)\n"},
		{bobs(8, reactionOf(2, "👍", true, &chatv1.Reactions{Version: 3})), "* Bob removed 👍 from #2: a new text\n"},
		{bobs(9, reactionOf(2, "👍", false, &chatv1.Reactions{Version: 4, Counts: thumbs.Counts[:1]})), "* Bob reacted with 👍 to #2: a new text  (👍 2)\n"},
		{bobs(10, pinOf(2, false)), "* Bob pinned #2: a new text\n"},
		{bobs(11, editOf(2, textContent("newer"))), "#2  Bob: newer  (edited)  (pinned)  (👍 2)\n"},
		{bobs(12, pinOf(2, true)), "* Bob unpinned #2: newer\n"},
		{rialto.Event{Message: replyTo(message(7, 13), 2)}, "#13  Bob (to Bob: newer): no. 13\n"},
		{bobs(14, recallOf(2)), "#2  * Bob recalled a message\n"},
		{rialto.Event{Message: replyTo(message(7, 15), 2)}, "#15  Bob (to a recalled message): no. 15\n"},
		{admins, "#5  * you recalled a message by Bob\n"},
		{bobs(17, editOf(99, textContent("x"))), "* Bob edited #99\n"}, // the server does not return it
		{bobs(18, reactionOf(99, "👍", false, nil)), "* Bob reacted with 👍 to #99\n"},
		{bobs(18, reactionOf(3, "👍", false, nil)), ""}, // again
		{rialto.Event{Message: replyTo(message(7, 19), 99)}, "#19  Bob (to #99): no. 19\n"},
		{bobs(20, editOf(1, textContent("new\nlines\x1b[2J"))), "#1  Bob: new\n         lines[2J  (edited)\n"},
		{bobs(21, editOf(3, nil)), ""}, // its recall follows
	} {
		s.show(t.Context(), step.event)
		if got := body(said()); got != step.want {
			t.Errorf("%v is printed as %q, want %q", step.event.Message, got, step.want)
		}
	}
	other := bobs(22, editOf(2, textContent("x")))
	other.Message.Conversation = 8
	s.show(t.Context(), other)
	if got := said(); got != "" {
		t.Errorf("an update of another chat is printed as %q", got)
	}
}

// An update that a page contains already is not printed, but applied: its target may be older than the page.
func TestUpdatesOfOlderMessagesAreApplied(t *testing.T) {
	s, said := seated(t)
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	s.shown = 6
	said()
	s.show(t.Context(), bobs(6, editOf(1, textContent("a new text"))))
	if got := said(); got != "" {
		t.Errorf("printed: %q", got)
	}
	s.show(t.Context(), rialto.Event{Message: replyTo(message(7, 7), 1)})
	if got := body(said()); got != "#7  Bob (to Bob: a new text): no. 7\n" {
		t.Errorf("printed: %q", got)
	}
}

// After a reset the terminal shows what the server has now, and then each new message, although it has the number of one that was shown before.
func TestAfterAReset(t *testing.T) {
	l := &shelf{messages: []*chatv1.Message{message(7, 1), message(7, 2), message(7, 3), message(7, 4)}}
	s, said := seatedAt(t, l)
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	s.before[8] = 4
	said()
	other := message(7, 2)
	other.Content = textContent("another one")
	l.messages = []*chatv1.Message{message(7, 1), other}
	l.chats = []*chatv1.Conversation{{Id: 7, Title: "chat 7", LastSeq: 2}, {Id: 8, Title: "chat 8", LastSeq: 1}}
	s.show(t.Context(), rialto.Event{Reset: true})
	if got := said(); !strings.Contains(got, "this is what it has now") || !strings.Contains(got, "#2  Bob: another one\n") || strings.Contains(got, "no. 3") {
		t.Errorf("a reset prints %q", got)
	}
	for _, m := range []*chatv1.Message{other, message(7, 3), message(8, 1), message(8, 2)} {
		s.show(t.Context(), rialto.Event{Message: m})
	}
	if got := said(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "no. 3") || !strings.Contains(got, "no. 2") {
		t.Errorf("what comes after a reset is printed as %q", got)
	}
}

// A page has as many messages as were asked for, in their present form, whatever updates lie between.
func TestPagesSkipUpdates(t *testing.T) {
	l := &shelf{}
	for seq := uint64(1); seq <= 300; seq++ {
		m := message(7, seq)
		switch {
		case seq == 2:
			m.Content, m.RecallSeq, m.RecalledBy = nil, 50, 2
		case seq == 3:
			m.EditSeq, m.EditedMs, m.Pinned, m.Reactions = 51, 1, true, &chatv1.Reactions{Version: 9, Counts: []*chatv1.ReactionCount{{Emoji: "❤️", Count: 3}}}
		case seq == 299:
			m = replyTo(m, 1)
		case seq == 300:
			m = replyTo(m, 2)
		case seq > 3:
			m.Content = pinOf(3, seq%2 == 0)
		}
		l.messages = append(l.messages, m)
	}
	s, said := seatedAt(t, l)
	s.open = s.chats[7]
	if err := s.history(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	if got, want := body(said()), "#299  Bob (to Bob: no. 1): no. 299\n#300  Bob (to a recalled message): no. 300\n    older ones: /more\n"; got != want {
		t.Errorf("the newest page is %q, want %q", got, want)
	}
	if want := []uint64{1, 2}; !slices.Equal(l.reads, want) {
		t.Errorf("the quoted messages %v were read, want %v", l.reads, want)
	}
	if err := s.more(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	if got, want := body(said()), "#2  * Bob recalled a message\n#3  Bob: no. 3  (edited)  (pinned)  (❤️ 3)\n"; got != want {
		t.Errorf("the page before is %q, want %q", got, want)
	}
	if err := s.more(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	if got, want := body(said()), "#1  Bob: no. 1\n"; got != want {
		t.Errorf("the first page is %q, want %q", got, want)
	}
	if m, err := s.lastOwn(t.Context(), 7); err == nil {
		t.Errorf("a message of the user's own: %v", m)
	}
	l.messages[149].Sender = 1 // an update
	l.messages[299].Sender, l.messages[299].RecallSeq = 1, 301
	l.messages[298].Sender = 1
	if m, err := s.lastOwn(t.Context(), 7); err != nil || m.Seq != 299 {
		t.Errorf("the last own message is %v, %v", m, err)
	}
}

// What is remembered has a bound, and is read again.
func TestRememberedMessagesHaveABound(t *testing.T) {
	s, _ := seated(t)
	s.open = s.chats[7]
	for seq := uint64(1); seq <= maxKept+1; seq++ {
		s.remember(message(7, seq))
	}
	if len(s.messages) != 1 {
		t.Errorf("%d messages are remembered", len(s.messages))
	}
	if m, err := s.message(t.Context(), 7, 3); err != nil || m.Content.GetText() != "no. 3" {
		t.Errorf("message 3 is %v, %v", m, err)
	}
}

// Commands name messages by number, and say what is wrong.
func TestCommandsForMessages(t *testing.T) {
	s, said := seated(t)
	for line, want := range map[string]string{"/reply 1 x": errNoChat.Error(), "/edit x": errNoChat.Error(), "/recall 1": errNoChat.Error(), "/pin 1": errNoChat.Error()} {
		if err := s.do(t.Context(), line); err == nil || err.Error() != want {
			t.Errorf("%s without an open chat: %v", line, err)
		}
	}
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	s.wasOnline = true // and no more
	said()
	for line, want := range map[string]string{
		"/reply": "give the number", "/reply x yes": "give the number", "/reply 0 yes": "give the number", "/reply 1": "give a text", "/edit": "give the new text",
		"/edit 1": "give the new text", "/edit 99 x": "no such message", "/edit x": "none of the last messages is yours", "/recall": "give the number",
		"/recall 1 2": "takes the number of one", "/react 1": "give an emoji", "/unreact x 👍": "give the number", "/pin x": "give the number", "/unpin 1 2": "one message",
	} {
		if err := s.do(t.Context(), line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	for _, tc := range []struct{ line, want string }{
		{"/reply #4 well, yes", "you (to #4): well, yes"}, {"/edit 4 no", "edit of #4: no"}, {"/recall 4", "recall of #4"}, {"/react 4 👍", "👍 to #4"},
		{"/unreact 4 👍", "removal of 👍 from #4"}, {"/pin 4", "pin of #4"}, {"/unpin 4", "removal of the pin of #4"},
	} {
		if err := s.do(t.Context(), tc.line); err != nil {
			t.Errorf("%s: %v", tc.line, err)
		}
		if got, want := said(), fmt.Sprintf("(waits)  %s\n", tc.want); got != want {
			t.Errorf("%s prints %q, want %q", tc.line, got, want)
		}
	}
}
