package presence_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// A user is away while all devices are, and not otherwise.
func TestAwayIsTheBestOfAllDevices(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		phone, laptop, two := caller(1, 10), caller(1, 11), caller(2, 20)
		for _, c := range []id.Caller{phone, laptop, two} {
			w.Connected(c)
		}
		w.watch(t, two, 1)
		last := time.Now().Unix() * 1000
		w.SetAway(phone, true)
		pass(2 * time.Second)
		w.checkPushes(t)
		w.SetAway(laptop, true)
		away2 := time.Now().Unix() * 1000
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, away})
		pass(time.Minute)
		w.Active(phone) // a heartbeat is no activity
		w.Active(laptop)
		list, err := w.Get(t.Context(), 2, []id.User{1})
		if err != nil || list[0].Status != away || list[0].LastActiveMs != away2 {
			t.Errorf("away: %v, %v; want last active at %d", list, err, away2)
		}
		devices, err := w.ListDevices(t.Context(), 1)
		if err != nil || len(devices.Devices) != 2 || devices.Devices[0].Session != 10 || devices.Devices[0].LastActiveMs != last || devices.Devices[0].Activity != presencev1.Activity_ACTIVITY_AWAY {
			t.Errorf("devices: %v, %v", devices, err)
		}
		w.Disconnected(laptop, true)
		pass(2 * time.Second)
		w.checkPushes(t)
		w.SetAway(phone, false)
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, online})
		w.Connected(laptop) // a new connection is active
		w.SetAway(phone, true)
		pass(2 * time.Second)
		w.checkPushes(t)
		w.Disconnected(laptop, false) // which leaves the phone, which is away
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, away})
	})
}

// A browser has a connection for each window. The device is away while all of them are in the background.
func TestADeviceIsAwayWithAllItsConnections(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one := caller(1, 10)
		w.Connected(one)
		w.Connected(one)
		check := func(when string, want presencev1.Status) {
			t.Helper()
			if got := w.status(t, 2, 1); got != want {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		w.SetAway(one, true)
		check("one of two windows in the background", online)
		w.SetAway(one, true)
		check("both", away)
		w.SetAway(one, false)
		w.Disconnected(one, false)
		check("the other is closed", away)
		w.Connected(one) // counts as away until it says otherwise
		check("a new window", away)
		w.SetAway(one, false)
		check("that is in front", online)
		w.Disconnected(one, true)
		check("alone", online)
	})
}

// A connection that breaks and is replaced shows nothing, also while the device is away.
func TestFlappingIsNotShownWhileAway(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		w.Connected(one)
		w.SetAway(one, true)
		pass(2 * time.Second)
		w.watch(t, two, 1)
		for range 10 {
			w.Disconnected(one, true)
			pass(5 * time.Second)
			if !w.Connected(one) {
				t.Error("the new connection is not away")
			}
			pass(2 * time.Second)
		}
		w.checkPushes(t)
		if got := w.status(t, 2, 1); got != away {
			t.Errorf("status: %v", got)
		}
		w.SetAway(one, false)
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, online})
	})
}

// Another device than the one that was away when its connection broke is active, as also those are that know no activity.
func TestAnotherDeviceIsNotAwayInTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		laptop, phone := caller(1, 10), caller(1, 11)
		w.Connected(laptop)
		w.SetAway(laptop, true)
		w.Disconnected(laptop, true)
		pass(5 * time.Second)
		if got := w.status(t, 2, 1); got != away {
			t.Errorf("in the grace: %v", got)
		}
		if w.Connected(phone) {
			t.Error("the phone is away")
		}
		if got := w.status(t, 2, 1); got != online {
			t.Errorf("with the phone: %v", got)
		}
	})
}

// The heartbeats of a device that is away are no activity, also not when the user is offline later.
func TestLastActiveIsBeforeAway(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one := caller(1, 10)
		w.Connected(one)
		pass(10 * time.Second)
		at := time.Now().Unix() * 1000
		w.SetAway(one, true)
		pass(time.Hour)
		w.Active(one)
		w.Disconnected(one, true)
		for _, when := range []presencev1.Status{away, offline} {
			list, err := w.Get(t.Context(), 2, []id.User{1})
			if err != nil || list[0].Status != when || list[0].LastActiveMs != at {
				t.Errorf("%v, %v; want %v, last active at %d", list, err, when, at)
			}
			pass(time.Minute)
		}
	})
}

// Who becomes invisible while a watch is being answered is not shown online until the next change.
func TestAUserWhoHidesDuringAWatchIsShownOffline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		w.Connected(one)
		pass(2 * time.Second)
		w.mu.Lock()
		w.afterFriendsRead = func() {
			w.choose(1, &accountv1.Settings{Availability: presencev1.Availability_AVAILABILITY_INVISIBLE})
			pass(2 * time.Second) // a push finds nothing that two was shown
		}
		w.mu.Unlock()
		if got := w.watch(t, two, 1)[0].Status; got != online {
			t.Errorf("the answer to the watch: %v", got) // from before the change
		}
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, offline})
	})
}

// What a user chose is shown to those who watch, and ends when the user said.
func TestStatusThatAUserChose(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := caller(1, 10), caller(2, 20)
		w.Connected(two)
		w.Connected(one)
		w.watch(t, two, 1)
		until := time.Now().Add(time.Hour).UnixMilli()
		w.choose(1, &accountv1.Settings{CustomStatus: &presencev1.CustomStatus{Emoji: "🌴", Text: "away for a while", UntilMs: until}})
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, online})
		w.choose(1, &accountv1.Settings{Locale: "zh", CustomStatus: &presencev1.CustomStatus{Emoji: "🌴", Text: "away for a while", UntilMs: until}})
		pass(2 * time.Second)
		w.checkPushes(t) // nothing that others see has changed
		w.choose(1, &accountv1.Settings{Availability: presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB, CustomStatus: &presencev1.CustomStatus{Emoji: "🌴", UntilMs: until}})
		w.SetAway(one, true)
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, busy})
		w.LoggedOut(1)
		w.Disconnected(one, true)
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, offline})
		custom := func(want string) {
			t.Helper()
			list, err := w.Get(t.Context(), 2, []id.User{1})
			if err != nil || list[0].Custom.GetEmoji() != want || list[0].Status != offline {
				t.Errorf("%v, %v; want custom status %q", list, err, want)
			}
		}
		custom("🌴") // also while offline
		pass(time.Hour)
		custom("")
	})
}

// An invisible user looks like one who hides: no status, no time, no push for anything that the user does. The user sees the truth.
func TestInvisibleUsersLeakNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two, own := caller(1, 10), caller(2, 20), caller(1, 11)
		w.Connected(two)
		w.Connected(one)
		w.watch(t, two, 1)
		w.watch(t, one, 1)
		for _, audience := range []accountv1.WhoMaySee{accountv1.WhoMaySee_WHO_MAY_SEE_FRIENDS, accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE} {
			w.choose(1, &accountv1.Settings{WhoMaySeePresence: audience, Availability: presencev1.Availability_AVAILABILITY_INVISIBLE, CustomStatus: &presencev1.CustomStatus{Text: "shh"}})
			pass(2 * time.Second)
			if got := w.takePushes(); !slices.Contains(got, push{2, 1, offline}) {
				t.Errorf("pushed %v", got)
			}
			for range 3 {
				w.SetAway(one, true)
				pass(2 * time.Second)
				w.SetAway(one, false)
				w.Connected(own)
				pass(2 * time.Second)
				w.Disconnected(own, false)
				pass(2 * time.Second)
			}
			for _, p := range w.takePushes() {
				if p.to != 1 {
					t.Errorf("pushed %v", p)
				}
			}
			list, err := w.Get(t.Context(), 2, []id.User{1})
			if err != nil || list[0].Status != offline || list[0].LastActiveMs != 0 || list[0].Custom != nil {
				t.Errorf("others see %v, %v", list, err)
			}
			if got := w.status(t, 1, 1); got != online {
				t.Errorf("to oneself: %v", got)
			}
			w.choose(1, &accountv1.Settings{})
			pass(2 * time.Second)
			w.takePushes()
		}
	})
}

// Without a choice only friends see a user. Whoever lets everyone see them is not seen by those whom they blocked, and who blocked them.
func TestWhoMaySee(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Connected(caller(1, 10))
		other := caller(2, 20)
		w.Connected(other)
		w.set(w.apart, 2, true)
		if got := w.watch(t, other, 1)[0]; got.Status != offline || got.LastActiveMs != 0 {
			t.Errorf("one who is no friend sees %v", got)
		}
		w.choose(1, &accountv1.Settings{WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE})
		pass(2 * time.Second)
		w.checkPushes(t, push{2, 1, online})
		for _, pair := range [][2]id.User{{1, 2}, {2, 1}} {
			w.mu.Lock()
			w.blocked[pair] = true
			w.mu.Unlock()
			w.VisibilityChanged(1)
			pass(2 * time.Second)
			w.checkPushes(t, push{2, 1, offline})
			if got := w.status(t, 2, 1); got != offline {
				t.Errorf("blocked: %v", got)
			}
			w.mu.Lock()
			w.blocked[pair] = false
			w.mu.Unlock()
			w.VisibilityChanged(1)
			pass(2 * time.Second)
			w.checkPushes(t, push{2, 1, online})
		}
	})
}

// The owner combines the devices of all nodes, whichever node is asked, and a new owner learns it from the nodes.
func TestAwayAcrossNodes(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, c := three(m)
		watcher := caller(9, 90)
		b.Connected(watcher)
		a.connect(1)
		c.Connected(caller(1, 11))
		pass(40 * time.Second) // the owners know all
		b.watch(m.t, watcher, 1)
		b.takePushes()
		expect := func(when string, want presencev1.Status) {
			m.t.Helper()
			pass(3 * time.Second)
			for _, n := range []*member{a, b, c} {
				if got := n.status(m.t, 9, 1); got != want {
					m.t.Errorf("%s: %s says %v, want %v", when, n.name, got, want)
				}
			}
		}
		a.SetAway(caller(1, 10), true)
		expect("one of two", online)
		c.SetAway(caller(1, 11), true)
		expect("both", away)
		b.checkPushes(m.t, push{9, 1, away})
		m.move(partition(1), "n2", true)
		pass(15 * time.Second)
		expect("with a new owner", away)
		for _, n := range []*member{a, b, c} {
			r, err := n.ListDevices(m.t.Context(), 1)
			if err != nil || len(r.Devices) != 2 {
				m.t.Errorf("%s lists %v, %v", n.name, r, err)
				continue
			}
			for _, d := range r.Devices {
				if d.Activity != presencev1.Activity_ACTIVITY_AWAY || d.Session != 10 && d.Session != 11 {
					m.t.Errorf("%s lists %v", n.name, d)
				}
			}
		}
		c.SetAway(caller(1, 11), false)
		expect("one is back", online)
		c.Disconnected(caller(1, 11), false)
		expect("and gone", away)
	})
}

// A node with the only device that is not away is gone: the user is away, and was last active when that node was last heard.
func TestAwayAfterANodeIsGone(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, c := three(m)
		watcher := caller(9, 90)
		b.Connected(watcher)
		c.Connected(caller(1, 11))
		c.SetAway(caller(1, 11), true)
		pass(10 * time.Minute)
		a.connect(1)
		pass(40 * time.Second)
		if got := b.watch(m.t, watcher, 1)[0].Status; got != online {
			m.t.Errorf("before: %v", got)
		}
		b.takePushes()
		gone := time.Now().UnixMilli()
		m.kill("n0")
		pass(45 * time.Second)
		b.checkPushes(m.t, push{9, 1, away})
		list, err := b.Get(m.t.Context(), 9, []id.User{1})
		if err != nil || list[0].LastActiveMs < gone-60_000 {
			m.t.Errorf("%v, %v; want last active at about %d", list, err, gone)
		}
	})
}
