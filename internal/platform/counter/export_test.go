package counter

import (
	"context"
	"time"
)

// SetCountTime sets for how long a comparison may count sets by one query.
func (s *Service) SetCountTime(d time.Duration) { s.countTime = d }

// DeleteRemoved deletes the rows of members that were removed long ago.
func (s *Service) DeleteRemoved(ctx context.Context) error { return s.deleteRemoved(ctx) }

// Waiting is the number of calls whose changes wait, or are being stored.
func (s *Service) Waiting() int { return s.changes.Waiting() }
