package terminal

import (
	"context"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// streamedMessage is a message of the open chat that its sender is still writing, as far as it was shown.
type streamedMessage struct {
	conversation, seq uint64
	text              string
	shown             int // the bytes of text in lines that were printed
	doing             string
}

// showStreamed prints the lines that are complete in a message which is being written, and what its sender does.
func (s *screen) showStreamed(ctx context.Context, t *chatv1.StreamedText) {
	s.mu.Lock()
	here := s.open != nil && s.open.Id == t.Conversation && !t.Ended
	m := s.streamed
	if m.conversation != t.Conversation || m.seq != t.Seq {
		m = streamedMessage{conversation: t.Conversation, seq: t.Seq}
	}
	s.mu.Unlock()
	if !here {
		return
	}
	text, ok := rialto.AddStreamed(m.text, t)
	if !ok {
		so, err := s.client.StreamedText(ctx, t.Conversation, t.Seq)
		if err != nil || so.Ended {
			return // its end comes as an event
		}
		text = so.Text
	}
	lines := completeLines(text, m.shown)
	doing := doingOf(t)
	changed := doing != "" && doing != m.doing
	m.text, m.doing, m.shown = text, doing, m.shown+len(lines)
	s.mu.Lock()
	s.streamed = m
	s.mu.Unlock()
	if changed {
		s.say("* #%d %s", t.Seq, doing)
	}
	if lines != "" {
		s.say("  #%d … %s", t.Seq, indented(plain(lines[:len(lines)-1])))
	}
}

// completeLines returns what a text has from a place on, up to its last line break.
func completeLines(text string, from int) string {
	if from > len(text) {
		return ""
	}
	for end := len(text); end > from; end-- {
		if text[end-1] == '\n' {
			return text[from:end]
		}
	}
	return ""
}

// doingOf says what the sender of a message does while it writes nothing.
func doingOf(t *chatv1.StreamedText) string {
	note := oneLine(plain(t.Note))
	switch {
	case t.State == chatv1.WritingState_WRITING_STATE_THINKING && note != "":
		return phrasef("thinks: %s", note)
	case t.State == chatv1.WritingState_WRITING_STATE_THINKING:
		return phrase("thinks …")
	case t.State == chatv1.WritingState_WRITING_STATE_TOOL && note != "":
		return phrasef("uses %s …", note)
	case t.State == chatv1.WritingState_WRITING_STATE_TOOL:
		return phrase("uses a tool …")
	}
	return ""
}

// brokenOffMark says after a message that its text is not whole.
func brokenOffMark(m *chatv1.Message) string {
	why := m.Content.GetBrokenOff()
	switch {
	case why == nil:
		return ""
	case why.Cause == chatv1.BrokenOff_CAUSE_STOPPED:
		return phrase("  (stopped)")
	}
	return phrase("  (broken off)")
}

// stopStreamed stops a message that somebody is still writing.
func (s *screen) stopStreamed(ctx context.Context, rest string) error {
	c, seq, text, err := s.seqAnd(rest)
	if err != nil {
		return err
	}
	if text != "" {
		return errorf("/stop takes the number of one message")
	}
	if err := s.client.StopStreamed(ctx, c.Id, seq); err != nil {
		return err
	}
	s.say("#%d has ended.", seq)
	return nil
}
