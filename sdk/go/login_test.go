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

func (s *server) StartPasskeyLogin(context.Context, *connect.Request[accountv1.StartPasskeyLoginRequest]) (*connect.Response[accountv1.PasskeyOptions], error) {
	return connect.NewResponse(&accountv1.PasskeyOptions{Options: "of a login"}), nil
}

func (s *server) LoginWithPasskey(_ context.Context, r *connect.Request[accountv1.LoginWithPasskeyRequest]) (*connect.Response[accountv1.Session], error) {
	if r.Msg.Credential != "signed of a login" {
		return nil, connect.NewError(connect.CodeUnauthenticated, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return connect.NewResponse(s.session()), nil
}

func (s *server) StartPasskey(_ context.Context, r *connect.Request[accountv1.StartPasskeyRequest]) (*connect.Response[accountv1.PasskeyOptions], error) {
	if r.Header().Get("Authorization") == "" {
		return nil, connect.NewError(connect.CodeUnauthenticated, nil)
	}
	return connect.NewResponse(&accountv1.PasskeyOptions{Options: "of a new one"}), nil
}

func (s *server) AddPasskey(_ context.Context, r *connect.Request[accountv1.AddPasskeyRequest]) (*connect.Response[accountv1.Passkey], error) {
	if r.Msg.Credential != "signed of a new one" {
		return nil, connect.NewError(connect.CodeInvalidArgument, nil)
	}
	return connect.NewResponse(&accountv1.Passkey{Id: 7, Name: r.Msg.Name}), nil
}

// TestPasskeys: the options of the server go to the authenticator, and its answer back.
func TestPasskeys(t *testing.T) {
	s := start(t, &server{})
	c, err := rialto.New(rialto.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	canceled := errors.New("canceled")
	refuse := func(context.Context, string) (string, error) { return "", canceled }
	sign := func(_ context.Context, options string) (string, error) { return "signed " + options, nil }
	if err := c.LoginWithPasskey(t.Context(), refuse); !errors.Is(err, canceled) || c.SignedIn() {
		t.Errorf("a login without a passkey returned %v", err)
	}
	wrong := func(context.Context, string) (string, error) { return "wrong", nil }
	if err := c.LoginWithPasskey(t.Context(), wrong); connect.CodeOf(err) != connect.CodeUnauthenticated || c.SignedIn() {
		t.Errorf("a wrong passkey returned %v", err)
	}
	if err := c.LoginWithPasskey(t.Context(), sign); err != nil || !c.SignedIn() {
		t.Fatalf("the login returned %v", err)
	}
	if _, err := c.AddPasskey(t.Context(), "phone", refuse); !errors.Is(err, canceled) {
		t.Errorf("a new passkey that was not created returned %v", err)
	}
	if p, err := c.AddPasskey(t.Context(), "phone", sign); err != nil || p.Id != 7 || p.Name != "phone" {
		t.Errorf("the new passkey is %v (%v)", p, err)
	}
}
