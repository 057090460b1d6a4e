package message

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

var errFull = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Retry: time.Second}

// retriesOf has what the tests below check: whether a number is refused.
type retriesOf struct {
	t *testing.T
	ExpectedRetries
	now time.Time
}

func (r *retriesOf) check(clientSeq, previous uint64, refused bool) {
	r.t.Helper()
	err := r.Check(&Draft{ClientSeq: clientSeq, PrevClientSeq: previous}, r.now)
	if (err != nil) != refused || err != nil && !errors.Is(err, errFull) {
		r.t.Errorf("message %d after %d: got the error %v; want one: %v", clientSeq, previous, err, refused)
	}
}

func TestLaterMessagesAreRefusedUntilARetry(t *testing.T) {
	r := &retriesOf{t: t, now: time.Unix(1000, 0)}
	r.Expect(5, errFull, r.now)
	r.check(4, 0, false)
	r.check(6, 0, true)
	r.check(9, 0, true)
	r.check(5, 0, false)
	r.check(7, 0, true) // 6 is expected as well
	r.check(6, 0, false)
	r.check(7, 0, false)
	r.check(8, 0, false)
	r.check(10, 0, true)
	r.check(9, 0, false)
	r.Forget(10) // it was stored by another connection
	r.check(11, 0, false)
	if !r.IsEmpty() || !r.Until().IsZero() {
		t.Errorf("expected are %+v, want none", r.ranges)
	}
}

// What a device does not send again is given up after a time, and at once if the device names the message before.
func TestRetriesAreGivenUp(t *testing.T) {
	r := &retriesOf{t: t, now: time.Unix(1000, 0)}
	r.Expect(5, errFull, r.now)
	r.now = r.now.Add(errFull.Retry + RetryWindow - 1)
	r.check(6, 0, true)
	r.now = r.now.Add(1)
	r.check(6, 0, false)

	// A sender that gives up each refused message is not held back for as long as it sends.
	r.Expect(7, errFull, r.now)
	for n := uint64(8); n < 11; n++ {
		r.now = r.now.Add(RetryWindow / 4)
		r.check(n, 0, true)
	}
	r.now = r.now.Add(RetryWindow/4 + errFull.Retry)
	r.check(11, 0, false)

	r.Expect(10, errFull, r.now)
	r.Expect(11, errFull, r.now)
	r.Expect(12, errFull, r.now)
	r.check(13, ^uint64(0), true) // no number before 13
	r.check(13, 10, true)         // 11 and 12 are given up, 10 is not
	r.check(10, 9, false)
	r.check(13, 10, false)
	r.Expect(20, errFull, r.now)
	r.check(21, 13, false)
	for n := uint64(30); n < 40; n++ {
		r.Expect(n, errFull, r.now)
	}
	r.check(38, 33, true) // 34 to 37 are given up
	for _, n := range []uint64{30, 31, 32, 33, 38, 39, 40} {
		r.check(n, 0, false)
	}
}

// Beyond the remembered ranges the last of them stands for all that come after it.
func TestMoreRetriesThanAreRemembered(t *testing.T) {
	r := &retriesOf{t: t, now: time.Unix(1000, 0)}
	const number, step = 3 * maxExpectedRetries, 10 // the device sends to other conversations, too
	r.Expect(step, errFull, r.now)
	for n := uint64(2); n <= number; n++ {
		r.check(n*step, 0, true)
	}
	if len(r.ranges) != maxExpectedRetries {
		t.Errorf("%d ranges are remembered, want %d", len(r.ranges), maxExpectedRetries)
	}
	for n := uint64(1); n < number; n++ {
		r.check(n*step, 0, false)
	}
	r.check((number+1)*step, 0, true)
	r.check(number*step, 0, false)
	r.check((number+1)*step, 0, false)
	if !r.IsEmpty() {
		t.Errorf("expected are %+v, want none", r.ranges)
	}
}

// A client sends faster than a server reads, and learns of refusals late. Whatever is refused, everything is stored in the client's order.
func TestExpectedRetriesKeepTheOrderOfADevice(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		now := time.Unix(1000, 0)
		var expected ExpectedRetries
		var socket, refusals, stored []uint64 // unread by the server; unread by the client; stored
		number := 50 + rnd.IntN(1000)
		read := func() {
			n := socket[0]
			socket = socket[1:]
			err := expected.Check(&Draft{ClientSeq: n}, now)
			if err == nil && rnd.IntN(20) == 0 {
				err = errFull
				expected.Expect(n, err, now)
			}
			if err != nil {
				refusals = append(refusals, n)
				return
			}
			stored = append(stored, n)
		}
		for next := uint64(1); len(stored) < number; {
			now = now.Add(time.Millisecond)
			switch k := rnd.IntN(10); {
			case k < 5 && next <= uint64(number):
				socket = append(socket, next)
				next++
			case k < 9 && len(socket) > 0:
				read()
			case len(refusals) > 0 && rnd.IntN(int(1+seed)) < 10: // the client has waited for the retry delay
				slices.Sort(refusals)
				socket = append(socket, refusals...)
				refusals = nil
			}
		}
		if !slices.IsSorted(stored) {
			t.Fatalf("seed %d: stored in another order than sent: %s", seed, firstDescent(stored))
		}
	}
}

func firstDescent(list []uint64) string {
	for i := 1; i < len(list); i++ {
		if list[i] < list[i-1] {
			return fmt.Sprintf("%d before %d", list[i-1], list[i])
		}
	}
	return "none"
}

// FuzzExpectedRetries: whatever numbers a client makes up, what is remembered is bounded, in order, and without overlaps.
func FuzzExpectedRetries(f *testing.F) {
	const most = ^uint64(0)
	f.Add([]byte{0, 1, 0, 1, 0, 2, 0, 2, 2, 4, 1, 2, 255, 2, 2, 255})
	many := []byte{}
	for n := range 100 { // one range, of which the numbers between are given up
		many = append(many, 0, byte(n), 0, 0)
	}
	for n := byte(0); n < 98; n += 2 {
		many = append(many, 2, n+2, n, 0, 2, 2, 255, 0)
	}
	f.Add(many)
	number := func(b byte) uint64 { // small ones, and the largest ones
		if b >= 128 {
			return most - uint64(255-b)
		}
		return uint64(b)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		var r ExpectedRetries
		now := time.Unix(1000, 0)
		for ; len(steps) >= 4; steps = steps[4:] {
			now = now.Add(time.Duration(steps[3]) * 100 * time.Millisecond)
			clientSeq := number(steps[1])
			switch steps[0] % 3 {
			case 0:
				r.Expect(clientSeq, errFull, now)
			case 1:
				r.Forget(clientSeq)
			case 2:
				_ = r.Check(&Draft{ClientSeq: clientSeq, PrevClientSeq: number(steps[2])}, now) // the error is chosen by what was expected
			}
			if len(r.ranges) > maxExpectedRetries {
				t.Fatalf("%d ranges are remembered, want at most %d", len(r.ranges), maxExpectedRetries)
			}
			for i, e := range r.ranges {
				if e.first > e.last || i > 0 && e.first <= r.ranges[i-1].last {
					t.Fatalf("the ranges are %+v, want ascending ones without overlaps", r.ranges)
				}
			}
		}
	})
}
