package overload_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/synclist"
)

// fill occupies n workers by different users.
func fill(t *testing.T, l *overload.Limiter, n int) (permits []overload.Permit) {
	t.Helper()
	for i := range n {
		p, err := l.Acquire(t.Context(), overload.Normal, overload.Caller{User: 1_000_000 + uint64(i)})
		if err != nil {
			t.Fatalf("worker %d of %d: %v", i, n, err)
		}
		permits = append(permits, p)
	}
	return permits
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// Below the limit nobody waits or is refused, whatever the priority, and released workers serve others.
func TestNothingIsRefusedBelowTheLimit(t *testing.T) {
	l := overload.NewLimiter(8, 10, time.Hour)
	for range 3 {
		for _, p := range fill(t, l, 10) {
			p.Release()
		}
	}
	for _, p := range overload.Priorities() {
		if err := l.Check(p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	if _, used, waiting := l.State(); used != 0 || waiting != 0 || l.Holders() != 0 {
		t.Errorf("%d at work, %d wait, %d holders", used, waiting, l.Holders())
	}
}

// Waiters are served by priority, and of one priority and user in the order in which they came.
func TestTheMostImportantIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overload.NewLimiter(1, 4, time.Hour)
		l.SetLimit(1)
		permit := fill(t, l, 1)[0]
		var served synclist.List[string]
		var waits sync.WaitGroup
		for _, w := range []struct {
			name     string
			priority overload.Priority
		}{{"preview", overload.Last}, {"read", overload.Normal}} {
			wait(t, l, &waits, &served, w.name, w.priority)
		}
		permit.Release()
		waits.Wait()
		permit = fill(t, l, 1)[0]
		wait(t, l, &waits, &served, "first read", overload.Normal)
		wait(t, l, &waits, &served, "second read", overload.Normal)
		wait(t, l, &waits, &served, "login", overload.First)
		permit.Release()
		waits.Wait()
		if want := []string{"read", "preview", "login", "first read", "second read"}; !slices.Equal(served.All(), want) {
			t.Errorf("served %q, want %q", served.All(), want)
		}
	})
}

// wait has a request of user 1 wait in the queue, and notes when it is served.
func wait(t *testing.T, l *overload.Limiter, waits *sync.WaitGroup, served *synclist.List[string], name string, p overload.Priority) {
	waits.Go(func() {
		permit, err := l.Acquire(context.Background(), p, overload.Caller{User: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		served.Add(name)
		permit.Release()
	})
	synctest.Wait()
}

// A full queue refuses the less important at once, also before anything is known of the caller, and gives their places to the more important.
func TestAFullQueueRefusesTheLeastImportant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overload.NewLimiter(1, 1, time.Hour) // the queue has two places
		permit := fill(t, l, 1)[0]
		evicted := make(chan error, 2)
		for i := range uint64(2) {
			go func() {
				_, err := l.Acquire(context.Background(), overload.Low, overload.Caller{User: i + 1})
				evicted <- err
			}()
		}
		synctest.Wait()
		if err := l.Check(overload.Last); reasonOf(err) != "busy" || errs.Of(err).Retry < time.Second || errs.Of(err).Kind != errs.Unavailable {
			t.Errorf("a preview at a full queue: %v", err)
		}
		if _, err := l.Acquire(t.Context(), overload.Last, overload.Caller{User: 3}); reasonOf(err) != "busy" {
			t.Errorf("a preview at a full queue: %v", err)
		}
		if err := l.Check(overload.First); err != nil {
			t.Errorf("a login at a queue full of searches: %v", err)
		}
		served := make(chan error, 1)
		go func() {
			p, err := l.Acquire(context.Background(), overload.First, overload.Caller{User: 4})
			if err == nil {
				p.Release()
			}
			served <- err
		}()
		synctest.Wait()
		if err := <-evicted; reasonOf(err) != "busy" {
			t.Errorf("the search whose place the login got was answered %v, want busy", err)
		}
		permit.Release()
		if err := <-served; err != nil {
			t.Errorf("the login: %v", err)
		}
		if err := <-evicted; err != nil {
			t.Errorf("the other search: %v", err)
		}
		if err := l.Check(overload.Last); err != nil {
			t.Errorf("a preview once the queue has places: %v", err)
		}
	})
}

// A request waits for a bounded time, and not beyond its context. Then it holds nothing.
func TestWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overload.NewLimiter(1, 1, time.Second)
		permit := fill(t, l, 1)[0]
		began := time.Now()
		if _, err := l.Acquire(t.Context(), overload.First, overload.Caller{User: 1}); reasonOf(err) != "busy" || time.Since(began) != time.Second {
			t.Errorf("a call was answered %v after %v, want busy after 1 s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := l.Acquire(ctx, overload.First, overload.Caller{User: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beyond its context: %v", err)
		}
		permit.Release()
		if _, used, waiting := l.State(); used != 0 || waiting != 0 || l.Holders() != 0 {
			t.Errorf("%d at work, %d wait, %d holders", used, waiting, l.Holders())
		}
	})
}

// Whoever has a fifth of the workers is refused at once while half of them are at work: a user, an API key with all its users, an address with all its users.
// Others are not, and neither is anyone while the rest is idle.
func TestAFifthOfTheWorkersIsTheMostOfOneCaller(t *testing.T) {
	home := netip.MustParsePrefix("192.0.2.1/32")
	for name, caller := range map[string]func(i int) overload.Caller{
		"a user":     func(int) overload.Caller { return overload.Caller{User: 7} },
		"an API key": func(i int) overload.Caller { return overload.Caller{User: uint64(i), Key: "shop"} },
		"an address": func(i int) overload.Caller { return overload.Caller{User: uint64(i), Network: home} },
	} {
		t.Run(name, func(t *testing.T) {
			l := overload.NewLimiter(8, 100, time.Hour)
			var own []overload.Permit
			acquire := func() error {
				p, err := l.Acquire(t.Context(), overload.First, caller(1+len(own)))
				if err == nil {
					own = append(own, p)
				}
				return err
			}
			for range 50 {
				if err := acquire(); err != nil {
					t.Fatalf("%d are at work, half of the workers: %v", len(own), err)
				}
			}
			if err := acquire(); reasonOf(err) != "too_many_calls" || errs.Of(err).Kind != errs.Exhausted {
				t.Errorf("with half of the workers: %v", err)
			}
			for _, p := range own[:31] {
				p.Release()
			}
			others := fill(t, l, 50)
			own = own[31:]
			if err := acquire(); err != nil {
				t.Errorf("with %d of 100 workers: %v", len(own), err)
			}
			if err := acquire(); reasonOf(err) != "too_many_calls" {
				t.Errorf("with %d of 100 workers: %v", len(own), err)
			}
			for _, p := range slices.Concat(own, others) {
				p.Release()
			}
			if n := l.Holders(); n != 0 {
				t.Errorf("%d holders hold nothing", n)
			}
		})
	}
}

// A rising limit lets waiters work.
func TestARisingLimitAdmitsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overload.NewLimiter(1, 4, time.Hour)
		l.SetLimit(1)
		fill(t, l, 1)
		served := make(chan error, 3)
		for i := range uint64(3) {
			go func() {
				_, err := l.Acquire(context.Background(), overload.Normal, overload.Caller{User: i + 1})
				served <- err
			}()
		}
		synctest.Wait()
		l.SetLimit(3)
		synctest.Wait()
		if limit, used, waiting := l.State(); limit != 3 || used != 3 || waiting != 1 || len(served) != 2 {
			t.Errorf("of a limit of %d, %d are at work, %d wait, and %d were served", limit, used, waiting, len(served))
		}
		l.SetLimit(100)
		synctest.Wait()
		if limit, used, _ := l.State(); limit != 4 || used != 4 {
			t.Errorf("of a limit of %d, %d are at work", limit, used)
		}
	})
}

// Limits fall while work waits for processors, never below their least, and rise to their most when it does not.
func TestLimitsFollowTheProcessors(t *testing.T) {
	c := overload.NewCalls(overload.Config{CallWorkers: 400}, nil)
	most := map[overload.Class]int{overload.Chat: 400, overload.Login: 100, overload.Password: 100, overload.Message: 400, overload.Feed: 400, overload.Media: 100, overload.Search: 50, overload.Server: 400}
	check := func(when string, want func(most int) int) {
		t.Helper()
		for class, m := range most {
			if got := c.State(class).Limit; got != want(m) {
				t.Errorf("%s, the limit of %v is %d, want %d", when, class, got, want(m))
			}
		}
	}
	check("at first", func(m int) int { return m })
	c.Adapt(20 * time.Millisecond)
	check("while work waits, and nobody calls", func(m int) int { return max(8, m/8) })
	c.Adapt(3 * time.Millisecond)
	check("between", func(m int) int { return max(8, m/8) })
	for range 30 {
		c.Adapt(0)
	}
	check("after it", func(m int) int { return m })
}

// A crowd of logins, which would come again, waits for longer than other calls.
func TestLoginsWaitLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overload.NewCalls(overload.Config{CallWorkers: 8, CallWait: time.Second}, nil)
		for i := range uint64(8) {
			for _, class := range []overload.Class{overload.Login, overload.Password, overload.Chat} {
				if _, err := c.Acquire(t.Context(), class, overload.First, overload.Caller{User: i + 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for class, want := range map[overload.Class]time.Duration{overload.Login: 10 * time.Second, overload.Password: 10 * time.Second, overload.Chat: time.Second} {
			began := time.Now()
			if _, err := c.Acquire(t.Context(), class, overload.First, overload.Caller{User: 9}); reasonOf(err) != "busy" || time.Since(began) != want {
				t.Errorf("%v: after %v, %v", class, time.Since(began), err)
			}
		}
	})
}

// A crowd that logs in behind one address waits instead of being refused, up to a fifth of the room. It has a fifth of the workers while others need them, and
// a login from elsewhere goes before those that wait.
func TestACrowdBehindOneAddressWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overload.NewCalls(overload.Config{CallWorkers: 400, CallWait: time.Hour}, nil)
		crowd, done := overload.Caller{Network: netip.MustParsePrefix("192.0.2.1/32")}, make(chan overload.Permit, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		var logins sync.WaitGroup
		login := func(by overload.Caller) {
			logins.Go(func() {
				if p, err := c.Acquire(ctx, overload.Password, overload.First, by); err == nil {
					done <- p
				}
			})
			synctest.Wait()
		}
		for range 220 {
			login(crowd)
		}
		if s := c.State(overload.Password); s.Working != 50 || s.Waiting != 170 || s.OverShare != 0 {
			t.Errorf("of 220 logins of a crowd: %+v", s)
		}
		if _, err := c.Acquire(t.Context(), overload.Password, overload.First, crowd); reasonOf(err) != "too_many_calls" {
			t.Errorf("beyond a fifth of the workers and of the room: %v", err)
		}
		for i := range 51 {
			login(overload.Caller{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 32)})
		}
		if s := c.State(overload.Password); s.Working != 100 || s.Waiting != 171 {
			t.Errorf("with 51 logins of others the state is %+v, want 100 working and 171 waiting", s)
		}
		(<-done).Release() // one of the crowd, which had more than its share
		synctest.Wait()
		if s := c.State(overload.Password); s.Working != 100 || s.Waiting != 170 {
			t.Errorf("once a worker is free, for the other one that waits: %+v", s)
		}
		for range 100 { // all are served in the end
			(<-done).Release()
			synctest.Wait()
		}
		for range 170 {
			(<-done).Release()
		}
		cancel()
		logins.Wait()
		if s := c.State(overload.Password); s.Working != 0 || s.Waiting != 0 || c.Holders(overload.Password) != 0 {
			t.Errorf("afterwards: %+v, %d holders", s, c.Holders(overload.Password))
		}
	})
}

// While processors are busy, the crowd gets half of the few workers, and others find the rest free.
func TestACrowdLeavesFewWorkersToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overload.NewCalls(overload.Config{CallWorkers: 400, CallWait: time.Second}, nil)
		c.Adapt(time.Second)
		var logins sync.WaitGroup
		for range 30 {
			logins.Go(func() {
				_, _ = c.Acquire(t.Context(), overload.Login, overload.First, overload.Caller{Network: netip.MustParsePrefix("192.0.2.1/32")}) // some wait in vain
			})
		}
		synctest.Wait()
		if s := c.State(overload.Login); s.Limit != 12 || s.Working != 6 || s.Waiting != 24 {
			t.Errorf("of 30 logins of a crowd: %+v", s)
		}
		if _, err := c.Acquire(t.Context(), overload.Login, overload.First, overload.Caller{Network: netip.MustParsePrefix("198.51.100.1/32")}); err != nil {
			t.Errorf("a login from elsewhere: %v", err)
		}
		logins.Wait()
	})
}

// The measure counts only what happened since the last call.
func TestSchedulerWaits(t *testing.T) {
	waits := overload.SchedulerWaits()
	waits()
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {})
	}
	group.Wait()
	if first := waits(); first < 0 || first > time.Minute {
		t.Errorf("goroutines waited for %v", first)
	}
}
