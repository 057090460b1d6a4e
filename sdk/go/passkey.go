package rialto

import (
	"context"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// Authenticator passes options of the server, in the JSON of WebAuthn, to an authenticator, and returns the credential that it answers with, in JSON.
// On phones that is what the credential manager of the system does.
type Authenticator func(ctx context.Context, options string) (credential string, err error)

// LoginWithPasskey opens a session with a passkey, which is both factors. The options are for one use within 5 minutes; later, or if they were used, the
// reason of the error is passkey_expired. A passkey that is not accepted has the reason bad_passkey.
func (c *Client) LoginWithPasskey(ctx context.Context, sign Authenticator) error {
	started, err := c.base.StartPasskeyLogin(ctx, connect.NewRequest(&accountv1.StartPasskeyLoginRequest{}))
	if err != nil {
		return err
	}
	credential, err := sign(ctx, started.Msg.Options)
	if err != nil {
		return err
	}
	r, err := c.base.LoginWithPasskey(ctx, connect.NewRequest(&accountv1.LoginWithPasskeyRequest{Credential: credential, Client: c.client()}))
	if err != nil {
		return err
	}
	return c.Adopt(r.Msg)
}

// AddPasskey has an authenticator create a passkey for this client's user, and stores it under a name of 1 to 64 characters. The session must have logged
// in, or called ConfirmIdentity, within 10 minutes; otherwise the reason of the error is confirm_identity. Account has the calls that list, rename and
// remove passkeys.
func (c *Client) AddPasskey(ctx context.Context, name string, create Authenticator) (*accountv1.Passkey, error) {
	started, err := c.account.StartPasskey(ctx, connect.NewRequest(&accountv1.StartPasskeyRequest{}))
	if err != nil {
		return nil, err
	}
	credential, err := create(ctx, started.Msg.Options)
	if err != nil {
		return nil, err
	}
	r, err := c.account.AddPasskey(ctx, connect.NewRequest(&accountv1.AddPasskeyRequest{Name: name, Credential: credential}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}
