package account

import (
	"context"
	"crypto/hmac"
	"database/sql"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	maxPasskeys    = 20
	maxPasskeyName = 64       // characters
	maxCredential  = 12 << 10 // bytes of what an authenticator returned, in JSON
)

var (
	errNoPasskey       = errs.New(errs.NotFound, "no_passkey", "there is no such passkey in this account")
	errPasskeyName     = errs.New(errs.Invalid, "bad_passkey_name", "a passkey's name is one line of 1 to 64 characters"+message.TextRule)
	errTooManyPasskeys = errs.New(errs.Exhausted, "too_many_passkeys", "an account has at most 20 passkeys; remove one first")
	errPasskeyExists   = errs.New(errs.Conflict, "passkey_exists", "this passkey is in an account already")
)

func checkPasskeyName(name string) error {
	if name == "" || !message.IsText(name, maxPasskeyName, message.IsLine) {
		return errPasskeyName
	}
	return nil
}

const passkeyColumns = `SELECT id, name, created_ms, used_ms, backed_up FROM passkeys `

func scanPasskey(scan func(...any) error) (*accountv1.Passkey, error) {
	p := &accountv1.Passkey{}
	return p, scan(&p.Id, &p.Name, &p.CreatedMs, &p.UsedMs, &p.BackedUp)
}

// ListPasskeys returns the caller's passkeys, the oldest first.
func (s *Service) ListPasskeys(ctx context.Context, c id.Caller) (*accountv1.ListPasskeysResponse, error) {
	out := &accountv1.ListPasskeysResponse{}
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, passkeyColumns+`WHERE owner = $1 ORDER BY id`, int64(c.User))
	err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		p, err := scanPasskey(r.Scan)
		out.Passkeys = append(out.Passkeys, p)
		return err
	})
	return out, err
}

// RenamePasskey changes the name of one of the caller's passkeys.
func (s *Service) RenamePasskey(ctx context.Context, c id.Caller, r *accountv1.RenamePasskeyRequest) (p *accountv1.Passkey, err error) {
	if err := checkPasskeyName(r.Name); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := changeOne(ctx, tx, errNoPasskey, `UPDATE passkeys SET name = $1 WHERE id = $2 AND owner = $3`, r.Name, int64(r.Id), int64(c.User)); err != nil {
			return err
		}
		p, err = scanPasskey(tx.QueryRowContext(ctx, passkeyColumns+`WHERE id = $1`, int64(r.Id)).Scan)
		return err
	})
	return p, err
}

// RemovePasskey removes one of the caller's passkeys.
func (s *Service) RemovePasskey(ctx context.Context, c id.Caller, passkey uint64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		if err := changeOne(ctx, tx, errNoPasskey, `DELETE FROM passkeys WHERE id = $1 AND owner = $2`, int64(passkey), int64(c.User)); err != nil {
			return err
		}
		return s.notice(ctx, tx, c.User, passkeyRemoved)
	})
	if err == nil {
		s.protectionChanged(c, string(passkeyRemoved))
	}
	return err
}

// storedPasskey is what the check of an answer needs.
type storedPasskey struct {
	id             int64
	owner          id.User
	publicKey      []byte
	backupEligible bool
}

// passkeyOf returns the passkey of a credential, or fails with errPasskey.
func (s *Service) passkeyOf(ctx context.Context, credential []byte) (p storedPasskey, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id, owner, public_key, backup_eligible FROM passkeys WHERE credential = $1`, credential).Scan(&p.id, &p.owner, &p.publicKey, &p.backupEligible)
	if errors.Is(err, sql.ErrNoRows) {
		err = errPasskey
	}
	return p, err
}

// refusedPasskey logs why an answer of an authenticator was refused, and returns the error for the client.
func (s *Service) refusedPasskey(refusal *errs.Error, u id.User, cause error) error {
	s.deps.Logger.Debug("a passkey was refused", "user", u, "error", cause, "detail", passkeyDetail(cause))
	return refusal
}

// passkeyDetail is what the library says of an error besides its text.
func passkeyDetail(err error) string {
	if e, ok := err.(*protocol.Error); ok { //nolint:errorlint // the library returns it unwrapped
		return e.DevInfo
	}
	return ""
}

// isUserHandle reports whether an authenticator named the user.
func (s *Service) isUserHandle(u id.User, handle []byte) bool {
	return hmac.Equal(handle, s.userHandle(u))
}
