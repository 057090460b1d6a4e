//go:build cluster

package cassandratest_test

import (
	"os"
	"testing"

	"github.com/rialto-im/rialto/internal/timeline/cassandralog/cassandratest"
)

func TestStartsAndStops(t *testing.T) {
	c, err := cassandratest.Start(t.Context(), 1, os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
