//go:build !linux

package chaos

import (
	"context"
	"errors"
	"net"
	"time"
)

// NamespaceNetwork is a stub: only Linux has network namespaces.
type NamespaceNetwork struct{ hosts []struct{} }

var errNoNamespaces = errors.New("network namespaces need Linux")

// OpenNamespaces always fails.
func OpenNamespaces(int) (*NamespaceNetwork, error) { return nil, errNoNamespaces }

// The methods are never called.
func (l *NamespaceNetwork) Address(int) string                 { return "" }
func (l *NamespaceNetwork) Inside(int, func() error) error     { return errNoNamespaces }
func (l *NamespaceNetwork) Cut(int, int) (func() error, error) { return nil, errNoNamespaces }
func (l *NamespaceNetwork) Reset(int, ...int) error            { return errNoNamespaces }
func (l *NamespaceNetwork) Close() error                       { return nil }
func (l *NamespaceNetwork) LimitRate(int, int, time.Duration) (func() error, error) {
	return nil, errNoNamespaces
}
func (l *NamespaceNetwork) DropShare(int, float64, uint64) (func() error, error) {
	return nil, errNoNamespaces
}
func (l *NamespaceNetwork) Dial(context.Context, int, string, string) (net.Conn, error) {
	return nil, errNoNamespaces
}
