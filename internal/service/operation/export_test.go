package operation

import "time"

// AskFor sets for how long the answers of nodes are waited for.
func (s *Service) AskFor(d time.Duration) { s.askTimeout = d }
