package officialaccount

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"golang.org/x/sync/errgroup"
)

const (
	// pollInterval is the time between two looks at all streams and replies. It finds what no signal announced, and what is tried again.
	pollInterval = 5 * time.Second
	// gatherDelay is how long signals are gathered, so that many messages cost one look.
	gatherDelay = 20 * time.Millisecond
	// broadcastInterval is the time between two steps of broadcasts.
	broadcastInterval = time.Second
)

// Run answers and sends, until ctx ends. A broadcast that is slow does not hold up replies.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.deps.Bus.Subscribe(signalSubject, s.handleSignal, nil)
	if err != nil {
		return err
	}
	defer stop()
	loops := &errgroup.Group{}
	loops.Go(func() error { return s.runReplies(ctx) })
	loops.Go(func() error { return s.runBroadcasts(ctx) })
	return loops.Wait()
}

func (s *Service) runReplies(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for all := true; ; {
		if s.isCoordinator() {
			s.answerRound(ctx, all)
		} else {
			s.forwardSignals(ctx, all)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			all = true
		case <-s.wake:
			if all = false; backoff.Sleep(ctx, gatherDelay) != nil {
				return nil
			}
		}
	}
}

// answerRound answers all accounts, or those whose streams changed, and sends the replies that are due.
func (s *Service) answerRound(ctx context.Context, all bool) {
	answer := s.AnswerMessages
	if !all {
		answer = s.AnswerChanged
	}
	if err := answer(ctx); err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("official accounts answer later", "error", err)
	}
	if err := s.SendReplies(ctx); err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("automatic replies are sent later", "error", err)
	}
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
