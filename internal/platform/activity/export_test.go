package activity

import "context"

// Write stores those who were seen.
func (s *Service) Write(ctx context.Context) { s.write(ctx) }

// Round does what the coordinator does once an hour.
func (s *Service) Round(ctx context.Context) error { return s.round(ctx) }
