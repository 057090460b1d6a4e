package faulttest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
)

// outcomes counts, by kind of attack, what the server did.
type outcomes struct {
	mu     sync.Mutex // guards counts
	counts map[string]map[string]int
}

func (o *outcomes) add(kind, outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]map[string]int{}
	}
	if o.counts[kind] == nil {
		o.counts[kind] = map[string]int{}
	}
	o.counts[kind][outcome]++
}

func (o *outcomes) count(kind, outcome string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[kind][outcome]
}

// check requires that an attack had the outcome that it must have, and no other than the allowed ones.
func (o *outcomes) check(t *testing.T, kind, required string, allowed ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	t.Logf("%s: %v", kind, o.counts[kind])
	if o.counts[kind][required] == 0 {
		t.Errorf("%s: no attack was answered %q: %v", kind, required, o.counts[kind])
	}
	for _, outcome := range slices.Sorted(maps.Keys(o.counts[kind])) {
		if outcome != required && !slices.Contains(allowed, outcome) {
			t.Errorf("%s: %d times %s", kind, o.counts[kind][outcome], outcome)
		}
	}
}

func closed(code uint32) string { return fmt.Sprintf("closed with %d", code) }
