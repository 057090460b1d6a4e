package wakeup_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

func TestSignalsAreOneUntilTheyAreReceived(t *testing.T) {
	c := make(chan struct{}, 1)
	for range 2 {
		wakeup.Signal(c)
		wakeup.Signal(c)
		<-c
		if len(c) != 0 {
			t.Error("the second signal was kept")
		}
	}
}
