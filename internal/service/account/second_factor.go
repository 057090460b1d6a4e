package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	challengeLifetime = 5 * time.Minute
	maxChallengeTries = 5
	maxChallengeLen   = 128
)

var (
	errChallenge    = errs.New(errs.Unauthenticated, "bad_challenge", "this login took too long, or had too many wrong codes; log in again")
	errSecondFactor = errs.New(errs.Unauthenticated, "bad_second_factor", errFactorDenied.Message)
)

// finishLogin opens a session for a user who passed the first factor, unless logins need a second one. Then it returns a challenge. phc is the
// checked password hash, or empty.
func (s *Service) finishLogin(ctx context.Context, user id.User, phc string, c *accountv1.Client) (*accountv1.Session, error) {
	_, totp, err := s.factorsOf(ctx, user)
	if err != nil {
		return nil, err
	}
	if !totp {
		return s.openSession(ctx, user, phc, c)
	}
	if err := checkClient(c); err != nil {
		return nil, err
	}
	challenge, now := auth.NewSecret("rc_"), s.nowMs()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO login_challenges (sum, owner, password, made_ms) VALUES ($1, $2, $3, $4)`, auth.Sum(challenge), int64(user), phc, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &accountv1.Session{SecondFactor: &accountv1.SecondFactor{Challenge: challenge, ExpiresMs: now + challengeLifetime.Milliseconds()}}, nil
}

// LoginWithSecondFactor opens the session of a login whose challenge it gets.
func (s *Service) LoginWithSecondFactor(ctx context.Context, r *accountv1.LoginWithSecondFactorRequest) (*accountv1.Session, error) {
	if len(r.Challenge) > maxChallengeLen {
		return nil, errChallenge
	}
	if err := checkClient(r.Client); err != nil {
		return nil, err
	}
	var user id.User
	sum, since := auth.Sum(r.Challenge), s.nowMs()-challengeLifetime.Milliseconds()
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT owner FROM login_challenges WHERE sum = $1 AND made_ms > $2`, sum, since).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errChallenge
	}
	if err != nil {
		return nil, err
	}
	if len(r.Code) > maxFactorLen {
		return nil, errSecondFactor
	}
	if err := s.countFactor(ctx, user, r); err != nil {
		return nil, err
	}
	var phc string
	var refused error
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		refused = nil
		err := tx.QueryRowContext(ctx, `UPDATE login_challenges SET tries = tries + 1 WHERE sum = $1 AND made_ms > $2 AND tries < $3 RETURNING password`, sum, since, maxChallengeTries).Scan(&phc)
		if errors.Is(err, sql.ErrNoRows) {
			return errChallenge
		}
		if err != nil {
			return err
		}
		refused = s.useFactor(ctx, tx, user, r.Code, errSecondFactor)
		if errors.Is(refused, errSecondFactor) {
			return nil // the attempt counts
		}
		if refused != nil {
			return refused
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM login_challenges WHERE sum = $1`, sum)
		return err
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	return s.openSession(ctx, user, phc, r.Client)
}

// countFactor counts an attempt at a second factor. Who attempts it knows the password. Therefore all unknown devices together may try few
// codes of an app, and each known device as many: an attacker can then keep the owner from new devices only, and not from recovery codes.
func (s *Service) countFactor(ctx context.Context, user id.User, r *accountv1.LoginWithSecondFactorRequest) error {
	if err := s.countAttempt(ctx, factorLogin, user.String(), user, r.Client); err != nil {
		return err
	}
	if !isTOTPCode(r.Code) {
		return nil
	}
	key := factorKey{user: user}
	if s.isKnownDevice(user, r.Client) {
		key.device = id.Device(r.Client.Device)
	}
	return errTooManyLogins(s.logins.factors.Allow(key, 1))
}

func purgeChallenges(ctx context.Context, tx *sql.Tx, nowMs int64) (int64, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM login_challenges WHERE sum IN (SELECT sum FROM login_challenges WHERE made_ms <= $1 ORDER BY made_ms LIMIT $2)`, nowMs-challengeLifetime.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
