package rialto

import (
	"context"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// SecondFactorError is the error of a login that is not complete yet: complete it with LoginWithSecondFactor.
type SecondFactorError struct {
	// Challenge to give to LoginWithSecondFactor. Keep it as safe as a password.
	Challenge string
	// Expires is when the challenge ends, by the server's clock.
	Expires time.Time
}

// Error says what to do.
func (e *SecondFactorError) Error() string {
	return "this account needs a second factor: complete the login with LoginWithSecondFactor"
}

// enter adopts the session of a login, or fails with a *SecondFactorError.
func (c *Client) enter(s *accountv1.Session) error {
	if f := s.SecondFactor; f != nil {
		return &SecondFactorError{Challenge: f.Challenge, Expires: time.UnixMilli(f.ExpiresMs)}
	}
	return c.Adopt(s)
}

// RequestPasswordReset has a code for ResetPassword sent to the address of a user, if the deployment can (LoginMethods). The answer is the same for an
// unknown handle, and for a user without an address. At most one code a minute is sent, and five an hour.
func (c *Client) RequestPasswordReset(ctx context.Context, handle string, kind accountv1.ContactKind) error {
	_, err := c.base.RequestPasswordReset(ctx, connect.NewRequest(&accountv1.RequestPasswordResetRequest{Handle: handle, Kind: kind, Client: c.client()}))
	return err
}

// ResetPassword sets a new password with a code that was sent, and ends all sessions of the user. Then log in with it.
func (c *Client) ResetPassword(ctx context.Context, handle, code, newPassword string) error {
	_, err := c.base.ResetPassword(ctx, connect.NewRequest(&accountv1.ResetPasswordRequest{Handle: handle, Code: code, NewPassword: newPassword, Client: c.client()}))
	return err
}

// LoginWithSecondFactor completes a login that failed with a *SecondFactorError. The code is the one that the user's authenticator app shows,
// or a recovery code. After a wrong one, with the reason bad_second_factor, the challenge takes another, four times.
func (c *Client) LoginWithSecondFactor(ctx context.Context, challenge, code string) error {
	r, err := c.base.LoginWithSecondFactor(ctx, connect.NewRequest(&accountv1.LoginWithSecondFactorRequest{Challenge: challenge, Code: code, Client: c.client()}))
	if err != nil {
		return err
	}
	return c.Adopt(r.Msg)
}
