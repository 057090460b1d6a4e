package terminal

import (
	"context"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// listReactors lists who reacted to a message of the open chat, by emoji.
func (s *screen) listReactors(ctx context.Context, rest string) error {
	c, seq, _, err := s.seqAnd(rest)
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Chat().GetMessages, &chatv1.GetMessagesRequest{Conversation: c.Id, Seqs: []uint64{seq}})
	if err != nil {
		return err
	}
	if len(r.Messages) == 0 || len(r.Messages[0].Reactions.GetCounts()) == 0 {
		s.say("Nobody has reacted to #%d.", seq)
		return nil
	}
	for _, n := range r.Messages[0].Reactions.Counts {
		names, err := s.namesOf(ctx, func(page string) ([]uint64, string, error) {
			r, err := call(ctx, s.client.Chat().ListReactions, &chatv1.ListReactionsRequest{Conversation: c.Id, Seq: seq, Emoji: n.Emoji, Limit: pageSize, Page: page})
			return r.GetUsers(), r.GetNext(), err
		})
		if err != nil {
			return err
		}
		s.sayNames(oneLine(plain(n.Emoji)), names)
	}
	return nil
}

// listEdits lists the versions of a message of the open chat, from the first to the present one.
func (s *screen) listEdits(ctx context.Context, rest string) error {
	c, seq, _, err := s.seqAnd(rest)
	if err != nil {
		return err
	}
	return s.client.Versions(ctx, c.Id, seq, func(v *chatv1.Message) bool {
		when := v.TimeMs
		if v.EditedMs != 0 {
			when = v.EditedMs
		}
		s.say("  %s  %s", dated(time.UnixMilli(when), "2 January 15:04"), indented(plain(what(v))))
		return true
	})
}

// listPins lists the pinned messages of the open chat, the last pinned first.
func (s *screen) listPins(ctx context.Context, _ string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	found := false
	for page := ""; ; {
		r, err := call(ctx, s.client.Chat().ListPins, &chatv1.ListPinsRequest{Conversation: c.Id, Page: page})
		if err != nil {
			return err
		}
		for _, m := range r.Messages {
			found = true
			s.say("  #%d  %s", m.Seq, s.line(ctx, m))
		}
		if page = r.Next; page == "" {
			break
		}
	}
	if !found {
		s.say("Nothing is pinned here.")
	}
	return nil
}
