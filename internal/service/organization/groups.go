package organization

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errFollows  = errs.New(errs.Denied, "follows_department", "the members of this group are those of a department; change the department in the organization")
	errGroups   = errs.New(errs.Exhausted, "too_many_groups", "an organization has at most 200 groups, of which a member who is not an admin makes 10; dissolve some, and try again")
	errKeyUsed  = errs.New(errs.Conflict, "group_key_used", "you made another group of the organization with this key; choose another key")
	errGroupKey = errs.New(errs.Invalid, "bad_key", "a group of an organization needs a key of 1 to 40 bytes, so that a retry makes no second one")
)

// CreateOrganizationGroup makes a group that follows a department, or a circle, whose members must agree as those of any group.
func (s *Service) CreateOrganizationGroup(ctx context.Context, by id.Caller, r *chatv1.CreateOrganizationGroupRequest) (*chatv1.CreateOrganizationGroupResponse, error) {
	v, err := s.viewer(ctx, r.Organization, by.User)
	if err != nil {
		return nil, err
	}
	if err := v.checkGroup(ctx, r); err != nil {
		return nil, err
	}
	c, err := s.findGroup(ctx, v, r)
	if err != nil {
		return nil, err
	}
	if c == 0 {
		// One that follows a department has its owner alone at first: it is followed before others join it.
		c, err = s.deps.Groups.CreateGroupFor(ctx, "org."+strconv.FormatUint(r.Organization, 36), by, &chatv1.CreateGroupRequest{Title: r.Title, Members: r.Members, Key: r.Key})
		if err == nil {
			err = s.storeGroup(ctx, c, by.User, r)
		}
		if err != nil {
			return nil, err
		}
	}
	s.signal()
	out := &chatv1.CreateOrganizationGroupResponse{Conversation: uint64(c)}
	if r.Department == 0 {
		return out, nil
	}
	return out, s.align(ctx, c)
}

// checkGroup fails unless the viewer may make a group.
func (v *viewer) checkGroup(ctx context.Context, r *chatv1.CreateOrganizationGroupRequest) error {
	switch {
	case r.Key == "" || len(r.Key) > 40 || checkLine(r.Key, 40) != nil:
		return errGroupKey
	case len(r.Members) > maxCircle:
		return errs.New(errs.Invalid, "too_many_users", "give at most 500 users at once")
	case r.Department != 0 && len(r.Members) > 0, r.Department == 0 && r.Below:
		return errs.New(errs.Invalid, "bad_group", "give the department that the group follows, or the members of a circle")
	case r.Department != 0 && !v.isAdmin():
		return errNotAdmin
	case r.Department != 0:
		return v.mustSee(ctx, r.Department)
	}
	return v.mustSeeMembers(ctx, r.Members)
}

// findGroup returns the group that an earlier request with this key made, or 0 if there is none and the viewer may make one more.
func (s *Service) findGroup(ctx context.Context, v *viewer, r *chatv1.CreateOrganizationGroupRequest) (found id.Conversation, err error) {
	var all, own []id.Conversation
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, department, below, creator, create_key FROM organization_groups WHERE organization = $1`, int64(r.Organization))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var c id.Conversation
		var department uint64
		var below bool
		var creator id.User
		var key string
		if err := rows.Scan(&c, &department, &below, &creator, &key); err != nil {
			return err
		}
		all = append(all, c)
		if creator != v.by {
			return nil
		}
		if own = append(own, c); key != r.Key {
			return nil
		}
		if found = c; department != r.Department || below != r.Below {
			return errKeyUsed
		}
		return nil
	})
	if err != nil || found != 0 {
		return found, err
	}
	if !v.isAdmin() && len(own) >= maxCircles {
		return 0, s.makeRoom(ctx, own)
	}
	if len(all) >= maxGroups {
		return 0, s.makeRoom(ctx, all)
	}
	return 0, nil
}

// makeRoom forgets those of some groups that were dissolved, or fails if there are none.
func (s *Service) makeRoom(ctx context.Context, groups []id.Conversation) error {
	dissolved, err := s.deps.Groups.DissolvedAmong(ctx, groups)
	if err != nil {
		return err
	}
	if len(dissolved) == 0 {
		return errGroups
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range dissolved {
			if _, err := tx.ExecContext(ctx, `DELETE FROM organization_groups WHERE conversation = $1`, int64(c)); err != nil {
				return err
			}
		}
		return nil
	})
}

// storeGroup makes a group one of the organization, whose rules may have changed since they were checked.
func (s *Service) storeGroup(ctx context.Context, c id.Conversation, by id.User, r *chatv1.CreateOrganizationGroupRequest) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE organizations SET revision = revision + 1 WHERE id = $1`, int64(r.Organization)); err != nil {
			return err
		}
		o, err := readOrganization(ctx, tx, r.Organization, by)
		if err != nil {
			return err
		}
		if r.Department != 0 {
			if o.Role < roleAdmin {
				return errNotAdmin
			}
			if err := checkDepartments(ctx, tx, r.Organization, []*chatv1.OrganizationMember{{Departments: []*chatv1.DepartmentMembership{{Department: r.Department}}}}); err != nil {
				return err
			}
		}
		var all int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM organization_groups WHERE organization = $1 AND conversation <> $2`, int64(r.Organization), int64(c)).Scan(&all); err != nil {
			return err
		}
		if all >= maxGroups {
			return errGroups
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO organization_groups (conversation, organization, department, below, pending, creator, create_key) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (conversation) DO NOTHING`,
			int64(c), int64(r.Organization), int64(r.Department), r.Below, newChangeID(), int64(by), r.Key)
		return err
	})
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
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
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

// newChangeID returns a random id for a pending change. It differs from that of any other change, so that an alignment clears only the change that it
// has read.
func newChangeID() int64 { return 1 + rand.Int64N(1<<62) }

// markPending makes the coordinator align the groups of an organization, of which there are at most 200.
func markPending(ctx context.Context, tx *sql.Tx, org uint64) error {
	_, err := tx.ExecContext(ctx, `UPDATE organization_groups SET pending = $2 WHERE organization = $1`, int64(org), newChangeID())
	return err
}

// takeOut takes users who are no members any more out of the groups of an organization. A user may join again meanwhile, so all groups are aligned
// afterwards.
func (s *Service) takeOut(ctx context.Context, org uint64, users []id.User) error {
	aligner, err := s.registerAlignerOfAll(ctx, org)
	if err != nil {
		return err
	}
	err = s.takeOutOfGroups(ctx, org, users)
	ctx = context.WithoutCancel(ctx)
	markErr := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := unregisterAligner(ctx, tx, aligner); err != nil {
			return err
		}
		return markPending(ctx, tx, org)
	})
	s.signal()
	return errors.Join(err, markErr)
}

// takeOutOfGroups takes users out of each group. One group that fails keeps none of the others.
func (s *Service) takeOutOfGroups(ctx context.Context, org uint64, users []id.User) error {
	ctx, cancel := context.WithTimeout(ctx, alignTimeout)
	defer cancel()
	inside, err := s.membersAmong(ctx, org, users)
	if err != nil {
		return err
	}
	gone := map[id.User]bool{}
	for _, u := range users {
		gone[u] = !inside[u]
	}
	groups, err := s.groupsOf(ctx, org)
	if err != nil {
		return err
	}
	var failures error
	for _, c := range groups {
		err := s.replaceOwner(ctx, c, org, func(owner id.User) (bool, error) { return gone[owner], nil })
		if err == nil {
			err = s.deps.Groups.AlignMembers(ctx, c, func(current []id.User) []id.User {
				return slices.DeleteFunc(current, func(u id.User) bool { return gone[u] })
			})
		}
		if err != nil && errs.Of(err).Reason != "dissolved" {
			failures = errors.Join(failures, err)
		}
	}
	return failures
}

// groupsOf returns the groups of an organization.
func (s *Service) groupsOf(ctx context.Context, org uint64) ([]id.Conversation, error) {
	return s.queryGroups(ctx, `SELECT conversation FROM organization_groups WHERE organization = $1 ORDER BY conversation LIMIT $2`, int64(org), maxGroups)
}

func (s *Service) queryGroups(ctx context.Context, query string, args ...any) ([]id.Conversation, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	return sqldb.Column[id.Conversation](rows, err)
}

// replaceOwner makes the organization's owner, who is always a member of it, the owner of a group whose owner must leave.
func (s *Service) replaceOwner(ctx context.Context, c id.Conversation, org uint64, leaves func(owner id.User) (bool, error)) error {
	var successor id.User
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT owner FROM organizations WHERE id = $1`, int64(org)).Scan(&successor); err != nil {
		return err
	}
	return s.deps.Groups.ReplaceOwner(ctx, c, successor, leaves)
}
