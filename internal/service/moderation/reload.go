package moderation

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

const (
	// changedEvent tells nodes to read the banned networks, the limits and the word lists again.
	changedEvent   = "moderation"
	reloadInterval = 30 * time.Second
	reloadTimeout  = 10 * time.Second
)

// addEvent tells the other nodes of a change, in its transaction.
func (s *Service) addEvent(ctx context.Context, tx *sql.Tx) error {
	if s.deps.ClusterEvents == nil {
		return nil
	}
	return s.deps.ClusterEvents.Add(ctx, tx, clusterevent.Event{Kind: changedEvent})
}

// changed is called after the commit of a change.
func (s *Service) changed() {
	if s.deps.ClusterEvents != nil {
		s.deps.ClusterEvents.Notify()
	}
	if err := s.reload(context.Background()); err != nil { // the change is committed
		s.deps.Logger.Warn("banned networks or word lists were changed and could not be read; the last state holds until they are", "error", err, "retry_after", reloadInterval)
		wakeup.Signal(s.wake)
	}
}

// HandleEvent handles an event of any node.
func (s *Service) HandleEvent(e clusterevent.Event) {
	if e.Kind == changedEvent {
		wakeup.Signal(s.wake)
	}
}

// Missed is called when this node may have missed events.
func (s *Service) Missed() { wakeup.Signal(s.wake) }

// followChanges reads the banned networks, the limits and the word lists again when they have changed, until ctx ends.
func (s *Service) followChanges(ctx context.Context) {
	tick := time.NewTicker(reloadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
		if err := s.reload(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("banned networks or word lists could not be read; the last state holds until they are", "error", err, "retry_after", reloadInterval)
		}
	}
}

func (s *Service) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return errors.Join(s.reloadNetworks(ctx), s.reloadLimits(ctx), s.reloadWords(ctx))
}
