//go:build !linux

package chaos

import (
	"context"
	"errors"
	"net"
	"time"
)

// Lab is for systems with network namespaces.
type Lab struct{ hosts []struct{} }

var errNoNamespaces = errors.New("network namespaces are Linux's")

// OpenLab fails.
func OpenLab(int) (*Lab, error) { return nil, errNoNamespaces }

// The rest is not reached.
func (l *Lab) Address(int) string                 { return "" }
func (l *Lab) Inside(int, func() error) error     { return errNoNamespaces }
func (l *Lab) Cut(int, int) (func() error, error) { return nil, errNoNamespaces }
func (l *Lab) Reset(int, ...int) error            { return errNoNamespaces }
func (l *Lab) Close() error                       { return nil }
func (l *Lab) Narrow(int, int, time.Duration) (func() error, error) {
	return nil, errNoNamespaces
}
func (l *Lab) Lose(int, float64) (func() error, error) { return nil, errNoNamespaces }
func (l *Lab) Dial(context.Context, int, string, string) (net.Conn, error) {
	return nil, errNoNamespaces
}
