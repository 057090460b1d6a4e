package terminal

import (
	"context"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// forward shows messages of the open chat to another: /forward 12 @bob, or /forward 12,13 3 for several in one message.
func (s *screen) forward(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	list, which, _ := strings.Cut(rest, " ")
	if which = strings.TrimSpace(which); which == "" {
		return errorf("give messages and a chat, such as /forward 12 @bob or /forward 12,13 2")
	}
	f := &chatv1.Forward{Conversation: c.Id}
	for word := range strings.SplitSeq(list, ",") {
		seq, err := parseSeq(word)
		if err != nil {
			return err
		}
		f.Seqs = append(f.Seqs, seq)
	}
	to, err := s.chatOf(ctx, which)
	if err != nil {
		return err
	}
	s.queueSaying(ctx, to.Id, &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: f}}, phrasef("* forwarded #%s to %s", list, s.title(ctx, to)))
	return nil
}
