package notification

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxHinted are the users who wait for a hint, or had one within hintInterval. Beyond, hints are lost.
	maxHinted = 10_000
	// hintDelay is the time between two rounds, which read which causes are committed.
	hintDelay = 100 * time.Millisecond
	// hintInterval is the least time between two hints of new notifications for one user.
	hintInterval = time.Second
	// hintTimeout is how long a cause may take to be committed. After it, its transaction has failed.
	hintTimeout = 10 * time.Second
)

// hints are users who have new notifications, perhaps in transactions that are not committed yet.
type hints struct {
	wake   chan struct{}
	mu     sync.Mutex // guards the map
	states map[id.User]hintState
}

// hintState of a user.
type hintState struct {
	wanted uint64    // position to hint at; 0: none
	since  time.Time // when it was last asked for
	last   time.Time // the last hint
}

func newHints() hints { return hints{wake: make(chan struct{}, 1), states: map[id.User]hintState{}} }

// want asks for a hint as soon as a position of a user is committed.
func (h *hints) want(u id.User, pos uint64) {
	h.mu.Lock()
	state, waits := h.states[u]
	if waits || len(h.states) < maxHinted {
		state.since = time.Now()
		state.wanted = pos // a lower one than before: that transaction has failed
		h.states[u] = state
	}
	h.mu.Unlock()
	wakeup.Signal(h.wake)
}

// due returns the users to be hinted now, with the positions, and whether others wait.
func (h *hints) due(now time.Time) (list map[id.User]uint64, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list = map[id.User]uint64{}
	maps.DeleteFunc(h.states, func(u id.User, s hintState) bool {
		resting := now.Sub(s.last) < hintInterval
		if s.wanted != 0 && !resting && now.Sub(s.since) < hintTimeout {
			list[u] = s.wanted
			return false
		}
		return !resting
	})
	return list, len(h.states) > 0
}

// sent notes that users were hinted at positions.
func (h *hints) sent(now time.Time, users []id.User, at map[id.User]uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range users {
		state := h.states[u]
		if state.last = now; state.wanted <= at[u] {
			state.wanted = 0
		}
		h.states[u] = state
	}
}

// runHints sends hints until ctx ends.
func (s *Service) runHints(ctx context.Context) {
	var next <-chan time.Time // of a round that waits
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.hints.wake:
			if next != nil {
				continue // that round covers it: further causes share a round, and never delay it
			}
		case <-next:
		}
		next = nil
		more, err := s.hint(ctx)
		if err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("users could not be told of new notifications; the next round tries again", "error", err)
		}
		if more {
			next = time.After(hintDelay)
		}
	}
}

// hint sends the hints whose positions are committed, and reports whether others wait.
func (s *Service) hint(ctx context.Context) (more bool, err error) {
	now := time.Now()
	due, more := s.hints.due(now)
	if len(due) == 0 {
		return more, nil
	}
	var ready []id.User
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		ready = nil
		owners, err := getOwners(ctx, tx, slices.Sorted(maps.Keys(due)))
		for u, o := range owners {
			if o.last >= due[u] {
				ready = append(ready, u)
			}
		}
		return err
	})
	if err != nil {
		return true, err
	}
	s.hints.sent(now, ready, due)
	s.notify(ready, 0)
	return true, nil
}

// notify tells the connected devices of users that their notifications changed, or were read up to a position.
func (s *Service) notify(users []id.User, read uint64) {
	if s.deps.Notify == nil || len(users) == 0 {
		return
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Notifications: &gatewayv1.NotificationHint{Read: read}})
	if err != nil {
		s.deps.Logger.Error("a hint could not be encoded", "error", err)
		return
	}
	s.deps.Notify(users, frame)
}
