package chat

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// completeOldRetry answers the retry of a message that has left the log: it has expired, or it is in the cold tier, where reading it takes
// longer than the log may wait.
func (s *Service) completeOldRetry(d *message.Draft) {
	if !s.applying.start() {
		reject(d, busy(nil))
		return
	}
	go func() { // ends when the message is read, at the latest after applyTimeout; Run waits for it
		defer s.applying.end()
		ctx, cancel := context.WithTimeout(context.Background(), applyTimeout)
		defer cancel()
		err := s.readOldRetry(ctx, d)
		switch {
		case err == nil:
			s.complete(d)
		case errors.Is(err, errExpired):
			reject(d, errExpired)
		default:
			reject(d, busy(err))
		}
	}()
}

// readOldRetry gives a draft the result of the stored message. It fails with errExpired if that has expired.
func (s *Service) readOldRetry(ctx context.Context, d *message.Draft) error {
	release, err := s.senderSlots.acquire(ctx, d.Sender)
	if err != nil {
		return err
	}
	defer release()
	e, _, err := timeline.GetEntry(ctx, s.deps.Log, logKey(d.Conversation), d.Seq)
	if err != nil {
		return err
	}
	if e.Seq == 0 {
		return errExpired
	}
	var stored message.Entry
	if err := stored.Decode(e.Payload); err != nil {
		return err
	}
	if d.Err = nil; len(stored.Content) == 0 { // it was recalled, so nothing remains to compare
		d.Counted, d.Duplicate, d.ID, d.Updates = e.Counted, true, stored.ID, stored.Updates
		return nil
	}
	setResult(d, &timeline.AppendRequest{Seq: e.Seq, Counted: e.Counted, Duplicate: true, StoredPayload: e.Payload})
	return nil
}
