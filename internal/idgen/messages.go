package idgen

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

const (
	spinBits    = 12
	messageTime = 42
	// shortWait is how long a message waits for its id where the store is slow: senders hold their conversation meanwhile.
	shortWait = 500 * time.Millisecond
	// againAfter a wait in vain the next one may wait.
	againAfter = 2 * time.Second
)

// MessagesConfig of a generator. Generators of one name, on all nodes, make ids that differ.
type MessagesConfig struct {
	Name string // default "message"
	// Ranges is into how many equal parts the 4,096 spins of a millisecond are divided, a power of two to 4,096: as many
	// generators may there be. It is fixed when the first one starts. Default 16, or 64 where nodes share the database.
	Ranges uint64
}

// Messages makes readable message ids. Time and spin together only rise: when the clock stands or steps back, or a
// millisecond's spins are used up, they run ahead of it.
type Messages struct {
	lease *lease
	clock clock.Clock
	bits  uint8 // of the spin that count; those above are the range
}

// NewMessages leases a range of spins.
func NewMessages(ctx context.Context, leases *Leases, c MessagesConfig) (*Messages, error) {
	if c.Name == "" {
		c.Name = messagePool
	}
	if c.Ranges == 0 {
		c.Ranges = ownRanges
		if leases.fixed == nil && !leases.config.Own {
			c.Ranges = sharedRanges
		}
	}
	if c.Ranges > 1<<spinBits || bits.OnesCount64(c.Ranges) != 1 {
		return nil, fmt.Errorf("%d ranges of spins: it is a power of two, 1 to 4,096", c.Ranges)
	}
	m := &Messages{clock: leases.clock, bits: spinBits - uint8(bits.TrailingZeros64(c.Ranges))}
	var err error
	m.lease, err = leases.hold(ctx, c.Name, c.Ranges, counting{unit: 1, bits: m.bits, time: messageTime})
	return m, err
}

var errType = errs.New(errs.Invalid, "bad_type", "a conversation's type is 0 to 15")

// Next gives the id of a message of a conversation. It fails with Unavailable where the store does not extend the lease.
func (m *Messages) Next(typ uint8, c id.Conversation) (id.Message, error) {
	if typ > 15 {
		return id.Message{}, errType
	}
	for {
		ms, spin, g := m.try()
		if g == nil {
			return id.MessageOf(ms, spin, typ, c), nil
		}
		if err := m.more(g); err != nil {
			return id.Message{}, err
		}
	}
}

// try takes the next time and spin. It gives the grant that is too short where there is none.
func (m *Messages) try() (ms int64, spin uint16, short *grant) {
	now := uint64(m.clock.Now().UnixMilli()) << m.bits
	for {
		g := m.lease.grant.Load()
		if g == nil {
			return 0, 0, &grant{}
		}
		last := g.last.Load()
		next := max(now, last+1)
		ms := int64(next >> m.bits)
		if ms >= g.to.Load() || last >= spent {
			return 0, 0, g
		}
		if g.last.CompareAndSwap(last, next) {
			return ms, uint16(g.slot<<m.bits | next&(1<<m.bits-1)), nil
		}
	}
}

// more waits for a longer lease, but not long: where the store did not answer in time, who comes next does not wait for it.
func (m *Messages) more(g *grant) error {
	l := m.lease
	if at := l.stalled.Load(); at != 0 {
		if since := m.clock.Now().UnixMilli() - at; since >= 0 && since < againAfter.Milliseconds() {
			return errWait(nil)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), shortWait)
	defer cancel()
	need := max(m.clock.Now().UnixMilli(), 1)
	if to := g.to.Load(); to != 0 {
		need = max(need, to)
		// A clock that stepped back, or more ids than there are: the mark goes on no faster than time.
		if d := time.Duration(need-m.clock.Now().UnixMilli())*time.Millisecond + margin - ahead; d > 0 {
			t := time.NewTimer(min(d, margin))
			<-t.C
		}
	}
	err := l.extend(ctx, need)
	if ctx.Err() != nil {
		l.stalled.Store(m.clock.Now().UnixMilli())
	}
	return err
}

// YearsLeft until the ids' time has no more bits.
func (m *Messages) YearsLeft() float64 {
	return time.UnixMilli(m.lease.end()).Sub(m.clock.Now()).Hours() / 24 / 365.2425
}
