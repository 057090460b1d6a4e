package officialaccount

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errNoAccount = errs.New(errs.NotFound, "no_official_account", "there is no such official account")
	// The same for an account that does not exist: nobody learns who operates what.
	errNotOperator = errs.New(errs.Denied, "not_operator", "only operators of the official account may do this; ask one of its admins")
	errNotAdmin    = errs.New(errs.Denied, "not_operator_admin", "only admins of the official account name operators")
)

// official is a row of official_accounts.
type official struct {
	account   id.User
	channel   id.Conversation
	disabled  bool
	menu      []byte // an OfficialMenu
	replies   []byte // an OfficialReplies
	answers   bool   // there are rules or a fallback
	revision  uint64
	changedBy id.User
	position  message.Position
}

const accountColumns = `account, channel, disabled, menu, replies, answers, revision, changed_by, position`

func scanAccount(scan func(...any) error) (*official, error) {
	o := &official{}
	var position int64
	err := scan(&o.account, &o.channel, &o.disabled, &o.menu, &o.replies, &o.answers, &o.revision, &o.changedBy, &position)
	o.position = message.Position(position)
	return o, err
}

// read returns an account, or errNoAccount.
func read(ctx context.Context, q sqldb.Querier, u id.User) (*official, error) {
	o, err := scanAccount(q.QueryRowContext(ctx, `SELECT `+accountColumns+` FROM official_accounts WHERE account = $1`, int64(u)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoAccount
	}
	return o, err
}

// roleOf returns what a user may do for an account. The account itself is an admin.
func roleOf(ctx context.Context, q sqldb.Querier, account, u id.User) (role chatv1.OfficialRole, err error) {
	if account == u {
		return chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN, nil
	}
	err = q.QueryRowContext(ctx, `SELECT role FROM official_operators WHERE account = $1 AND operator = $2`, int64(account), int64(u)).Scan(&role)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return role, err
}

// operated returns an account that a user may act for. For anybody else there is none.
func operated(ctx context.Context, q sqldb.Querier, account, by id.User) (*official, chatv1.OfficialRole, error) {
	role, err := roleOf(ctx, q, account, by)
	if err != nil {
		return nil, 0, err
	}
	if role == 0 {
		return nil, 0, errNotOperator
	}
	o, err := read(ctx, q, account)
	if errors.Is(err, errNoAccount) {
		err = errNotOperator
	}
	return o, role, err
}

func (o *official) menuOf() (*chatv1.OfficialMenu, error) {
	m := &chatv1.OfficialMenu{}
	return m, proto.Unmarshal(o.menu, m)
}

func (o *official) repliesOf() (*chatv1.OfficialReplies, error) {
	r := &chatv1.OfficialReplies{}
	return r, proto.Unmarshal(o.replies, r)
}

// isOfficial reports whether a user is an official account.
func isOfficial(ctx context.Context, q sqldb.Querier, u id.User) (is bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM official_accounts WHERE account = $1)`, int64(u)).Scan(&is)
	return is, err
}

// usersOf returns the users of a query of one column.
func usersOf(ctx context.Context, q sqldb.Querier, query string, args ...any) ([]id.User, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	return sqldb.Column[id.User](rows, err)
}
