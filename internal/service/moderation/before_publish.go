package moderation

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// Config of moderation. The zero value is the documented default.
type Config struct {
	// BeforePublish is asked before a post, a comment or an edit of one is stored (docs/operating/webhooks.md). Its timeout is 1s by default, and at most 5s.
	BeforePublish webhook.Config `yaml:"before_publish"`
	// BeforePublishOnFailure is what happens to posts and comments while before_publish does not answer: refuse (default), allow, or hold: they wait for a moderator.
	BeforePublishOnFailure string `yaml:"before_publish_on_failure"`
}

// review is what webhook.Reviewer is told of the settings.
func (c Config) review() webhook.ReviewConfig {
	return webhook.ReviewConfig{Config: c.BeforePublish, OnFailure: c.BeforePublishOnFailure, Setting: "moderation.before_publish", Waiting: "authors", DefaultTimeout: time.Second,
		NotChecked: "whether this may be published is not known now; try again", Refused: "this is against the rules of this server"}
}

// Check reports invalid settings.
func (c Config) Check() error { return c.review().Check() }

func (s *Service) initBeforePublish() (err error) {
	if s.config.BeforePublish.Set() {
		s.beforePublish, err = webhook.NewReviewer(s.config.review(), webhook.Kind{Kind: outgoing.BeforePublish, Calls: s.deps.Calls}, s.deps.Clock, s.deps.Logger)
	}
	return err
}

// BeforePublishQuery is the body of a request to the webhook. Its content is a rialto.moderation.v1.HeldContent: the request of the author.
type BeforePublishQuery struct {
	Author webhook.User `json:"author"`
	webhook.Reviewed
}

// Reviews reports whether the webhook is asked about posts and comments.
func (s *Service) Reviews() bool { return s.beforePublish != nil }

// ReviewPost fails if the webhook refuses a new post, wants a moderator to decide, or does not answer.
func (s *Service) ReviewPost(ctx context.Context, by id.User, r *feedv1.PublishRequest, uploads []id.Upload) error {
	return s.ask(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_Post{Post: r}}, r.ClientPostId, r.GetContent().GetText(), uploads)
}

// ReviewPostEdit is ReviewPost for an edit.
func (s *Service) ReviewPostEdit(ctx context.Context, by id.User, r *feedv1.EditPostRequest, uploads []id.Upload) error {
	return s.ask(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_PostEdit{PostEdit: r}}, "", r.GetContent().GetText(), uploads)
}

// ReviewComment is ReviewPost for a comment.
func (s *Service) ReviewComment(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest, uploads []id.Upload) error {
	return s.ask(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_Comment{Comment: r}}, r.ClientCommentId, r.GetContent().GetText(), uploads)
}

// ReviewCommentEdit is ReviewPost for an edit of a comment.
func (s *Service) ReviewCommentEdit(ctx context.Context, by id.User, r *commentv1.EditCommentRequest, uploads []id.Upload) error {
	return s.ask(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_CommentEdit{CommentEdit: r}}, "", r.GetContent().GetText(), uploads)
}

// ask asks the webhook about a content.
func (s *Service) ask(ctx context.Context, by id.User, content *moderationv1.HeldContent, token, text string, uploads []id.Upload) error {
	if s.beforePublish == nil {
		return nil
	}
	query := func(ctx context.Context) (any, error) {
		author, of, err := webhook.Sources{ExternalIDs: s.deps.ExternalIDs, Files: s.deps.ReviewFiles}.Describe(ctx, by, content, uploads)
		return &BeforePublishQuery{author, of}, err
	}
	why, err := s.beforePublish.Review(ctx, query, nil, "author", by)
	if err != nil || why == "" {
		return err
	}
	return s.hold(ctx, by, content, token, text, why)
}
