package synclist_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/synclist"
)

func TestSeveralGoroutinesFillAList(t *testing.T) {
	var list synclist.List[int]
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() { list.Add(i) })
	}
	group.Wait()
	got := list.All()
	got[0], got = -1, list.All() // of a copy
	slices.Sort(got)
	for i, v := range got {
		if v != i || len(got) != 100 {
			t.Fatalf("the list has %v", got)
		}
	}
}
