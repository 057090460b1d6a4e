package account

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
)

// NewKey is an API key to be created.
type NewKey struct {
	Name string
	// Audit: it may read messages as they were stored.
	Audit bool
	// Bot is the user for whom alone the key stands; 0: it stands for any user.
	Bot id.User
	// Bridge is the name of the bridge that uses the key of a bot: 1 to 32 lower-case letters, digits and hyphens. "": none does.
	Bridge string
	// Role of a person in the operators' console, and in the calls of the commands that ask for a role. Such a key makes no other calls.
	Role id.OperatorRole
}

var (
	bridgeName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

	errBridgeKey  = errs.New(errs.Invalid, "bad_key", "the key of a bridge is that of a bot, and a bridge's name has 1 to 32 lower-case letters, digits and hyphens")
	errBotAudit   = errs.New(errs.Invalid, "bad_key", "the key of a bot cannot have the permission audit")
	errSystemName = errs.New(errs.Invalid, "bad_key", "the name of a key does not contain "+auditlog.SystemPrefix+", which marks users of the operating system in the audit log")
)

// CreateKey creates an API key, and records that. Only this call returns it.
func (s *Service) CreateKey(ctx context.Context, k NewKey, record auditlog.Recorder) (string, error) {
	if k.Role != id.NoOperator {
		return s.createOperatorKey(ctx, k, record)
	}
	if auditlog.ImitatesSystem(k.Name) {
		return "", errSystemName
	}
	if k.Bridge != "" && (k.Bot == 0 || !bridgeName.MatchString(k.Bridge)) {
		return "", errBridgeKey
	}
	if k.Bot != 0 {
		if k.Audit {
			return "", errBotAudit
		}
		err := s.Exist(ctx, []id.User{k.Bot})
		if err != nil && errs.Of(err).Reason == "no_user" {
			err = errs.New(errs.NotFound, "no_user", "there is no user "+k.Bot.String())
		}
		if err != nil {
			return "", err
		}
	}
	key := auth.NewSecret("rk_")
	return key, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO api_keys (sum, name, created_ms, audit, bot, bridge) VALUES ($1, $2, $3, $4, $5, $6)`, auth.Sum(key), k.Name, s.nowMs(), k.Audit, int64(k.Bot), k.Bridge); err != nil {
			return err
		}
		return record.Record(ctx, tx, auditlog.Entry{Action: "key.create", Subject: "key " + k.Name, After: describeKey(k.Audit, k.Bot, k.Bridge)})
	})
}

// describeKey says what the key of a server or a bot may do, for the audit log.
func describeKey(audit bool, bot id.User, bridge string) string {
	switch {
	case bridge != "":
		return "bridge " + bridge + ", bot of user " + bot.String()
	case bot != 0:
		return "bot of user " + bot.String()
	case audit:
		return "server, audit"
	}
	return "server"
}

// KeyInfo is what is known of an API key; the key itself is not stored.
type KeyInfo struct {
	Name string
	// Access is what it may do, as the audit log says it: "server, audit", "bot of user 7", or the name of a role.
	Access    string
	CreatedMs int64 // since 1970
}

// ListKeys returns all API keys, oldest first.
func (s *Service) ListKeys(ctx context.Context) (keys []KeyInfo, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name, created_ms, audit, bot, bridge, 0 FROM api_keys
		UNION ALL SELECT name, created_ms, FALSE, 0, '', role FROM operator_keys ORDER BY 2, 1`)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var k KeyInfo
		var audit bool
		var bot id.User
		var bridge string
		var role id.OperatorRole
		err := rows.Scan(&k.Name, &k.CreatedMs, &audit, &bot, &bridge, &role)
		if k.Access = describeKey(audit, bot, bridge); role != id.NoOperator {
			k.Access = role.String()
		}
		keys = append(keys, k)
		return err
	})
	return keys, err
}

// RevokeKey revokes the keys of a name, and records that; here at once, and in other processes within a second. It returns how many they were. If there are none,
// nothing is recorded.
func (s *Service) RevokeKey(ctx context.Context, name string, record auditlog.Recorder) (n int, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		revoked, err := deleteKeys(ctx, tx, name)
		if n = len(revoked); err != nil || n == 0 {
			return err
		}
		return record.Record(ctx, tx, auditlog.Entry{Action: "key.revoke", Subject: "key " + name, Before: strings.Join(revoked, "; "), After: "revoked"})
	})
	s.keys.dropAll()
	return n, err
}

// deleteKeys deletes the keys of a name, and says of each what it was.
func deleteKeys(ctx context.Context, tx *sql.Tx, name string) (deleted []string, err error) {
	rows, err := tx.QueryContext(ctx, `DELETE FROM api_keys WHERE name = $1 RETURNING audit, bot, bridge`, name)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var audit bool
		var bot id.User
		var bridge string
		err := rows.Scan(&audit, &bot, &bridge)
		deleted = append(deleted, describeKey(audit, bot, bridge))
		return err
	})
	if err != nil {
		return nil, err
	}
	rows, err = tx.QueryContext(ctx, `DELETE FROM operator_keys WHERE name = $1 RETURNING role`, name)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var role id.OperatorRole
		err := rows.Scan(&role)
		deleted = append(deleted, role.String())
		return err
	})
	slices.Sort(deleted)
	return deleted, err
}

const (
	// keyCacheTTL is how long a verified key is cached. Servers make very many small calls.
	keyCacheTTL = time.Second
	// keyCacheMaxStale is how long a verified key remains valid while the database does not answer.
	keyCacheMaxStale = 10 * time.Minute
)

// keyCache holds the verified keys.
type keyCache struct {
	mu    sync.Mutex // guards found
	found map[string]verifiedKey
}

// verifiedKey is whom a key stands for, and when it was verified.
type verifiedKey struct {
	caller id.Caller
	at     time.Time
}

// get returns whom a key stands for, and the time since it was verified; ok is false if it is not cached.
func (k *keyCache) get(key string, now time.Time) (c id.Caller, age time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.found[key]
	age = now.Sub(found.at)
	return found.caller, age, ok && age >= 0 // a negative age, after the clock stepped back, is not valid
}

func (k *keyCache) put(key string, c id.Caller, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		k.found = map[string]verifiedKey{}
	}
	k.found[key] = verifiedKey{c, now}
}

func (k *keyCache) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.found, key)
}

func (k *keyCache) dropAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.found = nil
}

// errKey has the reason of every bad token, and a hint for API keys.
var errKey = errs.New(errs.Unauthenticated, auth.ErrToken.Reason, "the API key is not valid: it was revoked, or belongs to another deployment; create one with rialto admin key create")

// verifyAPIKey returns whom an API key stands for.
func (s *Service) verifyAPIKey(ctx context.Context, key string) (id.Caller, error) {
	return s.verifyKey(ctx, key, func(c *id.Caller) error {
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT name, audit, bot, bridge FROM api_keys WHERE sum = $1`, auth.Sum(key)).Scan(&c.Key, &c.Audit, &c.User, &c.Bridge)
		c.Bot = c.User != 0
		c.Server = !c.Bot
		if err == nil && c.Bot {
			err = s.checkBan(ctx, s.deps.DB.Read(), c.User, 0)
		}
		return err
	})
}

// verifyKey returns whom a key stands for: the cached caller, or the one that read reads.
func (s *Service) verifyKey(ctx context.Context, key string, read func(c *id.Caller) error) (id.Caller, error) {
	now := s.deps.Clock.Now()
	cached, age, known := s.keys.get(key, now)
	if known && age < keyCacheTTL {
		s.deps.KeyReads.Count(1, 0)
		return cached, nil
	}
	s.deps.KeyReads.Count(0, 1)
	c := id.Caller{}
	switch err := read(&c); {
	case err == nil:
		s.keys.put(key, c, now)
		return c, nil
	case errors.Is(err, sql.ErrNoRows):
		s.keys.drop(key)
		return id.Caller{}, errKey
	case !known || age >= keyCacheMaxStale || errs.IsRefusal(err):
		return id.Caller{}, err
	}
	return cached, nil
}
