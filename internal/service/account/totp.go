package account

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"errors"
	"strings"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	recoveryCodes   = 10
	recoveryCodeLen = 16 // letters of 5 bits; 80 random bits are enough for a plain hash
	maxFactorLen    = 64 // bytes of a code as people type it
)

var (
	errTOTPActive = errs.New(errs.Conflict, "totp_active", "logins need a code of an authenticator app already; remove that one first")
	errNoTOTP     = errs.New(errs.NotFound, "no_totp", "no authenticator app is set up; begin with StartTotp")
)

// StartTotp stores a new secret that has no effect yet. It replaces an unconfirmed one.
func (s *Service) StartTotp(ctx context.Context, c id.Caller) (*accountv1.StartTotpResponse, error) {
	secret, handle := auth.NewTOTPSecret(), ""
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT handle FROM users WHERE id = $1`, int64(c.User)).Scan(&handle); err != nil {
			return err
		}
		return changeOne(ctx, tx, errTOTPActive, `INSERT INTO totps (owner, secret) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET secret = excluded.secret WHERE totps.confirmed_ms = 0`,
			int64(c.User), secret)
	})
	if err != nil {
		return nil, err
	}
	return &accountv1.StartTotpResponse{Secret: auth.TOTPText(secret), Uri: auth.TOTPURI(secret, s.config.ProductName, handle)}, nil
}

// ConfirmTotp makes the stored secret the second factor of logins, if the user has it in an app. Logins do not accept the code again.
func (s *Service) ConfirmTotp(ctx context.Context, c id.Caller, code string) (*accountv1.RecoveryCodes, error) {
	codes := newRecoveryCodes()
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		var secret []byte
		err := tx.QueryRowContext(ctx, `SELECT secret FROM totps WHERE owner = $1 AND confirmed_ms = 0`, int64(c.User)).Scan(&secret)
		if errors.Is(err, sql.ErrNoRows) {
			return errNoTOTP
		}
		if err != nil {
			return err
		}
		step, ok := auth.MatchTOTP(secret, plainFactor(code), s.deps.Clock.Now())
		if !ok {
			return errFactorDenied
		}
		if err := changeOne(ctx, tx, errNoTOTP, `UPDATE totps SET confirmed_ms = $1, last_step = $2 WHERE owner = $3 AND confirmed_ms = 0 AND secret = $4`, s.nowMs(), step, int64(c.User), secret); err != nil {
			return err
		}
		if err := s.notice(ctx, tx, c.User, totpAdded); err != nil {
			return err
		}
		return putRecoveryCodes(ctx, tx, c.User, codes)
	})
	if err != nil {
		return nil, err
	}
	s.protectionChanged(c, string(totpAdded))
	return &accountv1.RecoveryCodes{Codes: codes}, nil
}

// RemoveTotp ends the second factor, with its recovery codes.
func (s *Service) RemoveTotp(ctx context.Context, c id.Caller) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM recovery_codes WHERE owner = $1`, int64(c.User)); err != nil {
			return err
		}
		if err := s.notice(ctx, tx, c.User, totpRemoved); err != nil {
			return err
		}
		return changeOne(ctx, tx, errNoTOTP, `DELETE FROM totps WHERE owner = $1`, int64(c.User))
	})
	if err == nil {
		s.protectionChanged(c, string(totpRemoved))
	}
	return err
}

// CreateRecoveryCodes replaces the recovery codes of a user who has a second factor.
func (s *Service) CreateRecoveryCodes(ctx context.Context, c id.Caller) (*accountv1.RecoveryCodes, error) {
	codes := newRecoveryCodes()
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.requireConfirmed(ctx, tx, c); err != nil {
			return err
		}
		// The update locks the row, so that of two concurrent calls the later one replaces the codes of the other.
		if err := changeOne(ctx, tx, errNoTOTP, `UPDATE totps SET last_step = last_step WHERE owner = $1 AND confirmed_ms > 0`, int64(c.User)); err != nil {
			return err
		}
		if err := s.notice(ctx, tx, c.User, recoveryReplaced); err != nil {
			return err
		}
		return putRecoveryCodes(ctx, tx, c.User, codes)
	})
	if err != nil {
		return nil, err
	}
	s.protectionChanged(c, string(recoveryReplaced))
	return &accountv1.RecoveryCodes{Codes: codes}, nil
}

// changeOne runs a statement, and fails with the error none if it changed no row.
func changeOne(ctx context.Context, tx *sql.Tx, none error, statement string, args ...any) error {
	done, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, none)
	}
	return nil
}

// newRecoveryCodes returns codes such as ABCD-EFGH-2345-6767.
func newRecoveryCodes() []string {
	list := make([]string, recoveryCodes)
	for i := range list {
		var b [recoveryCodeLen * 5 / 8]byte
		rand.Read(b[:]) //nolint:errcheck // never fails
		text := base32.StdEncoding.EncodeToString(b[:])
		list[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return list
}

func putRecoveryCodes(ctx context.Context, tx *sql.Tx, user id.User, codes []string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM recovery_codes WHERE owner = $1`, int64(user)); err != nil {
		return err
	}
	for _, code := range codes {
		if _, err := tx.ExecContext(ctx, `INSERT INTO recovery_codes (owner, sum) VALUES ($1, $2)`, int64(user), auth.Sum(plainFactor(code))); err != nil {
			return err
		}
	}
	return nil
}

// plainFactor returns a code without what people add when they type it.
func plainFactor(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
}

// isTOTPCode reports whether a code is short enough to be guessed. Recovery codes are not.
func isTOTPCode(code string) bool { return len(plainFactor(code)) < recoveryCodeLen }

// useFactor accepts a code of the user's app, or a recovery code, once. Otherwise it fails with the error wrong.
func (s *Service) useFactor(ctx context.Context, tx *sql.Tx, user id.User, code string, wrong error) error {
	if code = plainFactor(code); !isTOTPCode(code) {
		if err := changeOne(ctx, tx, wrong, `DELETE FROM recovery_codes WHERE owner = $1 AND sum = $2`, int64(user), auth.Sum(code)); err != nil {
			return err
		}
		return s.notice(ctx, tx, user, recoveryUsed)
	}
	var secret []byte
	err := tx.QueryRowContext(ctx, `SELECT secret FROM totps WHERE owner = $1 AND confirmed_ms > 0`, int64(user)).Scan(&secret)
	if errors.Is(err, sql.ErrNoRows) {
		return wrong
	}
	if err != nil {
		return err
	}
	step, ok := auth.MatchTOTP(secret, code, s.deps.Clock.Now())
	if !ok {
		return wrong
	}
	return changeOne(ctx, tx, wrong, `UPDATE totps SET last_step = $1 WHERE owner = $2 AND secret = $3 AND last_step < $1`, step, int64(user), secret)
}
