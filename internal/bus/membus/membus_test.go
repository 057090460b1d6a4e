package membus_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/bustest"
	"github.com/rialto-im/rialto/internal/bus/membus"
)

func TestBus(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus { return membus.New() })
}
