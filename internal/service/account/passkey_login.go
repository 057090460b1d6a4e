package account

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

var (
	// errPasskey is the same for unknown passkeys, and for answers that are wrong.
	errPasskey       = errs.New(errs.Unauthenticated, "bad_passkey", "this passkey was not accepted; it may have been removed from the account; log in another way")
	errPasskeyLogin  = errs.New(errs.Unauthenticated, "passkey_expired", errPasskeyChallenge.Message)
	errClonedPasskey = errs.New(errs.Unauthenticated, "passkey_copied", "this passkey may have been copied, since its counter went back; log in another way, and replace it")
)

// StartPasskeyLogin returns the options for an authenticator that is to sign in. They name no user, and nothing is stored.
func (s *Service) StartPasskeyLogin(from Page) (*accountv1.PasskeyOptions, error) {
	rp, err := s.relyingParty.at(from)
	if err != nil {
		return nil, err
	}
	challenge, expires := s.newPasskeyChallenge(0, 0)
	text, err := json.Marshal(protocol.PublicKeyCredentialRequestOptions{Challenge: challenge, Timeout: int(passkeyChallengeLifetime.Milliseconds()), RelyingPartyID: rp.domain, UserVerification: protocol.VerificationRequired})
	return &accountv1.PasskeyOptions{Options: string(text), ExpiresMs: expires}, err
}

// LoginWithPasskey opens a session with the answer of an authenticator, which is both factors: it has the key, and has verified the user.
func (s *Service) LoginWithPasskey(ctx context.Context, from Page, r *accountv1.LoginWithPasskeyRequest) (*accountv1.Session, error) {
	rp, err := s.relyingParty.at(from)
	if err != nil {
		return nil, err
	}
	if err := checkClient(r.Client); err != nil {
		return nil, err
	}
	if len(r.Credential) > maxCredential {
		return nil, errPasskey
	}
	answer, err := protocol.ParseCredentialRequestResponseBytes([]byte(r.Credential))
	if err != nil {
		return nil, s.refusedPasskey(errPasskey, 0, err)
	}
	client, data := answer.Response.CollectedClientData, answer.Response.AuthenticatorData
	challenge, err := s.parsePasskeyChallenge(client.Challenge, 0, 0)
	if err != nil {
		return nil, errPasskeyLogin
	}
	p, err := s.passkeyOf(ctx, answer.RawID)
	if err != nil {
		return nil, err
	}
	if err := s.countAttempt(ctx, passkeyLogin, p.owner.String(), p.owner, r.Client); err != nil {
		return nil, err
	}
	err = answer.Verify(client.Challenge, rp.domain, "", rp.allowed(client.Origin), rp.apps, nil, protocol.TopOriginExplicitVerificationMode, false, true, true, p.publicKey, protocol.SignaturePolicy{})
	if err != nil {
		return nil, s.refusedPasskey(errPasskey, p.owner, err)
	}
	if !s.isUserHandle(p.owner, answer.Response.UserHandle) || data.Flags.HasBackupEligible() != p.backupEligible || data.Flags.HasBackupState() && !p.backupEligible {
		return nil, errPasskey
	}
	session, err := s.openSessionWith(ctx, p.owner, "", r.Client, func(tx *sql.Tx, _ id.Session) error {
		if err := s.useName(ctx, tx, challenge.name, errPasskeyLogin); err != nil {
			return err
		}
		return s.usePasskey(ctx, tx, p, data)
	})
	if errors.Is(err, errClonedPasskey) {
		s.deps.Logger.Warn("a passkey may have been copied: its counter went back", "user", p.owner, "passkey", p.id)
	}
	return session, err
}

// usePasskey stores the state of a passkey that has signed. A counter that does not rise means that two authenticators have the key; those without a
// counter always say 0.
func (s *Service) usePasskey(ctx context.Context, tx *sql.Tx, p storedPasskey, data protocol.AuthenticatorData) error {
	var count int64
	err := tx.QueryRowContext(ctx, `SELECT sign_count FROM passkeys WHERE id = $1`, p.id).Scan(&count)
	if errors.Is(err, sql.ErrNoRows) {
		return errPasskey // removed in between
	}
	if err != nil {
		return err
	}
	if fresh := int64(data.Counter); fresh <= count && (fresh != 0 || count != 0) {
		return errClonedPasskey
	}
	_, err = tx.ExecContext(ctx, `UPDATE passkeys SET sign_count = $1, backed_up = $2, used_ms = $3 WHERE id = $4`, int64(data.Counter), data.Flags.HasBackupState(), s.nowMs(), p.id)
	return err
}
