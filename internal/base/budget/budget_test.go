package budget

import (
	"net/netip"
	"sync"
	"testing"
)

// Large holds leave capacity for small ones. Released bytes are available again.
func TestLargeHoldsLeaveCapacityForSmallOnes(t *testing.T) {
	b := New(Config{Bytes: 48 << 20, NetworkShare: Share})
	large := make([]Hold, 1000)
	took := 0
	for i := range large {
		for n := 64 << 10; n <= 1<<20 && large[i].Set(b, Owner{}, n); n += 64 << 10 {
			took = max(took, i+1)
		}
	}
	if held := b.Used(); held > b.Limit() || held < b.Limit()/2 {
		t.Errorf("large holds have %d of %d bytes", held, b.Limit())
	}
	if took < 40 {
		t.Errorf("%d large holds were granted, want at least 40", took)
	}
	for i := range 50 {
		var one Hold
		if !one.Set(b, Owner{}, Small) {
			t.Fatalf("small hold %d is refused: %d of %d bytes are held", i, b.Used(), b.Limit())
		}
	}
	if b.Refused() == 0 {
		t.Error("no refusal was counted")
	}
	before := b.Used()
	var total int64
	for i := range large {
		total += large[i].bytes
		large[i].Release()
		large[i].Release() // a second release does nothing
	}
	if b.Used() != before-total {
		t.Errorf("%d bytes are held: %d before, and %d were released", b.Used(), before, total)
	}
	var one Hold
	if !one.Set(b, Owner{}, 1<<20) || !one.Set(b, Owner{}, 100) || one.bytes != 100 {
		t.Error("released bytes are not available, or a hold does not shrink")
	}
}

// A few users with many sockets each, or a few addresses with many bodies, cannot hold the whole budget, whether their holds are large or
// small.
func TestFewOwnersLeaveCapacityForOthers(t *testing.T) {
	address := func(n int) netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), 32) }
	for name, owner := range map[string]func(n int) Owner{
		"users":                         func(n int) Owner { return Owner{User: uint64(n)} },
		"networks":                      func(n int) Owner { return Owner{Network: address(n)} },
		"many users of three addresses": func(n int) Owner { return Owner{User: uint64(n), Network: address(n % 3)} },
	} {
		for _, size := range []int{Small, 64 << 10} {
			c := Config{Bytes: 12 << 20, NetworkShare: Share}
			if name == "many users of three addresses" {
				c.NetworkShare = NetworkOfUsers
			}
			b := New(c)
			var holds []*Hold
			for n := range 10 {
				for h := new(Hold); h.Set(b, owner(n+1), size); h = new(Hold) {
					if holds = append(holds, h); len(holds) > int(b.Limit())/size {
						t.Fatalf("%s: more bytes are held than the limit", name)
					}
				}
			}
			if used := b.Used(); used < b.Limit()/2 || used > b.Limit()*4/5 {
				t.Errorf("%s with holds of %d bytes: ten owners hold %d of %d", name, size, used, b.Limit())
			}
			var large, small Hold
			if !large.Set(b, Owner{101, address(101)}, 256<<10) || !small.Set(b, Owner{102, address(102)}, Small) {
				t.Errorf("%s with holds of %d bytes: an owner without holds is refused", name, size)
			}
			large.Release()
			small.Release()
			for _, h := range holds {
				h.Release()
			}
			if b.Used() != 0 || len(b.users) != 0 || len(b.networks) != 0 {
				t.Errorf("%s: %d bytes, %d users and %d networks remain", name, b.Used(), len(b.users), len(b.networks))
			}
		}
	}
}

func TestHoldersMoveBetweenBudgets(t *testing.T) {
	first, second := New(Config{Bytes: 16 << 20, NetworkShare: Share}), New(Config{Bytes: 48 << 20, NetworkShare: NetworkOfUsers})
	var h Hold
	if !h.Set(first, Owner{}, 5000) || first.Used() != 5000 {
		t.Error("the bytes are not charged to the first budget")
	}
	if !h.Set(second, Owner{User: 7}, 6000) || first.Used() != 0 || second.Used() != 6000 {
		t.Error("the hold did not move to the other budget")
	}
	if !h.Set(first, Owner{}, 0) || second.Used() != 0 {
		t.Error("bytes are held after the hold was emptied")
	}
}

// Bytes that are acquired without a Hold count like those of holds, and have the bound of a user besides its share.
func TestAcquiredBytesCount(t *testing.T) {
	b := New(Config{Bytes: 48 << 20, NetworkShare: NetworkOfUsers, User: 2 << 20})
	one := Owner{User: 1, Network: netip.MustParsePrefix("192.0.2.1/32")}
	for n := range 2 {
		if !b.Fits(one, 1<<20) || !b.Acquire(one, 1<<20) {
			t.Fatalf("hold %d is refused", n+1)
		}
	}
	if b.Fits(one, 1) || b.Acquire(one, 1) {
		t.Error("a user holds more than the bound of one user")
	}
	if users, networks := b.Owners(); b.Used() != 2<<20 || b.Refused() != 1 || users != 1 || networks != 1 {
		t.Errorf("%d bytes of %d users and %d networks, %d refused", b.Used(), users, networks, b.Refused())
	}
	b.Release(one, 1<<20)
	if !b.Acquire(one, 1<<20) {
		t.Error("released bytes are not available")
	}
	b.Release(one, 2<<20)
	if users, networks := b.Owners(); b.Used() != 0 || users != 0 || networks != 0 {
		t.Errorf("%d bytes of %d users and %d networks remain", b.Used(), users, networks)
	}
}

func TestBudgetsAreExactUnderConcurrency(t *testing.T) {
	b := New(Config{Bytes: 1 << 20, NetworkShare: Share})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			var h Hold
			for n := range 10_000 {
				h.Set(b, Owner{User: uint64(n % 3)}, n*97%(256<<10))
				if used := b.Used(); used < 0 {
					t.Error("the number of held bytes is negative")
				}
			}
			h.Release()
		})
	}
	wait.Wait()
	if b.Used() != 0 {
		t.Errorf("%d bytes are held after all were released", b.Used())
	}
}
