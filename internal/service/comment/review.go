package comment

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// Reviewer asks the operator's webhook about comments before they are stored.
type Reviewer interface {
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
