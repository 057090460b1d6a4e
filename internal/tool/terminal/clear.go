package terminal

import (
	"context"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// forget deletes messages of the open chat for the user.
func (s *screen) forget(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	r := &chatv1.DeleteMessagesRequest{Conversation: c.Id}
	for word := range strings.SplitSeq(rest, ",") {
		seq, err := parseSeq(word)
		if err != nil {
			return err
		}
		r.Seqs = append(r.Seqs, seq)
	}
	_, err = call(ctx, s.client.Chat().DeleteMessages, r)
	return s.done(err)
}

// clearHistory deletes the history of the open chat for the user.
func (s *screen) clearHistory(ctx context.Context, _ string) error { return s.clear(ctx, false) }

// deleteChat clears the open chat and takes it off the list, until a message comes.
func (s *screen) deleteChat(ctx context.Context, _ string) error {
	if err := s.clear(ctx, true); err != nil {
		return err
	}
	return s.closeChat(ctx, "")
}

func (s *screen) clear(ctx context.Context, andDelete bool) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Chat().ClearHistory, &chatv1.ClearHistoryRequest{Conversation: c.Id, Delete: andDelete})
	return s.done(err)
}
