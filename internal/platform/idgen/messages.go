package idgen

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

const (
	// maxMessageWait bounds how long a message waits for its id if the store is slow. Its conversation waits too.
	maxMessageWait = 500 * time.Millisecond
	// retryWaitAfter is the time after a failed wait in which other messages fail at once.
	retryWaitAfter = 2 * time.Second
)

// MessagesConfig configures a generator. Generators with the same name, on any nodes, never issue the same id.
type MessagesConfig struct {
	Name string // default "message"
	// Ranges is the number of equal parts into which the 4,096 spins of a millisecond are divided, a power of two up to 4,096. It is the
	// maximum number of generators. It is fixed when the first one starts. Default 16, or 64 where nodes share the database.
	Ranges uint64
}

// Messages issues readable message ids. Time and spin together only increase: when the clock stands or steps back, or a
// millisecond's spins are used up, they run ahead of it.
type Messages struct {
	readables *ids.Readables
	lease     *leasedWorker
}

// NewMessages leases a range of spins.
func NewMessages(ctx context.Context, leases *Leases, c MessagesConfig) (*Messages, error) {
	if c.Name == "" {
		c.Name = messageLeaseName
	}
	if c.Ranges == 0 {
		c.Ranges = exclusiveRanges
		if leases.fixedWorker == nil && !leases.config.Exclusive {
			c.Ranges = sharedRanges
		}
	}
	return newMessages(ctx, leases, c, (*leasedWorker).extendForMessage)
}

func newMessages(ctx context.Context, leases *Leases, c MessagesConfig, extend extendFunc) (*Messages, error) {
	layout, err := ids.ReadableLayout(c.Ranges)
	if err != nil {
		return nil, err
	}
	lease, err := leases.newLease(ctx, c.Name, layout, extend)
	if err != nil {
		return nil, err
	}
	return &Messages{ids.LeasedReadables(lease.Lease, leases.clock.Now), lease}, nil
}

var errType = errs.New(errs.Invalid, "bad_type", "a conversation's type is 0 to 15")

// Next returns a message id for a conversation. It fails with Unavailable if the store does not extend the lease.
func (m *Messages) Next(typ uint8, c id.Conversation) (id.Message, error) {
	v, err := m.readables.Next(context.Background(), typ, uint64(c))
	if errors.Is(err, ids.ErrType) {
		return v, errType
	}
	return v, err
}

// extendForMessage waits for a longer lease, for a short time. If the store did not answer in time, the next callers fail at once.
func (l *leasedWorker) extendForMessage(ctx context.Context, need int64) error {
	clock := l.leases.clock
	if at := l.stalledSince.Load(); at != 0 {
		if since := clock.Now().UnixMilli() - at; since >= 0 && since < retryWaitAfter.Milliseconds() {
			return errLeaseUnavailable(nil)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxMessageWait)
	defer cancel()
	// The clock stepped back, or ids are drawn faster than time allows: the mark rises no faster than time.
	if d := time.Duration(need-clock.Now().UnixMilli())*time.Millisecond + minMarkRaise - markAhead; d > 0 {
		t := time.NewTimer(min(d, minMarkRaise))
		<-t.C
	}
	err := l.extend(ctx, need)
	if ctx.Err() != nil {
		l.stalledSince.Store(clock.Now().UnixMilli())
	}
	return err
}

// YearsLeft returns the years until the ids' time has no more bits.
func (m *Messages) YearsLeft() float64 { return m.lease.yearsLeft() }
