package chat

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// Relation is what the relation webhook is asked, in JSON.
type Relation struct {
	Users [2]Related `json:"users"`
}

// Related is one of two users.
type Related struct {
	ID         string `json:"id"`
	ExternalID string `json:"externalId,omitempty"`
}

// askRelation asks the webhook whether two users may write to each other. Where it gives no answer, unknown says so: what they
// send meanwhile is to be tried again, and is not lost.
func (s *Service) askRelation(ctx context.Context, a, b id.User) (refused bool, unknown error) {
	q := Relation{Users: [2]Related{{ID: strconv.FormatUint(uint64(a), 10)}, {ID: strconv.FormatUint(uint64(b), 10)}}}
	var answer struct {
		Allow *bool `json:"allow"`
	}
	err := func() error {
		// A webhook that hangs must not take all the places in which rooms are loaded.
		enough, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		select {
		case s.asking <- struct{}{}:
			defer func() { <-s.asking }()
		case <-enough.Done():
			return errors.New("webhook: as many as may are waiting for it")
		}
		if s.deps.ExternalIDs != nil {
			names, err := s.deps.ExternalIDs(ctx, []id.User{a, b})
			if err != nil {
				return err
			}
			q.Users[0].ExternalID, q.Users[1].ExternalID = names[0], names[1]
		}
		return s.hook.Call(ctx, q, &answer)
	}()
	if err == nil && answer.Allow == nil {
		err = errors.New("webhook: its answer has no allow")
	}
	if err != nil {
		s.deps.Logger.Warn("the relation webhook did not answer", "users", q.Users, "error", err)
		return false, &errs.Error{Kind: errs.Unavailable, Reason: "relation_unknown", Message: "whether you may write to this user is not known now; try again", Retry: 5 * time.Second, Cause: err}
	}
	return !*answer.Allow, nil
}

// outdated tells whether the webhook is to be asked again before anybody is let in.
func (s *Service) outdated(st *state) bool {
	if st == nil || st.relatedMs == 0 {
		return false
	}
	return st.unknown != nil || s.deps.Clock.Now().UnixMilli()-st.relatedMs >= s.config.RelationFor.Milliseconds()
}
