package ratelimit_test

import (
	"net/http"
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

type clockByHand struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clockByHand { return &clockByHand{now: time.Unix(1_800_000_000, 0)} }

func (c *clockByHand) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clockByHand) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var home = netip.MustParsePrefix("192.0.2.1/32")

// TestEachLimit of the table is reached exactly, by a user and by an address, and comes back at its rate.
func TestEachLimit(t *testing.T) {
	for route, want := range map[ratelimit.Route]struct {
		user, address int // bursts
		next          time.Duration
	}{
		ratelimit.Call:    {2000, 20_000, time.Second / 200},
		ratelimit.Send:    {50_000, 100_000, time.Second / 5000},
		ratelimit.Frame:   {20_000, 100_000, time.Second / 5000},
		ratelimit.Search:  {120, 1200, time.Minute / 120},
		ratelimit.Friend:  {200, 2000, time.Hour / 200},
		ratelimit.Invite:  {20_000, 100_000, time.Hour / 10_000},
		ratelimit.Group:   {100, 1000, time.Hour / 100},
		ratelimit.Join:    {100, 2000, time.Hour / 100},
		ratelimit.Added:   {100, 0, time.Hour / 100},
		ratelimit.Upload:  {500, 5000, time.Hour / 1000},
		ratelimit.Link:    {100, 1000, time.Hour / 100},
		ratelimit.Bridge:  {20, 200, time.Hour / 20},
		ratelimit.Preview: {30, 300, time.Minute / 30},
		ratelimit.Ticket:  {100, 1000, time.Hour / 600},
	} {
		t.Run(route.String(), func(t *testing.T) {
			clock := newClock()
			table, err := ratelimit.NewTable(ratelimit.Config{}, clock, nil)
			if err != nil {
				t.Fatal(err)
			}
			refused := func(user uint64, from netip.Prefix) *errs.Error {
				t.Helper()
				err := table.Allow(route, user, from, 1)
				if err == nil {
					t.Fatal("a call above the limit was allowed")
				}
				e := errs.Of(err)
				if e.Kind != errs.Exhausted || e.Reason != "too_many_requests" || e.Retry <= 0 {
					t.Fatalf("%v, again after %v", e, e.Retry)
				}
				return e
			}
			for n := range want.user {
				if err := table.Allow(route, 1, netip.Prefix{}, 1); err != nil {
					t.Fatalf("%d of %d: %v", n+1, want.user, err)
				}
			}
			if e := refused(1, netip.Prefix{}); e.Retry > want.next+time.Millisecond || e.Retry < want.next-time.Millisecond {
				t.Errorf("again after %v, want %v", e.Retry, want.next)
			}
			if err := table.Allow(route, 2, home, 0); err != nil {
				t.Errorf("a cost of 0: got %v, want it allowed", err)
			}
			clock.move(want.next + time.Millisecond)
			if err := table.Allow(route, 1, netip.Prefix{}, 1); err != nil {
				t.Errorf("after %v: %v", want.next, err)
			}
			if want.address == 0 {
				return
			}
			for n := range want.address { // by as many users
				if err := table.Allow(route, uint64(n+10), home, 1); err != nil {
					t.Fatalf("%d of an address: %v", n+1, err)
				}
			}
			const other = 9
			refused(other, home)
			for n := range want.user { // a call that the address limit refused is not charged to the user
				if err := table.Allow(route, other, netip.Prefix{}, 1); err != nil {
					t.Fatalf("%d: %v", n+1, err)
				}
			}
			if n := table.Refused(route); n != 2 {
				t.Errorf("counted refusals: got %d, want 2", n)
			}
		})
	}
	if n := len(ratelimit.Routes()); n != 15 { // and UnauthenticatedPing
		t.Errorf("got %d routes, want 15", n)
	}
}

// TestTheLimitWithoutCredentials is of an address, and of no user.
func TestTheLimitWithoutCredentials(t *testing.T) {
	clock := newClock()
	table, err := ratelimit.NewTable(ratelimit.Config{}, clock, func() int { return 4 }) // of which each has a socket's limit
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		for table.Allow(ratelimit.UnauthenticatedPing, 0, home, 1) == nil {
			n++
		}
		return n
	}
	if n := count(); n != 5000 {
		t.Errorf("an address sends %d frames at once, want 5000", n)
	}
	if clock.move(time.Second); count() != 1000 {
		t.Error("the limit does not come back by 1000 in a second")
	}
	if err := table.Allow(ratelimit.UnauthenticatedPing, 7, netip.Prefix{}, 100_000); err != nil {
		t.Errorf("a user is limited: %v", err)
	}
	if n := table.Refused(ratelimit.UnauthenticatedPing); n != 2 {
		t.Errorf("%d refusals are counted", n)
	}
}

// A flood of new keys does not reset existing ones: the new keys share the remaining entries, and a limited key stays limited.
func TestFloodOfKeysResetsNoLimit(t *testing.T) {
	clock := newClock()
	l := ratelimit.New[int](ratelimit.Rate{Count: 2, Per: time.Minute, Burst: 2}, clock, nil)
	for range 2 {
		if wait := l.Allow(-1, 1); wait != 0 {
			t.Fatalf("the first operation of a key has to wait for %v, want 0", wait)
		}
	}
	allowed, refused := 0, 0
	const keys = 200_000
	for key := range keys {
		if key == keys*3/4 { // full shards are swept again
			clock.move(2 * time.Second)
		}
		if l.Allow(key, 1) == 0 {
			allowed++
		} else {
			refused++
		}
	}
	if got := l.Keys(); got > 100_000 {
		t.Errorf("%d keys are kept", got)
	}
	// Keys with an entry of their own, and in each of 16 shards 200 keys without one, and 7 during the two seconds.
	if allowed > 100_000+16*207 || allowed < 90_000 || refused == 0 {
		t.Errorf("of %d keys, %d were allowed and %d refused; want 90,000 to 103,312 allowed, and some refused", keys, allowed, refused)
	}
	if wait := l.Allow(-1, 1); wait == 0 {
		t.Error("the flood reset the limit of the first key")
	}
	clock.move(time.Minute)
	if wait := l.Allow(keys+1, 1); wait != 0 {
		t.Errorf("after a minute a new key waits %v", wait)
	}
	for key := range 1000 { // each shard is used again
		l.Allow(-key, 1)
	}
	if got := l.Keys(); got > 2000 {
		t.Errorf("%d keys are kept that are as new ones", got)
	}
}

func TestDebtDelaysLaterCalls(t *testing.T) {
	clock := newClock()
	l := ratelimit.New[string](ratelimit.Rate{Count: 10, Per: time.Second, Burst: 20}, clock, nil)
	for _, c := range []struct {
		n    int
		want time.Duration
	}{{20, 0}, {10, time.Second}, {0, time.Second}, {45, 5500 * time.Millisecond}} {
		if wait := l.Charge("a", c.n); wait != c.want {
			t.Errorf("after %d: %v, want %v", c.n, wait, c.want)
		}
	}
	clock.move(1500 * time.Millisecond) // full buckets are dropped meanwhile
	if wait := l.Charge("a", 0); wait != 4*time.Second {
		t.Errorf("%v are owed, want 4s", wait)
	}
	clock.move(time.Hour)
	if wait := l.Allow("a", 21); wait != 0 {
		t.Errorf("more than fit wait %v", wait)
	}
	if wait := l.Allow("a", 1); wait != 100*time.Millisecond {
		t.Errorf("the wait is %v, want 100 ms", wait)
	}
}

// TestSharesOfNodes: the limit once for all, but a quarter of it for each.
func TestSharesOfNodes(t *testing.T) {
	for nodes, want := range map[int]int{0: 100, 1: 100, 2: 50, 3: 34, 4: 25, 30: 25} {
		l := ratelimit.New[int](ratelimit.Rate{Count: 100, Per: time.Minute, Burst: 100}, newClock(), func() int { return nodes })
		got := 0
		for l.Allow(1, 1) == 0 {
			got++
		}
		if got != want {
			t.Errorf("each of %d nodes allows %d, want %d", nodes, got, want)
		}
	}
	nodes := 1
	l := ratelimit.New[int](ratelimit.Rate{Count: 100, Per: time.Minute, Burst: 100}, newClock(), func() int { return nodes })
	l.Allow(1, 1)
	nodes = 2
	got := 0
	for l.Allow(1, 1) == 0 {
		got++
	}
	if got != 50 {
		t.Errorf("of two nodes one allows %d that knew the key before", got)
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]ratelimit.Rate{
		"none": {}, "20/s": {Count: 20, Per: time.Second, Burst: 20}, "1/m": {Count: 1, Per: time.Minute, Burst: 1}, "100/h burst 500": {Count: 100, Per: time.Hour, Burst: 500},
	} {
		if got, err := ratelimit.Parse(text); err != nil || got != want {
			t.Errorf("%q is parsed as %v, want %v; error %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "0/s", "20", "20/d", "20/s burst", "20/s burst 0", "-1/s", "9999999999/s", "20/s  burst 3", "20/s\n"} {
		if got, err := ratelimit.Parse(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if err := (ratelimit.Config{SearchUser: "often", LinkAddress: "x"}).Check(); err == nil {
		t.Error("invalid rates were accepted")
	} else if got, want := err.Error(), "limits.search_user: \"often\" is not a rate; write 20/s, 600/m, 100/h burst 500, or none\nlimits.link_address: \"x\" is not a rate; write 20/s, 600/m, 100/h burst 500, or none"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	free, err := ratelimit.NewTable(ratelimit.Config{GroupUser: "none", GroupAddress: "1/h"}, newClock(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err := free.Allow(ratelimit.Group, 1, netip.Prefix{}, 1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		peer    string
		said    []string
		proxied bool
		want    string
	}{
		{"192.0.2.7:80", nil, false, "192.0.2.7/32"},
		{"[::ffff:192.0.2.7]:80", nil, false, "192.0.2.7/32"},
		{"[2001:db8:1:2:3::4%eth0]:80", nil, false, "2001:db8:1:2::/64"},
		{"192.0.2.7:80", []string{"198.51.100.1"}, false, "192.0.2.7/32"},
		{"127.0.0.1:80", []string{"198.51.100.1"}, false, "198.51.100.1/32"},
		{"10.0.0.1:80", []string{"198.51.100.1", "10.9.9.9, 198.51.100.2"}, true, "198.51.100.2/32"},
		{"127.0.0.1:80", nil, false, "invalid Prefix"},
		{"10.0.0.1:80", nil, true, "invalid Prefix"},
		{"10.0.0.1:80", []string{"unknown"}, true, "invalid Prefix"},
		{"10.0.0.1:80", []string{"10.9.9.9, 198.51.100.2:4711"}, true, "198.51.100.2/32"},
		{"10.0.0.1:80", []string{"[2001:db8:1:2:3::4]:4711"}, true, "2001:db8:1:2::/64"},
		{"10.0.0.1:80", []string{"198.51.100.2:port"}, true, "invalid Prefix"},
		{"@", nil, false, "invalid Prefix"},
	} {
		if got := ratelimit.Network(c.peer, http.Header{"X-Forwarded-For": c.said}, c.proxied); got.String() != c.want {
			t.Errorf("%v is %v", c, got)
		}
	}
	ctx := ratelimit.WithNetwork(t.Context(), home)
	if got := ratelimit.NetworkOf(ctx); got != home {
		t.Errorf("the network of the context is %v, want %v", got, home)
	}
	if got := ratelimit.NetworkOf(t.Context()); got.IsValid() {
		t.Errorf("a context without a network has the network %v", got)
	}
}

func BenchmarkOwe(b *testing.B) {
	table, err := ratelimit.NewTable(ratelimit.Config{}, newClock(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := uint64(1); pb.Next(); n++ {
			table.Charge(ratelimit.Send, n%200+1, netip.Prefix{}, 0)
		}
	})
}

// A table lists its limits under the names of their settings, with the configured rates, and counts the keys in use.
func TestTheLimitsOfATable(t *testing.T) {
	table, err := ratelimit.NewTable(ratelimit.Config{SendUser: "7/m burst 3", SearchAddress: "none"}, newClock(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Allow(ratelimit.Send, 1, netip.Prefix{}, 1); err != nil {
		t.Fatal(err)
	}
	found := map[string]ratelimit.Limit{}
	for _, l := range table.Limits() {
		if found[l.Setting].Setting != "" {
			t.Errorf("%s is listed twice", l.Setting)
		}
		found[l.Setting] = l
	}
	if l := found["send_user"]; l.Route != ratelimit.Send || l.Rate != (ratelimit.Rate{Count: 7, Burst: 3, Per: time.Minute}) || l.Keys() != 1 {
		t.Errorf("send_user is %+v with %d keys", l, l.Keys())
	}
	if l := found["search_address"]; l.Route != ratelimit.Search || l.Rate != (ratelimit.Rate{}) || l.Keys() != 0 {
		t.Errorf("search_address is %+v", l)
	}
	if l := found["call_user"]; l.Rate.Count != 200 || l.Rate.Burst != 2000 {
		t.Errorf("call_user is %+v, want the default", l)
	}
	if want := reflect.TypeFor[ratelimit.Config]().NumField(); len(found) != want {
		t.Errorf("%d limits are listed, want %d", len(found), want)
	}
}
