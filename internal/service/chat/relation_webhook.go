package chat

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// RelationQuery is the body of a request to the relation webhook.
type RelationQuery struct {
	Users [2]RelatedUser `json:"users"`
}

// RelatedUser is one of the two users.
type RelatedUser struct {
	ID         string `json:"id"`
	ExternalID string `json:"externalId,omitempty"`
}

// queryRelationWebhook calls the webhook to learn whether two users may write to each other. If the webhook does not answer, the relation
// is unknown, and their messages get a retryable error.
func (s *Service) queryRelationWebhook(ctx context.Context, a, b id.User) (refused bool, unknown error) {
	q := RelationQuery{Users: [2]RelatedUser{{ID: strconv.FormatUint(uint64(a), 10)}, {ID: strconv.FormatUint(uint64(b), 10)}}}
	var answer struct {
		Allow *bool `json:"allow"`
	}
	err := func() error {
		// A webhook that hangs must not occupy all load slots.
		slotTimeout, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		select {
		case s.relationSlots <- struct{}{}:
			defer func() { <-s.relationSlots }()
		case <-slotTimeout.Done():
			return errors.New("webhook: too many requests are waiting for it")
		}
		if s.deps.ExternalIDs != nil {
			names, err := s.deps.ExternalIDs(ctx, []id.User{a, b})
			if err != nil {
				return err
			}
			q.Users[0].ExternalID, q.Users[1].ExternalID = names[0], names[1]
		}
		return s.relationHook.Call(ctx, q, &answer)
	}()
	if err == nil && answer.Allow == nil {
		err = errors.New("webhook: the answer has no field allow")
	}
	if err != nil {
		s.deps.Logger.Warn("the relation webhook did not answer", "users", q.Users, "error", err)
		return false, &errs.Error{Kind: errs.Unavailable, Reason: "relation_unknown", Message: "whether you may write to this user is not known now; try again", Retry: 5 * time.Second, Cause: err}
	}
	return !*answer.Allow, nil
}
