package presence_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/presence"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

const (
	offline = presencev1.Status_STATUS_OFFLINE
	online  = presencev1.Status_STATUS_ONLINE
)

// push is what one user's devices were told.
type push struct {
	to     id.User
	user   uint64
	status presencev1.Status
}

// world is a presence room whose users are all friends but for those in apart.
type world struct {
	clock settable
	*presence.Service
	db *sqldb.DB

	mu      sync.Mutex // guards all below
	apart   map[id.User]bool
	hidden  map[id.User]bool
	failing error
	pushes  []push
}

func (w *world) friends(_ context.Context, a, b id.User) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.apart[a] && !w.apart[b], w.failing
}

func (w *world) hides(_ context.Context, u id.User) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hidden[u], w.failing
}

func (w *world) transient(users []id.User, frame []byte) {
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(frame, &f); err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range users {
		for _, p := range f.Presences {
			w.pushes = append(w.pushes, push{u, p.User, p.Status})
		}
	}
}

// told gives the pushes since it was last called.
func (w *world) told() []push {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.pushes
	w.pushes = nil
	return list
}

func (w *world) set(of map[id.User]bool, u id.User, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of[u] = yes
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = err
}

// settable is a wall clock that somebody sets.
type settable struct{ ahead atomic.Int64 }

func (c *settable) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.ahead.Load())) }

func (c *settable) set(by time.Duration) { c.ahead.Add(int64(by)) }

// bubble runs a test in faked time, with the room running.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	path := sqltest.Place(t)
	synctest.Test(t, func(t *testing.T) {
		w, stop := open(t, path)
		defer stop()
		test(t, w)
	})
}

func open(t *testing.T, path string) (*world, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	db, err := sqldb.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{db: db, apart: map[id.User]bool{}, hidden: map[id.User]bool{}}
	w.Service, err = presence.New(ctx, presence.Deps{DB: db, Friends: w.friends, Hides: w.hides, Transient: w.transient,
		Clock: &w.clock, Logger: slog.New(slog.DiscardHandler), Node: "node-1"}, presence.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return w, func() {
		cancel()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func caller(u id.User, session id.Session) id.Caller {
	return id.Caller{User: u, Session: session, Device: id.Device(session)}
}

func (w *world) status(t *testing.T, by, u id.User) presencev1.Status {
	t.Helper()
	list, err := w.Get(t.Context(), by, []id.User{u})
	if err != nil || len(list) != 1 || list[0].User != uint64(u) {
		t.Fatalf("got %v, %v", list, err)
	}
	return list[0].Status
}

func (w *world) wants(t *testing.T, want ...push) {
	t.Helper()
	if got := w.told(); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func (w *world) watch(t *testing.T, c id.Caller, users ...id.User) []*presencev1.Presence {
	t.Helper()
	list, err := w.Watch(t.Context(), c.User, c.Session, users)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestTheClockIsSetBack: who left is offline after their grace all the same, and when they were there is told by the clock of now.
func TestTheClockIsSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one := caller(1, 10)
		w.Connected(one)
		w.clock.set(-time.Hour)
		w.Disconnected(one)
		at := w.clock.Now()
		pass(32 * time.Second)
		list, err := w.Get(t.Context(), 2, []id.User{1})
		if err != nil || list[0].Status != offline {
			t.Errorf("%v, %v", list, err)
		}
		if got := time.UnixMilli(list[0].LastActiveMs); got.After(at) || got.Before(at.Add(-2*time.Second)) {
			t.Errorf("last active at %v, not %v", got, at)
		}
	})
}

func TestABrokenConnectionShowsAfterItsGrace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		if got := w.watch(t, two, 1)[0].Status; got != offline {
			t.Errorf("before: %v", got)
		}
		w.Connected(one)
		pass(time.Second)
		w.wants(t, push{2, 1, online})
		pass(10 * time.Second)
		w.Active(1)
		w.Disconnected(one)
		if w.Locate(1) != nil {
			t.Error("one without a connection was located")
		}
		pass(28 * time.Second)
		w.wants(t)
		if got := w.status(t, 2, 1); got != online {
			t.Errorf("within the grace: %v", got)
		}
		pass(3 * time.Second)
		w.wants(t, push{2, 1, offline})
		if got := w.status(t, 2, 1); got != offline {
			t.Errorf("after the grace: %v", got)
		}
	})
}

// A break without a sign is noticed when the grace of silence is over: then there is no other to wait for.
func TestABreakThatIsNoticedLateShowsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		w.Connected(one)
		w.watch(t, two, 1)
		pass(40 * time.Second)
		w.Active(1) // the last frame
		pass(30 * time.Second)
		w.wants(t)
		w.Disconnected(one)
		pass(time.Second)
		w.wants(t, push{2, 1, offline})
	})
}

func TestAFlapShowsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.Connected(caller(1, 10))
		w.watch(t, two, 1)
		for i := range 20 {
			w.Disconnected(caller(1, 10))
			pass(time.Duration(i+5) * time.Second) // each shorter than the grace, all together longer
			w.Connected(caller(1, 10))
			pass(time.Second)
		}
		// The grace begins at the last frame, not at a break before.
		w.Disconnected(caller(1, 10))
		pass(10 * time.Second)
		w.Connected(caller(1, 10))
		pass(19 * time.Second)
		w.Active(1)
		w.Disconnected(caller(1, 10))
		pass(28 * time.Second)
		w.wants(t)
		pass(3 * time.Second)
		w.wants(t, push{2, 1, offline})
	})
}

func TestALogoutShowsAtOnceUnlessAnotherDeviceStays(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		phone, laptop, two := caller(1, 10), caller(1, 11), caller(2, 20)
		for _, c := range []id.Caller{phone, laptop, two} {
			w.Connected(c)
		}
		w.watch(t, two, 1)
		w.LoggedOut(1)
		w.Disconnected(phone)
		pass(5 * time.Second)
		w.wants(t)
		w.Active(1) // the laptop's: its break later has its grace
		w.Disconnected(laptop)
		pass(20 * time.Second)
		w.wants(t)
		w.Connected(laptop)
		w.LoggedOut(1)
		w.Disconnected(laptop)
		pass(time.Second)
		w.wants(t, push{2, 1, offline})

		w.Connected(phone)
		pass(time.Second)
		w.Disconnected(phone)
		w.LoggedOut(1) // while the grace runs
		pass(time.Second)
		w.wants(t, push{2, 1, online}, push{2, 1, offline})
	})
}

func TestOnlyFriendsSeeAndNobodySeesOneWhoHides(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.Connected(caller(1, 10))
		w.set(w.hidden, 1, true)
		if got := w.watch(t, two, 1)[0]; got.Status != offline || got.LastActiveMs != 0 {
			t.Errorf("a hidden one is %v", got)
		}
		if got := w.status(t, 1, 1); got != online {
			t.Errorf("to oneself: %v", got)
		}
		w.Disconnected(caller(1, 10))
		pass(time.Minute)
		w.Connected(caller(1, 10))
		pass(time.Minute)
		w.wants(t) // not even that something changed

		w.set(w.hidden, 1, false)
		w.Changed(1)
		pass(time.Second)
		w.wants(t, push{2, 1, online})
		w.set(w.apart, 1, true)
		if got := w.status(t, 2, 1); got != offline {
			t.Errorf("a stranger is %v", got)
		}
		w.Changed(1)
		pass(time.Second)
		w.wants(t, push{2, 1, offline})
	})
}

// One who hides while others see them online must not stay so for ever.
func TestOneWhoHidesAndLeavesIsShownAsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.Connected(caller(1, 10))
		w.watch(t, two, 1)
		w.set(w.hidden, 1, true)
		w.LoggedOut(1)
		w.Disconnected(caller(1, 10))
		pass(time.Second)
		w.wants(t, push{2, 1, offline})
	})
}

func TestAWatchLastsAsLongAsItsSession(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.watch(t, two, 1)
		w.Connected(two) // again, before the break of the first is noticed
		w.Disconnected(two)
		w.Connected(caller(1, 10))
		pass(time.Second)
		w.wants(t, push{2, 1, online})

		w.watch(t, two, 3) // in place of the other
		w.LoggedOut(1)
		w.Disconnected(caller(1, 10))
		w.Connected(caller(3, 30))
		pass(time.Second)
		w.wants(t, push{2, 3, online})

		w.Disconnected(two)
		w.watch(t, two, 1) // its answer has nowhere to go
		w.Connected(caller(1, 10))
		w.LoggedOut(3)
		w.Disconnected(caller(3, 30))
		pass(time.Second)
		w.wants(t)
	})
}

func TestAStormIsOnePushASecond(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.watch(t, two, 1)
		for range 500 {
			w.Connected(caller(1, 10))
			w.LoggedOut(1)
			w.Disconnected(caller(1, 10))
			pass(10 * time.Millisecond)
		}
		if n := len(w.told()); n > 6 {
			t.Errorf("%d pushes in 5 s", n)
		}
	})
}

func TestAFailedCheckIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.watch(t, two, 1)
		w.fail(errors.New("the records are away"))
		w.Connected(caller(1, 10))
		pass(3 * time.Second)
		w.wants(t)
		if _, err := w.Get(t.Context(), 2, []id.User{1}); err == nil {
			t.Error("Get hid the failure")
		}
		w.fail(nil)
		pass(time.Second)
		w.wants(t, push{2, 1, online})
	})
}

func TestLastActiveIsKept(t *testing.T) {
	path := sqltest.Place(t)
	synctest.Test(t, func(t *testing.T) {
		w, stop := open(t, path)
		w.Connected(caller(1, 10))
		w.Connected(caller(2, 20))
		pass(10 * time.Second)
		w.Active(1)
		w.Active(2)
		last := time.Now().Unix() * 1000
		pass(5 * time.Second)
		w.LoggedOut(1)
		w.Disconnected(caller(1, 10))
		pass(time.Second)
		check := func(w *world) {
			t.Helper()
			list, err := w.Get(t.Context(), 9, []id.User{1, 2, 3})
			if err != nil {
				t.Fatal(err)
			}
			if list[0].LastActiveMs != last || list[1].LastActiveMs != last || list[2].LastActiveMs != 0 {
				t.Errorf("got %v, want %d for the first two", list, last)
			}
		}
		check(w)
		stop()
		w, stop = open(t, path) // one had left, the other was online at the stop
		defer stop()
		check(w)
	})
}

func TestLimits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		many := make([]id.User, 501)
		for i := range many {
			many[i] = id.User(i + 1)
		}
		c := caller(1, 10)
		w.Connected(c)
		if _, err := w.Watch(t.Context(), 1, 10, many); !errs.Is(err, errs.Invalid) {
			t.Errorf("501 watched: %v", err)
		}
		w.watch(t, c, many[:500]...)
		if _, err := w.Get(t.Context(), 1, many[:201]); !errs.Is(err, errs.Invalid) {
			t.Errorf("201 asked for: %v", err)
		}
		if list, err := w.Get(t.Context(), 1, many[:200]); err != nil || len(list) != 200 {
			t.Errorf("200 asked for: %d, %v", len(list), err)
		}
	})
}

type step struct {
	user id.User
	deed int
	wait time.Duration
}

// Whatever users do, everyone ends up told what is.
func TestWatchersEndUpRight(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const users = 4
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			return step{id.User(rapid.IntRange(1, users).Draw(r, "user")), rapid.IntRange(0, 6).Draw(r, "deed"),
				time.Duration(rapid.IntRange(1, 20_000).Draw(r, "ms")) * time.Millisecond}
		}), 1, 40).Draw(r, "steps")
		path := sqltest.Place(t)
		var faults []string // of the bubble, whose goroutine is not that of r
		synctest.Test(t, func(t *testing.T) {
			w, stop := open(t, path)
			defer stop()
			shown := map[[2]id.User]presencev1.Status{} // by watcher and user
			connections := map[id.User]int{}
			watcher := caller(100, 1000)
			w.Connected(watcher)
			all := make([]id.User, users)
			for i := range all {
				all[i] = id.User(i + 1)
			}
			for _, p := range w.watch(t, watcher, all...) {
				shown[[2]id.User{100, id.User(p.User)}] = p.Status
			}
			hear := func() {
				for _, p := range w.told() {
					shown[[2]id.User{p.to, id.User(p.user)}] = p.status
				}
			}
			for _, step := range steps {
				u := step.user
				c := caller(u, id.Session(u)*10)
				switch step.deed {
				case 0, 1:
					w.Connected(c)
					connections[u]++
				case 2, 3:
					if connections[u] > 0 {
						w.Disconnected(c)
						connections[u]--
					}
				case 4:
					w.LoggedOut(u)
				case 5:
					w.Active(u)
				case 6:
					pass(step.wait)
					hear()
				}
				if got := w.Locate(u) != nil; got != (connections[u] > 0) {
					faults = append(faults, fmt.Sprintf("user %v is located: %v, with %d connections", u, got, connections[u]))
				}
			}
			pass(40 * time.Second)
			hear()
			for _, u := range all {
				want := offline
				if connections[u] > 0 {
					want = online
				}
				if got := shown[[2]id.User{100, u}]; got != want {
					faults = append(faults, fmt.Sprintf("user %v is shown %v with %d connections", u, got, connections[u]))
				}
			}
		})
		for _, f := range faults {
			r.Error(f)
		}
	})
}

// BenchmarkMemory tells the bytes per user who is online (BAR-A6 counts them in).
func BenchmarkMemory(b *testing.B) {
	db, err := sqldb.Open(b.Context(), sqltest.Place(b))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const users = 100_000
	for b.Loop() {
		s, err := presence.New(b.Context(), presence.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, presence.Config{})
		if err != nil {
			b.Fatal(err)
		}
		before := heap()
		for u := range id.User(users) {
			s.Connected(caller(u+1, id.Session(u)+1))
		}
		b.ReportMetric(float64(heap()-before)/users, "B/user")
		runtime.KeepAlive(s)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkConnect is what a connection, its location and its end cost a node alone.
func BenchmarkConnect(b *testing.B) {
	db, err := sqldb.Open(b.Context(), sqltest.Place(b))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	s, err := presence.New(b.Context(), presence.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, presence.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := id.User(0)
	for b.Loop() {
		n = n%10_000 + 1
		c := caller(n, id.Session(n))
		s.Connected(c)
		s.Active(n)
		if len(s.Locate(n)) != 1 {
			b.Fatal("not located")
		}
		s.Disconnected(c)
	}
}
