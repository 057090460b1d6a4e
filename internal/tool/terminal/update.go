package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// parseSeq parses the number of a message, as 12 or #12.
func parseSeq(word string) (uint64, error) {
	seq, err := strconv.ParseUint(strings.TrimPrefix(word, "#"), 10, 64)
	if err != nil || seq == 0 {
		return 0, errorf("give the number of a message, which stands before its sender, such as 12")
	}
	return seq, nil
}

// seqAnd parses the number of a message in the open chat and the text after it.
func (s *screen) seqAnd(rest string) (c *chatv1.Conversation, seq uint64, text string, err error) {
	if c, err = s.current(); err != nil {
		return nil, 0, "", err
	}
	word, text, _ := strings.Cut(rest, " ")
	seq, err = parseSeq(word)
	return c, seq, strings.TrimSpace(text), err
}

// answered is the message that a reply names: by its number, or as the last one of the user, which may not be sent yet.
func (s *screen) answered(ctx context.Context, rest string) (c *chatv1.Conversation, ref *chatv1.Ref, shown, text string, err error) {
	text, isLast := strings.CutPrefix(rest, "last ")
	if !isLast {
		var seq uint64
		c, seq, text, err = s.seqAnd(rest)
		return c, &chatv1.Ref{Seq: seq}, fmt.Sprintf("#%d", seq), text, err
	}
	if c, err = s.current(); err != nil {
		return nil, nil, "", "", err
	}
	if queued := s.client.LastQueued(c.Id); queued != 0 {
		return c, &chatv1.Ref{ClientSeq: queued}, phrase("your last"), strings.TrimSpace(text), nil
	}
	m, err := s.lastOwn(ctx, c.Id)
	if err != nil {
		return nil, nil, "", "", err
	}
	return c, &chatv1.Ref{Seq: m.Seq}, fmt.Sprintf("#%d", m.Seq), strings.TrimSpace(text), nil
}

func (s *screen) reply(ctx context.Context, rest string) error {
	c, ref, shown, text, err := s.answered(ctx, rest)
	if err != nil {
		return err
	}
	if text == "" {
		return errorf("give a text, such as /reply 12 yes")
	}
	content := s.composeText(ctx, c, text)
	content.ReplyTo = ref
	s.queueSaying(ctx, c.Id, content, phrasef("you (to %s): %s", shown, indented(plain(text))))
	return nil
}

// edit replaces the text or the caption of a message. A text that begins with a number needs the message's number before it.
func (s *screen) edit(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	var m *chatv1.Message
	text := rest
	if word, after, _ := strings.Cut(rest, " "); word != "" {
		if seq, e := parseSeq(word); e == nil {
			text = strings.TrimSpace(after)
			s.turn.Lock()
			m, err = s.message(ctx, c.Id, seq)
			s.turn.Unlock()
		} else {
			m, err = s.lastOwn(ctx, c.Id)
		}
	}
	if err != nil {
		return err
	}
	if text == "" {
		return errorf("give the new text, such as /edit yes or /edit 12 yes")
	}
	content, err := s.withMentions(ctx, c, textContent(text))
	if err != nil {
		return err
	}
	if m.Content.GetText() != "" {
		content = s.withPreview(ctx, content)
	}
	if files := filesOf(m.Content); len(files) > 0 {
		content = proto.CloneOf(m.Content)
		content.ReplyTo = nil // the server keeps it
		if a := content.GetAlbum(); a != nil {
			a.Caption = text
		} else {
			filesOf(content)[0].Caption = text
		}
	}
	s.queueSaying(ctx, c.Id, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: m.Seq}, Content: content}}},
		phrasef("edit of #%d: %s", m.Seq, indented(plain(text))))
	return nil
}

func (s *screen) recall(ctx context.Context, rest string) error {
	c, seq, text, err := s.seqAnd(rest)
	if err != nil {
		return err
	}
	if text != "" {
		return errorf("/recall takes the number of one message")
	}
	s.queueSaying(ctx, c.Id, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}}, phrasef("recall of #%d", seq))
	return nil
}

func react(remove bool) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		c, seq, emoji, err := s.seqAnd(rest)
		if err != nil {
			return err
		}
		if emoji == "" {
			return errorf("give an emoji, such as /react 12 👍")
		}
		r := &chatv1.Reaction{Target: &chatv1.Ref{Seq: seq}, Emoji: emoji, Remove: remove}
		waiting := phrasef("%s to #%d", plain(emoji), seq)
		if remove {
			waiting = phrasef("removal of %s from #%d", plain(emoji), seq)
		}
		s.queueSaying(ctx, c.Id, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: r}}, waiting)
		return nil
	}
}

// pin returns the command that pins the open chat for the user or, with a number, a message for all members; with remove, it unpins.
func pin(remove bool) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		if rest == "" {
			pinned := !remove
			return configure(func(r *chatv1.ConfigureRequest) { r.Pinned = &pinned })(s, ctx, rest)
		}
		c, seq, text, err := s.seqAnd(rest)
		if err != nil {
			return err
		}
		if text != "" {
			return errorf("give the number of one message, or nothing for the chat")
		}
		waiting := phrasef("pin of #%d", seq)
		if remove {
			waiting = phrasef("removal of the pin of #%d", seq)
		}
		s.queueSaying(ctx, c.Id, &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: &chatv1.Ref{Seq: seq}, Remove: remove}}}, waiting)
		return nil
	}
}

// applyUpdate applies an update to the message that is remembered, if it is.
func (s *screen) applyUpdate(u *chatv1.Message) {
	if m := s.known(u.Conversation, rialto.UpdateTarget(u)); m != nil {
		s.remember(s.client.ApplyUpdate(m, u))
	}
}

// putUpdate prints what an update does to a message of the open chat.
func (s *screen) putUpdate(ctx context.Context, u *chatv1.Message) {
	seq := rialto.UpdateTarget(u)
	m, err := s.message(ctx, u.Conversation, seq)
	if err != nil { // it may have expired, or the server is away: only its number is known
		m = &chatv1.Message{Conversation: u.Conversation, Seq: seq, Sender: u.Sender}
	}
	m = s.client.ApplyUpdate(m, u)
	if err == nil {
		s.remember(m)
	}
	by, which := s.name(ctx, u.Sender), fmt.Sprintf("#%d", seq)
	if err == nil && m.RecallSeq == 0 {
		which += ": " + summary(m)
	}
	switch k := u.Content.Kind.(type) {
	case *chatv1.Content_Edit:
		switch {
		case err != nil:
			s.say("* %s edited %s", by, which)
		case m.EditSeq == u.Seq && m.Content != nil: // else a later edit or a recall follows
			s.putNew(ctx, m)
		}
	case *chatv1.Content_Recall:
		s.say("%s", s.paint(faint, fmt.Sprintf("%s  #%d  * %s", time.UnixMilli(u.TimeMs).Format("15:04"), seq, s.recalled(ctx, m))))
	case *chatv1.Content_Reaction:
		emoji, counts := oneLine(plain(k.Reaction.Emoji)), reactionCounts(m)
		if counts != "" {
			counts = "  (" + counts + ")"
		}
		if k.Reaction.Remove {
			s.say("* %s removed %s from %s%s", by, emoji, which, counts)
		} else {
			s.say("* %s reacted with %s to %s%s", by, emoji, which, counts)
		}
	case *chatv1.Content_Pin:
		if k.Pin.Remove {
			s.say("* %s unpinned %s", by, which)
		} else {
			s.say("* %s pinned %s", by, which)
		}
	}
}
