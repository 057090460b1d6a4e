package reconciliation

import "time"

// SetStepTime sets how long a step may compare.
func (s *Service) SetStepTime(d time.Duration) { s.stepTime = d }
