package rialto_test

import (
	"context"
	"errors"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

func (s *server) LoginWithCode(context.Context, *connect.Request[accountv1.LoginWithCodeRequest]) (*connect.Response[accountv1.Session], error) {
	return connect.NewResponse(&accountv1.Session{SecondFactor: &accountv1.SecondFactor{Challenge: "rc_1", ExpiresMs: 1_800_000_000_000}}), nil
}

func (s *server) LoginWithSecondFactor(_ context.Context, r *connect.Request[accountv1.LoginWithSecondFactorRequest]) (*connect.Response[accountv1.Session], error) {
	if r.Msg.Challenge != "rc_1" || r.Msg.Code != "654321" {
		return nil, connect.NewError(connect.CodeUnauthenticated, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return connect.NewResponse(s.session()), nil
}

// TestALoginMayNeedASecondFactor: it is complete with the code only.
func TestALoginMayNeedASecondFactor(t *testing.T) {
	s := start(t, &server{})
	c, err := rialto.New(rialto.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	var needed *rialto.SecondFactorError
	if err := c.LoginWithCode(t.Context(), "me", "123456"); !errors.As(err, &needed) || needed.Challenge != "rc_1" || needed.Expires.UnixMilli() != 1_800_000_000_000 {
		t.Fatalf("the login returned %v", err)
	}
	if c.SignedIn() {
		t.Error("the client is signed in without the second factor")
	}
	if err := c.LoginWithSecondFactor(t.Context(), needed.Challenge, "000000"); connect.CodeOf(err) != connect.CodeUnauthenticated || c.SignedIn() {
		t.Errorf("a wrong code returned %v", err)
	}
	if err := c.LoginWithSecondFactor(t.Context(), needed.Challenge, "654321"); err != nil || !c.SignedIn() {
		t.Errorf("the right code returned %v", err)
	}
}
