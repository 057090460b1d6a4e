package job

import (
	"context"
	"time"
)

// SetInterrupt sets what is called between two steps of an attempt.
func SetInterrupt(s *Service, at func(point string) error) { s.interrupt = at }

// SetStuckGrace sets how long a worker may ignore the end of its context. Call it before Run.
func SetStuckGrace(s *Service, d time.Duration) { s.stuckGrace = d }

// Claim starts attempts of at most limit jobs of the default queue, without running them, and returns their ids.
func (s *Service) Claim(ctx context.Context, limit int) (ids []int64, err error) {
	list, err := s.claim(ctx, DefaultQueue, limit)
	for _, c := range list {
		ids = append(ids, c.id)
	}
	return ids, err
}

// InsertPeriodic does a round of a node with workers.
func (s *Service) InsertPeriodic(ctx context.Context, w *Workers) error {
	return s.insertPeriodic(ctx, w)
}

func (s *Service) Rescue(ctx context.Context) error  { return s.rescue(ctx) }
func (s *Service) CleanUp(ctx context.Context) error { return s.cleanUp(ctx) }
func (s *Service) Sample(ctx context.Context) error  { return s.sample(ctx) }

// PollStatements are those whose cost must not depend on the number of finished or future jobs, with the index that each must use.
func PollStatements() map[string]string {
	return map[string]string{selectDue: "jobs_available", selectNextDue: "jobs_available", selectOwn: "jobs_running", selectHolders: "jobs_running", deleteFinished: "jobs_finished"}
}
