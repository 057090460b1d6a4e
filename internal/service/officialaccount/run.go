package officialaccount

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"golang.org/x/sync/errgroup"
)

const (
	// answerInterval is the time between two looks at the streams of accounts, broadcastInterval that between two steps of broadcasts.
	answerInterval    = 250 * time.Millisecond
	broadcastInterval = time.Second
)

// Run answers and sends, until ctx ends. A broadcast that is slow does not hold up replies.
func (s *Service) Run(ctx context.Context) error {
	loops := &errgroup.Group{}
	loops.Go(func() error { return s.runReplies(ctx) })
	loops.Go(func() error { return s.runBroadcasts(ctx) })
	return loops.Wait()
}

func (s *Service) runReplies(ctx context.Context) error {
	for backoff.SleepOrWake(ctx, answerInterval, s.wake) == nil {
		if !s.isCoordinator() {
			continue
		}
		if err := s.AnswerMessages(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("official accounts answer later", "error", err)
		}
		if err := s.SendReplies(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("automatic replies are sent later", "error", err)
		}
	}
	return nil
}

func (s *Service) runBroadcasts(ctx context.Context) error {
	tick := time.NewTicker(broadcastInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if !s.isCoordinator() {
			continue
		}
		if err := s.SendBroadcasts(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("broadcasts are sent later", "error", err)
		}
	}
}

func (s *Service) isCoordinator() bool { return s.deps.IsCoordinator == nil || s.deps.IsCoordinator() }

// signal makes Run send replies at once, if this node does.
func (s *Service) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
