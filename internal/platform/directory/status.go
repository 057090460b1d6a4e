package directory

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// statusTimeout bounds how long Statuses waits for an owner that is absent.
const statusTimeout = 3 * time.Second

var errMoving = &errs.Error{Kind: errs.Unavailable, Reason: "presence_moving", Message: "presence is moving from one node to another; try again", Retry: time.Second}

// CachedStatus returns what this node knows of a watched user without asking, and whether this node is the user's owner.
func (s *Service) CachedStatus(u id.User) (status Status, owned bool) {
	if s.partitions == nil || s.partitionOf(uint64(u)).owner.current() != 0 {
		return s.ownedStatus(u, true), true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[u], false
}

// Statuses returns the statuses of users, in order, and asks their owners if necessary. It fails if an owner stays absent: a wrong
// "offline" would be worse.
func (s *Service) Statuses(ctx context.Context, users []id.User) ([]Status, error) {
	list := make([]Status, len(users))
	if s.partitions == nil {
		for i, u := range users {
			list[i] = s.ownedStatus(u, false)
		}
		return list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	for retry := backoff.New(retryMin, retryMax); ; {
		if s.askUnknown(ctx, users, list) {
			return list, nil
		}
		if retry.Wait(ctx) != nil {
			return nil, errMoving
		}
	}
}

// askUnknown asks the owners of users with unknown status, concurrently. It reports whether all are known now.
func (s *Service) askUnknown(ctx context.Context, users []id.User, list []Status) bool {
	byOwner := map[string][]int{}
	all := true
	for i, u := range users {
		if list[i].Known {
			continue
		}
		switch owner := s.deps.Cluster.Owner(s.deps.Cluster.Partition(uint64(u))); owner {
		case s.deps.Node:
			list[i] = s.ownedStatus(u, false)
			all = all && list[i].Known
		case "":
			all = false
		default:
			byOwner[owner] = append(byOwner[owner], i)
		}
	}
	var group sync.WaitGroup
	for owner, indexes := range byOwner {
		group.Go(func() {
			asked := make([]id.User, len(indexes))
			for n, i := range indexes {
				asked[n] = users[i]
			}
			a, err := s.request(ctx, owner, appendStatusQuery(nil, asked))
			if err != nil || len(a.statuses) != len(indexes) {
				return // they stay unknown
			}
			for n, i := range indexes {
				list[i] = a.statuses[n]
			}
		})
	}
	group.Wait()
	for _, v := range list {
		all = all && v.Known
	}
	return all
}
