package account

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// authenticateExternal returns the caller of an external token. The first token of a user creates the user, and the first token of a
// device creates a session, so that users can list and revoke it like any other.
func (s *Service) authenticateExternal(ctx context.Context, who externalIdentity) (id.Caller, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(who.externalID), who.externalID, who.device))
	c, ended, err := s.externalSession(ctx, sum[:])
	if errors.Is(err, sql.ErrNoRows) || err == nil && ended > 0 {
		// Concurrent requests with a first token create one session. On one node they wait for each other; across nodes the first commit
		// wins.
		lock := &s.externalLogins[sum[0]%externalLoginShards]
		lock.Lock()
		defer lock.Unlock()
		for try := 0; try == 0 || errors.Is(err, errSessionRace); try++ {
			c, ended, err = s.externalSession(ctx, sum[:])
			switch {
			case errors.Is(err, sql.ErrNoRows):
				c, err = s.openExternalSession(ctx, sum[:], who, id.Caller{})
			case err == nil && ended > 0 && who.issued.UnixMilli() <= ended:
				return id.Caller{}, s.explainEnded(ctx, c, auth.ErrToken) // after a logout, only a token issued later opens a session
			case err == nil && ended > 0:
				c, err = s.openExternalSession(ctx, sum[:], who, c)
			}
		}
	}
	if err != nil {
		return id.Caller{}, err
	}
	if who.device == "" {
		c.Device = 0 // several devices may share the token, so they have no common message counter
	}
	return c, nil
}

func (s *Service) externalSession(ctx context.Context, sum []byte) (c id.Caller, ended int64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT s.owner, s.device, s.id, s.ended_ms FROM foreign_sessions f JOIN sessions s ON s.id = f.session WHERE f.sum = $1`, sum).
		Scan(&c.User, &c.Device, &c.Session, &ended)
	return c, ended, err
}

// errSessionRace reports that another node created the session first.
var errSessionRace = errors.New("another node created the session first")

// openExternalSession creates a session that replaces the previous one; the zero Caller means that there is none.
func (s *Service) openExternalSession(ctx context.Context, sum []byte, who externalIdentity, before id.Caller) (id.Caller, error) {
	user, err := s.findOrCreateExternalUser(ctx, who)
	if err != nil {
		return id.Caller{}, err
	}
	session, err := s.openSessionWith(ctx, user, "", &accountv1.Client{Device: uint64(before.Device)}, func(tx *sql.Tx, session id.Session) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO foreign_sessions (sum, session) VALUES ($1, $2)
			ON CONFLICT (sum) DO UPDATE SET session = $2 WHERE foreign_sessions.session = $3`, sum, int64(session), int64(before.Session))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errSessionRace)
		}
		return nil
	})
	if err != nil {
		return id.Caller{}, err
	}
	return id.Caller{User: user, Device: id.Device(session.Device), Session: id.Session(session.Session)}, err
}

// findOrCreateExternalUser finds a user by external id, or creates it.
func (s *Service) findOrCreateExternalUser(ctx context.Context, who externalIdentity) (user id.User, err error) {
	for range 2 {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE external_id = $1`, who.externalID).Scan(&user)
		if !errors.Is(err, sql.ErrNoRows) {
			return user, err
		}
		if err := s.requireIssuedAfterErasure(ctx, who.externalID, who.issued.UnixMilli()); err != nil {
			return 0, err
		}
		name, nerr := parseName(who.name, 64)
		if nerr != nil {
			name = "" // the handle is shown until the user has a name
		}
		var u *accountv1.User
		u, err = s.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: who.externalID, DisplayName: name})
		if err == nil {
			return id.User(u.Id), nil
		}
		if !errs.Is(err, errs.Conflict) {
			return 0, err
		}
		// A concurrent request of another device created the user.
	}
	return user, err
}
