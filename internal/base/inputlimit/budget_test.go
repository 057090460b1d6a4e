package inputlimit

import (
	"net/netip"
	"sync"
	"testing"
)

// Large holds leave capacity for small ones. Released bytes are available again.
func TestLargeHoldsLeaveCapacityForSmallOnes(t *testing.T) {
	b := &Budget{limit: 48 << 20, networkShare: share}
	large := make([]Hold, 1000)
	took := 0
	for i := range large {
		for n := 64 << 10; n <= 1<<20 && large[i].Set(b, Owner{}, n); n += 64 << 10 {
			took = max(took, i+1)
		}
	}
	if held := b.used.Load(); held > b.limit || held < b.limit/2 {
		t.Errorf("large holds have %d of %d bytes", held, b.limit)
	}
	if took < 40 {
		t.Errorf("%d large holds were granted, want at least 40", took)
	}
	for i := range 50 {
		var one Hold
		if !one.Set(b, Owner{}, smallHold) {
			t.Fatalf("small hold %d is refused: %d of %d bytes are held", i, b.used.Load(), b.limit)
		}
	}
	if b.refused.Load() == 0 {
		t.Error("no refusal was counted")
	}
	before := b.used.Load()
	var total int64
	for i := range large {
		total += large[i].bytes
		large[i].Release()
		large[i].Release() // a second release does nothing
	}
	if b.used.Load() != before-total {
		t.Errorf("%d bytes are held: %d before, and %d were released", b.used.Load(), before, total)
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
		for _, size := range []int{smallHold, 64 << 10} {
			b := &Budget{limit: 12 << 20, networkShare: share}
			if name == "many users of three addresses" {
				b.networkShare = authenticatedNetworkShare
			}
			var holds []*Hold
			for n := range 10 {
				for h := new(Hold); h.Set(b, owner(n+1), size); h = new(Hold) {
					if holds = append(holds, h); len(holds) > int(b.limit)/size {
						t.Fatalf("%s: more bytes are held than the limit", name)
					}
				}
			}
			if used := b.used.Load(); used < b.limit/2 || used > b.limit*4/5 {
				t.Errorf("%s with holds of %d bytes: ten owners hold %d of %d", name, size, used, b.limit)
			}
			var large, small Hold
			if !large.Set(b, Owner{101, address(101)}, 256<<10) || !small.Set(b, Owner{102, address(102)}, smallHold) {
				t.Errorf("%s with holds of %d bytes: an owner without holds is refused", name, size)
			}
			large.Release()
			small.Release()
			for _, h := range holds {
				h.Release()
			}
			if b.used.Load() != 0 || len(b.users) != 0 || len(b.networks) != 0 {
				t.Errorf("%s: %d bytes, %d users and %d networks remain", name, b.used.Load(), len(b.users), len(b.networks))
			}
		}
	}
}

func TestHoldersMoveBetweenBudgets(t *testing.T) {
	m := NewMemory(64 << 20)
	var h Hold
	if !h.Set(&m.Unauthenticated, Owner{}, 5000) || m.Unauthenticated.used.Load() != 5000 || m.Used() != 5000 {
		t.Error("the bytes are not charged to the first budget")
	}
	if !h.Set(&m.Authenticated, Owner{User: 7}, 6000) || m.Unauthenticated.used.Load() != 0 || m.Used() != 6000 {
		t.Error("the hold did not move to the other budget")
	}
	if !h.Set(&m.Unauthenticated, Owner{}, 0) || m.Used() != 0 {
		t.Error("bytes are held after the hold was emptied")
	}
	if got := m.Unauthenticated.limit; got != 16<<20 || m.Authenticated.limit != 48<<20 {
		t.Errorf("unauthenticated clients have %d bytes", got)
	}
}

func TestBudgetsAreExactUnderConcurrency(t *testing.T) {
	b := &Budget{limit: 1 << 20, networkShare: share}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			var h Hold
			for n := range 10_000 {
				h.Set(b, Owner{User: uint64(n % 3)}, n*97%(256<<10))
				if used := b.used.Load(); used < 0 {
					t.Error("the number of held bytes is negative")
				}
			}
			h.Release()
		})
	}
	wait.Wait()
	if b.used.Load() != 0 {
		t.Errorf("%d bytes are held after all were released", b.used.Load())
	}
}
