package overload_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/overload"
)

// queue is a simulated log: messages of many users arrive, and a number of them is stored in each tick.
type queue struct {
	gate     *overload.Gate
	now      time.Time
	waiting  []time.Time // when each arrived
	stored   int
	refused  map[overload.Priority]int
	user     uint64
	capacity int                       // of a tick
	slow     func(i int) time.Duration // what the log needs for a message whatever the load; nil: nothing
}

// Now is the queue's clock.
func (q *queue) Now() time.Time { return q.now }

const tick = 10 * time.Millisecond

func newQueue(capacity int) *queue { return newQueueOf(capacity, nil) }

func newQueueOf(capacity int, of overload.Organizations) *queue {
	q := &queue{now: time.Unix(1_800_000_000, 0), capacity: capacity, refused: map[overload.Priority]int{}}
	q.gate = overload.NewGate(200*time.Millisecond, q, of, overload.Processors{})
	return q
}

// run has n messages arrive in each tick for a time, a tenth of them with low priority and a tenth with normal.
func (q *queue) run(n int, d time.Duration) {
	for end := q.now.Add(d); q.now.Before(end); q.now = q.now.Add(tick) {
		for i := range n {
			p := overload.High
			switch i % 10 {
			case 0:
				p = overload.Low
			case 1:
				p = overload.Normal
			}
			q.user++
			if q.gate.Refuses() && q.gate.Admit(p, overload.Caller{User: q.user % 1000}) != nil {
				q.refused[p]++
				continue
			}
			q.waiting = append(q.waiting, q.now)
		}
		done := min(q.capacity, len(q.waiting))
		for i, at := range q.waiting[:done] {
			if i%10 == 0 {
				wait := q.now.Sub(at)
				if q.slow != nil {
					wait += q.slow(q.stored + i)
				}
				q.gate.Observe(wait)
			}
		}
		q.waiting = q.waiting[done:]
		q.stored += done
	}
}

func (q *queue) wait() time.Duration {
	if len(q.waiting) == 0 {
		return 0
	}
	return q.now.Sub(q.waiting[0])
}

// At twice the capacity the log never runs out of work, the wait stays short, and the less important are refused first. At 0.7 of it, nothing is refused soon.
func TestGoodputIsFlatUnderOverload(t *testing.T) {
	q := newQueue(100)
	q.run(200, 20*time.Second)
	if q.stored < 95*2000 {
		t.Errorf("in 2000 ticks %d were stored, want at least %d", q.stored, 95*2000)
	}
	before := q.stored
	q.run(200, 10*time.Second)
	if n := q.stored - before; n < 97*1000 {
		t.Errorf("in 1000 more ticks %d were stored, want at least %d", n, 97*1000)
	}
	if w := q.wait(); w > 600*time.Millisecond {
		t.Errorf("after 30 s of overload a message waits for %v", w)
	}
	low, normal, high := q.refused[overload.Low], q.refused[overload.Normal], q.refused[overload.High]
	if low < 9*200*300/10 || normal < 8*200*300/10 {
		t.Errorf("of 60,000 of each, %d of low and %d of normal priority were refused", low, normal)
	}
	if sum := low + normal + high; sum < 280_000 || sum > 320_000 {
		t.Errorf("%d of 600,000 were refused, at twice the capacity", sum)
	}
	q.run(70, 15*time.Second)
	clear(q.refused)
	stored := q.stored
	q.run(70, 15*time.Second)
	if len(q.refused) != 0 || q.stored-stored != 70*1500 || q.gate.AdmittedPart() != 1 || q.gate.Refuses() {
		t.Errorf("15 s after the overload %d of %d were stored, %v refused", q.stored-stored, 70*1500, q.refused)
	}
}

// Nothing is refused at the capacity, by a burst, or while many wait for less than the target.
func TestNothingIsRefusedBelowTheCapacity(t *testing.T) {
	q := newQueue(100)
	q.run(100, 10*time.Second)
	q.run(8000, tick) // a burst that takes 0.8 s
	q.run(0, 2*time.Second)
	for range 50 { // bursts, each of which is done before the next one
		q.run(3500, tick)
		q.run(0, 390*time.Millisecond)
	}
	q.run(2000, tick) // a standing queue of 190 ms
	q.run(100, 20*time.Second)
	if len(q.refused) != 0 {
		t.Errorf("%v were refused", q.refused)
	}
	var none *overload.Gate
	if none.Refuses() || none.Samples() || none.AdmittedPart() != 1 || none.Refused(overload.High) != 0 {
		t.Error("without a gate something is refused")
	}
}

// Users of one message in three keep being served or refused, instead of each losing every third message.
func TestTheSameUsersAreServed(t *testing.T) {
	q := newQueue(100)
	q.run(300, 20*time.Second)
	served := map[uint64]int{}
	for range 100 {
		for u := range uint64(1000) {
			if q.gate.Admit(overload.High, overload.Caller{User: u}) == nil {
				served[u]++
			}
		}
	}
	for u, n := range served {
		if n != 100 {
			t.Fatalf("user %d was served %d times of 100", u, n)
		}
	}
	if len(served) < 100 || len(served) > 900 {
		t.Errorf("%d of 1000 users are served at three times the capacity", len(served))
	}
}

// Messages are admitted again if no sample says so, because all that still come are refused.
func TestAGateOpensWithoutSamples(t *testing.T) {
	q := newQueue(10)
	q.run(100, 20*time.Second)
	refusals := 0
	for q.gate.AdmittedPart() < 1 && refusals < 10_000 {
		q.now = q.now.Add(time.Second)
		for u := range uint64(20) {
			if q.gate.Admit(overload.Low, overload.Caller{User: u}) != nil {
				refusals++
			}
		}
	}
	if q.gate.AdmittedPart() < 1 || refusals > 60 {
		t.Errorf("after %d refusals without any sample, a part of %.2f is admitted", refusals, q.gate.AdmittedPart())
	}
}

// A few messages after an overload, too few for windows, are soon all admitted.
func TestAGateOpensWhileFewMessagesCome(t *testing.T) {
	q := newQueue(10)
	q.run(100, 20*time.Second)
	q.waiting = nil
	for range 4 {
		q.now = q.now.Add(time.Second)
		q.gate.Observe(time.Millisecond)
	}
	if q.gate.AdmittedPart() < 1 || q.gate.Refuses() {
		t.Errorf("a part of %.2f is admitted", q.gate.AdmittedPart())
	}
}

// Nearly all messages come from two users: neither is refused altogether, since both together could use all there is.
func TestFewUsersAreNotRefusedAltogether(t *testing.T) {
	q := newQueue(100)
	for range 2000 {
		for i := range uint64(200) {
			if !q.gate.Refuses() || q.gate.Admit(overload.High, overload.Caller{User: 1 + i%2}) == nil {
				q.waiting = append(q.waiting, q.now)
			}
		}
		q.run(0, tick)
	}
	if q.stored != 100*2000 {
		t.Errorf("%d were stored, want %d", q.stored, 100*2000)
	}
}

// A log that is slow whatever the load, because of its disk or a distant quorum, makes the gate refuse messages for a few seconds only. Real overload of such a log
// is refused as ever, and so it is of one that was slow before.
func TestASlowLogIsNoOverload(t *testing.T) {
	for name, slow := range map[string]func(i int) time.Duration{
		"always the same": func(int) time.Duration { return 300 * time.Millisecond },
		"varies":          func(i int) time.Duration { return time.Duration(280+i/37*7919%61) * time.Millisecond },
		"very slow":       func(int) time.Duration { return 3 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(20)
			q.slow = slow
			q.run(10, 20*time.Second)
			clear(q.refused)
			q.run(10, time.Minute)
			if len(q.refused) != 0 || q.gate.AdmittedPart() != 1 {
				t.Errorf("a part of %.2f is admitted, and %v were refused", q.gate.AdmittedPart(), q.refused)
			}
			for _, s := range []func(i int) time.Duration{slow, nil} {
				q.slow = s
				stored := q.stored
				q.run(40, 20*time.Second)
				if n := q.stored - stored; n < 19*2000 || q.wait() > 800*time.Millisecond {
					t.Errorf("at twice the capacity %d of %d were stored, and the queue is %v long", n, 20*2000, q.wait())
				}
				q.run(14, 20*time.Second)
			}
		})
	}
}

// While the process uses all its processors, a log that stores less than before is overloaded, not slow: flushes and fan-out take the processors as well.
func TestABusyProcessIsOverloaded(t *testing.T) {
	for busy, want := range map[float64]bool{1: true, 0.5: false} {
		q := newQueue(20)
		q.slow = func(int) time.Duration { return 300 * time.Millisecond }
		start := q.now
		q.gate = overload.NewGate(200*time.Millisecond, q, nil, overload.Processors{Count: 2, Used: func() time.Duration { return time.Duration(2 * busy * float64(q.now.Sub(start))) }})
		q.run(10, 20*time.Second)
		clear(q.refused)
		q.run(10, 20*time.Second)
		if refused := len(q.refused) > 0; refused != want {
			t.Errorf("a process that uses %.1f of its processors refuses messages: %v, want %v", busy, refused, want)
		}
	}
}

// However long messages wait, an eighth of the users in small conversations is served.
func TestSomeUsersAreServedInAnyCase(t *testing.T) {
	q := newQueue(100)
	for range 200 {
		for u := range uint64(1000) {
			if q.gate.Refuses() {
				_ = q.gate.Admit(overload.High, overload.Caller{User: u}) // it counts what arrives
			}
		}
		q.now = q.now.Add(300 * time.Millisecond)
		for range 8 {
			q.gate.Observe(time.Minute) // as many as ever are stored, so the log is full
		}
	}
	served := 0
	for u := range uint64(1000) {
		if q.gate.Admit(overload.High, overload.Caller{User: u}) == nil {
			served++
		}
	}
	if served < 90 || served > 160 {
		t.Errorf("%d of 1000 users are served, want an eighth", served)
	}
}
