package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/lifecycle"
	"github.com/rialto-im/rialto/internal/base/synclist"
)

// record is what parts did, in order.
type record struct{ synclist.List[string] }

// part runs until its context ends, and then takes a while.
func (r *record) part(name string, takes time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		r.Add("+" + name)
		<-ctx.Done()
		time.Sleep(takes)
		r.Add("-" + name)
		return err
	}
}

// Parts stop in reverse order: each has ended before the next is cancelled.
func TestPartsStopInReverseOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &record{}, lifecycle.New()
		for i, name := range []string{"a", "b", "c", "d"} {
			s.Start(name, r.part(name, time.Duration(4-i)*time.Second, nil))
			synctest.Wait()
		}
		if err := s.Stop(time.Minute); err != nil {
			t.Error(err)
		}
		if want := []string{"+a", "+b", "+c", "+d", "-d", "-c", "-b", "-a"}; !slices.Equal(r.All(), want) {
			t.Errorf("the parts started and stopped as %v, want %v", r.All(), want)
		}
		if err := s.Stop(time.Minute); err != nil || len(r.All()) != 8 {
			t.Errorf("stopped again: %v, %v", err, r.All())
		}
		select {
		case err := <-s.Failed():
			t.Errorf("a stop is no failure: %v", err)
		default:
		}
	})
}

// A part that ends by itself is reported once, by name; the others run until they are stopped.
func TestUnexpectedEndOfAPartIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		r, s := &record{}, lifecycle.New()
		s.Start("below", r.part("below", 0, nil))
		s.Start("fails", func(context.Context) error { return broken })
		synctest.Wait()
		s.Start("returns", func(context.Context) error { return nil })
		s.Start("above", r.part("above", 0, nil))
		synctest.Wait()
		err := <-s.Failed()
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "fails: ") {
			t.Errorf("failed with %v", err)
		}
		if slices.Contains(r.All(), "-below") || slices.Contains(r.All(), "-above") {
			t.Errorf("other parts ended before Stop: %v", r.All())
		}
		if err := s.Stop(time.Minute); !errors.Is(err, broken) {
			t.Errorf("stopping gives %v", err)
		}
		if want := []string{"-above", "-below"}; !slices.Equal(r.All()[2:], want) {
			t.Errorf("the parts stopped as %v, want %v at the end", r.All(), want)
		}
	})
}

// A part that returns nil before Stop has failed.
func TestPartThatReturnsNilEarlyHasFailed(t *testing.T) {
	s := lifecycle.New()
	s.Start("server", func(context.Context) error { return nil })
	if err := <-s.Failed(); !strings.HasPrefix(err.Error(), "server: ") {
		t.Errorf("failed with %v", err)
	}
	if err := s.Stop(time.Minute); err != nil {
		t.Errorf("stopping gives %v", err)
	}
}

// Stop names a part that hangs, then stops the remaining ones together and returns their errors, all within its bound.
func TestStopNamesPartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &record{}, lifecycle.New()
		unsaved := errors.New("unsaved")
		s.Start("store", r.part("store", time.Second/2, unsaved))
		s.Start("slower", r.part("slower", 2*time.Second, nil))
		s.Start("brief", r.part("brief", time.Second/2, nil))
		s.Start("hangs", r.part("hangs", time.Hour, nil))
		s.Start("slow", r.part("slow", 9*time.Second, nil))
		synctest.Wait()
		began := time.Now()
		err := s.Stop(10 * time.Second)
		if took := time.Since(began); took != 11*time.Second {
			t.Errorf("it took %v", took)
		}
		if want := "hangs did not stop within 10s\nslower did not stop within 10s\nstore: unsaved"; !errors.Is(err, unsaved) || err.Error() != want {
			t.Errorf("stopping gives %v", err)
		}
		got := r.All()[5:]
		slices.Sort(got[1:]) // these were cancelled together
		if want := []string{"-slow", "-brief", "-store"}; !slices.Equal(got, want) {
			t.Errorf("the parts stopped as %v, want %v", r.All(), want)
		}
		time.Sleep(time.Hour) // no goroutine may outlive the bubble
	})
}

// An engine whose close hangs stays open, and so do the remaining ones. Otherwise all are closed, the last first.
func TestEngineWhoseCloseHangsStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &record{}
		closer := func(name string, takes time.Duration, err error) func() error {
			return func() error {
				time.Sleep(takes)
				r.Add(name)
				return err
			}
		}
		torn := errors.New("torn")
		if err := lifecycle.Close(time.Minute, []func() error{closer("a", 0, nil), closer("b", time.Second, torn), closer("c", 0, nil)}); !errors.Is(err, torn) {
			t.Errorf("closing gives %v", err)
		}
		if want := []string{"c", "b", "a"}; !slices.Equal(r.All(), want) {
			t.Errorf("closed %v", r.All())
		}
		began := time.Now()
		if err := lifecycle.Close(time.Minute, []func() error{closer("d", 0, nil), closer("e", time.Hour, nil)}); err == nil {
			t.Error("Close returned no error although one closer hangs")
		}
		if took := time.Since(began); took != time.Minute || len(r.All()) != 3 {
			t.Errorf("it took %v; %v", took, r.All())
		}
		time.Sleep(time.Hour)
	})
}
