package bulkhead_test

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/bulkhead"
)

// all takes all slots that a key may have, and returns how many they are.
func all(b *bulkhead.Bulkhead[string], key string) (n int) {
	for b.TryAcquire(key) {
		n++
	}
	return n
}

func release(b *bulkhead.Bulkhead[string], key string, n int, slow bool) {
	for range n {
		b.Release(key, slow)
	}
}

func want(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d slots, want %d", what, got, want)
	}
}

// A key gets more slots while it is quick, fewer when it is slow, and never all.
func TestAKeyHasAShare(t *testing.T) {
	b := bulkhead.New[string](bulkhead.Config{Slots: 16, First: 4, Most: 12})
	for range 9 {
		b.TryAcquire("a")
		b.Cancel("a")
	}
	want(t, "a new key, whose slots were not used", all(b, "a"), 4)
	release(b, "a", 4, false)
	want(t, "a key after four quick uses", all(b, "a"), 8)
	release(b, "a", 8, false)
	want(t, "a key that is always quick", all(b, "a"), 12)
	want(t, "its slots in use", b.InUse("a"), 12)
	want(t, "another one beside it", all(b, "b"), 4)
	release(b, "b", 4, false)
	release(b, "a", 1, true)
	want(t, "a slow key that still has more than its share", all(b, "a"), 0)
	release(b, "a", 11, true)
	want(t, "a slow key that is alone", all(b, "a"), 4)
	release(b, "a", 3, true)
	release(b, "a", 1, false)
	want(t, "a slow key after a quick use", all(b, "a"), 4)
	want(t, "another new one beside it, which both are", all(b, "c"), 4)
	want(t, "a third", all(b, "d"), 0)
}

// Slow keys divide their quarter evenly, whoever came first; one that does not get a slot has its part of those that are given back.
func TestSlowKeysDivideAQuarter(t *testing.T) {
	b := bulkhead.New[string](bulkhead.Config{Slots: 64, First: 4, Most: 12})
	slow := func(keys ...string) {
		for _, key := range keys {
			b.TryAcquire(key)
			b.Release(key, true)
		}
	}
	slow("a", "b", "c", "d")
	want(t, "a slow key that is alone", all(b, "a"), 12)
	want(t, "a second one", all(b, "b"), 4)
	want(t, "a third one, while there is none", all(b, "c"), 0)
	release(b, "a", 8, true)
	want(t, "the first one, after it gave 8 back", all(b, "a"), 1)
	want(t, "the third one", all(b, "c"), 5)
	want(t, "the second one", all(b, "b"), 1)
	release(b, "c", 5, true)
	want(t, "the second one, when the third has no work", all(b, "b"), 3)
	release(b, "b", 8, false)
	want(t, "the first one, when the second is quick", all(b, "a"), 7)
	want(t, "a fourth one beside it", all(b, "d"), 4)
	want(t, "the third one, which finds none", all(b, "c"), 0)
	b.Expire()
	release(b, "d", 4, true)
	release(b, "a", 12, true)
	want(t, "the first one, after the third did not ask again", all(b, "a"), 12)
}

// Many slow keys, and many new ones, leave slots for those that are known to be quick.
func TestManyKeysLeaveSlots(t *testing.T) {
	b := bulkhead.New[string](bulkhead.Config{Slots: 16, First: 4, Most: 12})
	for range 8 {
		b.TryAcquire("quick")
		b.Release("quick", false)
	}
	n := 0
	for i := range 50 {
		n += all(b, fmt.Sprint(i))
	}
	want(t, "50 new keys together", n, 8)
	want(t, "a quick one beside them", all(b, "quick"), 8)
	for i := range 2 { // those that got slots
		release(b, fmt.Sprint(i), 4, true)
	}
	release(b, "quick", 8, false)
	for i := 2; i < 50; i++ {
		if b.TryAcquire(fmt.Sprint(i)) {
			b.Release(fmt.Sprint(i), true)
		}
	}
	n = 0
	for i := range 50 {
		n += all(b, fmt.Sprint(i))
	}
	want(t, "50 slow keys together", n, 4)
	want(t, "a new one beside them", all(b, "new"), 4)
	want(t, "a quick one beside those", all(b, "quick"), 8)
}

// Keys that are not used are forgotten beyond a bound; those in use are not.
func TestKeysAreBounded(t *testing.T) {
	b := bulkhead.New[string](bulkhead.Config{Slots: 4, First: 1, Most: 3})
	b.TryAcquire("used")
	b.Release("used", false)
	b.TryAcquire("used")
	for i := range 3000 {
		key := fmt.Sprint(i)
		if !b.TryAcquire(key) {
			t.Fatalf("key %d gets no slot", i)
		}
		b.Release(key, true)
	}
	want(t, "a key in use after many others", b.InUse("used"), 1)
	want(t, "and what it may have beside", all(b, "used"), 1)
	if n := b.Keys(); n > 1001 {
		t.Errorf("%d keys are kept", n)
	}
}
