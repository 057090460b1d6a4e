//go:build !linux

package chaos

import (
	"errors"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// disk is a stub: only Linux can throttle a disk for some processes.
type disk struct{}

func openDisk(string) (*disk, error) {
	return nil, errors.New("throttling a disk needs cgroups, which only Linux has")
}

func (*disk) slow(*sqltest.Server, int) (func() error, error) { return nil, nil }
