package media

import "context"

// Sweep drops what was never completed, once.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// CleanName makes a file's name fit to be shown and saved.
func CleanName(name string) string { return cleanName(name) }

// Slack is how much longer than its messages an upload is kept.
const Slack = slack

// Steps of the room's tables.
func Steps() []string { return steps }
