package moderation

import "context"

// Round finishes decisions and deletes old copies.
func (s *Service) Round(ctx context.Context) error { return s.round(ctx) }
