package backoff

import (
	"context"
	"time"
)

// Every calls do after each interval until ctx ends. An interval that passes during a call is left out.
func Every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}
