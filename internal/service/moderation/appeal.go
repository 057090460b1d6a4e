package moderation

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

const (
	appealOpen       = moderationv1.AppealState_APPEAL_STATE_OPEN
	appealUpheld     = moderationv1.AppealState_APPEAL_STATE_UPHELD
	appealOverturned = moderationv1.AppealState_APPEAL_STATE_OVERTURNED
)

var (
	errBadAppeal     = errs.New(errs.Invalid, "bad_appeal", "an appeal has 1 to 2,000 characters"+message.TextRule)
	errAppealToken   = errs.New(errs.Unauthenticated, "bad_appeal_token", "this appeal took too long; log in again, and appeal")
	errAppealed      = errs.New(errs.Conflict, "already_appealed", "you have appealed against this decision; there is one appeal")
	errAppealDecided = errs.New(errs.Conflict, "appeal_decided", "another moderator has decided this appeal")
)

// AppealDecision appeals against a decision about a user.
func (s *Service) AppealDecision(ctx context.Context, u id.User, r *moderationv1.AppealDecisionRequest) (*moderationv1.AppealReceipt, error) {
	return s.appeal(ctx, u, r.Decision, r.Text)
}

// AppealBan appeals for a user who cannot log in. The token proves that the user would have, without the ban.
func (s *Service) AppealBan(ctx context.Context, r *moderationv1.AppealBanRequest) (*moderationv1.AppealReceipt, error) {
	place, ok := s.tokens.Open(r.AppealToken, []byte("appeal"))
	if !ok || len(place) != 24 || int64(binary.BigEndian.Uint64(place[16:])) < s.nowMs() {
		return nil, errAppealToken
	}
	return s.appeal(ctx, id.User(binary.BigEndian.Uint64(place)), binary.BigEndian.Uint64(place[8:]), r.Text)
}

// appeal stores the appeal of a user against a decision. A retry with the same text is harmless.
func (s *Service) appeal(ctx context.Context, u id.User, of uint64, text string) (*moderationv1.AppealReceipt, error) {
	if text == "" || !message.IsText(text, maxAppeal, message.IsParagraph) {
		return nil, errBadAppeal
	}
	fresh, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	var n uint64
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		n = fresh
		d, err := getDecision(ctx, tx, of)
		if err == nil && (d.about != u || !isTold(d.action)) {
			err = errNoDecision
		}
		if err != nil {
			return err
		}
		was := ""
		err = tx.QueryRowContext(ctx, `SELECT id, text FROM moderation_appeals WHERE decision = $1`, int64(of)).Scan(&n, &was)
		switch {
		case err == nil && was == text:
			return nil
		case err == nil:
			return errAppealed
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		n = fresh
		_, err = tx.ExecContext(ctx, `INSERT INTO moderation_appeals (id, decision, appellant, text, time_ms, state) VALUES ($1, $2, $3, $4, $5, $6)`, int64(n), int64(of), int64(u), text, s.nowMs(), int64(appealOpen))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &moderationv1.AppealReceipt{Appeal: n}, nil
}

// Queries of appeals: the oldest open ones first, the newest decided ones first.
const (
	appealColumns  = `id, appellant, text, time_ms, state, answer, decided_by, decided_ms, decision`
	openAppeals    = `SELECT ` + appealColumns + ` FROM moderation_appeals WHERE state = 1 AND id > $1 ORDER BY id LIMIT $2`
	decidedAppeals = `SELECT ` + appealColumns + ` FROM moderation_appeals WHERE state > 1 AND id < $1 ORDER BY id DESC LIMIT $2`
)

func scanAppeal(scan func(...any) error) (*moderationv1.Appeal, error) {
	a := &moderationv1.Appeal{Decision: &moderationv1.Decision{}}
	return a, scan(&a.Id, &a.User, &a.Text, &a.TimeMs, &a.State, &a.Answer, &a.By, &a.DecidedMs, &a.Decision.Id)
}

// completeAppeals gives appeals their decisions.
func completeAppeals(ctx context.Context, tx *sql.Tx, list []*moderationv1.Appeal) error {
	ids := make([]uint64, len(list))
	for i, a := range list {
		ids[i] = a.Decision.Id
	}
	found, err := decisionsOf(ctx, tx, ids)
	for _, a := range list {
		if d, ok := found[a.Decision.Id]; ok {
			a.Decision, a.Excerpt = d.proto(), d.excerpt
		}
	}
	return err
}

// ListAppeals gives a page of appeals.
func (s *Service) ListAppeals(ctx context.Context, _ id.Caller, r *moderationv1.ListAppealsRequest) (out *moderationv1.ListAppealsResponse, err error) {
	query, first := openAppeals, int64(0)
	if r.State != 0 && r.State != appealOpen {
		query, first = decidedAppeals, math.MaxInt64
	}
	behind, err := pagetoken.Start(r.Page, first)
	if err != nil {
		return nil, err
	}
	limit := outputlimit.SmallPageSize(r.Limit)
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, behind, limit+1)
		list, err := sqldb.Collect(rows, err, scanAppeal)
		if err != nil {
			return err
		}
		out = &moderationv1.ListAppealsResponse{}
		out.Appeals, out.Next = cut(list, limit, (*moderationv1.Appeal).GetId)
		return completeAppeals(ctx, tx, out.Appeals)
	})
	if err != nil {
		return nil, err
	}
	out.Users, err = s.namesOf(ctx, usersOf(out.Appeals, (*moderationv1.Appeal).GetUser))
	return out, err
}

// DecideAppeal decides an appeal. If it overturns the decision, its bans are lifted in the same transaction, and its content is shown again after it.
func (s *Service) DecideAppeal(ctx context.Context, c id.Caller, r *moderationv1.DecideAppealRequest) (*moderationv1.Appeal, error) {
	if err := checkTexts(r.Answer, r.Note); err != nil {
		return nil, err
	}
	state := appealUpheld
	if r.Overturn {
		state = appealOverturned
	}
	var a *moderationv1.Appeal
	var d decision
	announce := func() {}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		announce = func() {}
		a, err = scanAppeal(tx.QueryRowContext(ctx, `SELECT `+appealColumns+` FROM moderation_appeals WHERE id = $1`, int64(r.Appeal)).Scan)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return errNoAppeal
		case err != nil:
			return err
		}
		if d, err = getDecision(ctx, tx, a.Decision.Id); err != nil {
			return err
		}
		if a.State != appealOpen {
			if a.State != state || a.By != c.Key || a.Answer != r.Answer {
				return errAppealDecided
			}
			return nil
		}
		a.State, a.Answer, a.By, a.DecidedMs = state, r.Answer, c.Key, s.nowMs()
		if _, err := tx.ExecContext(ctx, `UPDATE moderation_appeals SET state = $2, answer = $3, decided_by = $4, decided_ms = $5 WHERE id = $1`, int64(a.Id), int64(a.State), a.Answer, a.By, a.DecidedMs); err != nil {
			return err
		}
		if r.Overturn {
			if announce, err = s.overturn(ctx, tx, c, &d, r.Note); err != nil {
				return err
			}
		}
		after := "upheld"
		if r.Overturn {
			after = "overturned"
		}
		return s.audit(ctx, tx, c, auditlog.Entry{Action: "appeal.decide", Subject: "appeal " + strconv.FormatUint(a.Id, 10), Before: describe(d), After: after, Reason: r.Note})
	})
	if err != nil {
		return nil, err
	}
	announce()
	if err := s.apply(ctx, &d); err != nil {
		s.deps.Logger.Warn("the effects of a moderator's decision are not complete yet; they are retried", "decision", d.id, "error", err)
	}
	a.Decision, a.Excerpt = d.proto(), d.excerpt
	return a, nil
}

// overturn undoes a decision.
func (s *Service) overturn(ctx context.Context, tx *sql.Tx, c id.Caller, d *decision, note string) (announce func(), err error) {
	d.overturned, d.pending = true, nothingPending
	switch {
	case d.subject.kind == ofHeld:
		d.pending = pendingSend
	case hides(*d) && d.subject.kind != ofMessage:
		d.pending = pendingShow
	}
	if _, err := tx.ExecContext(ctx, `UPDATE moderation_decisions SET overturned = TRUE, pending = $2 WHERE id = $1`, int64(d.id), d.pending); err != nil {
		return nil, err
	}
	return s.lift(ctx, tx, c, `decision = $2`, d.id, note)
}
