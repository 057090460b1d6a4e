package counter

import "context"

// DeleteRemoved deletes the rows of members that were removed long ago.
func (s *Service) DeleteRemoved(ctx context.Context) error { return s.deleteRemoved(ctx) }

// Waiting is the number of calls whose changes wait, or are being stored.
func (s *Service) Waiting() int { return s.changes.Waiting() }
