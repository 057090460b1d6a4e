package chat

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Messages of a device are stored in the order in which it sends them. If some are rejected with retryable errors, the device sends them
// again later. The gate rejects what the device sends after one of them until that one has come again, or until its retry window has passed.

const (
	// retryWindow is how long the gate waits for a retry, from the time at which the sender may retry.
	retryWindow = 5 * time.Second
	// maxRejected bounds the rejected messages of a device whose retries are expected in a conversation. Beyond it the earliest ones count: a device whose order
	// depends on more has more than that in flight, and one that is ahead of them all.
	maxRejected = 256
)

// senderGate has, for each device, the rejected messages whose retries are expected, ascending.
type senderGate struct {
	closed atomic.Bool // bySender has an entry

	mu       sync.Mutex // guards bySender; nothing else is locked under it
	bySender map[senderDevice][]gateEntry
}

type senderDevice struct {
	user   id.User
	device id.Device
}

type gateEntry struct {
	seq   uint64
	until int64 // ms
	why   error
}

// check returns an error if an earlier draft of the device was rejected and has not been retried. Then the draft is expected again too. Otherwise check returns nil,
// and the draft is not expected any more.
func (r *senderGate) check(d *message.Draft, now clock.Clock) error {
	if d.ClientSeq == 0 || !r.closed.Load() {
		return nil
	}
	nowMs := now.Now().UnixMilli()
	by := senderDevice{d.Sender, d.Device}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.DeleteFunc(r.bySender[by], func(e gateEntry) bool { return nowMs >= e.until })
	if len(list) > 0 && d.ClientSeq > list[0].seq {
		why := list[0].why
		r.set(by, withEntry(list, d.ClientSeq, why, nowMs))
		return why
	}
	if len(list) > 0 && d.ClientSeq == list[0].seq {
		list = list[1:]
	}
	r.set(by, list)
	return nil
}

// noteResult closes the gate of a device behind its draft if that was rejected with a retryable error. If it was stored or rejected for good, it is not expected any
// more, also where a copy of it was rejected. why is nil if it was stored.
func (r *senderGate) noteResult(d *message.Draft, why error, now clock.Clock) {
	comesAgain := why != nil && errs.Of(why).Retry > 0
	if d.ClientSeq == 0 || !comesAgain && !r.closed.Load() {
		return
	}
	nowMs := now.Now().UnixMilli()
	by := senderDevice{d.Sender, d.Device}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !comesAgain {
		r.set(by, slices.DeleteFunc(r.bySender[by], func(e gateEntry) bool { return e.seq == d.ClientSeq }))
		return
	}
	list := slices.DeleteFunc(r.bySender[by], func(e gateEntry) bool { return nowMs >= e.until })
	r.set(by, withEntry(list, d.ClientSeq, why, nowMs))
}

// withEntry returns the list with an entry for a message that was rejected now, in place of an earlier one.
func withEntry(list []gateEntry, seq uint64, why error, nowMs int64) []gateEntry {
	e := gateEntry{seq, nowMs + (errs.Of(why).Retry + retryWindow).Milliseconds(), why}
	i, found := slices.BinarySearchFunc(list, seq, func(e gateEntry, seq uint64) int { return cmp.Compare(e.seq, seq) })
	if found {
		list[i] = e
		return list
	}
	if len(list) >= maxRejected {
		if i == len(list) {
			return list
		}
		list = list[:len(list)-1]
	}
	return slices.Insert(list, i, e)
}

// set replaces the entries of a device. The caller holds mu.
func (r *senderGate) set(by senderDevice, list []gateEntry) {
	if len(list) == 0 {
		delete(r.bySender, by)
	} else {
		if r.bySender == nil {
			r.bySender = map[senderDevice][]gateEntry{}
		}
		r.bySender[by] = list
	}
	r.closed.Store(len(r.bySender) > 0)
}
