package overload_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/overload"
)

// crowds have a hundred users each, who make as many requests each.
var crowds = map[string]struct {
	caller func(i uint64) overload.Caller
	of     overload.Organizations
	reason string
	share  float64
}{
	"a conversation": {func(i uint64) overload.Caller { return overload.Caller{User: 1 + i%100, Conversation: 7} }, nil, "conversation_busy", 0.2},
	"an organization by its members": {func(i uint64) overload.Caller { return overload.Caller{User: 1 + i%100, Conversation: 1000 + i} }, func(u uint64) []uint64 {
		if u <= 100 {
			return []uint64{5, 7}
		}
		return nil
	}, "organization_busy", 1. / 3},
	"an organization by name": {func(i uint64) overload.Caller { return overload.Caller{User: 1 + i%100, Organization: 7} }, nil, "organization_busy", 1. / 3},
}

var equal = [2]overload.Priority{overload.Normal, overload.Normal}

// other is one of many callers of other crowds.
func other(i uint64) overload.Caller {
	return overload.Caller{User: 1000 + i%500, Conversation: 5000 + i%300, Organization: 9000 + i%50}
}

// work is what became of calls of a crowd, and of others.
type work struct {
	served, refused [2]atomic.Int64
	reasons         [2]map[string]int64
}

// offer offers calls of a crowd and of others, each of which works for 100 ms, to ten workers for 20 s. Their capacity is 100 calls a second.
func offer(t *testing.T, l *overload.Limiter, hot func(i uint64) overload.Caller, perSecond [2]int, priorities [2]overload.Priority) *work {
	w, reasons := &work{}, make(chan [2]string, 10_000)
	w.reasons = [2]map[string]int64{{}, {}}
	who := []func(i uint64) overload.Caller{hot, other}
	for ms := range 20_000 {
		for k, rate := range perSecond {
			if ms*rate/1000 == (ms+1)*rate/1000 {
				continue
			}
			go func() {
				p, err := l.Acquire(t.Context(), priorities[k], who[k](uint64(ms)))
				if err != nil {
					w.refused[k].Add(1)
					if e := errs.Of(err); e.Retry < time.Second || e.Retry > 2*time.Second {
						t.Errorf("a refusal says %v", err)
					}
					reasons <- [2]string{string(rune('0' + k)), reasonOf(err)}
					return
				}
				time.Sleep(100 * time.Millisecond)
				p.Release()
				w.served[k].Add(1)
			}()
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	close(reasons)
	for r := range reasons {
		w.reasons[r[0][0]-'0'][r[1]]++
	}
	if limit, used, waiting := l.State(); limit != 10 || used != 0 || waiting != 0 || l.Holders() != 0 {
		t.Errorf("afterwards %d of %d are at work, %d wait, and %d are counted", used, limit, waiting, l.Holders())
	}
	return w
}

// A crowd at twice the capacity leaves the others what they need, if that is no more than what its share leaves, and has the rest. If they need more, it has its
// share. It is refused with a reason of its own. No user of it has a fifth of the workers.
func TestACrowdHasNoMoreThanItsShareOfTheWorkers(t *testing.T) {
	for name, c := range crowds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := overload.NewLimiter(10, 10, 500*time.Millisecond)
				l.Know(c.of)
				w := offer(t, l, c.caller, [2]int{150, 50}, equal)
				if n := w.refused[1].Load(); n != 0 || w.served[1].Load() != 1000 {
					t.Errorf("of others who need half of the workers %d are served and %d refused (%v), want 1000 and none", w.served[1].Load(), n, w.reasons[1])
				}
				if n := w.served[0].Load(); n < 950 || n > 1060 { // what waits at the end is served as well
					t.Errorf("of the crowd %d are served, want the other half, 1000", n)
				}
				if n := w.reasons[0][c.reason]; n < 900 {
					t.Errorf("of the crowd are refused %v, want nearly 1000 by %s", w.reasons[0], c.reason)
				}
				for _, p := range [][2]overload.Priority{equal, {overload.High, overload.Low}} {
					w = offer(t, l, c.caller, [2]int{100, 100}, p)
					got, want := float64(w.served[0].Load())/2000, c.share
					if got > want+0.03 || got < want/2 {
						t.Errorf("beside others who need all workers, with the priorities %v, the crowd has a part of %.2f of them, want about %.2f", p, got, want)
					}
					if n := w.served[0].Load() + w.served[1].Load(); n < 1950 {
						t.Errorf("%d are served, want 2000", n)
					}
					if n := w.reasons[1][c.reason]; n > 0 {
						t.Errorf("%d others are refused for their crowd", n)
					}
				}
			})
		})
	}
}

// Nothing is refused at rest: a crowd alone has all workers, and waits for more as others do.
func TestACrowdAloneHasAllWorkers(t *testing.T) {
	for name, c := range crowds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := overload.NewLimiter(10, 10, 500*time.Millisecond)
				l.Know(c.of)
				w := offer(t, l, c.caller, [2]int{100, 0}, equal)
				if n := w.served[0].Load(); n != 2000 {
					t.Errorf("%d of 2000 are served at the capacity; %v", n, w.reasons[0])
				}
				w = offer(t, l, c.caller, [2]int{200, 0}, equal)
				if n := w.served[0].Load(); n < 1990 || w.reasons[0][c.reason] > 0 {
					t.Errorf("at twice the capacity %d are served, want 2000, and are refused %v", n, w.reasons[0])
				}
			})
		})
	}
}

// What is first, such as a sync, does not wait behind others because its organization has its share.
func TestWhatIsFirstIsNoExcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overload.NewLimiter(10, 10, time.Hour)
		var permits []overload.Permit
		for i := range uint64(10) {
			p, err := l.Acquire(t.Context(), overload.Normal, overload.Caller{User: 1 + i, Organization: 7})
			if err != nil {
				t.Fatal(err)
			}
			permits = append(permits, p)
		}
		served := make(chan string, 2)
		for _, w := range []struct {
			name string
			p    overload.Priority
			c    overload.Caller
		}{{"another", overload.Normal, other(1)}, {"a sync", overload.First, overload.Caller{User: 99, Organization: 7}}} {
			go func() {
				p, err := l.Acquire(t.Context(), w.p, w.c)
				if err != nil {
					t.Errorf("%s: %v", w.name, err)
				}
				served <- w.name
				p.Release()
			}()
			synctest.Wait()
		}
		if _, err := l.Acquire(t.Context(), overload.Normal, overload.Caller{User: 98, Organization: 7}); reasonOf(err) != "organization_busy" {
			t.Errorf("a read of the organization: %v", err)
		}
		permits[0].Release() // each of the two who wait passes the worker on
		if first, second := <-served, <-served; first != "a sync" || second != "another" {
			t.Errorf("%s is served before %s", first, second)
		}
		for _, p := range permits[1:] {
			p.Release()
		}
		synctest.Wait()
		if n := l.Holders(); n != 0 {
			t.Errorf("%d are counted afterwards", n)
		}
	})
}

// What a crowd has beyond its share is behind others that come later, gives its place in a full queue to them, and is refused while they wait.
func TestExcessGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overload.NewLimiter(2, 2, time.Hour) // the queue has four places
		var looked atomic.Int64
		l.Know(func(uint64) []uint64 { looked.Add(1); return nil })
		ended := make(chan string, 10)
		acquire := func(name string, c overload.Caller) (permit func()) {
			end := make(chan struct{})
			go func() {
				p, err := l.Acquire(context.Background(), overload.Normal, c)
				if err != nil {
					ended <- name + ": " + reasonOf(err)
					return
				}
				ended <- name
				<-end
				p.Release()
			}()
			synctest.Wait()
			return func() { close(end); synctest.Wait() }
		}
		wantEnded := func(want ...string) {
			t.Helper()
			for _, name := range want {
				select {
				case got := <-ended:
					if got != name {
						t.Errorf("%q is next, want %q", got, name)
					}
				default:
					t.Errorf("nothing is next, want %q", name)
				}
			}
			select {
			case got := <-ended:
				t.Errorf("%q is next, want nothing", got)
			default:
			}
		}
		hot := func(u uint64) overload.Caller { return overload.Caller{User: u, Conversation: 7} }
		first := acquire("first", hot(1))
		if n := looked.Load(); n != 0 {
			t.Errorf("at rest organizations are looked up %d times", n)
		}
		second := acquire("second", hot(2))
		ends := []func(){}
		for i, name := range []string{"third", "fourth", "fifth", "sixth"} { // they fill the queue
			ends = append(ends, acquire(name, hot(3+uint64(i))))
		}
		wantEnded("first", "second")
		if looked.Load() == 0 {
			t.Error("with all workers at work organizations are not looked up")
		}
		last := acquire("another", other(1))
		got := <-ended // the one whose user's section is last
		if !strings.HasSuffix(got, ": conversation_busy") {
			t.Errorf("%q, want a place of the crowd given to another", got)
		}
		acquire("seventh", hot(9))
		wantEnded("seventh: conversation_busy")
		first()
		wantEnded("another")
		last()
		second()
		for _, end := range ends {
			end()
		}
		for range 3 { // of the crowd, whoever they are
			if got := <-ended; strings.Contains(got, ":") {
				t.Errorf("%q, want it served", got)
			}
		}
		synctest.Wait()
		if l.Holders() != 0 {
			t.Errorf("%d are counted afterwards", l.Holders())
		}
	})
}

// At a gate a crowd at twice the capacity leaves the others what they need, and has the rest; if they need all, it has its share.
func TestACrowdHasNoMoreThanItsShareOfTheMessages(t *testing.T) {
	for name, c := range crowds {
		t.Run(name, func(t *testing.T) {
			q := newQueueOf(20, c.of)
			stored, refused := [2]int{}, [2]int{}
			n := uint64(0)
			run := func(hot, others int, d time.Duration) {
				for end := q.now.Add(d); q.now.Before(end); {
					for i := range hot + others {
						n++
						k, caller := 0, c.caller(n)
						if i >= hot {
							k, caller = 1, other(n)
						}
						err := error(nil)
						if q.gate.Refuses() {
							err = q.gate.Admit(overload.High, caller)
						}
						switch {
						case err == nil:
							stored[k]++
							q.waiting = append(q.waiting, q.now)
						default:
							refused[k]++
							if r := reasonOf(err); k == 0 && r != c.reason && r != "busy" || k == 1 && r != "busy" {
								t.Fatalf("a message of crowd %d is refused: %v", k, err)
							}
						}
					}
					q.run(0, tick)
				}
			}
			run(8, 8, 5*time.Second)
			if refused != [2]int{} {
				t.Errorf("below the capacity %v are refused", refused)
			}
			run(30, 10, 10*time.Second)
			stored, refused = [2]int{}, [2]int{}
			run(30, 10, 20*time.Second)
			if n := refused[1]; n > 2000*10/100 {
				t.Errorf("of %d messages of others, who need half of the capacity, %d are refused", 2000*10, n)
			}
			if n := stored[0]; n < 2000*9 || n > 2000*11 {
				t.Errorf("of the crowd %d are stored, want about half of the capacity, %d", n, 2000*50)
			}
			run(20, 20, 10*time.Second)
			stored, refused = [2]int{}, [2]int{}
			run(20, 20, 20*time.Second)
			all := float64(stored[0] + stored[1])
			if got := float64(stored[0]) / all; got > c.share+0.05 || got < c.share/2 {
				t.Errorf("beside others who need all the crowd has a part of %.2f of what is stored, want about %.2f", got, c.share)
			}
			if all < 2000*19 {
				t.Errorf("%.0f are stored, want %d", all, 2000*20)
			}
			run(10, 4, 15*time.Second)
			stored, refused = [2]int{}, [2]int{}
			run(10, 4, 10*time.Second)
			if refused != [2]int{} || q.gate.Refuses() {
				t.Errorf("after the overload %v are refused", refused)
			}
		})
	}
}

// A crowd alone is refused no more than the same messages of many crowds.
func TestACrowdAloneHasAllMessages(t *testing.T) {
	stored := func(conversation func(i uint64) uint64) int {
		q := newQueueOf(20, nil)
		for range 2000 {
			for i := range uint64(40) {
				if c := (overload.Caller{User: 1 + i, Conversation: conversation(i)}); !q.gate.Refuses() || q.gate.Admit(overload.High, c) == nil {
					q.waiting = append(q.waiting, q.now)
				}
			}
			q.run(0, tick)
		}
		return q.stored
	}
	alone, many := stored(func(uint64) uint64 { return 7 }), stored(func(i uint64) uint64 { return 1 + i })
	if alone < many*98/100 {
		t.Errorf("of one conversation %d are stored at twice the capacity, and of many %d, want no fewer", alone, many)
	}
}

func BenchmarkAcquire(b *testing.B) {
	l := overload.NewLimiter(320, 320, time.Second)
	for i := range b.N {
		p, err := l.Acquire(b.Context(), overload.Normal, overload.Caller{User: uint64(i % 5000), Conversation: uint64(i % 700)})
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkAdmit(b *testing.B) {
	q := newQueueOf(100, nil)
	for i := range b.N {
		_ = q.gate.Admit(overload.High, overload.Caller{User: uint64(i % 5000), Conversation: uint64(i % 700)}) // it admits all
	}
}

func BenchmarkGateAtRest(b *testing.B) {
	q := newQueueOf(100, nil)
	for range b.N {
		if q.gate.Refuses() {
			b.Fatal("it refuses")
		}
	}
}
