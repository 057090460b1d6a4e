package terminal

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// thread opens the thread under a message of the open chat.
func (s *screen) thread(ctx context.Context, rest string) error {
	c, seq, _, err := s.seqAnd(rest)
	if err != nil {
		return err
	}
	thread, err := s.client.StartThread(ctx, c.Id, seq)
	if err != nil {
		return err
	}
	return s.enterThread(ctx, thread)
}

// enterThread opens a thread, and shows the message that it is under.
func (s *screen) enterThread(ctx context.Context, c *chatv1.Conversation) error {
	if c.Root != nil {
		s.say("* thread under #%d: %s", c.RootSeq, excerpt.Marked(oneLine(s.line(ctx, c.Root)), 60))
	} else {
		s.say("* thread under #%d", c.RootSeq)
	}
	return s.enter(ctx, c)
}

// threads lists the threads that the user follows, or opens one of them by its number in the list.
func (s *screen) threads(ctx context.Context, rest string) error {
	if rest != "" {
		return s.openThread(ctx, rest)
	}
	var list []uint64
	var lines []string
	err := s.client.Threads(ctx, func(c *chatv1.Conversation) bool {
		list = append(list, c.Id)
		text := phrase("a message that has expired")
		if c.Root != nil {
			text = excerpt.Marked(oneLine(s.line(ctx, c.Root)), 60)
		}
		line := fmt.Sprintf("%4d  %s", len(list), text)
		if c.Unread > 0 {
			line += phrasef("  (%d new)", c.Unread)
		}
		lines = append(lines, line)
		return len(list) < pageSize
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.threadIDs = list
	s.mu.Unlock()
	if len(lines) == 0 {
		s.say("You follow no threads. /thread SEQ opens one.")
	}
	for _, line := range lines {
		s.say("%s", line)
	}
	return nil
}

func (s *screen) openThread(ctx context.Context, number string) error {
	thread, err := s.inLastList(number, &s.threadIDs, errorf("no thread has this number; /threads lists them"))
	if err != nil {
		return err
	}
	c, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: thread})
	if err != nil {
		return err
	}
	return s.enterThread(ctx, c)
}
