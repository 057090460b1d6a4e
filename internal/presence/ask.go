package presence

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// askTime bounds how long a home that is away is waited for.
const askTime = 3 * time.Second

var errAway = &errs.Error{Kind: errs.Unavailable, Reason: "presence_moving", Message: "who is online is just moving from one node to another; try again", Retry: time.Second}

// sightHere gives what this node knows of a user who is watched, without asking, and whether it is the user's home.
func (s *Service) sightHere(u id.User) (v sight, here bool) {
	if s.parts == nil || s.part(uint64(u)).home.lives() != 0 {
		return s.sight(u, true), true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[u], false
}

// sights asks the users' homes. A home that is away for longer than askTime is an error: nothing is told that may not be.
func (s *Service) sights(ctx context.Context, users []id.User) ([]sight, error) {
	list := make([]sight, len(users))
	if s.parts == nil {
		for i, u := range users {
			list[i] = s.sight(u, false)
		}
		return list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		if s.askAll(ctx, users, list) {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return nil, errAway
		case <-time.After(wait):
		}
	}
}

// askAll asks, side by side, the homes of those who are not known yet, and tells whether all are now.
func (s *Service) askAll(ctx context.Context, users []id.User, list []sight) bool {
	of := map[string][]int{}
	all := true
	for i, u := range users {
		if list[i].known {
			continue
		}
		switch home := s.deps.Cluster.Holder(s.deps.Cluster.Partition(uint64(u))); home {
		case s.deps.Node:
			list[i] = s.sight(u, false)
			all = all && list[i].known
		case "":
			all = false
		default:
			of[home] = append(of[home], i)
		}
	}
	var group sync.WaitGroup
	for home, indexes := range of {
		group.Go(func() {
			asked := make([]id.User, len(indexes))
			for n, i := range indexes {
				asked[n] = users[i]
			}
			a, err := s.ask(ctx, home, appendQuestion(nil, asked))
			if err != nil || len(a.sights) != len(indexes) {
				return // they are not known
			}
			for n, i := range indexes {
				list[i] = a.sights[n]
			}
		})
	}
	group.Wait()
	for _, v := range list {
		all = all && v.known
	}
	return all
}
