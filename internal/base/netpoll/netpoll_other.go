//go:build !linux

// Package netpoll yields the processor to goroutines that wait for input from the network.
package netpoll

import "runtime"

// Yielder yields the processor to goroutines that are ready.
type Yielder struct{}

// New returns a yielder.
func New() (*Yielder, error) { return &Yielder{}, nil }

// Yield may be called from several goroutines.
func (y *Yielder) Yield() { runtime.Gosched() }

// Close does nothing.
func (y *Yielder) Close() error { return nil }
