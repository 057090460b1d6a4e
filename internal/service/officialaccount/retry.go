package officialaccount

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

const (
	// The delay after a failure is up to firstRetry, and doubles up to maxRetry.
	firstRetry, maxRetry = 10 * time.Second, 10 * time.Minute
	// maxAttempts bounds the attempts of a reply, of a message to be answered, and of a step of a broadcast: with these delays, one to two and a half hours. Replies
	// and messages that fail by a fault of the server have maxFaults attempts.
	maxAttempts = 20
)

// Abandoned counts what failed too often, since the start.
type Abandoned struct{ Messages, Replies, Broadcasts atomic.Int64 }

// Abandoned returns the counts.
func (s *Service) Abandoned() *Abandoned { return &s.abandoned }

// retryDelay returns the delay after some failed attempts, of which there was at least one.
func retryDelay(failed int) time.Duration {
	return backoff.After(failed, firstRetry, maxRetry)
}

// attemptsOf returns how many attempts something has that fails in this way: maxFaults after a fault of the server, else most.
func attemptsOf(err error, most int) int {
	if errs.Is(err, errs.Internal) {
		return maxFaults
	}
	return most
}

// mayRetry reports whether something that failed may succeed later.
func mayRetry(err error) bool {
	if err == nil {
		return false
	}
	e := errs.Of(err)
	return e.Retry > 0 || !errs.IsRefusal(e)
}

// failure is an account whose stream could not be answered at all. The coordinator has it in memory: after a restart the attempts begin again.
type failure struct {
	failed  int
	retryMs int64
}

// failureOf returns a copy of an account's failure; the zero value if there is none.
func (s *Service) failureOf(account id.User) failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.failures[account]; f != nil {
		return *f
	}
	return failure{}
}

// answerWithRetry answers an account, unless the delay after a failure has not passed yet. If a page fails, its events are answered one by one, and those
// that fail are deferred, so that one conversation holds up no other.
func (s *Service) answerWithRetry(ctx context.Context, o *official) error {
	before := s.failureOf(o.account)
	if before.failed > 0 && s.nowMs() < before.retryMs {
		return nil
	}
	err := s.answerAccount(ctx, o)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errOutrun) {
		err = s.answerOneByOne(ctx, o)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, errOutrun) {
		delete(s.failures, o.account)
		return nil
	}
	now := failure{failed: before.failed + 1}
	now.retryMs = s.nowMs() + retryDelay(now.failed).Milliseconds()
	s.failures[o.account] = &now
	s.deps.Logger.Warn("an official account answers later", "account", o.account, "attempts", now.failed, "error", err)
	return nil
}
