package errs_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// TestOf: an unreachable store becomes a retryable error; internal errors and classified ones stay as they are.
func TestOf(t *testing.T) {
	_, refused := net.Dial("tcp", "127.0.0.1:1")
	if refused == nil {
		t.Fatal("a process listens on port 1")
	}
	for _, c := range []struct {
		err   error
		kind  errs.Kind
		again bool
	}{
		{fmt.Errorf("connecting: %w", refused), errs.Unavailable, true},
		{errors.Join(errors.New("first"), fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)), errs.Unavailable, true},
		{errs.Wrap(errs.Denied, "blocked", "no", refused), errs.Denied, false},
		{errors.New("a fault"), errs.Internal, false},
		{io.EOF, errs.Internal, false},
	} {
		if e := errs.Of(c.err); e.Kind != c.kind || e.Retry > 0 != c.again {
			t.Errorf("%v is %v, again %v", c.err, e.Kind, e.Retry)
		}
	}
	if errs.Of(nil) != nil {
		t.Error("nil is an error")
	}
}
