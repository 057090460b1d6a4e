package moderation

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

var (
	errBadSubject = errs.New(errs.Invalid, "bad_report", "report a message with the id of its conversation and its seq, or a post, a comment, a user or a group with its id")
	errBadReason  = errs.New(errs.Invalid, "bad_report", "give a reason of the list")
	errBadNote    = errs.New(errs.Invalid, "bad_report", "a note has at most 1,000 characters"+message.TextRule)
	errOwn        = errs.New(errs.Invalid, "own_content", "you cannot report yourself, or what you wrote")
)

// checkReport checks the form of a report.
func checkReport(r *moderationv1.ReportContentRequest) error {
	s := r.GetSubject()
	switch {
	case s.GetKind() < ofMessage || s.GetKind() > ofGroup, s.GetId() == 0 || s.GetId() > math.MaxInt64, (s.GetKind() == ofMessage) != (s.GetSeq() > 0), s.GetSeq() > math.MaxInt64:
		return errBadSubject
	case !isReason(r.Reason):
		return errBadReason
	case !message.IsText(r.Note, maxNote, message.IsParagraph):
		return errBadNote
	}
	return nil
}

func isReason(r moderationv1.ReportReason) bool {
	return r >= moderationv1.ReportReason_REPORT_REASON_SPAM && r <= moderationv1.ReportReason_REPORT_REASON_OTHER
}

// ReportContent stores a report of something that a user may read.
func (s *Service) ReportContent(ctx context.Context, u id.User, r *moderationv1.ReportContentRequest) (*moderationv1.Report, error) {
	if err := checkReport(r); err != nil {
		return nil, err
	}
	of := subjectOf(r.Subject)
	var before *moderationv1.Report
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		before, err = repeated(ctx, tx, u, of)
		return err
	})
	if err != nil || before != nil {
		return before, err
	}
	if wait := s.reports.Allow(u, 1); wait > 0 {
		return nil, &errs.Error{Kind: errs.Exhausted, Reason: "too_many_reports", Message: "you have reported much lately; wait, and report again", Retry: wait}
	}
	copied, err := s.copyOf(ctx, u, of)
	if err != nil {
		return nil, err
	}
	if copied.about == u {
		return nil, errOwn
	}
	caseID, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	report := &moderationv1.Report{Subject: of.proto(), Reason: r.Reason, Note: r.Note, State: moderationv1.ReportState_REPORT_STATE_OPEN}
	if report.Id, err = s.deps.IDs.Next(ctx); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		report.TimeMs = s.nowMs()
		if before, err = repeated(ctx, tx, u, of); err != nil || before != nil {
			return err
		}
		n, err := openCase(ctx, tx, caseID, of, copied, report.TimeMs)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO moderation_reports (id, subject_case, reporter, reason, note, time_ms) VALUES ($1, $2, $3, $4, $5, $6)`,
			int64(report.Id), int64(n), int64(u), int64(report.Reason), report.Note, report.TimeMs)
		return err
	})
	if err == nil && before != nil {
		report = before
	}
	if err != nil {
		return nil, err
	}
	return report, nil
}

// openCase counts one more report of an open case, which it makes if there is none.
func openCase(ctx context.Context, tx *sql.Tx, fresh uint64, of subject, c copied, nowMs int64) (n uint64, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE moderation_cases SET reports = reports + 1 WHERE kind = $1 AND item = $2 AND seq = $3 AND state = 1 RETURNING id`, int64(of.kind), int64(of.item), int64(of.seq)).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO moderation_cases (id, kind, item, seq, about, state, reports, excerpt, content, opened_ms) VALUES ($1, $2, $3, $4, $5, 1, 1, $6, $7, $8)`,
		int64(fresh), int64(of.kind), int64(of.item), int64(of.seq), int64(c.about), c.excerpt, c.content, nowMs)
	return fresh, err
}

// reportColumns are of moderation_reports r, moderation_cases c and moderation_decisions d.
const reportColumns = `r.id, c.kind, c.item, c.seq, r.reason, r.note, r.time_ms, c.state, c.decided_ms, COALESCE(d.action, 0), r.reporter`

func scanReport(scan func(...any) error) (*moderationv1.Report, error) {
	r, of := &moderationv1.Report{}, subject{}
	var state moderationv1.CaseState
	var action moderationv1.Action
	if err := scan(&r.Id, &of.kind, &of.item, &of.seq, &r.Reason, &r.Note, &r.TimeMs, &state, &r.DecidedMs, &action, &r.Reporter); err != nil {
		return nil, err
	}
	r.Subject = of.proto()
	switch {
	case state == stateOpen:
		r.State = moderationv1.ReportState_REPORT_STATE_OPEN
	case action == moderationv1.Action_ACTION_DISMISS:
		r.State = moderationv1.ReportState_REPORT_STATE_DISMISSED
	default:
		r.State = moderationv1.ReportState_REPORT_STATE_ACTED
	}
	return r, nil
}

// repeated returns the report that a user has made of a thing and does not make again, or nil. A user or a group can be reported again after the decision.
func repeated(ctx context.Context, tx *sql.Tx, u id.User, of subject) (*moderationv1.Report, error) {
	r, err := scanReport(tx.QueryRowContext(ctx, `SELECT `+reportColumns+` FROM moderation_cases c JOIN moderation_reports r ON r.subject_case = c.id AND r.reporter = $4
		LEFT JOIN moderation_decisions d ON d.id = c.decision WHERE c.kind = $1 AND c.item = $2 AND c.seq = $3 ORDER BY c.id DESC LIMIT 1`, int64(of.kind), int64(of.item), int64(of.seq), int64(u)).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case r.State != moderationv1.ReportState_REPORT_STATE_OPEN && (of.kind == ofUser || of.kind == ofGroup):
		return nil, nil
	}
	r.Reporter = 0
	return r, nil
}

// ListMyReports gives a user's reports, the newest first.
func (s *Service) ListMyReports(ctx context.Context, u id.User, r *moderationv1.ListMyReportsRequest) (*moderationv1.ListMyReportsResponse, error) {
	before, err := pagetoken.Start[int64](r.Page, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.SmallPageSize(r.Limit)
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT `+reportColumns+` FROM moderation_reports r JOIN moderation_cases c ON c.id = r.subject_case
		LEFT JOIN moderation_decisions d ON d.id = c.decision WHERE r.reporter = $1 AND r.id < $2 ORDER BY r.id DESC LIMIT $3`, int64(u), before, limit+1)
	list, err := sqldb.Collect(rows, err, scanReport)
	if err != nil {
		return nil, err
	}
	out := &moderationv1.ListMyReportsResponse{}
	out.Reports, out.Next = cut(list, limit, (*moderationv1.Report).GetId)
	for _, report := range out.Reports {
		report.Reporter = 0
	}
	return out, nil
}
