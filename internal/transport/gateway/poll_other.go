//go:build !linux

package gateway

import (
	"context"
	"errors"
	"net"
)

// loop is for Linux; elsewhere every connection has goroutines.
type loop struct{ transport }

func newLoop(*Server) (*loop, error) { return &loop{}, nil }

func canPoll(net.Conn) bool { return false }

func (l *loop) adopt(*conn, net.Conn, []byte) error { return errors.ErrUnsupported }

func (l *loop) run(context.Context) {}

func (l *loop) wake() {}

func (l *loop) discard() {}
