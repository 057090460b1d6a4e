package push

import (
	"context"
	"crypto/ecdh"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// subscription is a row of push_subscriptions.
type subscription struct {
	id           int64
	owner        id.User
	session      id.Session
	provider     pushv1.PushProvider
	token        string
	p256dh, auth []byte
	createdMs    int64
	waitUntilMs  int64 // the provider asked for a pause
	windowMs     int64 // the beginning of the present window, and how many it had
	windowPushes int64
}

const subscriptionColumns = `n, owner, session, provider, token, p256dh, auth, created_ms, wait_until_ms, window_ms, window_pushes`

func (p *subscription) scan(row interface{ Scan(...any) error }) error {
	return row.Scan(&p.id, &p.owner, &p.session, &p.provider, &p.token, &p.p256dh, &p.auth, &p.createdMs, &p.waitUntilMs, &p.windowMs, &p.windowPushes)
}

func (p *subscription) describe(by id.Caller) *pushv1.PushSubscription {
	return &pushv1.PushSubscription{Id: uint64(p.id), Session: uint64(p.session), Provider: p.provider, CreatedMs: p.createdMs, Current: p.session == by.Session}
}

func invalid(what string) error { return errs.New(errs.Invalid, "bad_push_subscription", what) }

// GetProviders returns the providers that this server has, with the keys that a device needs before it registers.
func (s *Service) GetProviders() *pushv1.PushProviders {
	return &pushv1.PushProviders{Providers: slices.Sorted(maps.Keys(s.providers)), VapidPublicKey: s.vapid.PublicKey().Bytes()}
}

// check returns why a subscription cannot be registered.
func (s *Service) check(by id.Caller, r *pushv1.RegisterPushRequest) error {
	switch {
	case by.Session == 0:
		return errs.New(errs.Invalid, "no_session", "a subscription belongs to a session; register with the device's access token, not with an API key")
	case s.providers[r.Provider] == nil:
		return errs.New(errs.Invalid, "no_push_provider", "the server is not set up for this provider; GetPushProviders gives those that it is set up for")
	case r.Token == "" || len(r.Token) > maxToken:
		return invalid("token has 1 to 1,024 bytes")
	case r.Provider != pushv1.PushProvider_PUSH_PROVIDER_WEB_PUSH:
		if len(r.P256Dh) > 0 || len(r.Auth) > 0 {
			return invalid("only subscriptions of Web Push have p256dh and auth")
		}
		// A list of tokens, as Xiaomi's API reads a comma, would reach devices of others.
		if r.Provider != byHook && strings.ContainsFunc(r.Token, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
			return invalid("token is what the provider gave the device: ASCII without blanks and commas")
		}
		return nil
	}
	if err := s.poster.Check(r.Token); err != nil {
		return invalid("token is the endpoint of the subscription: " + err.Error())
	}
	if _, err := ecdh.P256().NewPublicKey(r.P256Dh); err != nil || len(r.Auth) != 16 {
		return invalid("p256dh is a public key of 65 bytes, and auth has 16 bytes")
	}
	return nil
}

// Register makes the caller's session receive push notifications from now on.
func (s *Service) Register(ctx context.Context, by id.Caller, r *pushv1.RegisterPushRequest) (*pushv1.PushSubscription, error) {
	if err := s.check(by, r); err != nil {
		return nil, err
	}
	if err := s.removeEndedOf(ctx, by.User); err != nil {
		return nil, err
	}
	tails, err := s.deps.Inbox.Tails(ctx, []id.User{by.User})
	if err != nil {
		return nil, err
	}
	p := &subscription{owner: by.User, session: by.Session, provider: r.Provider, token: r.Token, p256dh: r.P256Dh, auth: r.Auth, createdMs: s.nowMs()}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if same, err := s.replaceFormer(ctx, tx, p); err != nil || same {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM push_subscriptions WHERE owner = $1`, int64(p.owner)).Scan(&n); err != nil {
			return err
		}
		if n >= maxSubscriptions {
			return errs.New(errs.Exhausted, "too_many_push_subscriptions", "20 sessions of yours receive push notifications; end one of them, or remove its subscription")
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO push_users (owner, position) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(p.owner), int64(tails[0])); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `INSERT INTO push_subscriptions (owner, session, provider, token, p256dh, auth, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING n`,
			int64(p.owner), int64(p.session), int64(p.provider), p.token, notNil(p.p256dh), notNil(p.auth), p.createdMs).Scan(&p.id)
	})
	if err != nil {
		return nil, err
	}
	s.some.Store(true)
	return p.describe(by), nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// replaceFormer removes the former subscription of the session, and that of another session with the token. same: the session's is the one that is
// being registered, and stays.
func (s *Service) replaceFormer(ctx context.Context, tx *sql.Tx, p *subscription) (same bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+subscriptionColumns+` FROM push_subscriptions WHERE session = $1 OR token = $2 AND provider = $3`, int64(p.session), p.token, int64(p.provider))
	var former []*subscription
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		f := &subscription{}
		former = append(former, f)
		return f.scan(rows)
	})
	if err != nil {
		return false, err
	}
	for _, f := range former {
		if f.session == p.session && f.owner == p.owner && f.provider == p.provider && f.token == p.token && string(f.p256dh) == string(p.p256dh) && string(f.auth) == string(p.auth) {
			p.id, p.createdMs = f.id, f.createdMs
			return true, nil
		}
		if err := remove(ctx, tx, f.id, f.owner); err != nil {
			return false, err
		}
	}
	return false, nil
}

// remove deletes a subscription and what is to be pushed to it. A user without subscriptions has no position.
func remove(ctx context.Context, tx *sql.Tx, subscription int64, owner id.User) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM push_subscriptions WHERE n = $1`, subscription); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM pushes WHERE subscription = $1`, subscription); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM push_users WHERE owner = $1 AND NOT EXISTS (SELECT 1 FROM push_subscriptions WHERE owner = $1)`, int64(owner))
	return err
}

// List returns the subscriptions of a user, the oldest first.
func (s *Service) List(ctx context.Context, by id.Caller) (*pushv1.ListPushSubscriptionsResponse, error) {
	if err := s.removeEndedOf(ctx, by.User); err != nil {
		return nil, err
	}
	out := &pushv1.ListPushSubscriptionsResponse{}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		list, err := subscriptionsOf(ctx, tx, by.User)
		out.Subscriptions = nil
		for _, p := range list {
			out.Subscriptions = append(out.Subscriptions, p.describe(by))
		}
		return err
	})
	return out, err
}

func subscriptionsOf(ctx context.Context, tx *sql.Tx, u id.User) (list []*subscription, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+subscriptionColumns+` FROM push_subscriptions WHERE owner = $1 ORDER BY n`, int64(u))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		p := &subscription{}
		list = append(list, p)
		return p.scan(rows)
	})
	return list, err
}

// Remove ends a subscription of a user. Those of others, and those that do not exist, are left alone, and nobody can tell them apart.
func (s *Service) Remove(ctx context.Context, by id.User, subscription uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var n int64
		err := tx.QueryRowContext(ctx, `SELECT n FROM push_subscriptions WHERE n = $1 AND owner = $2`, int64(subscription), int64(by)).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return errors.Join(err, remove(ctx, tx, n, by))
	})
}

// removeEndedOf removes the subscriptions of a user's sessions that have ended.
func (s *Service) removeEndedOf(ctx context.Context, u id.User) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT session FROM push_subscriptions WHERE owner = $1`, int64(u))
	sessions, err := sqldb.Column[id.Session](rows, err)
	if err != nil || len(sessions) == 0 {
		return err
	}
	ended, err := s.deps.Accounts.EndedSessions(ctx, sessions)
	if err != nil || len(ended) == 0 {
		return err
	}
	return s.removeSessions(ctx, ended)
}

func (s *Service) removeSessions(ctx context.Context, sessions []id.Session) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, session := range sessions {
			var n int64
			var owner id.User
			err := tx.QueryRowContext(ctx, `SELECT n, owner FROM push_subscriptions WHERE session = $1`, int64(session)).Scan(&n, &owner)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err := errors.Join(err, remove(ctx, tx, n, owner)); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeEnded removes the subscriptions of sessions that have ended.
func (s *Service) removeEnded(ctx context.Context) error {
	for after := int64(0); ; {
		var sessions []id.Session
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT n, session FROM push_subscriptions WHERE n > $1 ORDER BY n LIMIT $2`, after, trimBatch)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var session id.Session
			err := rows.Scan(&after, &session)
			sessions = append(sessions, session)
			return err
		})
		if err != nil || len(sessions) == 0 {
			return err
		}
		ended, err := s.deps.Accounts.EndedSessions(ctx, sessions)
		if err != nil {
			return err
		}
		if len(ended) > 0 {
			if err := s.removeSessions(ctx, ended); err != nil {
				return err
			}
		}
		if len(sessions) < trimBatch {
			return nil
		}
	}
}

// mayPush returns how long a subscription has to wait before the next push.
func (p *subscription) mayPush(nowMs int64) (wait time.Duration) {
	if p.waitUntilMs > nowMs {
		return time.Duration(p.waitUntilMs-nowMs) * time.Millisecond
	}
	if end := p.windowMs + window.Milliseconds(); p.windowPushes >= windowPushes && end > nowMs {
		return time.Duration(end-nowMs) * time.Millisecond
	}
	return 0
}
