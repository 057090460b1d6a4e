package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// updateCopies sends the edit or the recall of a broadcast to copies of an earlier revision, at most limit, and returns how many. The
// client_msg_id derives from the revision, so that a copy gets each once. One that cannot be changed any more stays as it is.
func (s *Service) updateCopies(ctx context.Context, b *broadcast, limit int) (int, error) {
	if b.revision == 1 {
		return 0, nil
	}
	copies, err := s.outdated(ctx, b, limit)
	if err != nil || len(copies) == 0 {
		return 0, err
	}
	var again []delivery
	failures := make([]error, len(copies))
	kept := copies[:0]
	for i, c := range copies {
		update, err := b.updateOf(c.seq)
		if err == nil {
			_, err = s.deliver(ctx, b.account, c.recipient, c.conversation, fmt.Sprintf("broadcast.%d.%d", b.id, b.revision), update)
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if mayRetry(err) && c.tries+1 < attemptsOf(err, maxTries) {
			failures[i] = err
			again = append(again, c)
			continue
		}
		if err != nil {
			c.reason = errs.Of(err).Reason
		}
		kept = append(kept, c)
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range again {
			if _, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET tries = tries + 1 WHERE broadcast = $1 AND recipient = $2 AND revision < $3`, int64(b.id), int64(c.recipient), b.revision); err != nil {
				return err
			}
		}
		for _, c := range kept {
			if _, err := tx.ExecContext(ctx, `UPDATE official_deliveries SET revision = $3, reason = $4, tries = 0 WHERE broadcast = $1 AND recipient = $2 AND revision < $3`, int64(b.id), int64(c.recipient), b.revision, c.reason); err != nil {
				return err
			}
		}
		return nil
	})
	return len(kept) + len(again), errors.Join(s.allFailed(b, failures), err)
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

// outdated returns copies of an earlier revision.
func (s *Service) outdated(ctx context.Context, b *broadcast, limit int) (list []delivery, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT recipient, conversation, seq, tries FROM official_deliveries WHERE broadcast = $1 AND state = $2 AND revision < $3 ORDER BY revision, recipient LIMIT $4`,
		int64(b.id), deliverySent, b.revision, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var d delivery
		var u id.User
		if err := rows.Scan(&u, &d.conversation, &d.seq, &d.tries); err != nil {
			return err
		}
		d.recipient = u
		list = append(list, d)
		return nil
	})
	return list, err
}
