package chat

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
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
		if err != nil || len(list) == 0 {
			return err
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
		for _, m := range page.Messages {
			last = max(last, m.Seq)
			text, err := protojson.Marshal(m)
			if err != nil {
				return err
			}
			if err := to.Record("messages", userdata.JSON(text)); err != nil {
				return err
			}
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
