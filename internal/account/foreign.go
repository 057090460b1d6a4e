package account

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// admitStranger gives the caller of a foreign token. The user is made at first sight, and a session for each of its devices, so
// that these are listed, revoked and replaced as others are.
func (s *Service) admitStranger(ctx context.Context, who stranger) (id.Caller, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(who.external), who.external, who.device))
	c, ended, err := s.foreignSession(ctx, sum[:])
	if errors.Is(err, sql.ErrNoRows) || err == nil && ended > 0 {
		// Requests that come together with a first token make one session: those of one node wait for each other, and where several
		// nodes are asked the first to commit has made it.
		lock := &s.firsts[sum[0]%firstShards]
		lock.Lock()
		defer lock.Unlock()
		for try := 0; try == 0 || errors.Is(err, errNotFirst); try++ {
			c, ended, err = s.foreignSession(ctx, sum[:])
			switch {
			case errors.Is(err, sql.ErrNoRows):
				c, err = s.beginForeign(ctx, sum[:], who, id.Caller{})
			case err == nil && ended > 0 && who.issued.UnixMilli() <= ended:
				return id.Caller{}, auth.ErrToken // what was logged out comes back with a new token only
			case err == nil && ended > 0:
				c, err = s.beginForeign(ctx, sum[:], who, c)
			}
		}
	}
	if err != nil {
		return id.Caller{}, err
	}
	if who.device == "" {
		c.Device = 0 // perhaps several: they do not count their messages together
	}
	return c, nil
}

func (s *Service) foreignSession(ctx context.Context, sum []byte) (c id.Caller, ended int64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT s.owner, s.device, s.id, s.ended_ms FROM foreign_sessions f JOIN sessions s ON s.id = f.session WHERE f.sum = $1`, sum).
		Scan(&c.User, &c.Device, &c.Session, &ended)
	return c, ended, err
}

// errNotFirst says that another node made the session.
var errNotFirst = errors.New("another was first")

// beginForeign makes a session in the place of the one before, the zero Caller's where there is none.
func (s *Service) beginForeign(ctx context.Context, sum []byte, who stranger, before id.Caller) (id.Caller, error) {
	user, err := s.foreignUser(ctx, who)
	if err != nil {
		return id.Caller{}, err
	}
	session, err := s.beginWith(ctx, user, "", &accountv1.Client{Device: uint64(before.Device)}, func(tx *sql.Tx, session id.Session) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO foreign_sessions (sum, session) VALUES ($1, $2)
			ON CONFLICT (sum) DO UPDATE SET session = $2 WHERE foreign_sessions.session = $3`, sum, int64(session), int64(before.Session))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errNotFirst)
		}
		return nil
	})
	if err != nil {
		return id.Caller{}, err
	}
	return id.Caller{User: user, Device: id.Device(session.Device), Session: id.Session(session.Session)}, err
}

// foreignUser finds a user by external id, or makes it.
func (s *Service) foreignUser(ctx context.Context, who stranger) (user id.User, err error) {
	for range 2 {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE external_id = $1`, who.external).Scan(&user)
		if !errors.Is(err, sql.ErrNoRows) {
			return user, err
		}
		name, nerr := parseName(who.name, 64)
		if nerr != nil {
			name = "" // its handle is shown until it has a better one
		}
		var u *accountv1.User
		u, err = s.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: who.external, DisplayName: name})
		if err == nil {
			return id.User(u.Id), nil
		}
		if !errs.Is(err, errs.Conflict) {
			return 0, err
		}
		// Another of its devices was first.
	}
	return user, err
}
