package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// The row of a user who was erased stays: its id is in the messages' slots and in other rows. It has nothing else. The handle, and the id at the app, are free
// for others.

// erasedName is the display name of a user who was erased. Clients that know User.deleted show their own words.
const erasedName = "Deleted account"

// erasedHandle cannot be registered.
func erasedHandle(u id.User) string { return "~" + u.String() }

// Kinds of cluster events.
const (
	erasureBeganEvent = "erasure_began"
	erasureEndedEvent = "erasure_ended"
)

var errErased = errs.New(errs.Denied, "erased", "this account was deleted")

// userTables are the tables of the package with data of users. Secrets are not exported.
var userTables = []userdata.Table{
	{Name: "users", Export: `SELECT id, handle, display_name, bio, avatar, external_id, settings, created_ms FROM users WHERE id = $1`, Decode: map[string]func([]byte) (any, error){"settings": userdata.Proto[accountv1.Settings]()}},
	{Name: "foreign_sessions", Erase: `DELETE FROM foreign_sessions WHERE sum IN (SELECT f.sum FROM foreign_sessions f JOIN sessions s ON s.id = f.session WHERE s.owner = $1 LIMIT $2)`},
	{Name: "refreshed"}, // hashes of used tokens, by session; they are purged after 30 days
	{Name: "sessions", Export: `SELECT id, device, name, type, created_ms, used_ms, ended_ms FROM sessions WHERE owner = $1 ORDER BY id`,
		Erase: `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE owner = $1 ORDER BY id LIMIT $2)`},
	{Name: "devices", Erase: `DELETE FROM devices WHERE id IN (SELECT id FROM devices WHERE owner = $1 LIMIT $2)`},
	{Name: "login_codes", Erase: `DELETE FROM login_codes WHERE owner = $1 AND $2 > 0`},
	{Name: "login_challenges", Erase: `DELETE FROM login_challenges WHERE sum IN (SELECT sum FROM login_challenges WHERE owner = $1 LIMIT $2)`},
	{Name: "totps", Export: `SELECT confirmed_ms FROM totps WHERE owner = $1`, Erase: `DELETE FROM totps WHERE owner = $1 AND $2 > 0`},
	{Name: "recovery_codes", Erase: `DELETE FROM recovery_codes WHERE (owner, sum) IN (SELECT owner, sum FROM recovery_codes WHERE owner = $1 LIMIT $2)`},
	{Name: "one_time_codes", Erase: `DELETE FROM one_time_codes WHERE name IN (SELECT o.name FROM one_time_codes o JOIN contacts c ON c.address = o.address WHERE c.owner = $1 LIMIT $2)`},
	{Name: "contacts", Export: `SELECT kind, address, verified_ms FROM contacts WHERE owner = $1 ORDER BY kind`,
		Erase: `DELETE FROM contacts WHERE (owner, kind) IN (SELECT owner, kind FROM contacts WHERE owner = $1 LIMIT $2)`},
	{Name: "passkeys", Export: `SELECT id, name, created_ms, used_ms FROM passkeys WHERE owner = $1 ORDER BY id`,
		Erase: `DELETE FROM passkeys WHERE id IN (SELECT id FROM passkeys WHERE owner = $1 LIMIT $2)`},
	{Name: "api_keys", Erase: `DELETE FROM api_keys WHERE sum IN (SELECT sum FROM api_keys WHERE bot = $1 LIMIT $2)`},
	{Name: "relations", Export: `SELECT other AS user_id, friend, requested, asked, blocked, following, muted, remark, CASE WHEN requested THEN message ELSE '' END AS message FROM relations WHERE owner = $1 ORDER BY other`},
	{Name: "follow_counts", Erase: `DELETE FROM follow_counts WHERE owner = $1 AND $2 > 0`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "account", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// EraseUser first ends some relations, and when none is left deletes the rows of tables.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	n, err := d.service.endRelations(ctx, u)
	if err != nil || n > 0 {
		return userdata.Step{Erased: int64(n)}, err
	}
	return userdata.Step{Next: userdata.FirstTable}, nil
}

// relationsAtOnce is how many relations a step ends. Each is a transaction.
const relationsAtOnce = 100

// endRelations ends some relations of a user with others, in both directions, and returns how many.
func (s *Service) endRelations(ctx context.Context, u id.User) (n int, err error) {
	others, err := s.someRelated(ctx, u)
	if err != nil {
		return 0, err
	}
	for _, other := range others {
		_, err := s.change(ctx, u, other, func(mine, theirs *chatv1.Relation) error {
			proto.Reset(mine)
			proto.Reset(theirs)
			mine.User, theirs.User = uint64(other), uint64(u)
			return nil
		})
		if err != nil && !errs.Is(err, errs.NotFound) { // the row of a user who does not exist any more
			return n, fmt.Errorf("the relation with user %d: %w", other, err)
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM relations WHERE (owner = $1 AND other = $2) OR (owner = $2 AND other = $1)`, int64(u), int64(other))
			return err
		})
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// someRelated returns some users with a relation to a user. Only the last statement, for those who have blocked or asked the user, reads the whole table.
func (s *Service) someRelated(ctx context.Context, u id.User) (list []id.User, err error) {
	for _, query := range []string{
		`SELECT other FROM relations WHERE owner = $1 ORDER BY other LIMIT $2`,
		`SELECT owner FROM relations WHERE other = $1 AND following ORDER BY owner LIMIT $2`,
		`SELECT owner FROM relations WHERE other = $1 ORDER BY owner LIMIT $2`,
	} {
		rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(u), relationsAtOnce)
		if err != nil {
			return nil, err
		}
		if list, err = scanIDs(rows, nil); err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, nil
}

// BeginErasure ends all sessions of a user, and removes all by which the user can log in and is known: the profile, the password, the id at the app. From
// then on Erasing has the user. It may be repeated. The errors are those of the database, and no_user.
func (s *Service) BeginErasure(ctx context.Context, u id.User) error {
	raw, err := proto.Marshal(&chatv1.ProfileChange{User: uint64(u)})
	if err != nil {
		return err
	}
	changed := job.Event{Body: message.AppendBody(nil, message.FieldProfile, raw)}
	var ended []Ended
	err = s.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) (err error) {
		if ended, err = s.endSessions(ctx, tx, "revoked", `true`, int64(u), s.nowMs()); err != nil {
			return err
		}
		if err := s.noteIdentity(ctx, tx, u); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE users SET handle = $2, display_name = $3, folded = '', bio = '', avatar = 0, password = '', external_id = NULL, settings = NULL, official = FALSE,
			created_ms = 0, erased_ms = $4, erasing = TRUE WHERE id = $1 AND erased_ms = 0`, int64(u), erasedHandle(u), erasedName, s.nowMs())
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			if err == nil {
				_, err = getUser(ctx, tx, u) // it began before, or there is no user
			}
			return err
		}
		if err := s.profileChanged(ctx, tx, u); err != nil {
			return err
		}
		if err := s.putToFriends(ctx, tx, u, changed); err != nil {
			return err
		}
		return s.addEvents(ctx, tx, clusterevent.Event{Kind: erasureBeganEvent, User: u})
	})
	if err != nil {
		return err
	}
	if err := s.LoadErasing(ctx); err != nil {
		return err
	}
	s.deps.Outbox.Wake()
	s.notifyNodes()
	s.announceEnded(ended)
	return nil
}

// noteIdentity remembers the id at the app of a user who is erased.
func (s *Service) noteIdentity(ctx context.Context, tx *sql.Tx, u id.User) error {
	var external sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT external_id FROM users WHERE id = $1`, int64(u)).Scan(&external)
	if errors.Is(err, sql.ErrNoRows) {
		return errNoUser
	}
	if err != nil || !external.Valid {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO erased_identities (sum, erased_ms) VALUES ($1, $2) ON CONFLICT (sum) DO UPDATE SET erased_ms = $2`, s.identitySum(external.String), s.nowMs())
	return err
}

// identitySum is a hash of an id at the app, with a key of the server.
func (s *Service) identitySum(externalID string) []byte {
	h := hmac.New(sha256.New, s.refreshKey)
	h.Write([]byte("erased identity " + externalID)) //nolint:errcheck // never fails
	return h.Sum(nil)
}

// requireIssuedAfterErasure fails if a user with this id at the app was erased after a token was issued.
func (s *Service) requireIssuedAfterErasure(ctx context.Context, externalID string, issuedMs int64) error {
	var erasedMs int64
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT erased_ms FROM erased_identities WHERE sum = $1`, s.identitySum(externalID)).Scan(&erasedMs)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil && issuedMs <= erasedMs:
		return auth.ErrToken
	}
	return err
}

// EndErasure says that nothing is left of a user for reads to leave out.
func (s *Service) EndErasure(ctx context.Context, u id.User) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE users SET erasing = FALSE WHERE id = $1`, int64(u)); err != nil {
			return err
		}
		return s.addEvents(ctx, tx, clusterevent.Event{Kind: erasureEndedEvent, User: u})
	})
	if err != nil {
		return err
	}
	s.notifyNodes()
	return s.LoadErasing(ctx)
}

// Erasing returns the users whose data are being erased; nil if there are none. The caller must not change it. Another node than the one that began knows a
// user within a second.
func (s *Service) Erasing() map[id.User]bool {
	if p := s.erasing.Load(); p != nil {
		return *p
	}
	return nil
}

// ErasedAmong returns those of some users whose erasure has begun or ended, as of a transaction.
func (s *Service) ErasedAmong(ctx context.Context, tx *sql.Tx, users []id.User) ([]id.User, error) {
	if len(users) == 0 {
		return nil, nil
	}
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	rows, err := tx.QueryContext(ctx, `SELECT id FROM users WHERE erased_ms > 0 AND id IN (`+marks+`)`, args...)
	return sqldb.Column[id.User](rows, err)
}

func (s *Service) setErasing(u id.User, is bool) {
	s.erasingMu.Lock()
	defer s.erasingMu.Unlock()
	next := maps.Clone(s.Erasing())
	if next == nil {
		next = map[id.User]bool{}
	}
	if delete(next, u); is {
		next[u] = true
	}
	s.erasing.Store(&next)
}

// LoadErasing reads which users are being erased: at the start, and after missed events.
func (s *Service) LoadErasing(ctx context.Context) error {
	s.erasingMu.Lock()
	defer s.erasingMu.Unlock()
	next := map[id.User]bool{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM users WHERE erasing`)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		err := rows.Scan(&u)
		next[u] = true
		return err
	})
	if err == nil {
		s.erasing.Store(&next)
	}
	return err
}

// putToFriends puts an event into the streams of a user's friends.
func (s *Service) putToFriends(ctx context.Context, tx *sql.Tx, u id.User, e job.Event) error {
	var events []job.Event
	rows, err := tx.QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND friend ORDER BY other`, int64(u))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		err := rows.Scan(&e.User)
		events = append(events, e)
		return err
	})
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, events...)
}

// requireNotErased fails if a user was erased.
func requireNotErased(ctx context.Context, tx *sql.Tx, u id.User) error {
	var erasedMs int64
	err := tx.QueryRowContext(ctx, `SELECT erased_ms FROM users WHERE id = $1`, int64(u)).Scan(&erasedMs)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errNoUser
	case err == nil && erasedMs > 0:
		return errErased
	}
	return err
}

// ConfirmErasure checks that a caller may have the caller's own account erased: a session must have logged in, or confirmed its user's identity, a short time
// ago.
func (s *Service) ConfirmErasure(ctx context.Context, tx *sql.Tx, c id.Caller) error {
	if err := requireNotErased(ctx, tx, c.User); err != nil {
		return err
	}
	return s.requireConfirmed(ctx, tx, c)
}

// FindUser returns the user with an id, or with an id at the app. It fails with no_user.
func (s *Service) FindUser(ctx context.Context, u id.User, externalID string) (found id.User, err error) {
	if !isStorable(externalID) {
		return 0, errNoUser
	}
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE id = $1 OR external_id = $2`, int64(u), sql.NullString{String: externalID, Valid: externalID != ""}).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoUser
	}
	return found, err
}
