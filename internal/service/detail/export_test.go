package detail

import "time"

// SetTimeout sets how long optional parts may take.
func (s *Service) SetTimeout(d time.Duration) { s.timeout = d }
