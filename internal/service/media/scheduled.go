package media

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// scheduled is the conversation of the uses of files in messages that are sent later. Their time is that at which the message is sent.
	scheduled id.Conversation = 1
	// scheduledRetention is how long after that time they are kept: a message that was refused then may be scheduled again.
	scheduledRetention = 30 * 24 * time.Hour
)

// KeepScheduled keeps uploads of a user for a message that is sent at a time, at most 20, and returns why one may not be sent. An upload that nothing else uses
// is dropped some time after the latest time for which it was kept, whether its message was sent or cancelled.
func (s *Service) KeepScheduled(ctx context.Context, u id.User, uploads []id.Upload, sendMs int64) error {
	by, refused := make([]id.User, len(uploads)), make([]error, len(uploads))
	for i := range by {
		by[i] = u
	}
	s.useBatch(ctx, scheduled, sendMs, by, uploads, refused)
	for _, err := range refused {
		if err != nil {
			return err
		}
	}
	return nil
}
