package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// callers are the users of a load that makes calls, by their numbers.
type callers struct {
	deploy   *deployment
	users    []*user
	sessions sync.Mutex // guards the users' sessions
	retries  atomic.Uint64
}

// invoke makes a call as a user, and repeats it where the server cannot be reached or refuses it for now, at other addresses in turn: only calls that may be
// repeated are made so. method chooses the call of an endpoint.
func invoke[T, R any](ctx context.Context, l *callers, user int, method func(*endpoint) func(context.Context, *connect.Request[T]) (*connect.Response[R], error), m *T) (*R, error) {
	wait, failing := firstCallWait, time.Time{}
	for try := 0; ; try++ {
		at := l.deploy.endpoints[(user+try)%len(l.deploy.endpoints)]
		r, err := method(at)(ctx, request(l, user, m))
		switch {
		case err == nil:
			return r.Msg, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case connect.CodeOf(err) == connect.CodeUnauthenticated && l.deploy.key == "":
			if err := l.refresh(ctx, at, user); err != nil && !isTemporary(err) {
				return nil, err
			}
		case !isTemporary(err):
			return nil, err
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		if since := time.Since(failing); since > l.deploy.patience {
			return nil, fmt.Errorf("no server has answered a call for %v, longer than --patience; the last attempt: %s: %w", since.Round(time.Second), at.url, err)
		}
		l.retries.Add(1)
		if err := backoff.Sleep(ctx, rand.N(wait)); err != nil {
			return nil, err
		}
		wait = min(2*wait, longestCallWait)
	}
}

// Random delays before a call is repeated.
const firstCallWait, longestCallWait = 100 * time.Millisecond, 2 * time.Second

// isTemporary reports whether a call that failed may succeed later: a server is not reached, or is busy, or limits the rate.
func isTemporary(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable:
		return true
	case connect.CodeResourceExhausted:
		switch rialto.Reason(err) {
		case "too_many_requests", "too_many_calls", "conversation_busy", "organization_busy": // the others are limits of what exists
			return true
		}
		return false
	}
	return !connect.IsWireError(err)
}

// request of a user: by the API key on behalf of the user, or by the user's session.
func request[T any](l *callers, user int, m *T) *connect.Request[T] {
	u := l.users[user]
	if l.deploy.key != "" {
		return onBehalf(l.deploy.key, u, m)
	}
	return as(l.token(user), m)
}

// token of a user's session.
func (l *callers) token(user int) string {
	l.sessions.Lock()
	defer l.sessions.Unlock()
	return l.users[user].sessions[0].AccessToken
}

// refresh replaces a session whose token has expired.
func (l *callers) refresh(ctx context.Context, at *endpoint, user int) error {
	l.sessions.Lock()
	defer l.sessions.Unlock()
	u := l.users[user]
	s, err := at.accounts.Refresh(ctx, connect.NewRequest(&accountv1.RefreshRequest{RefreshToken: u.sessions[0].RefreshToken}))
	if err != nil {
		return fmt.Errorf("refreshing a token: %w", err)
	}
	u.sessions[0] = s.Msg
	return nil
}
