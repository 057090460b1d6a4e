package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// confirmedFor is how long after a login, or after ConfirmIdentity, a session may change how its account is protected. So a stolen session
// is not enough to keep the owner out.
const confirmedFor = 10 * time.Minute

var (
	errConfirmIdentity = errs.New(errs.Denied, "confirm_identity", "confirm with ConfirmIdentity that it is you: with your password, and a code if logins need one")
	errNoPassword      = errs.New(errs.Denied, "no_password", "this account has no password; log in again instead")
	errOldPassword     = errs.New(errs.Denied, "bad_password", "the password is wrong")
	errFactorDenied    = errs.New(errs.Denied, "bad_second_factor", "this code is wrong, too old, or was used; enter the next one that the app shows, or a recovery code")
)

// requireConfirmed fails unless the caller's session has logged in or confirmed its user's identity a short time ago. Servers of the operator,
// which act for users with an API key, need no confirmation.
func (s *Service) requireConfirmed(ctx context.Context, tx *sql.Tx, c id.Caller) error {
	if c.Server && c.Session == 0 {
		return nil
	}
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM sessions WHERE id = $1 AND owner = $2 AND ended_ms = 0 AND (created_ms > $3 OR confirmed_ms > $3)`,
		int64(c.Session), int64(c.User), s.nowMs()-confirmedFor.Milliseconds()).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return errConfirmIdentity
	}
	return err
}

// ConfirmIdentity checks the caller's password and second factor: each that the account has.
func (s *Service) ConfirmIdentity(ctx context.Context, c id.Caller, r *accountv1.ConfirmIdentityRequest) (*accountv1.ConfirmIdentityResponse, error) {
	if c.Session == 0 {
		return nil, errs.New(errs.Invalid, "no_session", "an API key confirms no identity; its calls need none")
	}
	phc, totp, err := s.factorsOf(ctx, c.User)
	if err != nil {
		return nil, err
	}
	if phc == "" && !totp {
		return nil, errNoPassword
	}
	if len(r.Password) > maxPassword || len(r.Code) > maxFactorLen {
		return nil, errOldPassword
	}
	if err := errTooManyLogins(s.logins.changes.Allow(c.User, 1)); err != nil {
		return nil, err
	}
	if phc != "" {
		if ok, _, err := s.passwords.Check(ctx, phc, r.Password); err != nil || !ok {
			return nil, errors.Join(err, errOldPassword)
		}
	}
	if totp && isTOTPCode(r.Code) {
		if err := errTooManyLogins(s.logins.factors.Allow(factorKey{c.User, c.Device}, 1)); err != nil {
			return nil, err
		}
	}
	now := s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if totp {
			if err := s.useFactor(ctx, tx, c.User, r.Code, errFactorDenied); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE sessions SET confirmed_ms = $1 WHERE id = $2 AND owner = $3 AND ended_ms = 0`, now, int64(c.Session), int64(c.User))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &accountv1.ConfirmIdentityResponse{ConfirmedUntilMs: now + confirmedFor.Milliseconds()}, nil
}

// factorsOf returns a user's password hash, and whether logins need a second factor.
func (s *Service) factorsOf(ctx context.Context, user id.User) (phc string, totp bool, err error) {
	var confirmed sql.NullInt64
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT u.password, t.confirmed_ms FROM users u LEFT JOIN totps t ON t.owner = u.id WHERE u.id = $1`, int64(user)).Scan(&phc, &confirmed)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoUser
	}
	return phc, confirmed.Int64 > 0, err
}

// GetSecurity returns how the caller's account is protected.
func (s *Service) GetSecurity(ctx context.Context, c id.Caller) (*accountv1.Security, error) {
	phc, totp, err := s.factorsOf(ctx, c.User)
	if err != nil {
		return nil, err
	}
	out := &accountv1.Security{Password: phc != "", Totp: totp, ContactKinds: s.deliveries()}
	if out.Contacts, err = s.contactsOf(ctx, c.User); err != nil {
		return nil, err
	}
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM recovery_codes WHERE owner = $1`, int64(c.User)).Scan(&out.RecoveryCodes); err != nil {
		return nil, err
	}
	var created, confirmed int64
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT created_ms, confirmed_ms FROM sessions WHERE id = $1 AND ended_ms = 0`, int64(c.Session)).Scan(&created, &confirmed)
	if errors.Is(err, sql.ErrNoRows) { // a server
		return out, nil
	}
	out.ConfirmedUntilMs = max(created, confirmed) + confirmedFor.Milliseconds()
	return out, err
}

// protectionChanged logs a change of how an account is protected.
func (s *Service) protectionChanged(c id.Caller, change string) {
	s.deps.Logger.Info("the protection of an account changed", "user", c.User, "session", c.Session, "change", change)
}
