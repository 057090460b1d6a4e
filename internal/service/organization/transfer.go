package organization

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errNotOwner = errs.New(errs.Denied, "not_organization_owner", "only the owner transfers the organization; ask the owner")

// TransferOrganization makes another member the owner. The former owner remains, as an admin. Groups that the former owner owns stay so.
func (s *Service) TransferOrganization(ctx context.Context, by id.User, r *chatv1.TransferOrganizationRequest) (o *chatv1.Organization, err error) {
	err = s.changeAs(ctx, by, roleOwner, r.Organization, func(tx *sql.Tx, before *chatv1.Organization) ([]clusterevent.Event, error) {
		o = before
		if r.User == o.Owner {
			return nil, nil
		}
		if members, err := membersOf(ctx, tx, r.Organization, []id.User{id.User(r.User)}); err != nil {
			return nil, err
		} else if members[r.User] == nil {
			return nil, errNoMember
		}
		for _, m := range []struct {
			user uint64
			role chatv1.OrganizationRole
		}{{o.Owner, roleAdmin}, {r.User, roleOwner}} {
			if _, err := tx.ExecContext(ctx, `UPDATE organization_members SET role = $3 WHERE organization = $1 AND member = $2`, int64(o.Id), int64(m.user), m.role); err != nil {
				return nil, err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE organizations SET owner = $2 WHERE id = $1`, int64(o.Id), int64(r.User)); err != nil {
			return nil, err
		}
		o, err = readOrganization(ctx, tx, o.Id, by)
		return nil, err
	})
	if errors.Is(err, errNotAdmin) {
		err = errNotOwner
	}
	return o, err
}
