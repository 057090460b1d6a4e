package account

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// errBadPasskey hides the cause, which is in the log at level debug.
var errBadPasskey = errs.New(errs.Invalid, "bad_passkey", "the answer of the authenticator is not valid for a new passkey of this account; start again")

// passkeyAlgorithms are those that authenticators use: ECDSA with P-256, Ed25519, and RSA.
var passkeyAlgorithms = []protocol.CredentialParameter{
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgEdDSA},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgRS256},
}

// userHandle is a user's name for authenticators, which says nothing to who finds one.
func (s *Service) userHandle(u id.User) []byte {
	return s.passkeyMAC("passkey user "+u.String(), nil)
}

// StartPasskey returns the options for an authenticator that is to create a passkey.
func (s *Service) StartPasskey(ctx context.Context, c id.Caller, from Page) (*accountv1.PasskeyOptions, error) {
	rp, err := s.relyingParty.at(from)
	if err != nil {
		return nil, err
	}
	required := true
	o := protocol.PublicKeyCredentialCreationOptions{
		RelyingParty: protocol.RelyingPartyEntity{CredentialEntity: protocol.CredentialEntity{Name: s.config.ProductName}, ID: rp.domain},
		Parameters:   passkeyAlgorithms, Timeout: int(passkeyChallengeLifetime.Milliseconds()), Attestation: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{RequireResidentKey: &required, ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired},
	}
	o.User.ID = protocol.URLEncodedBase64(s.userHandle(c.User))
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		o.CredentialExcludeList = []protocol.CredentialDescriptor{}
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT handle, display_name FROM users WHERE id = $1`, int64(c.User)).Scan(&o.User.Name, &o.User.DisplayName); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT credential FROM passkeys WHERE owner = $1 ORDER BY id`, int64(c.User))
		return sqldb.EachRow(rows, err, func(r *sql.Rows) error {
			d := protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType}
			err := r.Scan(&d.CredentialID)
			o.CredentialExcludeList = append(o.CredentialExcludeList, d)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(o.CredentialExcludeList) >= maxPasskeys {
		return nil, errTooManyPasskeys
	}
	challenge, expires := s.newPasskeyChallenge(c.User, c.Session)
	o.Challenge = challenge
	text, err := json.Marshal(o)
	return &accountv1.PasskeyOptions{Options: string(text), ExpiresMs: expires}, err
}

// AddPasskey stores a passkey that an authenticator created with the options of StartPasskey.
func (s *Service) AddPasskey(ctx context.Context, c id.Caller, from Page, r *accountv1.AddPasskeyRequest) (*accountv1.Passkey, error) {
	if err := checkPasskeyName(r.Name); err != nil {
		return nil, err
	}
	rp, err := s.relyingParty.at(from)
	if err != nil {
		return nil, err
	}
	created, challenge, err := s.verifyNewPasskey(c, rp, r.Credential)
	if err != nil {
		return nil, err
	}
	passkey, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	data := created.Response.AttestationObject.AuthData
	p := &accountv1.Passkey{Id: passkey, Name: r.Name, CreatedMs: s.nowMs(), BackedUp: data.Flags.HasBackupState()}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		var count int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM passkeys WHERE owner = $1`, int64(c.User)).Scan(&count); err != nil {
			return err
		}
		if count >= maxPasskeys {
			return errTooManyPasskeys
		}
		if err := s.useName(ctx, tx, challenge.name, errPasskeyChallenge); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO passkeys (id, owner, credential, public_key, name, sign_count, backup_eligible, backed_up, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			int64(passkey), int64(c.User), []byte(created.RawID), []byte(data.AttData.CredentialPublicKey), p.Name, int64(data.Counter), data.Flags.HasBackupEligible(), p.BackedUp, p.CreatedMs)
		if err != nil {
			return err
		}
		return s.notice(ctx, tx, c.User, passkeyAdded)
	})
	if sqldb.IsUnique(err) {
		return nil, errPasskeyExists
	}
	if err != nil {
		return nil, err
	}
	s.protectionChanged(c, string(passkeyAdded))
	return p, nil
}

// verifyNewPasskey checks what an authenticator returned. It ignores the attestation statement: none was asked for, and no maker is trusted more than
// another.
func (s *Service) verifyNewPasskey(c id.Caller, rp relyingParty, credential string) (*protocol.ParsedCredentialCreationData, passkeyChallenge, error) {
	if len(credential) > maxCredential {
		return nil, passkeyChallenge{}, errBadPasskey
	}
	created, err := protocol.ParseCredentialCreationResponseBytes([]byte(credential))
	if err != nil {
		return nil, passkeyChallenge{}, s.refusedPasskey(errBadPasskey, c.User, err)
	}
	client, object := created.Response.CollectedClientData, &created.Response.AttestationObject
	challenge, err := s.parsePasskeyChallenge(client.Challenge, c.User, c.Session)
	if err != nil {
		return nil, challenge, err
	}
	object.Format, object.AttStatement, object.SubStatements = string(protocol.AttestationFormatNone), nil, nil
	_, err = created.Verify(client.Challenge, rp.domain, rp.allowed(client.Origin), rp.apps, nil, protocol.TopOriginExplicitVerificationMode, false, true, true, nil, passkeyAlgorithms, protocol.AttestationPolicy{}, protocol.SignaturePolicy{})
	if err == nil {
		err = checkPasskeyKey(object.AuthData.AttData.CredentialPublicKey)
	}
	if err != nil {
		return nil, challenge, s.refusedPasskey(errBadPasskey, c.User, err)
	}
	if flags := object.AuthData.Flags; flags.HasBackupState() && !flags.HasBackupEligible() {
		return nil, challenge, errBadPasskey
	}
	return created, challenge, nil
}

// Bytes of the modulus of an RSA key. A larger one costs seconds of a processor in each login: a key of the size that an answer may have, two.
const minRSA, maxRSA = 2048 / 8, 4096 / 8

var errRSASize = errors.New("an RSA key has 2048 to 4096 bits")

// checkPasskeyKey checks a public key.
func checkPasskeyKey(raw []byte) error {
	key, err := webauthncose.ParsePublicKey(raw)
	if err != nil {
		return err
	}
	if k, ok := key.(webauthncose.RSAPublicKeyData); ok && (len(k.Modulus) < minRSA || len(k.Modulus) > maxRSA) {
		return errRSASize
	}
	return nil
}
