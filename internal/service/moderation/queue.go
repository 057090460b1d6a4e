package moderation

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

var errBadState = errs.New(errs.Invalid, "bad_list", "list open or decided ones, of one kind or of all kinds")

// Queries of cases: the oldest open ones first, the newest decided ones first. $2 and $3 are 0 for all.
const (
	openCases         = `SELECT ` + caseColumns + ` FROM moderation_cases WHERE state = $1 AND ($2 = 0 OR kind = $2) AND id > $3 ORDER BY id LIMIT $4`
	openCasesAbout    = `SELECT ` + caseColumns + ` FROM moderation_cases WHERE state = $1 AND ($2 = 0 OR kind = $2) AND id > $3 AND about = $5 ORDER BY id LIMIT $4`
	decidedCases      = `SELECT ` + caseColumns + ` FROM moderation_cases WHERE state = $1 AND ($2 = 0 OR kind = $2) AND id < $3 ORDER BY id DESC LIMIT $4`
	decidedCasesAbout = `SELECT ` + caseColumns + ` FROM moderation_cases WHERE state = $1 AND ($2 = 0 OR kind = $2) AND id < $3 AND about = $5 ORDER BY id DESC LIMIT $4`
)

// ListCases gives a page of cases.
func (s *Service) ListCases(ctx context.Context, _ id.Caller, r *moderationv1.ListCasesRequest) (out *moderationv1.ListCasesResponse, err error) {
	state, query, about, first := r.State, openCases, openCasesAbout, int64(0)
	switch {
	case r.State > stateDecided, r.Kind > ofHeld, r.State < 0, r.Kind < 0:
		return nil, errBadState
	case r.State == 0:
		state = stateOpen
	case r.State == stateDecided:
		query, about, first = decidedCases, decidedCasesAbout, math.MaxInt64
	}
	behind, err := pagetoken.Start(r.Page, first)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.SmallPageSize(r.Limit)
	args := []any{int64(state), int64(r.Kind), behind, limit + 1}
	if r.About != 0 {
		query, args = about, append(args, int64(r.About))
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		list, err := sqldb.Collect(rows, err, scanCase)
		if err != nil {
			return err
		}
		out = &moderationv1.ListCasesResponse{}
		list, out.Next = cut(list, limit, func(c caseRow) uint64 { return c.id })
		out.Cases, err = views(ctx, tx, list)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Users, err = s.namesOf(ctx, usersOf(out.Cases, (*moderationv1.Case).GetAbout))
	return out, err
}

// views returns cases with the reasons of their reports, and their decisions.
func views(ctx context.Context, tx *sql.Tx, list []caseRow) ([]*moderationv1.Case, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var decided []uint64
	for _, c := range list {
		if c.decision != 0 {
			decided = append(decided, c.decision)
		}
	}
	decisions, err := decisionsOf(ctx, tx, decided)
	if err != nil {
		return nil, err
	}
	marks, args := sqldb.Placeholders(1, list, func(c caseRow) int64 { return int64(c.id) })
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT subject_case, reason FROM moderation_reports WHERE subject_case IN (`+marks+`) ORDER BY subject_case, reason`, args...)
	reasons := map[uint64][]moderationv1.ReportReason{}
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		var reason moderationv1.ReportReason
		err := rows.Scan(&n, &reason)
		reasons[n] = append(reasons[n], reason)
		return err
	})
	if err != nil {
		return nil, err
	}
	views := make([]*moderationv1.Case, len(list))
	for i, c := range list {
		views[i] = &moderationv1.Case{Id: c.id, Subject: c.subject.proto(), State: c.state, About: uint64(c.about), ReportCount: c.reports, Reasons: reasons[c.id], OpenedMs: c.openedMs, Excerpt: c.excerpt}
		if d, ok := decisions[c.decision]; ok {
			views[i].Decision = d.proto()
		}
	}
	return views, nil
}

// GetCase gives a case with its content and its reports.
func (s *Service) GetCase(ctx context.Context, _ id.Caller, r *moderationv1.GetCaseRequest) (out *moderationv1.Case, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		c, err := getCase(ctx, tx, r.Case)
		if err != nil {
			return err
		}
		list, err := views(ctx, tx, []caseRow{c})
		if err != nil {
			return err
		}
		out = list[0]
		rows, err := tx.QueryContext(ctx, `SELECT `+reportColumns+` FROM moderation_reports r JOIN moderation_cases c ON c.id = r.subject_case
			LEFT JOIN moderation_decisions d ON d.id = c.decision WHERE r.subject_case = $1 ORDER BY r.id DESC LIMIT $2`, int64(c.id), shownReports)
		if out.Reports, err = sqldb.Collect(rows, err, scanReport); err != nil {
			return err
		}
		var content []byte
		if err := tx.QueryRowContext(ctx, `SELECT content FROM moderation_cases WHERE id = $1`, int64(c.id)).Scan(&content); err != nil || len(content) == 0 {
			return err
		}
		out.Content = &moderationv1.CaseContent{}
		return proto.Unmarshal(content, out.Content)
	})
	if err != nil {
		return nil, err
	}
	out.Users, err = s.namesOf(ctx, namedBy(out))
	return out, err
}

// dropContents deletes a batch of copies whose cases were decided long ago.
func (s *Service) dropContents(ctx context.Context) error {
	return s.deps.DB.WriteInBatches(ctx, roundBatch, func(tx *sql.Tx) (int64, error) {
		done, err := tx.ExecContext(ctx, `UPDATE moderation_cases SET content = $1, has_content = FALSE WHERE id IN (SELECT id FROM moderation_cases WHERE has_content AND decided_ms > 0 AND decided_ms < $2
			ORDER BY decided_ms LIMIT $3)`, []byte{}, s.nowMs()-keepContent.Milliseconds(), roundBatch)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	})
}

// round finishes what decisions of this or another node began, and deletes old copies.
func (s *Service) round(ctx context.Context) error {
	return errors.Join(s.applyPending(ctx), s.dropContents(ctx))
}

// mayBeAbout are the actions for a kind of subject.
func mayBeAbout(kind moderationv1.ReportedKind, action moderationv1.Action) bool {
	actions := []moderationv1.Action{moderationv1.Action_ACTION_DISMISS, moderationv1.Action_ACTION_WARN, moderationv1.Action_ACTION_BAN, moderationv1.Action_ACTION_LIMIT}
	switch kind {
	case ofMessage:
		actions = append(actions, moderationv1.Action_ACTION_RECALL)
	case ofPost, ofComment:
		actions = append(actions, moderationv1.Action_ACTION_HIDE)
	case ofHeld:
		actions = append(actions, moderationv1.Action_ACTION_REFUSE)
	case ofGroup:
		actions = actions[:1]
	}
	return slices.Contains(actions, action)
}
