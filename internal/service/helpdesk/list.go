package helpdesk

import (
	"context"
	"fmt"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxPage     = 100
	defaultPage = 50
)

var (
	errPage   = errs.New(errs.Invalid, "bad_page", "page is the next of an earlier answer, or empty; limit is at most 100")
	errStatus = errs.New(errs.Invalid, "bad_status", "give the status of the desk's tickets: waiting, active or resolved; waiting tickets have no agent")
)

// ListTickets returns a page of the caller's own tickets, or of those of a desk whose agent the caller is.
func (s *Service) ListTickets(ctx context.Context, c id.Caller, q *chatv1.ListTicketsRequest) (*chatv1.ListTicketsResponse, error) {
	limit := int(q.Limit)
	if limit == 0 {
		limit = defaultPage
	}
	ascending := q.Desk != 0 && q.Status == waiting
	at, last := int64(math.MaxInt64), int64(math.MaxInt64)
	if ascending {
		at, last = math.MinInt64, 0
	}
	if q.Page != "" {
		if _, err := fmt.Sscanf(q.Page, "%d.%d", &at, &last); err != nil {
			return nil, errPage
		}
	}
	if limit > maxPage {
		return nil, errPage
	}
	list, err := s.page(ctx, c, q, at, last, limit+1)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListTicketsResponse{}
	for i, t := range list {
		if i == limit {
			before := list[i-1]
			switch {
			case q.Desk == 0:
				at = before.openedMs
			case ascending:
				at = before.place
			default:
				at = before.changedMs
			}
			out.Next = fmt.Sprintf("%d.%d", at, before.id)
			break
		}
		if ascending && i > 0 { // without counting those before each of them
			first, v := out.Tickets[0], t.row()
			v.OpensAtMs, v.Position = first.OpensAtMs, min(first.Position+uint32(i), maxPosition)
			out.Tickets = append(out.Tickets, v)
			continue
		}
		v, err := s.view(ctx, s.deps.DB.Read(), t)
		if err != nil {
			return nil, err
		}
		out.Tickets = append(out.Tickets, v)
	}
	return out, nil
}

// page reads at most n tickets after a key and an id, in the order of a request.
func (s *Service) page(ctx context.Context, c id.Caller, q *chatv1.ListTicketsRequest, at, last int64, n int) ([]*ticket, error) {
	db := s.deps.DB.Read()
	if q.Desk == 0 {
		return scanAll(db.QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE customer = $1 AND (opened_ms, id) < ($2, $3) ORDER BY opened_ms DESC, id DESC LIMIT $4`, int64(c.User), at, last, n))
	}
	if err := s.requireAgent(ctx, db, q.Desk, c); err != nil {
		return nil, err
	}
	switch {
	case q.Status < waiting || q.Status > resolved, q.Mine && q.Status == waiting:
		return nil, errStatus
	case q.Status == waiting:
		return scanAll(db.QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE desk = $1 AND status = 1 AND (place, id) > ($2, $3) ORDER BY place, id LIMIT $4`, int64(q.Desk), at, last, n))
	case q.Mine:
		return scanAll(db.QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE desk = $1 AND agent = $5 AND status = $6 AND (changed_ms, id) < ($2, $3) ORDER BY changed_ms DESC, id DESC LIMIT $4`,
			int64(q.Desk), at, last, n, int64(c.User), q.Status))
	}
	return scanAll(db.QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE desk = $1 AND status = $5 AND (changed_ms, id) < ($2, $3) ORDER BY changed_ms DESC, id DESC LIMIT $4`,
		int64(q.Desk), at, last, n, q.Status))
}
