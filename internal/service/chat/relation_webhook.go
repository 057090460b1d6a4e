package chat

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

// RelationQuery is the body of a request to the relation webhook.
type RelationQuery struct {
	Users [2]webhook.User `json:"users"`
}

// relationWait keeps a webhook that hangs from occupying all load slots.
const relationWait = 200 * time.Millisecond

var errNoAllow = errors.New("the answer has no field allow")

// queryRelationWebhook calls the webhook to learn whether two users may write to each other. If the webhook does not answer, the relation
// is unknown, and their messages get a retryable error.
func (s *Service) queryRelationWebhook(ctx context.Context, a, b id.User) (refused bool, unknown error) {
	q := RelationQuery{Users: [2]webhook.User{webhook.UserOf(a), webhook.UserOf(b)}}
	var answer struct {
		Allow *bool `json:"allow"`
	}
	err := func() error {
		if s.deps.ExternalIDs != nil {
			names, err := s.deps.ExternalIDs(ctx, []id.User{a, b})
			if err != nil {
				return err
			}
			q.Users[0].ExternalID, q.Users[1].ExternalID = names[0], names[1]
		}
		return s.relationHook.Call(ctx, q, &answer, func() error {
			if answer.Allow == nil {
				return errNoAllow
			}
			return nil
		})
	}()
	if err != nil {
		if !outgoing.IsRefused(err) { // the change of its circuit is logged once
			s.deps.Logger.Warn("the relation webhook did not answer", "users", q.Users, "error", err)
		}
		return false, &errs.Error{Kind: errs.Unavailable, Reason: "relation_unknown", Message: "whether you may write to this user is not known now; try again", Retry: 5 * time.Second, Cause: err}
	}
	return !*answer.Allow, nil
}
