package rialto

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
)

const (
	// mostTries is how often a call is made whose answer is lost, as in the TypeScript SDK.
	mostTries  = 4
	resendBase = 500 * time.Millisecond
)

// resend makes a call that may be repeated, and makes it again while its answer is lost and the client's user stays the same: at most mostTries times, with
// jittered waits that double. Whatever the server answers, a refusal included, ends it. It ends with ctx, with the error of the last call.
func resend[T any](ctx context.Context, c *Client, call func() (T, error)) (T, error) {
	user := c.User()
	for try := 1; ; try++ {
		answer, err := call()
		if try == mostTries || !isLost(err) {
			return answer, err
		}
		wait := rand.N(resendBase << (try - 1))
		if d := detail(err); d != nil {
			wait += time.Duration(d.RetryMs) * time.Millisecond
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || c.User() != user {
			return answer, err
		}
	}
}

// isLost reports whether a call may have been carried out although no answer came.
func isLost(err error) bool {
	return err != nil && !isAnswer(err) && connect.CodeOf(err) != connect.CodeUnauthenticated && !errors.Is(err, ErrSignedOut)
}
