package eventually_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
)

// recorder is a test that notes how it failed.
type recorder struct{ failed string }

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func TestTrueFailsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, calls := recorder{}, 0
		eventually.True(&never, "the sky falls", func() bool { calls++; return false })
		if never.failed != "not within 2m0s: the sky falls" || calls < 1000 {
			t.Errorf("got failure %q after %d calls", never.failed, calls)
		}
		late, began := recorder{}, time.Now()
		eventually.True(&late, "it is late", func() bool { return time.Since(began) > 30*time.Second })
		if late.failed != "" {
			t.Errorf("after the deadline it failed with %q, want no failure", late.failed)
		}
	})
}

func TestReceiveFailsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := recorder{}
		if got := eventually.Receive(&never, "an answer", make(chan int)); got != 0 || never.failed != "not within 2m0s: an answer" {
			t.Errorf("%d, and it failed with %q", got, never.failed)
		}
		there, from := recorder{}, make(chan int, 1)
		from <- 7
		if got := eventually.Receive(&there, "an answer", from); got != 7 || there.failed != "" {
			t.Errorf("%d, and it failed with %q", got, there.failed)
		}
	})
}

func TestWaitFailsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, group := recorder{}, sync.WaitGroup{}
		group.Add(1)
		if eventually.Done(&never, "the end", &group); never.failed != "not within 2m0s: the end" {
			t.Errorf("it failed with %q", never.failed)
		}
		group.Done()
		there := recorder{}
		if eventually.Done(&there, "the end", &group); there.failed != "" {
			t.Errorf("a wait for something that has happened failed: %s", there.failed)
		}
	})
}
