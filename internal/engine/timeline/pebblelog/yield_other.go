//go:build !linux

package pebblelog

import "runtime"

// yielder yields the processor to goroutines that are ready.
type yielder struct{}

func newYielder() (*yielder, error) { return &yielder{}, nil }

func (y *yielder) yield() { runtime.Gosched() }

func (y *yielder) close() error { return nil }
