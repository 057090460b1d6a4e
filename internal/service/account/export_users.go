package account

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// ExportUsers returns a page of all users by their ids, without passwords, sessions and contacts. Official accounts are users as others.
func (s *Service) ExportUsers(ctx context.Context, r *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error) {
	out := &operationv1.ExportUsersResponse{}
	if r.After == 0 {
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM users`).Scan(&out.Total); err != nil {
			return nil, err
		}
	}
	limit := outputlimit.LargePageSize(r.Limit)
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, coalesce(external_id, ''), handle, display_name, bio, avatar, settings FROM users WHERE id > $1 ORDER BY id LIMIT $2`, int64(r.After), limit)
	out.Users, err = sqldb.Collect(rows, err, func(scan func(...any) error) (*operationv1.InterchangeUser, error) {
		u := &operationv1.InterchangeUser{}
		var settings []byte
		if err := scan(&u.User, &u.ExternalId, &u.Handle, &u.DisplayName, &u.Bio, &u.Avatar, &settings); err != nil || len(settings) == 0 {
			return u, err
		}
		u.Settings = &accountv1.Settings{}
		return u, proto.Unmarshal(settings, u.Settings)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ImportSettings stores the settings of a user who has none. Those that a user has chosen here stay.
func (s *Service) ImportSettings(ctx context.Context, u id.User, set *accountv1.Settings) error {
	c := id.Caller{User: u}
	if has, err := s.GetSettings(ctx, c); err != nil || proto.Size(has) > 0 {
		return err
	}
	_, err := s.UpdateSettings(ctx, c, set)
	return err
}
