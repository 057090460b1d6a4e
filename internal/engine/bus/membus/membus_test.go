package membus_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/bustest"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
)

func TestBus(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus { return membus.New() })
}
