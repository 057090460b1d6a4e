package idgen

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// flake issues ids of a time, a leased worker id and a sequence.
type flake struct {
	flakes *ids.Flakes
	lease  *leasedWorker
}

func newFlake(ctx context.Context, leases *Leases, pool string, l ids.Layout) (flake, error) {
	lease, err := leases.newLease(ctx, pool, l, (*leasedWorker).extend)
	if err != nil {
		return flake{}, err
	}
	return flake{ids.LeasedFlakes(lease.Lease, leases.clock.Now), lease}, nil
}

// Next returns an id. It waits while the ids of the current unit of time are used up, and after a small step back of the clock. After a
// long step back it fails with Unavailable, and the error says how long.
func (f *flake) Next(ctx context.Context) (uint64, error) {
	v, err := f.flakes.Next(ctx)
	return v, idError(err)
}

// Fill returns len(dst) increasing ids, or an error and none.
func (f *flake) Fill(ctx context.Context, dst []uint64) error {
	return idError(f.flakes.Fill(ctx, dst))
}

// Worker returns the current worker id. It changes when the lease is lost.
func (f *flake) Worker() uint64 {
	worker, _ := f.lease.Worker()
	return worker
}

// YearsLeft returns the years until the ids' time has no more bits.
func (f *flake) YearsLeft() float64 { return f.lease.yearsLeft() }

// idError converts a generator's error to one of kind Unavailable.
func idError(err error) error {
	if err == nil {
		return nil
	}
	if e := (*ids.ClockBackError)(nil); errors.As(err, &e) {
		return &errs.Error{Kind: errs.Unavailable, Reason: "clock_back", Message: "the server's clock is behind the last id by " + e.Behind.String() + "; ids are refused until it has caught up", Retry: e.Behind}
	}
	return errLeaseUnavailable(err)
}

// yearsLeft returns the years until the ids' time has no more bits.
func (l *leasedWorker) yearsLeft() float64 {
	return time.UnixMilli(l.end).Sub(l.leases.clock.Now()).Hours() / 24 / 365.2425
}
