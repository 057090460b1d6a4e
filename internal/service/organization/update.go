package organization

import (
	"context"
	"database/sql"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// CreateOrganization makes an organization for a server. With a key, a retry returns the first one.
func (s *Service) CreateOrganization(ctx context.Context, by id.Caller, r *chatv1.CreateOrganizationRequest) (*chatv1.Organization, error) {
	if !by.Server {
		return nil, errNeedsKey
	}
	if r.Owner == 0 {
		return nil, errs.New(errs.NotFound, "no_user", "name the user who owns the organization, in owner")
	}
	if r.Owner > 1<<63-1 {
		return nil, errNoExternal
	}
	owner := id.User(r.Owner)
	name, err := parseName(r.Name)
	if err != nil {
		return nil, err
	}
	if len(r.Key) > 64 || !utf8.ValidString(r.Key) || checkLine(r.Key, 64) != nil {
		return nil, errs.New(errs.Invalid, "bad_key", "a key has at most 64 bytes")
	}
	users, err := s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{uint64(owner)}})
	if err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return nil, errNoExternal
	}
	org, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	var o *chatv1.Organization
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		created, reader := org, owner
		done, err := tx.ExecContext(ctx, `INSERT INTO organizations (id, name, owner, first_owner, create_key, created_ms, members) VALUES ($1, $2, $3, $3, $4, $5, 1) ON CONFLICT DO NOTHING`,
			int64(org), name, int64(owner), orNull(r.Key), s.deps.Clock.Now().UnixMilli())
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			if err := tx.QueryRowContext(ctx, `SELECT id, owner FROM organizations WHERE first_owner = $1 AND create_key = $2`, int64(owner), r.Key).Scan(&created, &reader); err != nil {
				return err
			}
		} else {
			first := &chatv1.OrganizationMember{User: uint64(owner), Name: users[0].DisplayName, Role: roleOwner}
			if err := checkMemberships(ctx, tx, owner); err != nil {
				return err
			}
			if err := putMemberRow(ctx, tx, org, first); err != nil {
				return err
			}
		}
		o, err = readOrganization(ctx, tx, created, reader)
		return err
	})
	return o, err
}

// GetOrganization returns an organization to its members.
func (s *Service) GetOrganization(ctx context.Context, by id.User, org uint64) (*chatv1.Organization, error) {
	return readOrganization(ctx, s.deps.DB.Read(), org, by)
}

// ListOrganizations returns the organizations of a user.
func (s *Service) ListOrganizations(ctx context.Context, by id.User) (*chatv1.ListOrganizationsResponse, error) {
	out := &chatv1.ListOrganizationsResponse{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT o.id, o.name, o.owner, o.messaging, o.colleagues_are_friends, o.hide_phones, o.members, o.revision, m.role
		FROM organization_members m JOIN organizations o ON o.id = m.organization WHERE m.member = $1 ORDER BY o.id LIMIT $2`, int64(by), maxMemberOf)
	return out, sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		o := &chatv1.Organization{}
		out.Organizations = append(out.Organizations, o)
		return rows.Scan(&o.Id, &o.Name, &o.Owner, &o.Messaging, &o.ColleaguesAreFriends, &o.HidePhones, &o.Members, &o.Revision, &o.Role)
	})
}

// UpdateOrganization sets what is given.
func (s *Service) UpdateOrganization(ctx context.Context, by id.User, r *chatv1.UpdateOrganizationRequest) (*chatv1.Organization, error) {
	if r.Messaging != nil && (*r.Messaging < 1 || *r.Messaging > 4) {
		return nil, errs.New(errs.Invalid, "bad_messaging", "messaging is everyone, organization, inside or department")
	}
	name := ""
	if r.Name != nil {
		var err error
		if name, err = parseName(*r.Name); err != nil {
			return nil, err
		}
	}
	var o *chatv1.Organization
	err := s.change(ctx, by, r.Organization, func(tx *sql.Tx, before *chatv1.Organization) ([]clusterevent.Event, error) {
		o = before
		messaging, friends := o.Messaging, o.ColleaguesAreFriends
		if r.Name != nil {
			o.Name = name
		}
		if r.Messaging != nil {
			o.Messaging = *r.Messaging
		}
		if r.ColleaguesAreFriends != nil {
			o.ColleaguesAreFriends = *r.ColleaguesAreFriends
		}
		if r.HidePhones != nil {
			o.HidePhones = *r.HidePhones
		}
		_, err := tx.ExecContext(ctx, `UPDATE organizations SET name = $2, messaging = $3, colleagues_are_friends = $4, hide_phones = $5 WHERE id = $1`,
			int64(o.Id), o.Name, o.Messaging, o.ColleaguesAreFriends, o.HidePhones)
		if err != nil || messaging == o.Messaging && friends == o.ColleaguesAreFriends { // all users' relations are read again, so not for a name
			return nil, err
		}
		return []clusterevent.Event{{Kind: everybodyEvent}}, nil
	})
	return o, err
}

// change runs a change of an organization by one of its admins, after all earlier ones, and makes all nodes check the relations of the users in
// the events that it returns.
func (s *Service) change(ctx context.Context, by id.User, org uint64, change func(tx *sql.Tx, o *chatv1.Organization) ([]clusterevent.Event, error)) error {
	return s.changeAs(ctx, by, roleAdmin, org, change)
}

// changeAs is change by a member with at least a role.
func (s *Service) changeAs(ctx context.Context, by id.User, least chatv1.OrganizationRole, org uint64, change func(tx *sql.Tx, o *chatv1.Organization) ([]clusterevent.Event, error)) error {
	var events []clusterevent.Event
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// Without a lock for those who may not have it.
		if o, err := readOrganization(ctx, tx, org, by); err != nil {
			return err
		} else if o.Role < least {
			return errNotAdmin
		}
		if _, err := tx.ExecContext(ctx, `UPDATE organizations SET revision = revision + 1 WHERE id = $1`, int64(org)); err != nil {
			return err
		}
		o, err := readOrganization(ctx, tx, org, by)
		if err != nil {
			return err
		}
		if events, err = change(tx, o); err != nil || s.deps.ClusterEvents == nil {
			return err
		}
		return s.deps.ClusterEvents.Add(ctx, tx, events...)
	})
	if !errs.IsRefusal(err) { // also if it is not known whether the change was stored
		s.announce(ctx, events)
		s.wakeOutbox()
	}
	return err
}
