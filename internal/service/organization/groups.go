package organization

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errFollows = errs.New(errs.Denied, "follows_department", "the members of this group are those of a department; change the department in the organization")
	errGroups  = errs.New(errs.Exhausted, "too_many_groups", "an organization has at most 200 groups; dissolve some first")
)

// CreateOrganizationGroup makes a group that follows a department, or a circle.
func (s *Service) CreateOrganizationGroup(ctx context.Context, by id.Caller, r *chatv1.CreateOrganizationGroupRequest) (*chatv1.CreateOrganizationGroupResponse, error) {
	v, err := s.viewer(ctx, r.Organization, by.User)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Key == "" || len(r.Key) > 40:
		return nil, errs.New(errs.Invalid, "bad_key", "a group of an organization needs a key of 1 to 40 bytes, so that a retry makes no second one")
	case len(r.Members) > maxCircle:
		return nil, errs.New(errs.Invalid, "too_many_users", "give at most 500 users at once")
	case r.Department != 0 && len(r.Members) > 0, r.Department == 0 && r.Below:
		return nil, errs.New(errs.Invalid, "bad_group", "give the department that the group follows, or the members of a circle")
	case r.Department != 0 && !v.isAdmin():
		return nil, errNotAdmin
	case r.Department != 0:
		err = v.mustSee(ctx, r.Department)
	default:
		err = s.mustBeMembers(ctx, r.Organization, r.Members)
	}
	if err != nil {
		return nil, err
	}
	// The owner alone at first: the group is followed before others join it.
	c, err := s.deps.Groups.CreateGroupBy(ctx, by, &chatv1.CreateGroupRequest{Title: r.Title, Key: "organization " + r.Key})
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE organizations SET revision = revision + 1 WHERE id = $1`, int64(r.Organization)); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM organization_groups WHERE organization = $1 AND conversation <> $2`, int64(r.Organization), int64(c)).Scan(&n); err != nil {
			return err
		}
		if n >= maxGroups {
			return errGroups
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO organization_groups (conversation, organization, department, below, pending) VALUES ($1, $2, $3, $4, 1) ON CONFLICT (conversation) DO NOTHING`,
			int64(c), int64(r.Organization), int64(r.Department), r.Below)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.Department == 0 {
		err = s.deps.Groups.AlignMembers(ctx, c, func(current []id.User) []id.User {
			for _, u := range r.Members {
				current = append(current, id.User(u))
			}
			return current
		})
	} else {
		err = s.align(ctx, c)
	}
	s.signal()
	return &chatv1.CreateOrganizationGroupResponse{Conversation: uint64(c)}, err
}

// mustBeMembers fails unless all users are members of an organization.
func (s *Service) mustBeMembers(ctx context.Context, org uint64, users []uint64) error {
	list := make([]id.User, len(users))
	for i, u := range users {
		list[i] = id.User(u)
	}
	inside, err := s.membersAmong(ctx, org, list)
	if err == nil && slices.ContainsFunc(list, func(u id.User) bool { return !inside[u] }) {
		err = errNoMember
	}
	return err
}

// membersAmong returns those of some users who are members, with one query for each 200.
func (s *Service) membersAmong(ctx context.Context, org uint64, users []id.User) (map[id.User]bool, error) {
	inside := map[id.User]bool{}
	for some := range slices.Chunk(users, maxPerCall) {
		marks, args := sqldb.Placeholders(2, some, func(u id.User) int64 { return int64(u) })
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM organization_members WHERE organization = $1 AND member IN (`+marks+`)`, append([]any{int64(org)}, args...)...)
		err = scanAll(rows, err, func(rows *sql.Rows) error {
			var u id.User
			err := rows.Scan(&u)
			inside[u] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return inside, nil
}

// CheckMembers fails if the members of a group follow a department, so that nobody adds or removes them, or if the added users are not in the
// organization of a circle.
func (s *Service) CheckMembers(ctx context.Context, c id.Conversation, added []id.User) error {
	var org, department uint64
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT organization, department FROM organization_groups WHERE conversation = $1`, int64(c)).Scan(&org, &department)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case department != 0:
		return errFollows
	}
	users := make([]uint64, len(added))
	for i, u := range added {
		users[i] = uint64(u)
	}
	return s.mustBeMembers(ctx, org, users)
}

// markPending makes the coordinator align the groups of an organization, of which there are at most 200.
func markPending(ctx context.Context, tx *sql.Tx, org uint64) error {
	_, err := tx.ExecContext(ctx, `UPDATE organization_groups SET pending = pending + 1 WHERE organization = $1`, int64(org))
	return err
}

// takeOut takes users who are no members any more out of the groups of an organization.
func (s *Service) takeOut(ctx context.Context, org uint64, users []id.User) error {
	inside, err := s.membersAmong(ctx, org, users)
	if err != nil {
		return err
	}
	var groups []id.Conversation
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation FROM organization_groups WHERE organization = $1 ORDER BY conversation LIMIT $2`, int64(org), maxGroups)
	err = scanAll(rows, err, func(rows *sql.Rows) error {
		var c id.Conversation
		err := rows.Scan(&c)
		groups = append(groups, c)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range groups {
		err := s.deps.Groups.AlignMembers(ctx, c, func(current []id.User) []id.User {
			return slices.DeleteFunc(current, func(u id.User) bool { return slices.Contains(users, u) && !inside[u] })
		})
		if err != nil && errs.Of(err).Reason != "dissolved" {
			return err
		}
	}
	return nil
}
