package feed

import (
	"context"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Switches of the plans that operators have for too much load (docs/decisions/0109-runtime-switches.md).
const (
	switchPrefix     = "feed."
	likesOff         = runtimeswitch.Name(switchPrefix + "likes_off")
	commentsReadOnly = runtimeswitch.Name(switchPrefix + "comments_read_only")
	pullOnly         = runtimeswitch.Name(switchPrefix + "pull_only")
)

const (
	planChanges = 100 // of an answer
	// pullOnlyDelay is how long a step of fan-out waits while fan-out is switched off.
	pullOnlyDelay = 30 * time.Second
)

// Switches are turned by operators, and read by each request.
type Switches interface {
	IsOn(n runtimeswitch.Name) bool
	Set(ctx context.Context, to map[runtimeswitch.Name]bool, by, reason string) error
	Changes(ctx context.Context, prefix string, limit int) ([]runtimeswitch.Change, error)
}

func (s *Service) isOn(n runtimeswitch.Name) bool {
	return s.deps.Switches != nil && s.deps.Switches.IsOn(n)
}

// LikesOff reports whether likes and favourites are refused.
func (s *Service) LikesOff() bool { return s.isOn(likesOff) }

// CommentsReadOnly reports whether new comments and edits are refused.
func (s *Service) CommentsReadOnly() bool { return s.isOn(commentsReadOnly) }

// plan returns what is switched off.
func (s *Service) plan() *feedv1.FeedPlan {
	return &feedv1.FeedPlan{LikesOff: s.LikesOff(), CommentsReadOnly: s.CommentsReadOnly(), PullOnly: s.isOn(pullOnly)}
}

// SetFeedPlan replaces what is switched off.
func (s *Service) SetFeedPlan(ctx context.Context, r *feedv1.SetFeedPlanRequest) (*feedv1.FeedPlan, error) {
	if r.Plan == nil {
		return nil, badPost("give a plan; that in which nothing is switched off is {}")
	}
	to := map[runtimeswitch.Name]bool{likesOff: r.Plan.LikesOff, commentsReadOnly: r.Plan.CommentsReadOnly, pullOnly: r.Plan.PullOnly}
	if s.deps.Switches == nil {
		return nil, errNoSwitches
	}
	if err := s.deps.Switches.Set(ctx, to, r.By, r.Reason); err != nil {
		return nil, err
	}
	s.deps.Logger.Warn("the feed plan was set", "likes_off", r.Plan.LikesOff, "comments_read_only", r.Plan.CommentsReadOnly, "pull_only", r.Plan.PullOnly)
	return s.plan(), nil
}

var errNoSwitches = errs.New(errs.Internal, "internal", "the server failed; try again")

// GetFeedPlan tells what is switched off, and the latest changes.
func (s *Service) GetFeedPlan(ctx context.Context) (*feedv1.GetFeedPlanResponse, error) {
	out := &feedv1.GetFeedPlanResponse{Plan: s.plan()}
	if s.deps.Switches == nil {
		return out, nil
	}
	list, err := s.deps.Switches.Changes(ctx, switchPrefix, planChanges)
	for _, c := range list {
		out.Changes = append(out.Changes, &feedv1.FeedPlanChange{Switch: strings.TrimPrefix(string(c.Name), switchPrefix), On: c.On, By: c.By, Reason: c.Reason, TimeMs: c.TimeMs})
	}
	return out, err
}
