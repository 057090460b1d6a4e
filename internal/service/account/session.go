package account

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"strings"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

var errLogin = errs.New(errs.Unauthenticated, "bad_login", "handle or password is wrong")

// Login opens a session with a password. The error is the same for unknown handles and wrong passwords.
func (s *Service) Login(ctx context.Context, r *accountv1.LoginRequest) (*accountv1.Session, error) {
	handle := message.FoldHandle(r.Handle)
	if len(handle) > 64 || len(r.Password) > maxPassword || !isStorable(handle) {
		return nil, errLogin
	}
	user, phc, err := s.userOf(ctx, handle)
	if err != nil {
		return nil, err
	}
	if err := s.countAttempt(ctx, passwordLogin, handle, user, r.Client); err != nil {
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
	return s.finishLogin(ctx, user, phc, r.Client)
}

// rehash replaces a checked password hash by one with the current cost.
func (s *Service) rehash(ctx context.Context, user id.User, old, password string) (phc string, err error) {
	if phc, err = s.passwords.Hash(ctx, password); err != nil {
		return "", err
	}
	return phc, s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return setPassword(ctx, tx, user, old, phc, errLogin) })
}

// setPassword replaces the checked hash. It fails with the error gone if the hash was changed in between.
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

var errNoUser = errs.New(errs.NotFound, "no_user", "there is no such user; create it with PutUser")

// CreateSession opens a session for a user whom the business server has authenticated.
func (s *Service) CreateSession(ctx context.Context, r *accountv1.CreateSessionRequest) (*accountv1.Session, error) {
	var user id.User
	if !isStorable(r.ExternalId) {
		return nil, errNoUser
	}
	// Nobody is somebody in another system.
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE (id = $1 OR external_id = $2) AND erased_ms = 0 AND bridge = ''`, int64(r.User), sql.NullString{String: r.ExternalId, Valid: r.ExternalId != ""}).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoUser
	}
	if err != nil {
		return nil, err
	}
	return s.openSession(ratelimit.WithNetwork(ctx, netip.Prefix{}), user, "", r.Client) // the network of the server is not the user's
}

func checkClient(c *accountv1.Client) error {
	if len(c.GetName()) > 128 || len(c.GetType()) > 32 || !message.IsLine(c.GetName()) || !message.IsLine(c.GetType()) {
		return errs.New(errs.Invalid, "bad_client", "a client's name has at most 128 bytes, its type 32; each is one line, without control and text-direction characters, and without more than six marks on one letter")
	}
	return nil
}

// openSession opens a session on a device, and ends the sessions that the device policy does not allow with it. phc is the checked
// password hash, which must still be current, because a password change ends all other sessions. It is empty if no password was checked.
func (s *Service) openSession(ctx context.Context, user id.User, phc string, c *accountv1.Client) (*accountv1.Session, error) {
	return s.openSessionWith(ctx, user, phc, c, nil)
}

// openSessionWith is openSession with a change in the same transaction. with may be nil.
func (s *Service) openSessionWith(ctx context.Context, user id.User, phc string, c *accountv1.Client, with func(tx *sql.Tx, session id.Session) error) (*accountv1.Session, error) {
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
	err = s.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) error {
		ended = ended[:0]
		if err := errors.Join(s.requirePasswordUnchanged(ctx, tx, user, phc), requireNotErased(ctx, tx, user)); err != nil {
			return err
		}
		if err := s.checkBan(ctx, tx, user, id.Device(c.Device)); err != nil {
			return err
		}
		var owner int64
		err := tx.QueryRowContext(ctx, `SELECT owner FROM devices WHERE id = $1`, int64(device)).Scan(&owner)
		if forgotten := errors.Is(err, sql.ErrNoRows); forgotten || err == nil && owner != int64(user) {
			// A device with a key logged in after the backup that this database was restored from: its unsent messages have its number.
			if !forgotten || !s.isKnownDevice(user, c) {
				device = fresh
			}
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
	s.announceEnded(ended)
	return s.session(id.Caller{User: user, Device: id.Device(device), Session: id.Session(session)}, token)
}

// requirePasswordUnchanged fails if the password has changed since its hash was checked.
func (s *Service) requirePasswordUnchanged(ctx context.Context, tx *sql.Tx, user id.User, phc string) error {
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

// endSessions ends the sessions of user $1 that are open and match where, at time $2.
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
	return ended, s.addSessionEndedEvents(ctx, tx, ended)
}

func (s *Service) session(c id.Caller, refresh string) (*accountv1.Session, error) {
	access, ends, err := s.tokens.Sign(c)
	if err != nil {
		return nil, err
	}
	return &accountv1.Session{User: uint64(c.User), Device: uint64(c.Device), Session: uint64(c.Session), AccessToken: access, ExpiresMs: ends.UnixMilli(), RefreshToken: refresh, DeviceKey: s.deviceKey(c.User, c.Device)}, nil
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
	err := s.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) (err error) {
		ended, err = s.endSessions(ctx, tx, reason, where, append([]any{int64(user), s.nowMs()}, args...)...)
		return err
	})
	if err == nil {
		s.announceEnded(ended)
	}
	return err
}

// ChangePassword ends the user's other sessions.
func (s *Service) ChangePassword(ctx context.Context, c id.Caller, r *accountv1.ChangePasswordRequest) error {
	var phc, handle, name string
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT password, handle, display_name FROM users WHERE id = $1`, int64(c.User)).Scan(&phc, &handle, &name); err != nil {
		return err
	}
	if err := parsePassword(r.NewPassword, handle, name); err != nil {
		return err
	}
	if err := errTooManyLogins(s.logins.changes.Allow(c.User, 1)); err != nil {
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
		if err := s.revokeCodes(ctx, tx, c.User); err != nil {
			return err
		}
		if err := s.notice(ctx, tx, c.User, passwordChanged); err != nil {
			return err
		}
		ended, err = s.endSessions(ctx, tx, "password_changed", `id <> $3`, int64(c.User), s.nowMs(), int64(c.Session))
		return err
	})
	if err == nil {
		s.announceEnded(ended)
	}
	return err
}

// ListSessions returns the open sessions, the latest used first.
func (s *Service) ListSessions(ctx context.Context, c id.Caller) ([]*accountv1.SessionInfo, error) {
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT id, device, name, type, created_ms, used_ms FROM sessions WHERE owner = $1 AND ended_ms = 0 ORDER BY used_ms DESC LIMIT 200`, int64(c.User))
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

// DeviceTypes returns the types of the devices with an open session of a user. Of more than 200, it returns those that were used last.
func (s *Service) DeviceTypes(ctx context.Context, u id.User) (map[id.Device]string, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT device, type FROM sessions WHERE owner = $1 AND ended_ms = 0 ORDER BY used_ms DESC LIMIT 200`, int64(u))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types := map[id.Device]string{}
	for rows.Next() {
		var d id.Device
		var typ string
		if err := rows.Scan(&d, &typ); err != nil {
			return nil, err
		}
		types[d] = typ
	}
	return types, rows.Err()
}

// Verify returns the caller of an access token, of a token of a configured issuer, or of an API key.
func (s *Service) Verify(ctx context.Context, token string) (id.Caller, error) {
	if strings.HasPrefix(token, "rk_") {
		return s.verifyAPIKey(ctx, token)
	}
	return s.active(s.verifyToken(ctx, token))
}

// active notes that a caller is active who was authenticated without an error.
func (s *Service) active(c id.Caller, err error) (id.Caller, error) {
	if err == nil && s.deps.Active != nil {
		s.deps.Active(c.User)
	}
	return c, err
}

func (s *Service) verifyToken(ctx context.Context, token string) (id.Caller, error) {
	if IsOperatorKey(token) {
		return id.Caller{}, errRoleKey
	}
	who, ours, err := s.issuers.verify(ctx, token)
	if err != nil {
		if cause := causeOf(err); cause != nil {
			s.logRefused(token, cause)
		}
		return id.Caller{}, err
	}
	if !ours {
		c, err := s.authenticateExternal(ctx, who)
		if errs.Is(err, errs.Unauthenticated) {
			s.logRefused(token, errSessionEnded)
		}
		return c, err
	}
	c, err := s.tokens.Verify(token)
	if err != nil {
		if cause := causeOfExternal(token); cause != nil {
			s.logRefused(token, cause)
		}
		return id.Caller{}, err
	}
	if err := s.Live(ctx, c); err != nil {
		return id.Caller{}, s.explainEnded(ctx, c, err)
	}
	return c, nil
}

// Live fails if a caller's session has ended. A caller without a session is always live.
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
