package video

import "context"

// ErrInterrupted is what Interrupt's function returns where the process dies.
var ErrInterrupted = errInterrupted

// Interrupt calls a function between the steps of operations.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// Sweep is a round of Run.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }
