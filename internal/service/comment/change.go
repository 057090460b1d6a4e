package comment

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// EditComment replaces the content of a comment of the caller.
func (s *Service) EditComment(ctx context.Context, by id.User, r *commentv1.EditCommentRequest) (*commentv1.Comment, error) {
	return s.edit(ctx, by, r, false)
}

// editable returns a comment of its author that another content may replace, and its view.
func (s *Service) editable(ctx context.Context, tx *sql.Tx, by id.User, n uint64) (*row, *commentv1.Comment, error) {
	c, view, err := s.visible(ctx, tx, by, n)
	switch {
	case err != nil:
	case c.author != by || c.deleted:
		err = errNoComment
	case c.kind == onVideo:
		err = errTimedEdit
	}
	return c, view, err
}

// edit is EditComment. Of an edit that a moderator has allowed the webhook is not asked.
func (s *Service) edit(ctx context.Context, by id.User, r *commentv1.EditCommentRequest, allowed bool) (*commentv1.Comment, error) {
	if s.isReadOnly() {
		return nil, errReadOnly
	}
	content, err := checkContent(r.Content)
	if err != nil {
		return nil, err
	}
	if _, err := s.checkWords(content); err != nil {
		return nil, err
	}
	if !allowed {
		if err := s.reviewEdit(ctx, by, r, content); err != nil {
			return nil, err
		}
	}
	stored, err := encode(content)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Graph.Exist(ctx, message.MentionedUsers(content.Mentions)); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		c, view, err := s.editable(ctx, tx, by, r.Comment)
		if err != nil || bytes.Equal(c.content, stored) {
			return err
		}
		if upload := uploadOf(content); upload != 0 {
			if err := s.deps.KeepPicture(ctx, tx, by, upload); err != nil {
				return err
			}
		}
		if _, err = tx.ExecContext(ctx, `UPDATE comments SET content = $2, edited_ms = $3 WHERE id = $1`, int64(c.id), stored, s.nowMs()); err != nil {
			return err
		}
		change := Change{ID: c.id, SubjectKind: c.kind, Subject: c.subject, Author: by}
		if !c.limited {
			change.Mentioned, change.Unmentioned = message.ChangedMentions(view.Content.GetMentions(), content.Mentions)
		}
		return s.changed(ctx, tx, change)
	})
	if err != nil {
		return nil, err
	}
	return s.flagged(s.GetComment(ctx, by, r.Comment))
}

// DeleteComment deletes a comment, for its author, also where the author does not see it any more, or for the author of its subject.
func (s *Service) DeleteComment(ctx context.Context, by id.User, n uint64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		c, err := getRow(ctx, tx, n)
		if err != nil {
			return err
		}
		if c.author != by {
			kind := c.kind
			if kind == onVideo { // also after the post shows another video
				kind = commentv1.SubjectKind_SUBJECT_KIND_POST
			}
			author, err := s.subjectAuthor(ctx, tx, by, kind, c.subject)
			if errs.Is(err, errs.NotFound) || err == nil && author != by {
				err = errNoComment
			}
			if err != nil {
				return err
			}
		}
		if c.deleted { // also if moderators hid it: then it is not shown again
			_, err := tx.ExecContext(ctx, `UPDATE comments SET hidden_content = NULL WHERE id = $1 AND hidden_content IS NOT NULL`, int64(c.id))
			return err
		}
		_, deleted := tx.ExecContext(ctx, `UPDATE comments SET deleted = TRUE, content = $2 WHERE id = $1`, int64(c.id), []byte{})
		return errors.Join(deleted, s.addCount(ctx, tx, c, -1), s.changed(ctx, tx, Change{ID: c.id, SubjectKind: c.kind, Subject: c.subject, Author: c.author, Deleted: true}), s.reached("delete-stored"))
	})
	if err != nil {
		return err
	}
	return s.reached("delete-committed")
}
