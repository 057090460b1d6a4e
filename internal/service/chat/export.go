package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// exportPage is how many messages are read at once.
const exportPage = 200

// ExportUser writes rows, and the histories of the user's conversations as the user may read them now: also what others have written there, as a client shows
// it. Channels that the user only follows are left out: what is in them is public, and not the user's.
func (d userData) ExportUser(ctx context.Context, u id.User, to userdata.Writer) error {
	if err := d.rows().ExportUser(ctx, u, to); err != nil {
		return err
	}
	for above := id.Conversation(0); ; {
		list, err := d.MembershipsAfter(ctx, u, above, exportPage)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return d.exportImported(ctx, u, to)
		}
		for _, m := range list {
			if above = m.Conversation; m.Follower {
				continue
			}
			if err := d.exportHistory(ctx, u, m.Conversation, to); err != nil {
				return fmt.Errorf("conversation %d: %w", m.Conversation, err)
			}
		}
	}
}

// exportImported writes what a user wrote and may not read: imported entries from when the user was no member. What others wrote there is not the user's.
func (s *Service) exportImported(ctx context.Context, u id.User, to userdata.Writer) error {
	for after := uint64(0); ; {
		list, err := s.querySeqs(ctx, `SELECT conversation FROM imported_authors WHERE author = $1 AND conversation > $2 ORDER BY conversation LIMIT $3`, int64(u), int64(after), exportPage)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, c := range list {
			if err := s.exportUnreadable(ctx, u, id.Conversation(c), to); err != nil {
				return fmt.Errorf("conversation %d: %w", c, err)
			}
		}
		after = list[len(list)-1]
	}
}

// exportUnreadable writes a user's own messages and updates in a conversation without those that the user may read, which exportHistory writes.
func (s *Service) exportUnreadable(ctx context.Context, u id.User, c id.Conversation, to userdata.Writer) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return err
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil {
		return err
	}
	first, err := s.firstRetained(ctx, st)
	if err != nil {
		return err
	}
	within, err := s.readable(ctx, u, c)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Denied) {
		within, err = readable{from: 1}, nil
	}
	if err != nil {
		return err
	}
	others := func(e timeline.Entry) bool {
		var stored message.Entry
		return stored.Decode(e.Payload) != nil || stored.Sender != u || stored.Control || within.has(e.Seq)
	}
	for after := max(first, 1) - 1; ; {
		entries, err := s.deps.Log.Read(ctx, logKey(c), after, exportPage)
		if errors.Is(err, timeline.ErrCorrupt) {
			entries, err = s.readOneByOne(ctx, c, after+1, exportPage, 1)
		}
		if err != nil || len(entries) == 0 {
			return err
		}
		after = entries[len(entries)-1].Seq
		for own := slices.DeleteFunc(entries, others); len(own) > 0; {
			messages, _, done, err := s.toMessages(ctx, u, c, own, tail)
			if err != nil {
				return err
			}
			if err := writeMessages(to, messages); err != nil {
				return err
			}
			own = own[done:]
		}
	}
}

func writeMessages(to userdata.Writer, messages []*chatv1.Message) error {
	for _, m := range messages {
		text, err := protojson.Marshal(m)
		if err != nil {
			return err
		}
		if err := to.Record("messages", userdata.JSON(text)); err != nil {
			return err
		}
	}
	return nil
}

// exportHistory writes what a user may read of a conversation, the oldest first. What the server cannot read is left out, as in a client.
func (s *Service) exportHistory(ctx context.Context, u id.User, c id.Conversation, to userdata.Writer) error {
	request := &chatv1.HistoryRequest{Conversation: uint64(c), TimeMs: 1, Limit: exportPage}
	for {
		page, err := s.History(ctx, u, request)
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Denied) {
			return nil // the user may not read it any more
		}
		if err != nil {
			return err
		}
		last := request.After
		if err := writeMessages(to, page.Messages); err != nil {
			return err
		}
		for _, m := range page.Messages {
			last = max(last, m.Seq)
		}
		for _, seq := range page.Unreadable {
			last = max(last, seq)
		}
		if !page.More || last == request.After {
			return nil
		}
		request.TimeMs, request.After = 0, last
	}
}
