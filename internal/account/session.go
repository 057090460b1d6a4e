package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// refreshGrace: two tabs that refresh at once get the same child.
const refreshGrace = 10 * time.Second

var errLogin = errs.New(errs.Unauthenticated, "bad_login", "handle or password is wrong")

// Login opens a session with a password. Unknown handles and wrong passwords are answered alike.
func (s *Service) Login(ctx context.Context, r *accountv1.LoginRequest) (*accountv1.Session, error) {
	handle := foldHandle(r.Handle)
	if len(handle) > 64 || len(r.Password) > maxPassword || !storable(handle) {
		return nil, errLogin
	}
	if err := s.admit(handle); err != nil {
		return nil, err
	}
	var user id.User
	var phc string
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT id, password FROM users WHERE handle = $1`, handle).Scan(&user, &phc)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	ok, rehash, err := s.passwords.Check(ctx, phc, r.Password)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errLogin
	}
	if rehash {
		if phc, err = s.rehash(ctx, user, phc, r.Password); err != nil {
			return nil, err
		}
	}
	return s.begin(ctx, user, phc, r.Client)
}

// rehash stores a password's hash with the parameters of now, in place of the one that was checked.
func (s *Service) rehash(ctx context.Context, user id.User, old, password string) (phc string, err error) {
	if phc, err = s.passwords.Hash(ctx, password); err != nil {
		return "", err
	}
	return phc, s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return setPassword(ctx, tx, user, old, phc, errLogin) })
}

// setPassword replaces the hash that was checked, or fails with gone where another took its place meanwhile.
func setPassword(ctx context.Context, tx *sql.Tx, user id.User, old, phc string, gone error) error {
	done, err := tx.ExecContext(ctx, `UPDATE users SET password = $1 WHERE id = $2 AND password = $3`, phc, int64(user), old)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, gone)
	}
	return nil
}

var errNoUser = errs.New(errs.NotFound, "no_user", "there is no such user; make it with PutUser")

// CreateSession opens a session for a user whom the business server has authenticated.
func (s *Service) CreateSession(ctx context.Context, r *accountv1.CreateSessionRequest) (*accountv1.Session, error) {
	var user id.User
	if !storable(r.ExternalId) {
		return nil, errNoUser
	}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE id = $1 OR external_id = $2`, int64(r.User), sql.NullString{String: r.ExternalId, Valid: r.ExternalId != ""}).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoUser
	}
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, user, "", r.Client)
}

func checkClient(c *accountv1.Client) error {
	if len(c.GetName()) > 128 || len(c.GetType()) > 32 || !storable(c.GetName()) || !storable(c.GetType()) {
		return errs.New(errs.Invalid, "bad_client", "a client's name has at most 128 bytes, its type 32")
	}
	return nil
}

// begin opens a session on a device, and ends those that the device policy gives up for it. phc is the password's hash that was
// checked for it, which must be so still: a new password ends all that the old one opened. Empty: none was.
func (s *Service) begin(ctx context.Context, user id.User, phc string, c *accountv1.Client) (*accountv1.Session, error) {
	return s.beginWith(ctx, user, phc, c, nil)
}

// beginWith is begin with a change in the same transaction. It may be nil.
func (s *Service) beginWith(ctx context.Context, user id.User, phc string, c *accountv1.Client, with func(tx *sql.Tx, session id.Session) error) (*accountv1.Session, error) {
	if c == nil {
		c = &accountv1.Client{}
	}
	if err := checkClient(c); err != nil {
		return nil, err
	}
	name, typ := c.Name, c.Type
	if typ == "" {
		typ = "other"
	}
	session, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	device := c.Device
	fresh, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	token := auth.NewSecret("rr_")
	now := s.nowMs()
	var ended []Ended
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		ended = ended[:0]
		if err := s.still(ctx, tx, user, phc); err != nil {
			return err
		}
		var owner int64
		err := tx.QueryRowContext(ctx, `SELECT owner FROM devices WHERE id = $1`, int64(device)).Scan(&owner)
		if errors.Is(err, sql.ErrNoRows) || err == nil && owner != int64(user) {
			device = fresh // another's device, or one that we never gave
			_, err = tx.ExecContext(ctx, `INSERT INTO devices (id, owner) VALUES ($1, $2)`, int64(device), int64(user))
		}
		if err != nil {
			return err
		}
		where, args := `device = $3`, []any{int64(user), now, int64(device)}
		switch s.config.DevicePolicy {
		case "single":
			where, args = `true`, args[:2]
		case "one_per_type":
			where, args = `(device = $3 OR type = $4)`, append(args, typ)
		}
		if ended, err = s.endSessions(ctx, tx, "replaced", where, args...); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, owner, device, name, type, refresh, rotated_ms, created_ms, used_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7)`,
			int64(session), int64(user), int64(device), name, typ, auth.Sum(token), now)
		if err == nil && with != nil {
			err = with(tx, id.Session(session))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.tell(ended)
	return s.session(id.Caller{User: user, Device: id.Device(device), Session: id.Session(session)}, token)
}

// still fails where a password is another now than the one that was checked.
func (s *Service) still(ctx context.Context, tx *sql.Tx, user id.User, phc string) error {
	if phc == "" {
		return nil
	}
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM users WHERE id = $1 AND password = $2`, int64(user), phc).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return errLogin
	}
	return err
}

// endSessions of user $1 at time $2 that are open and match where.
func (s *Service) endSessions(ctx context.Context, tx *sql.Tx, reason, where string, args ...any) ([]Ended, error) {
	rows, err := tx.QueryContext(ctx, `UPDATE sessions SET ended_ms = $2 WHERE owner = $1 AND ended_ms = 0 AND `+where+` RETURNING owner, id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ended []Ended
	for rows.Next() {
		e := Ended{Reason: reason}
		if err := rows.Scan(&e.User, &e.Session); err != nil {
			return nil, err
		}
		ended = append(ended, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	return ended, s.putEnded(ctx, tx, ended)
}

func (s *Service) session(c id.Caller, refresh string) (*accountv1.Session, error) {
	access, ends, err := s.tokens.Sign(c)
	if err != nil {
		return nil, err
	}
	return &accountv1.Session{User: uint64(c.User), Device: uint64(c.Device), Session: uint64(c.Session), AccessToken: access, ExpiresMs: ends.UnixMilli(), RefreshToken: refresh}, nil
}

// child of a refresh token: the same for each who shows the same parent.
func (s *Service) child(token string) string {
	m := hmac.New(sha256.New, s.refresh)
	m.Write([]byte(token))
	return "rr_" + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

var errRefresh = errs.New(errs.Unauthenticated, "bad_refresh_token", "the refresh token is not valid; log in again")

// Refresh gives new tokens. A token that was refreshed before, but for the grace, ends its session.
func (s *Service) Refresh(ctx context.Context, r *accountv1.RefreshRequest) (*accountv1.Session, error) {
	if len(r.RefreshToken) > 256 {
		return nil, errRefresh
	}
	sum, next, now := auth.Sum(r.RefreshToken), s.child(r.RefreshToken), s.nowMs()
	var c id.Caller
	var ended []Ended
	var refused error
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		c, ended, refused = id.Caller{}, nil, nil
		err := tx.QueryRowContext(ctx, `UPDATE sessions SET previous = refresh, refresh = $1, rotated_ms = $2, used_ms = $2 WHERE refresh = $3 AND ended_ms = 0 RETURNING owner, device, id`,
			auth.Sum(next), now, sum).Scan(&c.User, &c.Device, &c.Session)
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO refreshed (sum, session, spent_ms) VALUES ($1, $2, $3)`, sum, int64(c.Session), now)
			return err
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		err = tx.QueryRowContext(ctx, `SELECT owner, device, id FROM sessions WHERE previous = $1 AND rotated_ms >= $2 AND ended_ms = 0`,
			sum, now-refreshGrace.Milliseconds()).Scan(&c.User, &c.Device, &c.Session)
		if !errors.Is(err, sql.ErrNoRows) {
			return err // nil: a second tab gets the same child
		}
		refused = errRefresh
		var user, session int64
		err = tx.QueryRowContext(ctx, `SELECT s.owner, s.id FROM refreshed r JOIN sessions s ON s.id = r.session WHERE r.sum = $1`, sum).Scan(&user, &session)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			ended, err = s.endSessions(ctx, tx, "refresh_reused", `id = $3`, user, now, session)
		}
		return err
	})
	if err = errors.Join(err, refused); err != nil {
		s.tell(ended)
		return nil, err
	}
	return s.session(c, next)
}

// Logout ends the caller's session, or all of the user's.
func (s *Service) Logout(ctx context.Context, c id.Caller, all bool) error {
	if all {
		return s.end(ctx, c.User, "logged_out", `true`)
	}
	return s.end(ctx, c.User, "logged_out", `id = $3`, int64(c.Session))
}

// RevokeSession ends one of the caller's sessions.
func (s *Service) RevokeSession(ctx context.Context, c id.Caller, session id.Session) error {
	return s.end(ctx, c.User, "revoked", `id = $3`, int64(session))
}

func (s *Service) end(ctx context.Context, user id.User, reason, where string, args ...any) error {
	var ended []Ended
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		ended, err = s.endSessions(ctx, tx, reason, where, append([]any{int64(user), s.nowMs()}, args...)...)
		return err
	})
	if err == nil {
		s.tell(ended)
	}
	return err
}

// ChangePassword ends the user's other sessions.
func (s *Service) ChangePassword(ctx context.Context, c id.Caller, r *accountv1.ChangePasswordRequest) error {
	if err := parsePassword(r.NewPassword); err != nil {
		return err
	}
	var phc, handle string
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT password, handle FROM users WHERE id = $1`, int64(c.User)).Scan(&phc, &handle); err != nil {
		return err
	}
	if err := s.admit(handle); err != nil {
		return err
	}
	ok, _, err := s.passwords.Check(ctx, phc, r.OldPassword)
	if err != nil {
		return err
	}
	wrong := errs.New(errs.Denied, "bad_password", "the old password is wrong")
	if !ok {
		return wrong
	}
	fresh, err := s.passwords.Hash(ctx, r.NewPassword)
	if err != nil {
		return err
	}
	var ended []Ended
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if err := setPassword(ctx, tx, c.User, phc, fresh, wrong); err != nil {
			return err
		}
		ended, err = s.endSessions(ctx, tx, "password_changed", `id <> $3`, int64(c.User), s.nowMs(), int64(c.Session))
		return err
	})
	if err == nil {
		s.tell(ended)
	}
	return err
}

// ListSessions that are open, the latest used first.
func (s *Service) ListSessions(ctx context.Context, c id.Caller) ([]*accountv1.SessionInfo, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, device, name, type, created_ms, used_ms FROM sessions WHERE owner = $1 AND ended_ms = 0 ORDER BY used_ms DESC LIMIT 200`, int64(c.User))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*accountv1.SessionInfo
	for rows.Next() {
		i := &accountv1.SessionInfo{}
		if err := rows.Scan(&i.Session, &i.Device, &i.Name, &i.Type, &i.CreatedMs, &i.UsedMs); err != nil {
			return nil, err
		}
		i.Current = i.Session == uint64(c.Session)
		list = append(list, i)
	}
	return list, rows.Err()
}

// Verify gives the caller of an access token, of ours or of an issuer that the configuration names, or of an API key.
func (s *Service) Verify(ctx context.Context, token string) (id.Caller, error) {
	if strings.HasPrefix(token, "rk_") {
		return s.verifyKey(ctx, token)
	}
	who, ours, err := s.issuers.verify(ctx, token)
	if err != nil {
		return id.Caller{}, err
	}
	if !ours {
		return s.admitStranger(ctx, who)
	}
	c, err := s.tokens.Verify(token)
	if err != nil {
		return id.Caller{}, err
	}
	if err := s.Live(ctx, c); err != nil {
		return id.Caller{}, err
	}
	return c, nil
}

// Live tells whether a caller's session still goes on. One without a session has nothing that could end.
func (s *Service) Live(ctx context.Context, c id.Caller) error {
	if c.Session == 0 {
		return nil
	}
	var one int
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT 1 FROM sessions WHERE id = $1 AND ended_ms = 0`, int64(c.Session)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return auth.ErrToken
	}
	return err
}
