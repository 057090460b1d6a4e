package notification

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/job"
)

// UseSmallSizes makes pages, jobs and what is read at once small.
func (s *Service) UseSmallSizes() {
	s.sizes.subscribers, s.sizes.rows, s.sizes.firstCauses = 1, 2, 1
}

// MaxCauses sets how many causes a notification has at most.
func (s *Service) MaxCauses(n int) { s.sizes.causes = n }

// CountedCauses sets how many causes a list counts.
func (s *Service) CountedCauses(n int) { s.sizes.countedCauses = n }

// MaxExamined sets how many notifications a call reads at most.
func (s *Service) MaxExamined(n int) { s.sizes.examined = n }

// Interrupt makes a function run between two steps of an operation, which ends there if the function returns an error.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// RunJob runs a job that the service inserted.
func (s *Service) RunJob(ctx context.Context, args job.Args) error {
	return s.fanOut(ctx, args.(fanout))
}

// The statements of lists.
const (
	ListQuery   = listQuery
	CausesQuery = causesQuery
)
