package account

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
)

// operatorKeyPrefix begins each key for the operators' console. Such keys have a table of their own, so that no build takes one for the key of a server.
const operatorKeyPrefix = "ro_"

// maxOperatorName is how long the name of a key with a role may be, in characters.
const maxOperatorName = 100

var (
	errRoleKey      = errs.New(errs.Denied, "console_key", "this key is for the operators' console, and cannot be used for this; make another one with rialto admin key create")
	errNoRole       = errs.New(errs.Denied, "no_role", "this needs a key with a role in the operators' console: rialto admin key create --role operator")
	errOperatorName = errs.New(errs.Invalid, "bad_key", fmt.Sprintf("the name of a key with a role, which records show, is one line of 1 to %d characters%s, and does not contain %s", maxOperatorName, message.TextRule, auditlog.SystemPrefix))
	errBadRole      = errs.New(errs.Invalid, "bad_key", "a key with a role is for a person: it has no bot and no permission audit")
)

// createOperatorKey creates a key with a role.
func (s *Service) createOperatorKey(ctx context.Context, k NewKey, record auditlog.Recorder) (string, error) {
	if k.Audit || k.Bot != 0 {
		return "", errBadRole
	}
	if k.Name == "" || !message.IsText(k.Name, maxOperatorName, message.IsLine) || auditlog.ImitatesSystem(k.Name) {
		return "", errOperatorName
	}
	key := auth.NewSecret(operatorKeyPrefix)
	return key, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO operator_keys (sum, name, created_ms, role) VALUES ($1, $2, $3, $4)`, auth.Sum(key), k.Name, s.nowMs(), int64(k.Role)); err != nil {
			return err
		}
		return record.Record(ctx, tx, auditlog.Entry{Action: "key.create", Subject: "key " + k.Name, After: k.Role.String()})
	})
}

// IsOperatorKey reports whether a token has the form of a key with a role in the operators' console.
func IsOperatorKey(token string) bool { return strings.HasPrefix(token, operatorKeyPrefix) }

// VerifyOperator returns whom a key with a role in the operators' console stands for. Verify refuses such keys.
func (s *Service) VerifyOperator(ctx context.Context, key string) (id.Caller, error) {
	if !IsOperatorKey(key) {
		if _, err := s.Verify(ctx, key); err != nil {
			return id.Caller{}, err
		}
		return id.Caller{}, errNoRole
	}
	return s.verifyKey(ctx, key, func(c *id.Caller) error {
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT name, role FROM operator_keys WHERE sum = $1`, auth.Sum(key)).Scan(&c.Key, &c.Role)
		if err == nil && (c.Role < id.Auditor || c.Role > id.Moderator) {
			return sql.ErrNoRows // it is of a later build: this one does not know the key
		}
		return err
	})
}
