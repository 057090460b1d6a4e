package helpdesk

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxPeriod bounds the period of statistics.
const maxPeriod = 92 * 24 * time.Hour

var errPeriod = errs.New(errs.Invalid, "bad_period", "fromMs is before toMs, by at most 92 days")

// GetHelpDeskStats returns the figures of a desk.
func (s *Service) GetHelpDeskStats(ctx context.Context, c id.Caller, q *chatv1.GetHelpDeskStatsRequest) (*chatv1.GetHelpDeskStatsResponse, error) {
	db := s.deps.DB.Read()
	if err := s.requireAgent(ctx, db, q.Desk, c); err != nil {
		return nil, err
	}
	if q.FromMs < 0 || q.FromMs >= q.ToMs || q.ToMs-q.FromMs > maxPeriod.Milliseconds() {
		return nil, errPeriod
	}
	out := &chatv1.GetHelpDeskStatsResponse{Total: &chatv1.TicketStats{}}
	err := db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM tickets WHERE desk = $1 AND status = 1), (SELECT COUNT(*) FROM tickets WHERE desk = $1 AND status = 2)`, int64(q.Desk)).Scan(&out.Waiting, &out.Active)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT agent, COUNT(*), CAST(SUM(first_response_ms) AS BIGINT), COUNT(CASE WHEN first_response_ms > 0 THEN 1 END), CAST(SUM(rating) AS BIGINT), COUNT(CASE WHEN rating > 0 THEN 1 END)
		FROM tickets WHERE desk = $1 AND status = 3 AND resolved_ms >= $2 AND resolved_ms < $3 GROUP BY agent ORDER BY agent`, int64(q.Desk), q.FromMs, q.ToMs)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all sums
	for rows.Next() {
		var agent uint64
		var n sums
		if err := rows.Scan(&agent, &n.resolved, &n.responseMs, &n.answered, &n.rating, &n.rated); err != nil {
			return nil, err
		}
		all.resolved, all.responseMs, all.answered, all.rating, all.rated = all.resolved+n.resolved, all.responseMs+n.responseMs, all.answered+n.answered, all.rating+n.rating, all.rated+n.rated
		if agent != 0 { // 0: resolved by the customer while it waited
			out.Agents = append(out.Agents, n.stats(agent))
		}
	}
	out.Total = all.stats(0)
	return out, rows.Err()
}

// sums of resolved tickets.
type sums struct{ resolved, responseMs, answered, rating, rated int64 }

func (n sums) stats(agent uint64) *chatv1.TicketStats {
	v := &chatv1.TicketStats{Agent: agent, Resolved: uint32(n.resolved), Rated: uint32(n.rated)}
	if n.answered > 0 {
		v.FirstResponseMs = n.responseMs / n.answered
	}
	if n.rated > 0 {
		v.Rating = float64(n.rating) / float64(n.rated)
	}
	return v
}
