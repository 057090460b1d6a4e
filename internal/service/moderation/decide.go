package moderation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

var (
	errBadDecision    = errs.New(errs.Invalid, "bad_decision", "a message is recalled, a post or a comment is hidden, what is held is refused, a user is warned, limited or banned; a report of a group can only be dismissed")
	errDecisionReason = errs.New(errs.Invalid, "bad_decision", "give the reason that the user is told; a case that is dismissed has none")
	errBadText        = errs.New(errs.Invalid, "bad_decision", fmt.Sprintf("an explanation, a note and an answer have at most %d characters each%s", maxExplanation, message.TextRule))
	errBanEnd         = errs.New(errs.Invalid, "bad_decision", "a ban or a limit ends in the future, or never: 0; nothing else has an end")
	errCaseDecided    = errs.New(errs.Conflict, "case_decided", "another moderator has decided this case")
)

// checkTexts checks texts of moderators.
func checkTexts(texts ...string) error {
	for _, text := range texts {
		if !message.IsText(text, maxExplanation, message.IsParagraph) {
			return errBadText
		}
	}
	return nil
}

func (s *Service) checkDecision(r *moderationv1.DecideRequest) error {
	dismisses := r.Action == moderationv1.Action_ACTION_DISMISS
	switch {
	case dismisses != (r.Reason == 0), !dismisses && !isReason(r.Reason):
		return errDecisionReason
	case !hasEnd(r.Action) && r.BanEndsMs != 0:
		return errBanEnd
	case hasEnd(r.Action):
		if err := s.checkEnd(r.BanEndsMs); err != nil {
			return err
		}
	}
	return checkTexts(r.Explanation, r.Note)
}

// hasEnd reports whether an action makes a row of moderation_bans, which may end.
func hasEnd(a moderationv1.Action) bool {
	return a == moderationv1.Action_ACTION_BAN || a == moderationv1.Action_ACTION_LIMIT
}

// Decide closes a case. The decision, its bans and its audit entry are one transaction; then its content is hidden or recalled.
func (s *Service) Decide(ctx context.Context, c id.Caller, r *moderationv1.DecideRequest) (*moderationv1.Decision, error) {
	if err := s.checkDecision(r); err != nil {
		return nil, err
	}
	var ids [2]uint64 // of the decision and of the ban
	for i := range ids {
		n, err := s.deps.IDs.Next(ctx)
		if err != nil {
			return nil, err
		}
		ids[i] = n
	}
	var d decision
	announce := func() {}
	err := s.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) error {
		announce = func() {}
		of, err := getCase(ctx, tx, r.Case)
		switch {
		case err != nil:
			return err
		case !mayBeAbout(of.subject.kind, r.Action):
			return errBadDecision
		case of.state == stateDecided:
			d, err = s.sameDecision(ctx, tx, of, c, r)
			return err
		}
		d = decision{id: ids[0], of: of.id, subject: of.subject, about: of.about, action: r.Action, reason: r.Reason, explanation: r.Explanation, note: r.Note, by: c.Key, timeMs: s.nowMs(), endsMs: r.BanEndsMs,
			excerpt: of.excerpt, pending: nothingPending}
		switch {
		case hides(d):
			d.pending = pendingHide
		case d.subject.kind == ofHeld && d.action == moderationv1.Action_ACTION_DISMISS:
			d.pending = pendingSend
		}
		if err := d.insert(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE moderation_cases SET state = $2, decision = $3, decided_ms = $4 WHERE id = $1`, int64(of.id), int64(stateDecided), int64(d.id), d.timeMs); err != nil {
			return err
		}
		if hasEnd(d.action) {
			if announce, _, err = s.insertBan(ctx, tx, ids[1], &d, target{user: d.about, limited: d.action == moderationv1.Action_ACTION_LIMIT}); err != nil {
				return err
			}
		}
		return s.audit(ctx, tx, c, auditlog.Entry{Action: "case.decide", Subject: "case " + strconv.FormatUint(of.id, 10), Before: "open", After: describe(d), Reason: r.Note})
	})
	if err != nil {
		return nil, err
	}
	announce()
	s.tell(&d)
	if err := s.apply(ctx, &d); err != nil {
		s.deps.Logger.Warn("the effects of a moderator's decision are not complete yet; they are retried", "decision", d.id, "error", err)
	}
	return d.proto(), nil
}

// sameDecision returns the decision of a case if this call is a retry of the one that made it.
func (s *Service) sameDecision(ctx context.Context, tx *sql.Tx, of caseRow, c id.Caller, r *moderationv1.DecideRequest) (decision, error) {
	d, err := getDecision(ctx, tx, of.decision)
	if err == nil && (d.by != c.Key || d.action != r.Action || d.reason != r.Reason || d.endsMs != r.BanEndsMs || d.explanation != r.Explanation || d.note != r.Note) {
		err = errCaseDecided
	}
	return d, err
}

// hides reports whether a decision takes content away.
func hides(d decision) bool {
	switch d.action {
	case moderationv1.Action_ACTION_HIDE, moderationv1.Action_ACTION_RECALL, moderationv1.Action_ACTION_BAN:
		return d.subject.kind == ofMessage || d.subject.kind == ofPost || d.subject.kind == ofComment
	}
	return false
}

// describe is what the audit log says of a decision.
func describe(d decision) string {
	text := actionNames[d.action]
	if d.subject.kind != 0 {
		text += " " + kindNames[d.subject.kind] + " " + strconv.FormatUint(d.subject.item, 10)
	}
	if d.subject.seq != 0 {
		text += " seq " + strconv.FormatUint(d.subject.seq, 10)
	}
	if d.about != 0 {
		text += " of user " + d.about.String()
	}
	if hasEnd(d.action) {
		text += " " + untilText(d.endsMs)
	}
	return text
}

var actionNames = map[moderationv1.Action]string{moderationv1.Action_ACTION_DISMISS: "dismiss", moderationv1.Action_ACTION_HIDE: "hide", moderationv1.Action_ACTION_RECALL: "recall",
	moderationv1.Action_ACTION_WARN: "warn", moderationv1.Action_ACTION_BAN: "ban", moderationv1.Action_ACTION_LIMIT: "limit", moderationv1.Action_ACTION_REFUSE: "refuse"}

var kindNames = map[moderationv1.ReportedKind]string{ofMessage: "message in conversation", ofPost: "post", ofComment: "comment", ofUser: "user", ofGroup: "group", ofHeld: "held content of user"}

// audit adds an entry that names the moderator.
func (s *Service) audit(ctx context.Context, tx *sql.Tx, c id.Caller, e auditlog.Entry) error {
	e.Who = c.Key
	return s.deps.Audit.Add(ctx, tx, e)
}

// apply does to the content what is pending. Content that is gone needs nothing.
func (s *Service) apply(ctx context.Context, d *decision) error {
	if d.pending == nothingPending {
		return nil
	}
	hide, failure, err := d.pending == pendingHide, "", error(nil)
	switch {
	case d.pending == pendingSend:
		failure, err = s.sendHeld(ctx, d)
	case d.subject.kind == ofMessage && hide:
		err = s.deps.Chat.RecallForModerators(ctx, id.Conversation(d.subject.item), d.subject.seq)
	case d.subject.kind == ofPost:
		err = s.deps.Posts.HidePost(ctx, &feedv1.HidePostRequest{Post: d.subject.item, Show: !hide, Reason: "decision " + strconv.FormatUint(d.id, 10)})
	case d.subject.kind == ofComment:
		err = s.deps.Comments.HideComment(ctx, d.subject.item, hide)
	}
	if err != nil && !errs.Is(err, errs.NotFound) {
		return err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE moderation_decisions SET pending = 0, failure = $3 WHERE id = $1 AND pending = $2`, int64(d.id), d.pending, failure)
		return err
	})
	if err == nil {
		d.pending, d.failure = nothingPending, failure
	}
	return err
}

// applyPending applies decisions whose node stopped, or that could not be applied. One that fails does not stop the others.
func (s *Service) applyPending(ctx context.Context) (failed error) {
	for above := int64(0); ; {
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+decisionColumns+` FROM moderation_decisions WHERE pending > 0 AND id > $1 ORDER BY id LIMIT $2`, above, roundBatch)
		list, err := sqldb.Collect(rows, err, scanDecision)
		if err != nil || len(list) == 0 {
			return errors.Join(failed, err)
		}
		for _, d := range list {
			above = int64(d.id)
			if err := s.apply(ctx, &d); err != nil {
				failed = fmt.Errorf("decision %d: %w", d.id, err)
			}
		}
	}
}
