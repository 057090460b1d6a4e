package chat

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Messages of a device are stored in the order in which it sends them. If one is rejected with a retryable error, the device sends it
// again later. The gate rejects the device's later messages until then, or until the retry window has passed.

// retryWindow is how long the gate waits for a retry, from the time at which the sender may retry.
const retryWindow = 5 * time.Second

// senderGate has, for each device, the earliest rejected message whose retry is expected.
type senderGate struct {
	closed atomic.Bool // bySender has an entry

	mu       sync.Mutex // guards bySender; nothing else is locked under it
	bySender map[senderDevice]gateEntry
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

// check returns an error if an earlier draft of the device was rejected and has not been retried. Otherwise it returns nil.
func (r *senderGate) check(d *message.Draft, now clock.Clock) error {
	if d.ClientSeq == 0 || !r.closed.Load() {
		return nil
	}
	nowMs := now.Now().UnixMilli()
	by := senderDevice{d.Sender, d.Device}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.bySender[by]
	switch late := ok && nowMs < f.until; {
	case late && d.ClientSeq > f.seq:
		return f.why
	case ok && (!late || d.ClientSeq == f.seq):
		delete(r.bySender, by)
		r.closed.Store(len(r.bySender) > 0)
	}
	return nil
}

// noteRejected closes the gate of a device if its draft was rejected with a retryable error. why may be nil.
func (r *senderGate) noteRejected(d *message.Draft, why error, now clock.Clock) {
	if d.ClientSeq == 0 || why == nil {
		return
	}
	e := errs.Of(why)
	if e.Retry == 0 {
		return
	}
	nowMs := now.Now().UnixMilli()
	by := senderDevice{d.Sender, d.Device}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.bySender[by]; ok && f.seq <= d.ClientSeq && nowMs < f.until {
		return
	}
	if r.bySender == nil {
		r.bySender = map[senderDevice]gateEntry{}
	}
	r.bySender[by] = gateEntry{d.ClientSeq, nowMs + (e.Retry + retryWindow).Milliseconds(), why}
	r.closed.Store(true)
}
