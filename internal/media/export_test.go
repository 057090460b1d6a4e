package media

import "context"

// Sweep drops what was never completed, once.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// CleanName makes a file's name fit to be shown and saved.
func CleanName(name string) string { return cleanName(name) }
