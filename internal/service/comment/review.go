package comment

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// Reviewer asks the operator's webhook about comments before they are stored.
type Reviewer interface {
	// Reviews reports whether there is a webhook. It does not block.
	Reviews() bool
	// ReviewComment fails if a comment is refused, or a moderator is to decide, or if the webhook does not answer. Uploads are those that the comment names.
	ReviewComment(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest, uploads []id.Upload) error
	// ReviewCommentEdit is ReviewComment for an edit.
	ReviewCommentEdit(ctx context.Context, by id.User, r *commentv1.EditCommentRequest, uploads []id.Upload) error
}

// namedBy returns the files that a content names.
func namedBy(c *commentv1.CommentContent) []id.Upload {
	if n := uploadOf(c); n != 0 {
		return []id.Upload{n}
	}
	return nil
}

// reviewEdit asks about an edit of a comment that is the caller's. Nobody else's edit is asked about, nor held.
func (s *Service) reviewEdit(ctx context.Context, by id.User, r *commentv1.EditCommentRequest, content *commentv1.CommentContent) error {
	if s.deps.Reviewer == nil || !s.deps.Reviewer.Reviews() {
		return nil
	}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		_, _, err := s.editable(ctx, tx, by, r.Comment)
		return err
	})
	if err != nil {
		return err
	}
	return s.deps.Reviewer.ReviewCommentEdit(ctx, by, r, namedBy(content))
}

// CreateHeld creates a comment that a moderator has allowed, without the webhook. A retry is harmless.
func (s *Service) CreateHeld(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest) error {
	_, err := s.create(ctx, by, r, true)
	return err
}

// EditHeld is CreateHeld for an edit.
func (s *Service) EditHeld(ctx context.Context, by id.User, r *commentv1.EditCommentRequest) error {
	_, err := s.edit(ctx, by, r, true)
	return err
}
