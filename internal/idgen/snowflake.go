// Package idgen makes ids: snowflakes for records, readable ids for messages. This first generator serves one node; its
// methods may be called from many goroutines.
package idgen

import (
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// Epoch of snowflake times: 2025-01-01 UTC, in milliseconds since 1970. 41 bits last until 2094.
const Epoch = 1735689600000

// maxStepBack of the clock that is waited out; beyond it Next refuses.
const maxStepBack = 100 * time.Millisecond

// Snowflake makes ids of 41 bits of milliseconds, 10 of worker and 12 of sequence.
type Snowflake struct {
	clock  clock.Clock
	worker uint64

	mu   sync.Mutex // guards last and seq; never held while sleeping
	last int64
	seq  uint64
}

// NewSnowflake makes a generator for a worker, 0 to 1,023.
func NewSnowflake(c clock.Clock, worker uint16) *Snowflake {
	return &Snowflake{clock: c, worker: uint64(worker & 0x3ff)}
}

// Next gives an id. It waits while a millisecond's 4,096 ids are used up or the clock stepped back a little; after a long
// step back it fails with Unavailable until the clock has passed its last time.
func (s *Snowflake) Next() (uint64, error) {
	for {
		v, wait, err := s.try()
		if err != nil || wait == 0 {
			return v, err
		}
		time.Sleep(wait)
	}
}

func (s *Snowflake) try() (v uint64, wait time.Duration, err error) {
	now := s.clock.Now().UnixMilli() - Epoch
	s.mu.Lock()
	defer s.mu.Unlock()
	if back := time.Duration(s.last-now) * time.Millisecond; back > maxStepBack {
		return 0, 0, &errs.Error{Kind: errs.Unavailable, Reason: "clock_back", Message: "the server's clock stepped back by " + back.String() + "; ids are refused until it has caught up", Retry: back}
	} else if back > 0 {
		return 0, back, nil
	}
	switch {
	case now > s.last:
		s.last, s.seq = now, 0
	case s.seq == 4095:
		return 0, 200 * time.Microsecond, nil
	default:
		s.seq++
	}
	return uint64(s.last)<<22 | s.worker<<12 | s.seq, 0, nil
}
