package runtimeswitch

import "context"

// Reload reads the rows again.
func (s *Service) Reload(ctx context.Context) error { return s.reload(ctx) }
