package counter

// Waiting is the number of calls whose changes wait, or are being stored.
func (s *Service) Waiting() int { return s.changes.Waiting() }
