//go:build !linux

package chaos

import (
	"errors"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// disk is for systems whose kernel can be told that one is slow.
type disk struct{}

func openDisk(string) (*disk, error) { return nil, errors.New("it takes cgroups, which are Linux's") }

func (*disk) slow(*sqltest.Server, int) (func() error, error) { return nil, nil }
