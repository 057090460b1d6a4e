package engagement

// Interrupt makes a function run between two steps of an operation, which ends there if the function returns an error.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// MaxHistory is how many posts a view history has.
const MaxHistory = maxHistory
