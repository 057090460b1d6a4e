package engagement

// Interrupt makes a function run between two steps of an operation, which ends there if the function returns an error.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// RankBatch sets how many marks one transaction ranks.
func (s *Service) RankBatch(n int) { s.rankBatch = n }

// MaxHistory is how many posts a view history has.
const MaxHistory = maxHistory
