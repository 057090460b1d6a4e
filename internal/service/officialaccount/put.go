package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// maxAccounts bounds the official accounts of a deployment: the coordinator looks at the streams of all.
	maxAccounts = 10_000
	// service and channelKey make the creation of an account's channel repeatable.
	service, channelKey = "official-account", "channel"
)

var errTooManyAccounts = errs.New(errs.Exhausted, "too_many_official_accounts", "there are 10,000 official accounts, which is the maximum; use one of them")

// Put makes a user an official account with a channel, or changes the account. Only servers may call it.
func (s *Service) Put(ctx context.Context, r *accountv1.PutOfficialAccountRequest) (*accountv1.PutOfficialAccountResponse, error) {
	account := id.User(r.User)
	if account == 0 || account > math.MaxInt64 {
		return nil, errNoUser
	}
	user, err := s.deps.Accounts.GetUser(ctx, account)
	if err != nil {
		return nil, err
	}
	o, err := read(ctx, s.deps.DB.Read(), account)
	if errors.Is(err, errNoAccount) {
		o, err = s.create(ctx, account, user.DisplayName)
	}
	if err != nil {
		return nil, err
	}
	if r.Handle != nil {
		if err := s.setHandle(ctx, o, *r.Handle); err != nil {
			return nil, err
		}
	}
	tails, err := s.deps.Streams.Tails(ctx, []id.User{account}) // what was written while it was disabled is not answered
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE official_accounts SET disabled = $2, position = $3, revision = revision + 1 WHERE account = $1 AND disabled <> $2`, int64(account), r.Disabled, int64(tails[0]))
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.deps.Accounts.SetOfficial(ctx, account, !r.Disabled); err != nil {
		return nil, err
	}
	return &accountv1.PutOfficialAccountResponse{Channel: uint64(o.channel)}, nil
}

var errNoUser = errs.New(errs.NotFound, "no_user", "there is no such user")

// create makes the channel and the row of an account.
func (s *Service) create(ctx context.Context, account id.User, title string) (*official, error) {
	channel, err := s.deps.Chat.CreateGroupFor(ctx, service, id.Caller{User: account, Server: true},
		&chatv1.CreateGroupRequest{Title: title, Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_OPEN, Key: channelKey})
	if err != nil {
		return nil, err
	}
	var o *official
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		count := 0
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM official_accounts`).Scan(&count); err != nil {
			return err
		}
		if count >= maxAccounts {
			return errTooManyAccounts
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO official_accounts (account, channel) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(account), int64(channel)); err != nil {
			return err
		}
		o, err = read(ctx, tx, account)
		return err
	})
	return o, err
}

// setHandle gives the channel a handle, unless it has it.
func (s *Service) setHandle(ctx context.Context, o *official, handle string) error {
	info, err := s.deps.Chat.Channel(ctx, o.channel)
	if err != nil || message.FoldHandle(handle) == info.Handle {
		return err
	}
	_, err = s.deps.Chat.UpdateGroup(ctx, o.channel, o.account, &chatv1.UpdateGroupRequest{Conversation: uint64(o.channel), Handle: &handle})
	return err
}
