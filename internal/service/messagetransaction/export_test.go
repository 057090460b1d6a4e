package messagetransaction

// OldestKept is oldestKept.
const OldestKept = oldestKept

// Interrupt makes operations end at a point, as if the process had died there; nil ends that.
func (s *Service) Interrupt(at func(point string) error) { s.interrupt = at }

// Shrink makes the bounds smaller.
func (s *Service) Shrink(open, openBytes, kept, keptBytes int64) {
	s.sizes = sizes{open, openBytes, kept, keptBytes}
}

// Results for tests, by name.
func (s *Service) EndedBy() map[string]uint64 {
	m := map[string]uint64{}
	for _, r := range Results() {
		if n := s.Ended(r); n > 0 {
			m[r.String()] = n
		}
	}
	return m
}
