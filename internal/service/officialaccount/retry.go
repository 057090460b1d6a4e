package officialaccount

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// The delay after a failure is up to firstRetry, and doubles up to maxRetry.
	firstRetry, maxRetry = 10 * time.Second, 10 * time.Minute
	// maxAttempts bounds the attempts of a reply, of a message to be answered, and of a step of a broadcast: with these delays, one to two and a half hours. Replies
	// and messages that fail by a fault of the server have maxFaults attempts.
	maxAttempts = 20
)

// GivenUp counts what failed too often, since the start.
type GivenUp struct{ Messages, Replies, Broadcasts atomic.Int64 }

// GivenUp returns the counts.
func (s *Service) GivenUp() *GivenUp { return &s.givenUp }

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

// failure is a message of an account's stream that could not be answered. The coordinator has it in memory: after a restart the attempts begin again.
type failure struct {
	position message.Position // before the message
	failed   int
	retryMs  int64
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

// answerWithRetry answers an account, unless the delay after a failure has not passed yet. After a failure it reads one event at a time, to find the one
// that fails. After the last attempt it skips that event.
func (s *Service) answerWithRetry(ctx context.Context, o *official) error {
	before, limit := s.failureOf(o.account), eventsPerRead
	if before.failed > 0 {
		if limit = 1; s.nowMs() < before.retryMs {
			return nil
		}
	}
	err := s.answerAccount(ctx, o, limit)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || errors.Is(err, errOutrun) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.failures, o.account)
		return nil
	}
	now := failure{position: o.position, failed: 1}
	if before.failed > 0 && before.position == o.position {
		now.failed = before.failed + 1
	}
	now.retryMs = s.nowMs() + retryDelay(now.failed).Milliseconds()
	if limit == 1 && now.failed >= attemptsOf(err, maxAttempts) {
		return s.skipEvent(ctx, o, err)
	}
	s.mu.Lock()
	s.failures[o.account] = &now
	s.mu.Unlock()
	s.deps.Logger.Warn("an official account answers later", "account", o.account, "attempts", now.failed, "error", err)
	return nil
}

// skipEvent moves an account's position over an event that cannot be answered.
func (s *Service) skipEvent(ctx context.Context, o *official, cause error) error {
	next := o.position + 1 // of an event that cannot be read
	page := &chatv1.SyncResponse{}
	if raw, err := s.deps.Streams.AppendSync(ctx, nil, o.account, o.position, 1); err == nil && proto.Unmarshal(raw, page) == nil {
		next = max(next, message.Position(page.GetNext().GetSeq()))
	}
	if err := s.storeReplies(ctx, o, nil, nil, nil, next); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.failures, o.account)
	s.mu.Unlock()
	s.givenUp.Messages.Add(1)
	s.deps.Logger.Error("an official account does not answer a message that failed too often", "account", o.account, "position", uint64(o.position), "error", cause)
	return nil
}
