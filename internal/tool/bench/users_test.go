package bench

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/progress"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// busyAccounts answers registrations with the next of some errors, and logs users in.
type busyAccounts struct {
	accountv1connect.UnimplementedAccountServiceHandler
	refusals []error
	logins   int
}

func (b *busyAccounts) Register(context.Context, *connect.Request[accountv1.RegisterRequest]) (*connect.Response[accountv1.Session], error) {
	if len(b.refusals) == 0 {
		return connect.NewResponse(&accountv1.Session{User: 7}), nil
	}
	err := b.refusals[0]
	b.refusals = b.refusals[1:]
	return nil, err
}

func (b *busyAccounts) Login(context.Context, *connect.Request[accountv1.LoginRequest]) (*connect.Response[accountv1.Session], error) {
	b.logins++
	return connect.NewResponse(&accountv1.Session{User: 8}), nil
}

// A user is registered again while the server is busy. If an attempt without an answer had registered it, it is logged in; a handle of somebody else is an error, as
// is an answer of something that is no Rialto.
func TestRegistrationsAreRepeated(t *testing.T) {
	refusal := func(code connect.Code) error {
		err := connect.NewError(code, errors.New("the server's words"))
		detail, detailErr := connect.NewErrorDetail(&gatewayv1.Error{Reason: "busy"})
		if detailErr != nil {
			t.Fatal(detailErr)
		}
		err.AddDetail(detail)
		return err
	}
	busy, taken, foreign := refusal(connect.CodeUnavailable), refusal(connect.CodeAlreadyExists), connect.NewError(connect.CodeUnavailable, errors.New("a proxy"))
	for name, test := range map[string]struct {
		refusals     []error
		patience     time.Duration
		user         uint64
		logins, left int
	}{
		"busy":            {[]error{busy, busy}, time.Minute, 7, 0, 0},
		"done before":     {[]error{busy, taken}, time.Minute, 8, 1, 0},
		"taken":           {[]error{taken, busy}, time.Minute, 0, 0, 1},
		"another server":  {[]error{foreign, busy}, time.Minute, 0, 0, 1},
		"out of patience": {[]error{busy, busy}, -time.Second, 0, 0, 1},
	} {
		accounts := &busyAccounts{refusals: test.refusals}
		_, handler := accountv1connect.NewAccountServiceHandler(accounts)
		server := httptest.NewServer(handler)
		d := newDeployment(server.URL, "", progress.New(io.Discard))
		d.patience = test.patience
		s, err := d.session(t.Context(), 0, 0)
		server.Close()
		if s.GetUser() != test.user || (err == nil) != (test.user != 0) || accounts.logins != test.logins || len(accounts.refusals) != test.left {
			t.Errorf("%s: user %d, %d logins, %d refusals left, %v", name, s.GetUser(), accounts.logins, len(accounts.refusals), err)
		}
	}
}
