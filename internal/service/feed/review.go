package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Reviewer asks the operator's webhook about posts before they are stored.
type Reviewer interface {
	// Reviews reports whether there is a webhook. It does not block.
	Reviews() bool
	// ReviewPost fails if a post is refused, or a moderator is to decide, or if the webhook does not answer. Uploads are those that the post names.
	ReviewPost(ctx context.Context, by id.User, r *feedv1.PublishRequest, uploads []id.Upload) error
	// ReviewPostEdit is ReviewPost for an edit.
	ReviewPostEdit(ctx context.Context, by id.User, r *feedv1.EditPostRequest, uploads []id.Upload) error
}

// review asks about a post that is not stored yet: the retry of a stored one gets its post, also if the webhook would decide otherwise now.
func (s *Service) review(ctx context.Context, by id.User, r *feedv1.PublishRequest, content *feedv1.PostContent) error {
	if s.deps.Reviewer == nil || !s.deps.Reviewer.Reviews() {
		return nil
	}
	var stored bool
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM feed_posts WHERE author = $1 AND token = $2)`, int64(by), r.ClientPostId).Scan(&stored)
	if err != nil || stored {
		return err
	}
	return s.deps.Reviewer.ReviewPost(ctx, by, r, uploadsOf(content))
}

// reviewEdit asks about an edit of a post that is the caller's. Nobody else's edit is asked about, nor held.
func (s *Service) reviewEdit(ctx context.Context, by id.User, r *feedv1.EditPostRequest, content *feedv1.PostContent) error {
	if s.deps.Reviewer == nil || !s.deps.Reviewer.Reviews() {
		return nil
	}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		_, err := editable(ctx, tx, by, r, content)
		return err
	})
	if err != nil {
		return err
	}
	return s.deps.Reviewer.ReviewPostEdit(ctx, by, r, uploadsOf(content))
}

// PublishHeld publishes a post that a moderator has allowed, without the webhook. A retry is harmless.
func (s *Service) PublishHeld(ctx context.Context, by id.User, r *feedv1.PublishRequest) error {
	_, err := s.publishReviewed(ctx, by, r, true)
	return err
}

// EditHeld is PublishHeld for an edit.
func (s *Service) EditHeld(ctx context.Context, by id.User, r *feedv1.EditPostRequest) error {
	_, err := s.editReviewed(ctx, by, r, true)
	return err
}
