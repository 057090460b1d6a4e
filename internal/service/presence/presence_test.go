package presence_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/service/presence"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

const (
	offline = presencev1.Status_STATUS_OFFLINE
	online  = presencev1.Status_STATUS_ONLINE
	away    = presencev1.Status_STATUS_AWAY
	busy    = presencev1.Status_STATUS_DO_NOT_DISTURB
)

// push is a presence that was pushed to a user's devices.
type push struct {
	to     id.User
	user   uint64
	status presencev1.Status
}

type (
	directoryService = directory.Service
	presenceService  = presence.Service
)

// world is a directory and the presence above it. Its users are all friends, except for those in apart.
type world struct {
	beforeSessionEnded func() // runs once, before presence learns of the end
	clock              settable
	*directoryService
	*presenceService
	db *sqldb.DB

	mu       sync.Mutex // guards the fields below
	apart    map[id.User]bool
	blocked  map[[2]id.User]bool
	hidden   map[id.User]bool
	settings map[id.User]*accountv1.Settings
	failing  error
	damaged  id.User // whose settings cannot be read
	readings int     // of settings
	// afterFriendsRead runs once, when friends were read, before they are returned. May be nil.
	afterFriendsRead func()
	pushes           []push
}

func (w *world) friendsAmong(_ context.Context, u id.User, users []id.User) (map[id.User]bool, error) {
	w.mu.Lock()
	friends, err, after := map[id.User]bool{}, w.failing, w.afterFriendsRead
	for _, other := range users {
		friends[other] = !w.apart[u] && !w.apart[other]
	}
	w.afterFriendsRead = nil
	w.mu.Unlock()
	if after != nil {
		after()
	}
	return friends, err
}

func (w *world) blockedAmong(_ context.Context, u id.User, users []id.User) (map[id.User]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	blocked := map[id.User]bool{}
	for _, other := range users {
		blocked[other] = w.blocked[[2]id.User{u, other}] || w.blocked[[2]id.User{other, u}]
	}
	return blocked, w.failing
}

func (w *world) settingsOf(_ context.Context, users []id.User) (map[id.User]*accountv1.Settings, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readings++
	settings := map[id.User]*accountv1.Settings{}
	for _, u := range users {
		if u == w.damaged {
			return nil, errors.New("the settings are damaged")
		}
		settings[u] = &accountv1.Settings{}
		if set := w.settings[u]; set != nil {
			settings[u] = proto.CloneOf(set)
		}
		if w.hidden[u] {
			settings[u].WhoMaySeePresence = accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY
		}
	}
	return settings, w.failing
}

// choose changes a user's settings.
func (w *world) choose(u id.User, set *accountv1.Settings) {
	w.mu.Lock()
	w.settings[u] = set
	w.mu.Unlock()
	w.VisibilityChanged(u)
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

// takePushes returns the pushes since the last call.
func (w *world) takePushes() []push {
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

// settable is a wall clock that can be set.
type settable struct{ ahead atomic.Int64 }

func (c *settable) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.ahead.Load())) }

func (c *settable) set(by time.Duration) { c.ahead.Add(int64(by)) }

// bubble runs a test in simulated time, with a running directory and presence.
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
	w := newWorld(db)
	stop, err := w.start("node-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return w, func() {
		// A query that is cancelled while it runs could hang: pgx sleeps then, and database/sql waits for a mutex, so that no time passes here.
		synctest.Wait()
		cancel()
		if err := errors.Join(stop(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func newWorld(db *sqldb.DB) *world {
	return &world{db: db, apart: map[id.User]bool{}, hidden: map[id.User]bool{}, blocked: map[[2]id.User]bool{}, settings: map[id.User]*accountv1.Settings{}}
}

// start runs the directory and presence of a node until stop is called.
func (w *world) start(node string, c *directory.Cluster) (stop func() error, err error) {
	logger := slog.New(slog.DiscardHandler)
	w.directoryService = directory.New(directory.Deps{
		StatusChanged: func(u id.User, visibility bool) { w.StatusChanged(u, visibility) },
		SessionEnded: func(c id.Caller, generation uint32) {
			if w.beforeSessionEnded != nil {
				w.beforeSessionEnded()
			}
			w.SessionEnded(c, generation)
		},
		Departed: func(ctx context.Context, list []directory.Departure) { w.Departed(ctx, list) },
		Clock:    &w.clock, Logger: logger, Node: node, Cluster: c}, directory.Config{})
	w.presenceService, err = presence.New(context.Background(), presence.Deps{DB: w.db, Directory: w.directoryService, FriendsAmong: w.friendsAmong, BlockedAmong: w.blockedAmong,
		SettingsOf: w.settingsOf, Clock: &w.clock, Transient: w.transient, Logger: logger})
	if err != nil {
		return nil, err
	}
	run := func(service func(context.Context) error) func() error {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- service(ctx) }()
		return func() error {
			cancel()
			return <-ended
		}
	}
	stopPresence, stopDirectory := run(w.presenceService.Run), run(w.directoryService.Run)
	if c == nil {
		return func() error { return errors.Join(stopDirectory(), stopPresence()) }, nil
	}
	stopProber := run(cluster.NewProber(cluster.ProberDeps{Bus: c.Bus, Logger: logger, Node: node,
		Topics: []cluster.Topic{{ID: 1, Ask: w.Ask, Answer: w.Answer}},
		Peers:  func() []string { return slices.DeleteFunc(c.Nodes(), func(n string) bool { return n == node }) }}).Run)
	return func() error { return errors.Join(stopProber(), stopDirectory(), stopPresence()) }, nil
}

// pass lets time pass.
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

func (w *world) checkPushes(t *testing.T, want ...push) {
	t.Helper()
	if got := w.takePushes(); !slices.Equal(got, want) {
		t.Errorf("pushed %v, want %v", got, want)
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

// After the wall clock was set back, a user still goes offline after the grace, and the last activity follows the new clock.
func TestClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one := caller(1, 10)
		w.Connected(one)
		w.clock.set(-time.Hour)
		w.Disconnected(one, false)
		at := w.clock.Now()
		pass(32 * time.Second)
		list, err := w.Get(t.Context(), 2, []id.User{1})
		if err != nil || list[0].Status != offline {
			t.Errorf("statuses %v, want offline; error %v", list, err)
		}
		if got := time.UnixMilli(list[0].LastActiveMs); got.After(at) || got.Before(at.Add(-2*time.Second)) {
			t.Errorf("last active at %v, not %v", got, at)
		}
	})
}

func TestBrokenConnectionIsShownAfterGrace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		if got := w.watch(t, two, 1)[0].Status; got != offline {
			t.Errorf("before: %v", got)
		}
		w.Connected(one)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, online})
		pass(10 * time.Second)
		w.Active(caller(1, 10))
		w.Disconnected(one, false)
		if w.Locate(1) != nil {
			t.Error("one without a connection was located")
		}
		pass(28 * time.Second)
		w.checkPushes(t)
		if got := w.status(t, 2, 1); got != online {
			t.Errorf("within the grace: %v", got)
		}
		pass(3 * time.Second)
		w.checkPushes(t, push{2, 1, offline})
		if got := w.status(t, 2, 1); got != offline {
			t.Errorf("after the grace: %v", got)
		}
	})
}

// A silent break is noticed only after the gateway's grace. Then presence adds no grace of its own.
func TestBreakNoticedLateIsShownAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		w.Connected(one)
		w.watch(t, two, 1)
		pass(40 * time.Second)
		w.Active(caller(1, 10)) // the last frame
		pass(30 * time.Second)
		w.checkPushes(t)
		w.Disconnected(one, false)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, offline})
	})
}

func TestFlappingIsNotShown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.Connected(caller(1, 10))
		w.watch(t, two, 1)
		for i := range 20 {
			w.Disconnected(caller(1, 10), false)
			pass(time.Duration(i+5) * time.Second) // each shorter than the grace, together longer
			w.Connected(caller(1, 10))
			pass(time.Second)
		}
		// The grace starts at the last frame, not at an earlier break.
		w.Disconnected(caller(1, 10), false)
		pass(10 * time.Second)
		w.Connected(caller(1, 10))
		pass(19 * time.Second)
		w.Active(caller(1, 10))
		w.Disconnected(caller(1, 10), false)
		pass(28 * time.Second)
		w.checkPushes(t)
		pass(3 * time.Second)
		w.checkPushes(t, push{2, 1, offline})
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
		w.Disconnected(phone, false)
		pass(5 * time.Second)
		w.checkPushes(t)
		w.Active(laptop) // the laptop's last frame: a later break has a grace
		w.Disconnected(laptop, false)
		pass(20 * time.Second)
		w.checkPushes(t)
		w.Connected(laptop)
		w.LoggedOut(1)
		w.Disconnected(laptop, false)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, offline})

		w.Connected(phone)
		pass(time.Second)
		w.Disconnected(phone, false)
		w.LoggedOut(1) // while the grace runs
		pass(time.Second)
		w.checkPushes(t, push{2, 1, online}, push{2, 1, offline})
	})
}

func TestPresenceIsVisibleToFriendsUnlessHidden(t *testing.T) {
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
		w.Disconnected(caller(1, 10), false)
		pass(time.Minute)
		w.Connected(caller(1, 10))
		pass(time.Minute)
		w.checkPushes(t) // not even that something changed

		w.set(w.hidden, 1, false)
		w.VisibilityChanged(1)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, online})
		w.set(w.apart, 1, true)
		if got := w.status(t, 2, 1); got != offline {
			t.Errorf("a user without friends is %v", got)
		}
		w.VisibilityChanged(1)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, offline})
	})
}

// A user who hides while others see them online must not stay online to them forever.
func TestHiddenUserIsShownOffline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.Connected(caller(1, 10))
		w.watch(t, two, 1)
		w.set(w.hidden, 1, true)
		w.LoggedOut(1)
		w.Disconnected(caller(1, 10), false)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, offline})
	})
}

func TestAWatchLastsAsLongAsItsSession(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := caller(2, 20)
		w.Connected(two)
		w.watch(t, two, 1)
		w.Connected(two) // again, before the break of the first is noticed
		w.Disconnected(two, false)
		w.Connected(caller(1, 10))
		pass(time.Second)
		w.checkPushes(t, push{2, 1, online})

		w.watch(t, two, 3) // replaces the other
		w.LoggedOut(1)
		w.Disconnected(caller(1, 10), false)
		w.Connected(caller(3, 30))
		pass(time.Second)
		w.checkPushes(t, push{2, 3, online})

		w.Disconnected(two, false)
		w.watch(t, two, 1) // the session is gone
		w.Connected(caller(1, 10))
		w.LoggedOut(3)
		w.Disconnected(caller(3, 30), false)
		pass(time.Second)
		w.checkPushes(t)
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
			w.Disconnected(caller(1, 10), false)
			pass(10 * time.Millisecond)
		}
		if n := len(w.takePushes()); n > 6 {
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
		w.checkPushes(t)
		if _, err := w.Get(t.Context(), 2, []id.User{1}); err == nil {
			t.Error("Get hid the failure")
		}
		w.fail(nil)
		pass(time.Second)
		w.checkPushes(t, push{2, 1, online})
	})
}

func TestLastActiveIsKept(t *testing.T) {
	path := sqltest.Place(t)
	synctest.Test(t, func(t *testing.T) {
		w, stop := open(t, path)
		w.Connected(caller(1, 10))
		w.Connected(caller(2, 20))
		pass(10 * time.Second)
		w.Active(caller(1, 10))
		w.Active(caller(2, 20))
		last := time.Now().Unix() * 1000
		pass(5 * time.Second)
		w.LoggedOut(1)
		w.Disconnected(caller(1, 10), false)
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
		w, stop = open(t, path) // one user had left, the other was online when the node stopped
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
			t.Errorf("request for 201 users: got error %v", err)
		}
		if list, err := w.Get(t.Context(), 1, many[:200]); err != nil || len(list) != 200 {
			t.Errorf("request for 200 users: got %d, %v", len(list), err)
		}
	})
}

type step struct {
	user   id.User
	action int
	wait   time.Duration
}

// After any sequence of user actions, every watcher has the current status in the end.
func TestWatchersConverge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const users = 4
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			return step{id.User(rapid.IntRange(1, users).Draw(r, "user")), rapid.IntRange(0, 6).Draw(r, "action"),
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
			receive := func() {
				for _, p := range w.takePushes() {
					shown[[2]id.User{p.to, id.User(p.user)}] = p.status
				}
			}
			for _, step := range steps {
				u := step.user
				c := caller(u, id.Session(u)*10)
				switch step.action {
				case 0, 1:
					w.Connected(c)
					connections[u]++
				case 2, 3:
					if connections[u] > 0 {
						w.Disconnected(c, false)
						connections[u]--
					}
				case 4:
					w.LoggedOut(u)
				case 5:
					w.Active(caller(u, id.Session(u)*10))
				case 6:
					pass(step.wait)
					receive()
				}
				if got := w.Locate(u) != nil; got != (connections[u] > 0) {
					faults = append(faults, fmt.Sprintf("user %v is located: %v, with %d connections", u, got, connections[u]))
				}
			}
			pass(40 * time.Second)
			receive()
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
