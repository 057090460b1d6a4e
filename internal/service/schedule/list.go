package schedule

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxPage   = 100
	pageBytes = 1 << 20
)

var errPage = errs.New(errs.Invalid, "bad_page", "page is the next of an earlier answer, or empty; limit is at most 100")

// ListScheduled returns a page of a user's messages, the next to be sent first.
func (s *Service) ListScheduled(ctx context.Context, c id.Caller, q *chatv1.ListScheduledRequest) (*chatv1.ListScheduledResponse, error) {
	limit := int(q.Limit)
	if limit == 0 {
		limit = maxPage
	}
	var afterMs, afterID int64
	if q.Page != "" {
		if _, err := fmt.Sscanf(q.Page, "%d.%d", &afterMs, &afterID); err != nil {
			return nil, errPage
		}
	}
	if limit > maxPage {
		return nil, errPage
	}
	query, args := `SELECT `+columns+` FROM scheduled WHERE owner = $1 AND (send_ms, id) > ($2, $3) ORDER BY send_ms, id LIMIT $4`, []any{int64(c.User), afterMs, afterID, limit + 1}
	if q.Conversation != 0 {
		query = `SELECT ` + columns + ` FROM scheduled WHERE owner = $1 AND (send_ms, id) > ($2, $3) AND conversation = $5 ORDER BY send_ms, id LIMIT $4`
		args = append(args, int64(q.Conversation))
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	r := &chatv1.ListScheduledResponse{}
	var last *scheduled
	for size := 0; rows.Next(); {
		row, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		if len(r.Messages) == limit || size > pageBytes {
			r.Next = fmt.Sprintf("%d.%d", last.sendMs, last.id)
			break
		}
		v, err := row.view()
		if err != nil {
			return nil, err
		}
		r.Messages, last = append(r.Messages, v), row
		size += len(row.content)
	}
	return r, rows.Err()
}
