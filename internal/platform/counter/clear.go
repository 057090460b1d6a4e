package counter

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
)

// clearBatch is how many members one transaction removes.
const clearBatch = 500

// Clear removes all members of a set, newest first, in batches. It may be called again after a failure, or for a set that was cleared. Members
// that are added meanwhile may stay, so the caller first sees to it that none are.
func (s *Service) Clear(ctx context.Context, k Kind, subject uint64) error {
	return s.removeAll(ctx, func() (changes []Change, err error) {
		list, err := s.Members(ctx, k, subject, Position{}, clearBatch)
		for _, m := range list {
			changes = append(changes, Change{Kind: k, Subject: subject, User: m.User, Remove: true})
		}
		return changes, err
	})
}

// RemoveUser removes a user from all sets of a kind, in batches. It may be called again after a failure.
func (s *Service) RemoveUser(ctx context.Context, k Kind, u id.User) error {
	return s.removeAll(ctx, func() (changes []Change, err error) {
		list, err := s.Subjects(ctx, k, u, Position{}, clearBatch)
		for _, subject := range list {
			changes = append(changes, Change{Kind: k, Subject: subject.ID, User: u, Remove: true})
		}
		return changes, err
	})
}

// removeAll makes the changes of pages until one is empty.
func (s *Service) removeAll(ctx context.Context, page func() ([]Change, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		changes, err := page()
		if err != nil || len(changes) == 0 {
			return err
		}
		if err := s.Apply(ctx, changes); err != nil {
			return err
		}
	}
}
