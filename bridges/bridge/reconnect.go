package bridge

import (
	"context"
	"math/rand/v2"
	"time"
)

const reconnectFirst, reconnectLongest = time.Second, time.Minute

// KeepConnected connects again and again until ctx ends. connect returns when its connection has ended, or could not be made. Delays between attempts grow, each with a random part.
func KeepConnected(ctx context.Context, connect func()) {
	delay := reconnectFirst
	for ctx.Err() == nil {
		began := time.Now()
		connect()
		if time.Since(began) > reconnectLongest {
			delay = reconnectFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay/2 + rand.N(delay/2)):
		}
		delay = min(2*delay, reconnectLongest)
	}
}
