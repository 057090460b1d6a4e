package wakeup_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

func TestASetIsBoundedAndIsTakenAtOnce(t *testing.T) {
	s := wakeup.NewSet[int](3)
	s.Add(1, 2, 2)
	s.Add(3, 4)
	<-s.Woken()
	got := s.Take()
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 2, 3}) || len(s.Take()) != 0 {
		t.Errorf("the set had %v", got)
	}
	s.Signal()
	<-s.Woken()
	if got := s.Take(); len(got) != 0 {
		t.Errorf("a signal added %v", got)
	}
	s.Add(4)
	<-s.Woken()
	if got := s.Take(); !slices.Equal(got, []int{4}) {
		t.Errorf("after it was taken, the set had %v", got)
	}
}
