package bench

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/progress"
	"golang.org/x/sys/unix"
)

// TestTheFirstInterruptEndsOnlyTheSending: what was sent is then checked. The next one ends the run, as any does when nothing is sent.
func TestTheFirstInterruptEndsOnlyTheSending(t *testing.T) {
	for _, sends := range []bool{true, false} {
		l := &load{deploy: &deployment{printer: progress.New(io.Discard)}}
		ctx, stop := l.withInterrupts(t.Context(), l.sayInterrupted)
		defer stop()
		sending, end := context.WithCancel(ctx)
		defer end()
		if sends {
			l.setEndSending(end)
			interrupt(t)
			eventually.Receive(t, "the end of the sending", sending.Done())
			if ctx.Err() != nil {
				t.Fatal("the first interrupt ended the run")
			}
		}
		interrupt(t)
		eventually.Receive(t, "the end of the run", ctx.Done())
		stop()
	}
}

func interrupt(t *testing.T) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), unix.SIGINT); err != nil {
		t.Fatal(err)
	}
}
