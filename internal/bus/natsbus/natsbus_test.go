package natsbus_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/bustest"
	"github.com/rialto-im/rialto/internal/bus/natsbus"
)

// start a node's bus, which ends with the test.
func start(t *testing.T, node string, config natsbus.Config) *natsbus.Bus {
	t.Helper()
	b, err := natsbus.New(natsbus.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Node: node}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestBus(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus { return start(t, "alone", natsbus.Config{}) })
}
