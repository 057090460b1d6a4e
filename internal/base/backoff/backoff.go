// Package backoff spaces out retries. Delays double up to a maximum and are random, so that clients that failed together do not
// return together. Every wait ends when its context does.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff computes the delays of one series of retries. It belongs to one goroutine at a time. Create it with New.
type Backoff struct{ first, longest, ceiling time.Duration }

// New returns a Backoff whose first delay is at most first; later delays are at most longest.
func New(first, longest time.Duration) Backoff {
	return Backoff{first: first, longest: max(first, longest)}
}

// Next returns the delay before the next attempt: a random one between half of a ceiling and the ceiling, which doubles with each call.
func (b *Backoff) Next() time.Duration {
	if b.longest <= 0 {
		panic("backoff: made without New, or without delays")
	}
	b.ceiling = min(max(2*b.ceiling, b.first), b.longest)
	return spread(b.ceiling)
}

// Spread returns a random duration from least to most, both of them included. Those who are told to wait for it at the same time do not return at the same time.
// If most is not above least, it is least.
func Spread(least, most time.Duration) time.Duration {
	return least + rand.N(max(most-least, 0)+1)
}

func spread(ceiling time.Duration) time.Duration { return Spread(ceiling/2, ceiling/2+ceiling/2) }

// After returns the delay after a number of failures in a row, at least one: that of the same call of Next. It is for retries whose count
// is stored.
func After(failures int, first, longest time.Duration) time.Duration {
	ceiling := first
	for ; failures > 1 && ceiling < longest; failures-- {
		ceiling *= 2
	}
	return spread(min(ceiling, max(first, longest)))
}

// Reset starts over with the first delay. Call it after a success.
func (b *Backoff) Reset() { b.ceiling = 0 }

// Wait sleeps for the next delay. It returns the context's error if the context ends first.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Sleep returns after d, or with the context's error if the context ends first.
func Sleep(ctx context.Context, d time.Duration) error { return SleepOrWake(ctx, d, nil) }

// SleepOrWake is Sleep, but a receive from wake also ends it. A nil channel never does.
func SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err()
}
