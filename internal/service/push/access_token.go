package push

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

const (
	// tokenMargin is how long before its end an access token is not used any more.
	tokenMargin = time.Minute
	// tokenPause is how long no other access token is requested after a request failed, so that deliveries do not wait for it one after the other.
	tokenPause = time.Second
)

// accessToken is what a provider's calls are authorized by, for a while.
type accessToken struct {
	clock clock.Clock
	// request gets a new one, and for how long it is valid.
	request func(ctx context.Context) (token string, valid time.Duration, err error)

	mu      sync.Mutex // guards the fields below; held while a token is requested, so that one request does it
	token   string
	validMs int64
	failed  error // the last request
	retryMs int64 // nothing is requested before
}

// get returns a token that is valid for a while.
func (a *accessToken) get(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	switch {
	case now.UnixMilli() < a.validMs:
		return a.token, nil
	case a.failed != nil && now.UnixMilli() < a.retryMs:
		return "", a.failed
	}
	token, valid, err := a.request(ctx)
	if err == nil && token == "" {
		err = errors.New("the answer has no access token")
	}
	if a.failed = err; err != nil {
		a.retryMs = now.Add(tokenPause).UnixMilli()
		return "", err
	}
	a.token, a.validMs = token, now.Add(valid-tokenMargin).UnixMilli()
	return token, nil
}

// forget makes the next call request another token.
func (a *accessToken) forget(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == token {
		a.validMs = 0
	}
}
