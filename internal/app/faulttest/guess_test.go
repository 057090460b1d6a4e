package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// owner is the user of the account whose password is guessed, with a device that the server knows.
type owner struct {
	handle string
	url    string
	device *accountv1.Client
}

func newOwner(t *testing.T, p *process) *owner {
	t.Helper()
	person(t, p, "owner")
	s := login(t, p, "owner")
	return &owner{"owner", p.url(), &accountv1.Client{Device: s.Device, DeviceKey: s.DeviceKey}}
}

const (
	guesses = "guesses of a password"
	// guessing addresses are few, so that each reaches its limit.
	guessing = 2
)

// login logs in from an address, with new connections.
func (o *owner) login(ctx context.Context, http1 *http.Client, address int, password string, device *accountv1.Client) error {
	r := connect.NewRequest(&accountv1.LoginRequest{Handle: o.handle, Password: password, Client: device})
	r.Header().Set("X-Forwarded-For", fmt.Sprint("198.51.100.", address))
	_, err := accountv1connect.NewAccountServiceClient(http1, o.url).Login(ctx, r)
	return err
}

// reasonOf returns the reason of a call's error.
func reasonOf(err error) string {
	if e := (*connect.Error)(nil); errors.As(err, &e) {
		for _, d := range e.Details() {
			if v, verr := d.Value(); verr == nil {
				if detail, ok := v.(*gatewayv1.Error); ok {
					return detail.Reason
				}
			}
		}
	}
	return ""
}

// guess tries some wrong passwords on a connection. All attackers together make more guesses than an address may in a minute.
func (a *attacks) guess(ctx context.Context) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	from := 1 + rand.IntN(guessing)
	for n := range 5 {
		err := a.owner.login(ctx, &http.Client{Transport: transport}, from, fmt.Sprint("a wrong password ", n), nil)
		switch reason := reasonOf(err); {
		case err == nil:
			a.seen.add(guesses, "logged in")
		case reason != "":
			a.seen.add(guesses, reason)
		default: // the connection failed, as some of this crowd do
			return err
		}
	}
	return nil
}

// getsIn logs in from the known device, from one of the addresses that guess, once their guesses are refused. The owner tries again only where
// the server says that it is busy, or took too long, as each client does.
func (o *owner) getsIn(ctx context.Context, t *testing.T, seen *outcomes) {
	refused := func() bool { return seen.count(guesses, "too_many_logins") > 0 }
	for !refused() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Error("no guess was refused")
			return
		}
	}
	for n := range 3 {
		transport := &http.Transport{}
		for {
			err := o.login(ctx, &http.Client{Transport: transport}, 1+n%guessing, "a good password", o.device)
			if err == nil {
				break
			}
			if reason := reasonOf(err); ctx.Err() != nil || reason != "busy" && reason != "timeout" {
				t.Errorf("the owner's login %d from the known device fails: %v", n+1, err)
				break
			}
			select { // as clients do
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		transport.CloseIdleConnections()
	}
}
