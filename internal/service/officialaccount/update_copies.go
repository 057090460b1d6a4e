package officialaccount

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
)

// updateCopies sends the edit or the recall of a broadcast to copies of an earlier revision, at most limit, and returns the tries. The client_msg_id
// derives from the revision, so that a copy gets each once. One that cannot be changed any more stays as it is.
func (s *Service) updateCopies(ctx context.Context, b *broadcast, limit int) ([]delivery, error) {
	if b.revision == 1 {
		return nil, nil
	}
	retries, err := s.retries(ctx, b, deliverySent, limit)
	if err != nil {
		return nil, err
	}
	copies, err := s.untried(ctx, b, deliverySent, limit-min(len(retries), limit/2))
	if err != nil {
		return nil, err
	}
	copies = append(copies, retries[:min(len(retries), limit-len(copies))]...)
	updates := errgroup.Group{}
	updates.SetLimit(atOnce)
	for i := range copies {
		updates.Go(func() error { return s.updateCopy(ctx, b, &copies[i]) })
	}
	if err := updates.Wait(); err != nil || len(copies) == 0 {
		return nil, err
	}
	return copies, s.storeUpdates(ctx, b, copies)
}

// updateCopy brings a copy to the present revision. It fails only if ctx ends.
func (s *Service) updateCopy(ctx context.Context, b *broadcast, c *delivery) error {
	update, err := b.updateOf(c.seq)
	if err == nil {
		_, err = s.deliver(ctx, b.account, c.recipient, c.conversation, fmt.Sprintf("broadcast.%d.%d", b.id, b.revision), update)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.reason = errs.Of(err).Reason
	}
	if mayRetry(err) {
		c.err, c.most = err, attemptsOf(err, maxTries)
	}
	return nil
}

// storeUpdates stores the outcomes of updates. A copy that failed too often keeps its revision and has maxTries, so that the next edit or recall tries it
// again.
func (s *Service) storeUpdates(ctx context.Context, b *broadcast, copies []delivery) error {
	ctx = context.WithoutCancel(ctx)
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range copies {
			if c.err == nil {
				if _, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET revision = $3, reason = $4, tries = 0, due_ms = 0 WHERE broadcast = $1 AND recipient = $2 AND revision < $3`,
					int64(b.id), int64(c.recipient), b.revision, c.reason); err != nil {
					return err
				}
				continue
			}
			tries := c.tries + 1
			if tries >= c.most {
				tries = maxTries
			}
			if _, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET reason = $4, tries = $5, due_ms = $6 WHERE broadcast = $1 AND recipient = $2 AND revision < $3`,
				int64(b.id), int64(c.recipient), b.revision, c.reason, tries, s.nowMs()+retryDelay(tries).Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}

// updateOf returns the content that brings a copy to the present revision.
func (b *broadcast) updateOf(seq uint64) ([]byte, error) {
	if b.state == recalled {
		return encode(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}})
	}
	content := &chatv1.Content{}
	if err := proto.Unmarshal(b.content, content); err != nil {
		return nil, err
	}
	return encode(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: content}}})
}
