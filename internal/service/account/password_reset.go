package account

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// RequestPasswordReset has a code for ResetPassword sent. Its answer, and the work until then, are the same for handles that nobody has.
func (s *Service) RequestPasswordReset(ctx context.Context, r *accountv1.RequestPasswordResetRequest) error {
	if !s.delivers(r.Kind) {
		return errNoDelivery
	}
	handle := message.FoldHandle(r.Handle)
	if len(handle) > 64 || !isStorable(handle) {
		return nil
	}
	user, _, err := s.userOf(ctx, handle)
	if err != nil {
		return err
	}
	key := sendKey{purpose: purposeReset, subject: handle}
	if s.isKnownDevice(user, r.Client) {
		key.device = id.Device(r.Client.Device)
	}
	if err := s.sends.count(ctx, key); err != nil {
		return err
	}
	_, err = s.requestSend(ctx, sentCode{Purpose: purposeReset, Handle: handle, Via: r.Kind}, "", nil)
	return err
}

// ResetPassword sets a new password with a code that was sent, and ends all sessions. It opens none: the second factor is checked by the login
// that follows.
func (s *Service) ResetPassword(ctx context.Context, r *accountv1.ResetPasswordRequest) error {
	handle := message.FoldHandle(r.Handle)
	if len(handle) > 64 || len(r.Code) > maxFactorLen || !isStorable(handle) {
		return errCode
	}
	if err := parsePassword(r.NewPassword, handle); err != nil {
		return err
	}
	user, _, err := s.userOf(ctx, handle)
	if err == nil {
		err = s.countAttempt(ctx, resetLogin, handle, user, r.Client)
	}
	if err != nil {
		return err
	}
	c := sentCode{Purpose: purposeReset, Handle: handle}
	if _, err := s.checkCode(ctx, s.deps.DB.Read(), c, user, r.Code, errCode); err != nil { // before a hash is computed
		return err
	}
	phc, err := s.passwords.Hash(ctx, r.NewPassword)
	if err != nil {
		return err
	}
	var ended []Ended
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := s.useCode(ctx, tx, c, user, r.Code, errCode); err != nil {
			return err
		}
		if err := changeOne(ctx, tx, errCode, `UPDATE users SET password = $1 WHERE id = $2`, phc, int64(user)); err != nil {
			return err
		}
		if err := s.revokeCodes(ctx, tx, user); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM login_challenges WHERE owner = $1`, int64(user)); err != nil {
			return err
		}
		if err := s.notice(ctx, tx, user, passwordReset); err != nil {
			return err
		}
		ended, err = s.endSessions(ctx, tx, "password_changed", `true`, int64(user), s.nowMs())
		return err
	})
	if err != nil {
		return err
	}
	s.announceEnded(ended)
	s.protectionChanged(id.Caller{User: user}, string(passwordReset))
	return nil
}
