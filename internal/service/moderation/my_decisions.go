package moderation

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

// Queries of the decisions about a user that the user is told of, the newest first. Action 4 warns: the index of unacknowledged ones has the number.
const (
	// untoldActions are those of which isTold reports false: DISMISS and LIMIT.
	untoldActions = `(1, 6)`
	noticeColumns = `d.id, d.action, d.kind, d.item, d.seq, d.reason, d.explanation, d.time_ms, d.ends_ms, d.excerpt, d.acknowledged_ms, COALESCE(a.state, 0), COALESCE(a.answer, '')
		FROM moderation_decisions d LEFT JOIN moderation_appeals a ON a.decision = d.id WHERE d.about = $1 AND d.about > 0 AND d.id < $2`
	listNotices        = `SELECT ` + noticeColumns + ` AND d.action NOT IN ` + untoldActions + ` ORDER BY d.id DESC LIMIT $3`
	listUnacknowledged = `SELECT ` + noticeColumns + ` AND d.action = 4 AND d.acknowledged_ms = 0 AND NOT d.overturned ORDER BY d.id DESC LIMIT $3`
)

func scanNotice(scan func(...any) error) (*moderationv1.DecisionNotice, error) {
	n, of := &moderationv1.DecisionNotice{}, subject{}
	err := scan(&n.Id, &n.Action, &of.kind, &of.item, &of.seq, &n.Reason, &n.Explanation, &n.TimeMs, &n.EndsMs, &n.Excerpt, &n.AcknowledgedMs, &n.Appeal, &n.AppealAnswer)
	n.Subject = of.proto()
	return n, err
}

// isTold reports whether users are told of what an action did to them. A limit works only while its user does not know of it.
func isTold(a moderationv1.Action) bool {
	return a != moderationv1.Action_ACTION_DISMISS && a != moderationv1.Action_ACTION_LIMIT
}

// ListMyDecisions gives the decisions about a user that the user is told of, the newest first.
func (s *Service) ListMyDecisions(ctx context.Context, u id.User, r *moderationv1.ListMyDecisionsRequest) (*moderationv1.ListMyDecisionsResponse, error) {
	before, err := pagetoken.Start[int64](r.Page, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	query := listNotices
	if r.Unacknowledged {
		query = listUnacknowledged
	}
	limit := outputlimit.SmallPageSize(r.Limit)
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, query, int64(u), before, limit+1)
	list, err := sqldb.Collect(rows, err, scanNotice)
	if err != nil {
		return nil, err
	}
	out := &moderationv1.ListMyDecisionsResponse{}
	out.Decisions, out.Next = cut(list, limit, (*moderationv1.DecisionNotice).GetId)
	return out, nil
}

// AcknowledgeDecision stores that a user has read a warning. The first time counts.
func (s *Service) AcknowledgeDecision(ctx context.Context, u id.User, r *moderationv1.AcknowledgeDecisionRequest) (*moderationv1.AcknowledgeDecisionResponse, error) {
	var d decision
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		d, err = getDecision(ctx, tx, r.Decision)
		if err == nil && (d.about != u || d.action != moderationv1.Action_ACTION_WARN) {
			err = errNoDecision
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE moderation_decisions SET acknowledged_ms = $2 WHERE id = $1 AND acknowledged_ms = 0`, int64(d.id), s.nowMs())
		return err
	})
	if err != nil {
		return nil, err
	}
	s.tell(&d)
	return &moderationv1.AcknowledgeDecisionResponse{}, nil
}

// tell tells the devices of a user that a warning is new, or acknowledged. A hint that is lost does no harm: clients ask when they connect.
func (s *Service) tell(d *decision) {
	if s.deps.Notify == nil || d.action != moderationv1.Action_ACTION_WARN || d.about == 0 {
		return
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Decisions: &gatewayv1.DecisionHint{}})
	if err != nil {
		s.deps.Logger.Error("a hint could not be encoded", "error", err)
		return
	}
	s.deps.Notify([]id.User{d.about}, frame)
}
