package officialaccount

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"golang.org/x/sync/errgroup"
)

// sendMessages sends a broadcast to at most budget recipients: those to whom a step that ended early may have sent, or not; the next ones of the wave;
// and those whose next try is due. Retries have half of the budget, and what the others leave. It returns the tries.
func (s *Service) sendMessages(ctx context.Context, o *official, b *broadcast, budget int) ([]delivery, error) {
	if b.state == paused {
		return nil, nil
	}
	due, err := s.untried(ctx, b, deliveryClaimed, budget)
	if err != nil {
		return nil, err
	}
	retries, err := s.retries(ctx, b, deliveryClaimed, budget)
	if err != nil {
		return nil, err
	}
	if left := budget - len(due) - min(len(retries), budget/2); left > 0 && b.state == running && !o.disabled && b.dueMs <= s.nowMs() {
		more, err := s.claim(ctx, o, b, left)
		if err != nil {
			return nil, err
		}
		due = append(due, more...)
	}
	due = append(due, retries[:min(len(retries), budget-len(due))]...)
	if len(due) == 0 {
		return nil, nil
	}
	return due, s.sendClaimed(ctx, o, b, due)
}

// sendClaimed tries deliveries, and stores the outcomes.
func (s *Service) sendClaimed(ctx context.Context, o *official, b *broadcast, list []delivery) error {
	users := make([]id.User, len(list))
	for i, d := range list {
		users[i] = d.recipient
	}
	following, err := s.deps.Chat.FollowersAmong(ctx, o.channel, users)
	if err != nil {
		return err
	}
	sends := errgroup.Group{}
	sends.SetLimit(atOnce)
	for i := range list {
		sends.Go(func() error {
			if !slices.Contains(following, list[i].recipient) {
				return s.skip(ctx, b, &list[i])
			}
			return s.sendTo(ctx, b, &list[i])
		})
	}
	if err := sends.Wait(); err != nil {
		return err
	}
	return s.storeOutcomes(ctx, b, list)
}

// messageID is the client_msg_id of a broadcast's messages.
func (b *broadcast) messageID() string { return fmt.Sprintf("broadcast.%d", b.id) }

// skip sends nothing to a user who no longer follows. What an earlier try may have stored is found, so that edits and recalls reach it. It fails only if
// ctx ends.
func (s *Service) skip(ctx context.Context, b *broadcast, to *delivery) error {
	to.state = deliverySkipped
	if to.fresh {
		return nil
	}
	find, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	c, seq, err := s.deps.Chat.FindSent(find, b.account, to.recipient, b.messageID())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		to.state, to.err, to.most, to.reason = 0, err, attemptsOf(err, maxTries), errs.Of(err).Reason
	case seq != 0:
		to.state, to.conversation, to.seq = deliverySent, c, seq // perhaps with an earlier content
	}
	return nil
}

// sendTo sends a broadcast to a recipient. Its client_msg_id derives from the broadcast, so that the user's conversation stores it once. It fails only
// if ctx ends.
func (s *Service) sendTo(ctx context.Context, b *broadcast, to *delivery) error {
	d, err := s.deliver(ctx, b.account, to.recipient, 0, b.messageID(), b.content)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && d != nil && d.Duplicate && d.Seq != 0 { // stored before the broadcast was edited
		err = nil
	}
	if err != nil {
		to.reason = errs.Of(err).Reason
	}
	switch {
	case mayRetry(err):
		to.err, to.most = err, attemptsOf(err, maxTries)
		if b.state == cancelled {
			to.most = 1
		}
	case err != nil:
		to.state = deliveryFailed
	default:
		to.state, to.conversation, to.seq, to.revision = deliverySent, d.Conversation, d.Seq, b.revision
		if b.state == recalled || d.Duplicate && b.revision > 1 { // it is taken back, or may have an earlier content
			to.revision = 0
		}
	}
	return nil
}

// storeOutcomes stores the outcomes of sends, and counts each once.
func (s *Service) storeOutcomes(ctx context.Context, b *broadcast, outcomes []delivery) error {
	ctx = context.WithoutCancel(ctx)
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		sent, failed := 0, 0
		for _, o := range outcomes {
			tries, dueMs := 0, int64(0)
			if o.state == 0 {
				o.state, tries = deliveryClaimed, o.tries+1
				dueMs = s.nowMs() + retryDelay(tries).Milliseconds()
			}
			if tries > 0 && tries >= o.most { // one recipient does not keep the broadcast at work for ever
				o.state, tries, dueMs = deliveryUncertain, 0, 0
			}
			changed, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET state = $3, conversation = $4, seq = $5, revision = $6, reason = $7, tries = $8, due_ms = $9
				WHERE broadcast = $1 AND recipient = $2 AND state = $10`,
				int64(b.id), int64(o.recipient), o.state, int64(o.conversation), int64(o.seq), o.revision, o.reason, tries, dueMs, deliveryClaimed)
			if err != nil {
				return err
			}
			n, err := changed.RowsAffected()
			if err != nil {
				return err
			}
			switch o.state {
			case deliverySent:
				sent += int(n)
			case deliveryFailed, deliveryUncertain:
				failed += int(n)
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET sent = sent + $2, failed = failed + $3 WHERE id = $1`, int64(b.id), sent, failed)
		return err
	})
}
