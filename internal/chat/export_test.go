package chat

import (
	"context"
	"time"
)

// SetCached bounds the conversations in memory, before the first use.
func SetCached(s *Service, n int) { s.cached = n }

// SetAppendMost bounds the wait for a control entry, before the first use.
func SetAppendMost(s *Service, most time.Duration) { s.appendMost = most }

// CachedRooms counts them.
func CachedRooms(s *Service) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rooms)
}

// Expire removes what has expired, as Run does now and then.
func Expire(ctx context.Context, s *Service) error { return s.expire(ctx, s.mine) }

// ParseRetention gives the days of a setting.
var ParseRetention = parseRetention

// ExpirePage is how many entries are removed at once.
const ExpirePage = expirePage

// Check is what a draft must pass.
var Check = check

// WaitingMost bounds the drafts that wait for one conversation.
const WaitingMost = waitingMost
