package push

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"golang.org/x/sync/singleflight"
)

const (
	// tokenMargin is how long before its end an access token is not used any more.
	tokenMargin = time.Minute
	// maxTokenLife bounds for how long a token is used, whatever its provider says.
	maxTokenLife = 24 * time.Hour
	// tokenPause is how long no other access token is requested after a request failed, so that deliveries do not wait for it one after the other.
	tokenPause = time.Second
	// tokenTimeout bounds a request, which does not end with the delivery that began it: others may wait for it.
	tokenTimeout = 10 * time.Second
)

// accessToken is what a provider's calls are authorized by, for a while.
type accessToken struct {
	clock clock.Clock
	// request gets a new one, and for how long it is valid.
	request func(ctx context.Context) (token string, valid time.Duration, err error)

	flight singleflight.Group // the request in progress

	mu      sync.Mutex // guards the fields below
	token   string
	validMs int64
	failed  error // the last request
	retryMs int64 // nothing is requested before
}

// get returns a token that is valid for a while. Those who need one at the same time wait for the same request, each for as long as its own ctx lasts.
func (a *accessToken) get(ctx context.Context) (string, error) {
	if token, known, err := a.last(); known {
		return token, err
	}
	answer := a.flight.DoChan("", func() (any, error) {
		if token, known, err := a.last(); known { // an earlier request has just ended
			return token, err
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		return a.renew(within)
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-answer:
		if got.Err != nil {
			return "", got.Err
		}
		return got.Val.(string), nil
	}
}

// last returns what the last request gave, if no other one may be made now.
func (a *accessToken) last() (token string, known bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch now := a.clock.Now().UnixMilli(); {
	case now < a.validMs:
		return a.token, true, nil
	case a.failed != nil && now < a.retryMs:
		return "", true, a.failed
	}
	return "", false, nil
}

// renew requests a token.
func (a *accessToken) renew(ctx context.Context) (string, error) {
	began := a.clock.Now()
	token, valid, err := a.request(ctx)
	if err == nil && token == "" {
		err = errors.New("the answer has no access token")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed = err; err != nil {
		a.retryMs = a.clock.Now().Add(tokenPause).UnixMilli() // after the request, which may have taken longer than the pause
		return "", err
	}
	a.token, a.validMs = token, began.Add(valid-tokenMargin).UnixMilli()
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
