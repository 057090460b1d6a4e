package officialaccount

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

const (
	// pollInterval is the time between two polls of all streams and replies. A poll finds lost signals and due retries.
	pollInterval = 5 * time.Second
	// signalDelay is how long signals are collected before the streams are read together.
	signalDelay = 20 * time.Millisecond
	// broadcastInterval is the time between two steps of broadcasts.
	broadcastInterval = time.Second
)

// Run answers and sends, until ctx ends. Neither broadcasts nor conversations that do not answer hold up replies.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.deps.Bus.Subscribe(signalSubject, s.handleSignal, nil)
	if err != nil {
		return err
	}
	defer stop()
	var loops sync.WaitGroup
	loops.Go(func() { s.runReplies(ctx) })
	loops.Go(func() { s.runDeferred(ctx) })
	loops.Go(func() { s.runBroadcasts(ctx) })
	loops.Go(func() { s.runPurges(ctx) })
	loops.Wait()
	return nil
}

func (s *Service) runReplies(ctx context.Context) {
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
			return
		case <-tick.C:
			all = true
		case <-s.changed.Woken():
			if all = false; backoff.Sleep(ctx, signalDelay) != nil {
				return
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

func (s *Service) runDeferred(ctx context.Context) {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: deferredInterval, Round: s.AnswerDeferred, Failed: "deferred messages are answered later", Logger: s.deps.Logger}).Run(ctx)
}

func (s *Service) runBroadcasts(ctx context.Context) {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: broadcastInterval, Round: s.SendBroadcasts, Failed: "broadcasts are sent later", Logger: s.deps.Logger}).Run(ctx)
}

func (s *Service) runPurges(ctx context.Context) {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: purgeInterval, AtStart: true, Round: s.Purge, Failed: "old deliveries are deleted later", Logger: s.deps.Logger}).Run(ctx)
}

func (s *Service) isCoordinator() bool { return s.deps.IsCoordinator == nil || s.deps.IsCoordinator() }
