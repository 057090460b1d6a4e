package moderation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Config of moderation. The zero value is the documented default.
type Config struct {
	// BeforePublish is asked before a post, a comment or an edit of one is stored (docs/operating/webhooks.md). Its timeout is 1s by default, and at most 5s.
	BeforePublish webhook.Config `yaml:"before_publish"`
	// BeforePublishOnFailure is what happens to posts and comments while before_publish does not answer: refuse (default), allow, or hold: they wait for a moderator.
	BeforePublishOnFailure string `yaml:"before_publish_on_failure"`
}

const (
	defaultPublishTimeout = time.Second
	maxPublishTimeout     = 5 * time.Second
	publishAtOnce         = 64
)

// Check reports invalid settings.
func (c Config) Check() error {
	if err := c.BeforePublish.Check(); err != nil {
		return fmt.Errorf("moderation.before_publish: %w", err)
	}
	if c.BeforePublish.Timeout > maxPublishTimeout {
		return fmt.Errorf("moderation.before_publish.timeout is at most %v: authors wait for it", maxPublishTimeout)
	}
	if !slices.Contains(webhook.OnFailure, c.BeforePublishOnFailure) {
		return fmt.Errorf("moderation.before_publish_on_failure is refuse, allow or hold, not %q", c.BeforePublishOnFailure)
	}
	return nil
}

func (s *Service) initBeforePublish() (err error) {
	config := s.config.BeforePublish
	if !config.Set() {
		return nil
	}
	if config.Timeout == 0 {
		config.Timeout = defaultPublishTimeout
	}
	s.beforePublish, err = webhook.NewGuard(config, webhook.Kind{Kind: outgoing.BeforePublish, Calls: s.deps.Calls}, s.deps.Clock, publishAtOnce, config.Timeout)
	return err
}

// BeforePublishQuery is the body of a request to the webhook.
type BeforePublishQuery struct {
	Author Author `json:"author"`
	// Content is a rialto.moderation.v1.HeldContent, as JSON: the request of the author.
	Content json.RawMessage `json:"content"`
	// Files of the author that the content names.
	Files []webhook.File `json:"files,omitempty"`
}

// Author of a content.
type Author struct {
	ID         string `json:"id"`
	ExternalID string `json:"externalId,omitempty"`
}

type beforePublishAnswer struct {
	Allow  *bool  `json:"allow"`
	Hold   bool   `json:"hold"`
	Reason string `json:"reason"`
}

var errNoVerdict = errors.New("the answer has neither allow nor hold")

// Reviews reports whether the webhook is asked about posts and comments.
func (s *Service) Reviews() bool { return s.beforePublish != nil }

// ReviewPost fails if the webhook refuses a new post, wants a moderator to decide, or does not answer.
func (s *Service) ReviewPost(ctx context.Context, by id.User, r *feedv1.PublishRequest, uploads []id.Upload) error {
	return s.review(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_Post{Post: r}}, r.ClientPostId, r.GetContent().GetText(), uploads)
}

// ReviewPostEdit is ReviewPost for an edit.
func (s *Service) ReviewPostEdit(ctx context.Context, by id.User, r *feedv1.EditPostRequest, uploads []id.Upload) error {
	return s.review(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_PostEdit{PostEdit: r}}, "", r.GetContent().GetText(), uploads)
}

// ReviewComment is ReviewPost for a comment.
func (s *Service) ReviewComment(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest, uploads []id.Upload) error {
	return s.review(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_Comment{Comment: r}}, r.ClientCommentId, r.GetContent().GetText(), uploads)
}

// ReviewCommentEdit is ReviewPost for an edit of a comment.
func (s *Service) ReviewCommentEdit(ctx context.Context, by id.User, r *commentv1.EditCommentRequest, uploads []id.Upload) error {
	return s.review(ctx, by, &moderationv1.HeldContent{Of: &moderationv1.HeldContent_CommentEdit{CommentEdit: r}}, "", r.GetContent().GetText(), uploads)
}

// review asks the webhook about a content.
func (s *Service) review(ctx context.Context, by id.User, content *moderationv1.HeldContent, token, text string, uploads []id.Upload) error {
	if s.beforePublish == nil {
		return nil
	}
	var answer beforePublishAnswer
	q, err := s.publishQuery(ctx, by, content, uploads)
	if err != nil {
		return err
	}
	err = s.beforePublish.Call(ctx, q, &answer, func() error {
		if answer.Allow == nil && !answer.Hold {
			return errNoVerdict
		}
		return nil
	})
	if ctx.Err() != nil { // the author has gone, which says nothing about the webhook
		return ctx.Err()
	}
	if err != nil && !outgoing.IsRefused(err) { // the change of its circuit is logged once
		s.deps.Logger.Warn("the webhook before_publish did not answer", "author", by, "error", err)
	}
	switch {
	case err != nil && s.config.BeforePublishOnFailure == "allow":
		return nil
	case err != nil && s.config.BeforePublishOnFailure == "hold":
		return s.hold(ctx, by, content, token, text, webhook.NoAnswer)
	case err != nil:
		return &errs.Error{Kind: errs.Unavailable, Reason: "not_checked", Message: "whether this may be published is not known now; try again", Retry: 2 * time.Second, Cause: err}
	case answer.Hold:
		return s.hold(ctx, by, content, token, text, webhook.HoldText(answer.Reason))
	case *answer.Allow:
		return nil
	}
	why := webhook.ReasonText(answer.Reason)
	if why == "" {
		why = "this is against the rules of this server"
	}
	return errs.New(errs.Denied, "refused_by_rules", why)
}

func (s *Service) publishQuery(ctx context.Context, by id.User, content *moderationv1.HeldContent, uploads []id.Upload) (*BeforePublishQuery, error) {
	raw, err := protojson.Marshal(content)
	if err != nil {
		return nil, err
	}
	q := &BeforePublishQuery{Author: Author{ID: strconv.FormatUint(uint64(by), 10)}, Content: raw}
	if s.deps.ExternalIDs != nil {
		names, err := s.deps.ExternalIDs(ctx, []id.User{by})
		if err != nil {
			return nil, err
		}
		q.Author.ExternalID = names[0]
	}
	if s.deps.ReviewFiles != nil && len(uploads) > 0 {
		q.Files, err = s.deps.ReviewFiles(ctx, by, uploads)
	}
	return q, err
}
