package message

import (
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

const (
	// RetryWindow is how long a server expects a device to send a refused message again, from the time at which the device may. It is longer
	// than a message should ever lie unread in a socket: what the device sent after the refused one may be there before the retry.
	RetryWindow = 30 * time.Second
	// maxExpectedRetries bounds the ranges of ExpectedRetries.
	maxExpectedRetries = 256
	// sameTime is how far apart the ends of their times may be for consecutive messages to be in one range, which has the earlier one.
	sameTime = 2 * time.Second
)

// ExpectedRetries keeps the order of what a device sends to a conversation. It has the messages that were refused with retryable errors, and
// that the device will send again. Until they come, lowest first, Check refuses the device's later ones. The zero value expects nothing.
//
// It remembers 256 ranges of consecutive numbers. Beyond that, the last range stands for all later messages: of these, one that is left out is
// not missed. It is not safe for concurrent use.
type ExpectedRetries struct {
	ranges []expectedRange // ascending, without overlaps; not empty each
}

type expectedRange struct {
	first, last uint64 // clientSeqs
	until       time.Time
	why         error
	hasGaps     bool // not all of the numbers are expected
}

// IsEmpty reports whether no retry is expected.
func (r *ExpectedRetries) IsEmpty() bool { return len(r.ranges) == 0 }

// Until returns the time at which the last retry is given up; the zero time if none is expected.
func (r *ExpectedRetries) Until() (last time.Time) {
	for _, e := range r.ranges {
		if e.until.After(last) {
			last = e.until
		}
	}
	return last
}

// Check returns the error of an earlier message that was refused and has not come again, and then expects this one too. Otherwise it returns
// nil, and this one is not expected any more. A draft that names its previous message (PrevClientSeq) says that its device has given up those between.
func (r *ExpectedRetries) Check(d *Draft, now time.Time) error {
	if len(r.ranges) == 0 || d.ClientSeq == 0 {
		return nil
	}
	r.ranges = slices.DeleteFunc(r.ranges, func(e expectedRange) bool { return !now.Before(e.until) })
	if d.PrevClientSeq != 0 && d.PrevClientSeq < d.ClientSeq { // nobody may have validated it
		r.remove(d.PrevClientSeq+1, d.ClientSeq-1)
	}
	if len(r.ranges) == 0 || d.ClientSeq < r.ranges[0].first {
		return nil
	}
	e := &r.ranges[0]
	if d.ClientSeq > e.first && (!e.hasGaps || d.ClientSeq > e.last) {
		why := e.why
		r.add(d.ClientSeq, why, e.until) // no longer than the first: a device that has given that up is not held back by what it sent since
		return why
	}
	if d.ClientSeq >= e.last {
		r.ranges = slices.Delete(r.ranges, 0, 1)
	} else {
		e.first = d.ClientSeq + 1
	}
	return nil
}

// Expect adds a message that was refused, or renews the time for which it is expected.
func (r *ExpectedRetries) Expect(clientSeq uint64, why error, now time.Time) {
	r.add(clientSeq, why, now.Add(errs.Of(why).Retry+RetryWindow))
}

func (r *ExpectedRetries) add(clientSeq uint64, why error, until time.Time) {
	r.remove(clientSeq, clientSeq)
	i := 0
	for i < len(r.ranges) && r.ranges[i].last < clientSeq {
		i++
	}
	r.ranges = slices.Insert(r.ranges, i, expectedRange{first: clientSeq, last: clientSeq, until: until, why: why})
	r.mergeIfAlike(i)
	r.mergeIfAlike(i - 1)
	r.mergeBeyondBound()
}

// mergeBeyondBound merges the last ranges into one, so that there are no more than are remembered.
func (r *ExpectedRetries) mergeBeyondBound() {
	for len(r.ranges) > maxExpectedRetries {
		n := len(r.ranges)
		e, next := &r.ranges[n-2], r.ranges[n-1]
		e.hasGaps = e.hasGaps || next.hasGaps || e.last+1 < next.first
		e.last = next.last
		if next.until.After(e.until) {
			e.until = next.until
		}
		r.ranges = r.ranges[:n-1]
	}
}

// mergeIfAlike merges a range with the next one if that follows without a gap and is given up at about the same time. It is not merged if it
// is given up later, because its renewals must not keep the first one.
func (r *ExpectedRetries) mergeIfAlike(i int) {
	if i < 0 || i+1 >= len(r.ranges) {
		return
	}
	e, next := &r.ranges[i], r.ranges[i+1]
	if e.last+1 < next.first || next.until.Sub(e.until).Abs() >= sameTime {
		return
	}
	e.last, e.hasGaps = next.last, e.hasGaps || next.hasGaps
	if next.until.Before(e.until) {
		e.until = next.until
	}
	r.ranges = slices.Delete(r.ranges, i+1, i+2)
}

// Forget removes a message that was stored or refused for good.
func (r *ExpectedRetries) Forget(clientSeq uint64) { r.remove(clientSeq, clientSeq) }

// remove removes all numbers from first to last; none if last is below first.
func (r *ExpectedRetries) remove(first, last uint64) {
	if last < first || !slices.ContainsFunc(r.ranges, func(e expectedRange) bool { return e.first <= last && e.last >= first }) {
		return
	}
	var kept []expectedRange
	for _, e := range r.ranges {
		before, after := e, e
		switch before.last, after.first = first-1, last+1; {
		case e.last < first, e.first > last:
			kept = append(kept, e)
		case e.first < first && e.last > last:
			kept = append(kept, before, after)
		case e.first < first:
			kept = append(kept, before)
		case e.last > last:
			kept = append(kept, after)
		}
	}
	r.ranges = kept
	r.mergeBeyondBound()
}
