package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Get returns an account as a user may see it.
func (s *Service) Get(ctx context.Context, by id.User, r *chatv1.GetOfficialAccountRequest) (*chatv1.OfficialAccount, error) {
	account, err := s.find(ctx, r)
	if err != nil {
		return nil, err
	}
	if account > math.MaxInt64 {
		return nil, errNoAccount
	}
	o, err := read(ctx, s.deps.DB.Read(), account)
	if err != nil {
		return nil, err
	}
	role, err := roleOf(ctx, s.deps.DB.Read(), account, by)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, o, by, role)
}

// find returns the user that an account is.
func (s *Service) find(ctx context.Context, r *chatv1.GetOfficialAccountRequest) (account id.User, err error) {
	if r.User != 0 {
		return id.User(r.User), nil
	}
	channel := id.Conversation(r.Channel)
	if channel == 0 {
		channel, err = s.deps.Chat.ChannelByHandle(ctx, r.Handle)
		if errs.IsRefusal(err) {
			return 0, errNoAccount
		}
		if err != nil {
			return 0, err
		}
	}
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT account FROM official_accounts WHERE channel = $1`, int64(channel)).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errNoAccount
	}
	return account, err
}

// view returns an account as a user with a role sees it.
func (s *Service) view(ctx context.Context, o *official, by id.User, role chatv1.OfficialRole) (*chatv1.OfficialAccount, error) {
	v := &chatv1.OfficialAccount{User: uint64(o.account), Channel: uint64(o.channel), Disabled: o.disabled, Role: role, Revision: o.revision}
	info, err := s.deps.Chat.Channel(ctx, o.channel)
	if err != nil {
		return nil, err
	}
	v.Handle, v.Followers = info.Handle, info.Followers
	following, err := s.deps.Chat.FollowersAmong(ctx, o.channel, []id.User{by})
	if err != nil {
		return nil, err
	}
	v.Following = by != o.account && slices.Contains(following, by)
	menu, err := o.menuOf()
	if err != nil {
		return nil, err
	}
	v.Menu = menu.Entries
	if role == 0 {
		return v, nil
	}
	if v.Replies, err = o.repliesOf(); err != nil {
		return nil, err
	}
	v.ChangedBy = uint64(o.changedBy)
	if v.Operators, err = s.operators(ctx, o.account); err != nil {
		return nil, err
	}
	v.Labels, err = labelsOf(ctx, s.deps.DB.Read(), o.account)
	return v, err
}

func (s *Service) operators(ctx context.Context, account id.User) (list []*chatv1.OfficialOperator, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT operator, role FROM official_operators WHERE account = $1 ORDER BY operator LIMIT $2`, int64(account), maxOperators)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		o := &chatv1.OfficialOperator{}
		if err := rows.Scan(&o.User, &o.Role); err != nil {
			return err
		}
		list = append(list, o)
		return nil
	})
	return list, err
}

// List returns the accounts that a user operates, without menus and replies.
func (s *Service) List(ctx context.Context, by id.User) (*chatv1.ListOfficialAccountsResponse, error) {
	accounts, err := usersOf(ctx, s.deps.DB.Read(), `SELECT account FROM official_accounts WHERE account = $1 UNION SELECT account FROM official_operators WHERE operator = $1
		ORDER BY account LIMIT $2`, int64(by), maxOperated)
	if err != nil {
		return nil, err
	}
	r := &chatv1.ListOfficialAccountsResponse{}
	for _, account := range accounts {
		o, role, err := operated(ctx, s.deps.DB.Read(), account, by)
		if errors.Is(err, errNotOperator) { // since the query
			continue
		}
		if err != nil {
			return nil, err
		}
		info, err := s.deps.Chat.Channel(ctx, o.channel)
		if err != nil {
			return nil, err
		}
		r.Accounts = append(r.Accounts, &chatv1.OfficialAccount{User: uint64(account), Channel: uint64(o.channel), Handle: info.Handle, Followers: info.Followers,
			Disabled: o.disabled, Role: role, Revision: o.revision})
	}
	return r, nil
}
