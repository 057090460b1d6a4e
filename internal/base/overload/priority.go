package overload

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// Priority of a request. What is refused first comes last.
type Priority uint8

// The priorities.
const (
	// First: logins, resumes and acknowledgements. Without them clients come back again and again.
	First Priority = iota
	// High: changes by users; messages to one user, and to groups of fewer than a hundred members.
	High
	// Normal: what users read; messages of API keys, and to groups of fewer than two thousand members.
	Normal
	// Low: what can come later: lists of old things, searches; messages to larger groups, and notices such as reactions.
	Low
	// Last: presence, typing, previews.
	Last
	priorityCount
)

// String is the priority's name in metrics.
func (p Priority) String() string {
	return [priorityCount]string{"first", "high", "normal", "low", "last"}[p]
}

// Priorities returns all priorities, the first first.
func Priorities() []Priority { return []Priority{First, High, Normal, Low, Last} }

const (
	// sections of the users within a priority. Under overload some sections are served and the others refused, rather than a part of each user's
	// requests: a user whose every third request fails can do nothing.
	sections   = 64
	levelCount = int(priorityCount) * sections
	// rotation is the time after which users are divided into other sections, so that nobody is refused for long.
	rotation = time.Hour
)

// levelOf returns the level of a user's request: lower levels are served first.
func levelOf(p Priority, user uint64, at time.Time) int {
	return int(p)*sections + int(id.Hash(user^id.Hash(uint64(at.UnixNano()/int64(rotation))))%sections)
}

const (
	// retryAfter is the least time to wait that refusals name. It is spread up to twice as much, so that the refused do not come back at once.
	retryAfter = time.Second
)

// errBusy returns the refusal of a request for which there is no capacity.
func errBusy() error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: backoff.Spread(retryAfter, 2*retryAfter)}
}

// errShare returns the refusal of a request of somebody who has a fifth of the workers already.
func errShare() error {
	return &errs.Error{Kind: errs.Exhausted, Reason: "too_many_calls", Message: "a fifth of what the server can do at once is yours already; wait for answers", Retry: backoff.Spread(retryAfter, 2*retryAfter)}
}
