package moderation

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

const (
	ofMessage = moderationv1.ReportedKind_REPORTED_KIND_MESSAGE
	ofPost    = moderationv1.ReportedKind_REPORTED_KIND_POST
	ofComment = moderationv1.ReportedKind_REPORTED_KIND_COMMENT
	ofUser    = moderationv1.ReportedKind_REPORTED_KIND_USER
	ofGroup   = moderationv1.ReportedKind_REPORTED_KIND_GROUP
	ofHeld    = moderationv1.ReportedKind_REPORTED_KIND_HELD

	stateOpen    = moderationv1.CaseState_CASE_STATE_OPEN
	stateDecided = moderationv1.CaseState_CASE_STATE_DECIDED
)

// The effects of a decision on its content that are not complete yet.
const (
	nothingPending = iota
	pendingHide
	pendingShow
	pendingSend
)

var (
	errNoCase     = errs.New(errs.NotFound, "no_case", "there is no such case")
	errNoDecision = errs.New(errs.NotFound, "no_decision", "there is no such decision, or it is not about you")
	errNoBan      = errs.New(errs.NotFound, "no_ban", "there is no such ban")
	errNoAppeal   = errs.New(errs.NotFound, "no_appeal", "there is no such appeal")
)

// subject is what is reported.
type subject struct {
	kind      moderationv1.ReportedKind
	item, seq uint64
}

func subjectOf(p *moderationv1.ReportedThing) subject {
	return subject{p.GetKind(), p.GetId(), p.GetSeq()}
}

// proto returns nil for no subject.
func (s subject) proto() *moderationv1.ReportedThing {
	if s.kind == 0 {
		return nil
	}
	return &moderationv1.ReportedThing{Kind: s.kind, Id: s.item, Seq: s.seq}
}

// caseRow is a row of moderation_cases, without its content.
type caseRow struct {
	id       uint64
	subject  subject
	about    id.User
	state    moderationv1.CaseState
	reports  uint32
	excerpt  string
	openedMs int64
	decision uint64
}

const caseColumns = `id, kind, item, seq, about, state, reports, excerpt, opened_ms, decision`

func scanCase(scan func(...any) error) (c caseRow, err error) {
	return c, scan(&c.id, &c.subject.kind, &c.subject.item, &c.subject.seq, &c.about, &c.state, &c.reports, &c.excerpt, &c.openedMs, &c.decision)
}

func getCase(ctx context.Context, tx *sql.Tx, n uint64) (caseRow, error) {
	c, err := scanCase(tx.QueryRowContext(ctx, `SELECT `+caseColumns+` FROM moderation_cases WHERE id = $1`, int64(n)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoCase
	}
	return c, err
}

// decision is a row of moderation_decisions.
type decision struct {
	id, of         uint64 // of a case; 0: none
	subject        subject
	about          id.User
	action         moderationv1.Action
	reason         moderationv1.ReportReason
	explanation    string
	note, by       string
	timeMs, endsMs int64
	excerpt        string
	pending        int64
	overturned     bool
	acknowledgedMs int64
	failure        string // why the held content could not be sent
}

const decisionColumns = `id, subject_case, kind, item, seq, about, action, reason, explanation, note, decided_by, time_ms, ends_ms, excerpt, pending, overturned, acknowledged_ms, failure`

func scanDecision(scan func(...any) error) (d decision, err error) {
	return d, scan(&d.id, &d.of, &d.subject.kind, &d.subject.item, &d.subject.seq, &d.about, &d.action, &d.reason, &d.explanation, &d.note, &d.by, &d.timeMs, &d.endsMs, &d.excerpt, &d.pending, &d.overturned, &d.acknowledgedMs, &d.failure)
}

func getDecision(ctx context.Context, tx *sql.Tx, n uint64) (decision, error) {
	d, err := scanDecision(tx.QueryRowContext(ctx, `SELECT `+decisionColumns+` FROM moderation_decisions WHERE id = $1`, int64(n)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoDecision
	}
	return d, err
}

// decisionsOf returns decisions by their ids.
func decisionsOf(ctx context.Context, tx *sql.Tx, ids []uint64) (map[uint64]decision, error) {
	found := map[uint64]decision{}
	if len(ids) == 0 {
		return found, nil
	}
	marks, args := sqldb.Placeholders(1, ids, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT `+decisionColumns+` FROM moderation_decisions WHERE id IN (`+marks+`)`, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		d, err := scanDecision(rows.Scan)
		found[d.id] = d
		return err
	})
	return found, err
}

func (d *decision) insert(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO moderation_decisions (id, subject_case, kind, item, seq, about, action, reason, explanation, note, decided_by, time_ms, ends_ms, excerpt, pending)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`, int64(d.id), int64(d.of), int64(d.subject.kind), int64(d.subject.item), int64(d.subject.seq), int64(d.about), int64(d.action),
		int64(d.reason), d.explanation, d.note, d.by, d.timeMs, d.endsMs, d.excerpt, d.pending)
	return err
}

func (d *decision) proto() *moderationv1.Decision {
	return &moderationv1.Decision{Id: d.id, Case: d.of, Subject: d.subject.proto(), About: uint64(d.about), Action: d.action, Reason: d.reason, Explanation: d.explanation, Note: d.note, By: d.by,
		TimeMs: d.timeMs, BanEndsMs: d.endsMs, Applied: d.pending == nothingPending && d.failure == "", Overturned: d.overturned, AcknowledgedMs: d.acknowledgedMs, Failure: d.failure}
}

// cut returns at most limit of a list that was read with one more, and the token of the next page.
func cut[T any](list []T, limit int, idOf func(T) uint64) (page []T, next string) {
	if len(list) <= limit {
		return list, ""
	}
	return list[:limit], strconv.FormatUint(idOf(list[limit-1]), 10)
}
