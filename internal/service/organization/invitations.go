package organization

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errNoInvitation = errs.New(errs.NotFound, "no_invitation", "you have no invitation to this organization, or it is no longer valid; ask one of its admins for a new one")
	errInvitations  = errs.New(errs.Exhausted, "too_many_invitations", "an organization has at most 1,000 invitations; take some back, or wait for answers")
)

// InviteToOrganization invites users, who become members when they accept.
func (s *Service) InviteToOrganization(ctx context.Context, by id.Caller, r *chatv1.InviteToOrganizationRequest) (*chatv1.InviteToOrganizationResponse, error) {
	if len(r.Users) == 0 || len(r.Users) > maxPerCall {
		return nil, errCount
	}
	// Before others are looked up: only admins learn who exists.
	if o, err := s.GetOrganization(ctx, by.User, r.Organization); err != nil {
		return nil, err
	} else if o.Role < roleAdmin {
		return nil, errNotAdmin
	}
	users, err := s.invitees(ctx, by, r.Users)
	if err != nil {
		return nil, err
	}
	out := &chatv1.InviteToOrganizationResponse{}
	return out, s.change(ctx, by.User, r.Organization, func(tx *sql.Tx, _ *chatv1.Organization) ([]clusterevent.Event, error) {
		out.Invited = 0
		present, err := membersOf(ctx, tx, r.Organization, users)
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			if present[uint64(u)] != nil {
				continue
			}
			added, err := s.putInvitation(ctx, tx, r.Organization, u, by.User)
			if err != nil {
				return nil, err
			}
			if added {
				out.Invited++
			}
		}
		var all int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM organization_invitations WHERE organization = $1`, int64(r.Organization)).Scan(&all); err != nil {
			return nil, err
		}
		if all > maxInvitations && out.Invited > 0 {
			return nil, errInvitations
		}
		return nil, nil
	})
}

// invitees returns users whom a caller may invite. Those who let nobody add them to groups, and those with whom a block exists, are not invited either. A
// server invites anyone.
func (s *Service) invitees(ctx context.Context, by id.Caller, list []uint64) ([]id.User, error) {
	users := make([]id.User, len(list))
	for i, u := range list {
		if users[i] = id.User(u); u > math.MaxInt64 {
			return nil, errNoExternal
		}
	}
	if err := s.deps.Accounts.Exist(ctx, users); err != nil || by.Server {
		return users, err
	}
	refused, _, _, err := s.deps.Accounts.MayAdd(ctx, by.User, users)
	if err != nil {
		return nil, err
	}
	blocked, err := s.deps.Accounts.BlockedAmong(ctx, by.User, users)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, u := range users {
		if blocked[u] || slices.Contains(refused, u) {
			names = append(names, u.String())
		}
	}
	if len(names) == 0 {
		return users, nil
	}
	return nil, errs.New(errs.Denied, "may_not_add", "these users do not let you invite them; leave them out: "+strings.Join(names, ", "))
}

// putInvitation stores an invitation, and tells the user. A repeated one only changes the inviter.
func (s *Service) putInvitation(ctx context.Context, tx *sql.Tx, org uint64, u, inviter id.User) (added bool, err error) {
	done, err := tx.ExecContext(ctx, `UPDATE organization_invitations SET inviter = $3 WHERE organization = $1 AND member = $2`, int64(org), int64(u), int64(inviter))
	if err != nil {
		return false, err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO organization_invitations (organization, member, inviter, time_ms) VALUES ($1, $2, $3, $4)`,
		int64(org), int64(u), int64(inviter), s.deps.Clock.Now().UnixMilli()); err != nil {
		return false, err
	}
	if err := s.endOldInvitations(ctx, tx, u); err != nil {
		return false, err
	}
	return true, s.tell(ctx, tx, org, inviter, u)
}

// endOldInvitations ends the oldest invitations of a user who has too many.
func (s *Service) endOldInvitations(ctx context.Context, tx *sql.Tx, u id.User) error {
	rows, err := tx.QueryContext(ctx, `SELECT organization FROM organization_invitations WHERE member = $1 ORDER BY time_ms DESC, organization DESC LIMIT 1000 OFFSET $2`, int64(u), maxUserInvitations)
	old, err := sqldb.Column[uint64](rows, err)
	if err != nil {
		return err
	}
	for _, org := range old {
		if _, err := s.endInvitation(ctx, tx, org, u); err != nil {
			return err
		}
	}
	return nil
}

// endInvitation deletes an invitation, if it exists, and tells the user.
func (s *Service) endInvitation(ctx context.Context, tx *sql.Tx, org uint64, u id.User) (ended bool, err error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM organization_invitations WHERE organization = $1 AND member = $2`, int64(org), int64(u))
	if err != nil {
		return false, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, s.tell(ctx, tx, org, 0, u)
}

// endInvitationsBy ends the invitations by a user who is no longer an admin.
func (s *Service) endInvitationsBy(ctx context.Context, tx *sql.Tx, org uint64, inviter id.User) error {
	rows, err := tx.QueryContext(ctx, `SELECT member FROM organization_invitations WHERE organization = $1 AND inviter = $2`, int64(org), int64(inviter))
	users, err := sqldb.Column[id.User](rows, err)
	if err != nil {
		return err
	}
	for _, u := range users {
		if _, err := s.endInvitation(ctx, tx, org, u); err != nil {
			return err
		}
	}
	return nil
}

// tell adds an event about an invitation to a user's stream. Inviter is 0 if the invitation is over.
func (s *Service) tell(ctx context.Context, tx *sql.Tx, org uint64, inviter, u id.User) error {
	if s.deps.Outbox == nil {
		return nil
	}
	raw, err := proto.Marshal(&chatv1.InvitationsChange{Organization: org, Inviter: uint64(inviter)})
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: u, Body: message.AppendBody(nil, message.FieldInvitations, raw)})
}

// CancelOrganizationInvitation takes an invitation back.
func (s *Service) CancelOrganizationInvitation(ctx context.Context, by id.User, r *chatv1.CancelOrganizationInvitationRequest) error {
	return s.change(ctx, by, r.Organization, func(tx *sql.Tx, _ *chatv1.Organization) ([]clusterevent.Event, error) {
		_, err := s.endInvitation(ctx, tx, r.Organization, id.User(r.User))
		return nil, err
	})
}

// AnswerOrganizationInvitation makes an invited user a member, or declines the invitation.
func (s *Service) AnswerOrganizationInvitation(ctx context.Context, u id.User, r *chatv1.AnswerOrganizationInvitationRequest) error {
	var inviter id.User
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT inviter FROM organization_invitations WHERE organization = $1 AND member = $2`, int64(r.Organization), int64(u)).Scan(&inviter)
	if errors.Is(err, sql.ErrNoRows) {
		return errNoInvitation
	}
	if err != nil {
		return err
	}
	if r.Accept {
		if err = s.acceptInvitation(ctx, r.Organization, u, inviter); err == nil || !errors.Is(err, errNoInvitation) {
			return err
		}
	}
	ended := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := s.endInvitation(ctx, tx, r.Organization, u)
		return err
	})
	s.wakeOutbox()
	return errors.Join(err, ended)
}

// acceptInvitation makes a user a member in the name of the inviter, so an invitation is valid only while its inviter is an admin.
func (s *Service) acceptInvitation(ctx context.Context, org uint64, u, inviter id.User) error {
	blocked, err := s.deps.Accounts.BlockedAmong(ctx, u, []id.User{inviter})
	if err != nil {
		return err
	}
	if blocked[inviter] {
		return errNoInvitation
	}
	profiles, err := s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{uint64(u)}})
	if err != nil {
		return err
	}
	if len(profiles) == 0 {
		return errNoExternal
	}
	err = s.change(ctx, inviter, org, func(tx *sql.Tx, _ *chatv1.Organization) ([]clusterevent.Event, error) {
		present, err := membersOf(ctx, tx, org, []id.User{u})
		if err != nil {
			return nil, err
		}
		if ended, err := s.endInvitation(ctx, tx, org, u); err != nil {
			return nil, err
		} else if !ended { // it was taken back meanwhile
			return nil, errNoInvitation
		}
		if present[uint64(u)] != nil {
			return nil, nil
		}
		_, _, events, err := s.putMembers(ctx, tx, org, []*chatv1.OrganizationMember{{User: uint64(u), Name: profiles[0].DisplayName, Role: roleMember}})
		return events, err
	})
	if errors.Is(err, errNotAdmin) || errors.Is(err, errNoOrganization) {
		return errNoInvitation
	}
	return err
}

// ListOrganizationInvitations returns a user's own invitations, or those of an organization to its admins.
func (s *Service) ListOrganizationInvitations(ctx context.Context, by id.User, r *chatv1.ListOrganizationInvitationsRequest) (*chatv1.ListOrganizationInvitationsResponse, error) {
	if r.Organization == 0 {
		return s.ownInvitations(ctx, by)
	}
	o, err := s.GetOrganization(ctx, by, r.Organization)
	if err != nil {
		return nil, err
	}
	if o.Role < roleAdmin {
		return nil, errNotAdmin
	}
	limit, after := int(r.Limit), uint64(0)
	if limit == 0 || limit > maxPerCall {
		limit = maxPerCall
	}
	if r.Page != "" {
		if after, err = strconv.ParseUint(r.Page, 10, 63); err != nil {
			return nil, pagetoken.ErrBad
		}
	}
	list, err := s.queryInvitations(ctx, `SELECT i.organization, o.name, i.member, i.inviter, i.time_ms FROM organization_invitations i JOIN organizations o ON o.id = i.organization
		WHERE i.organization = $1 AND i.member > $2 ORDER BY i.member LIMIT $3`, int64(r.Organization), int64(after), limit+1)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListOrganizationInvitationsResponse{Invitations: list}
	if len(list) > limit {
		out.Invitations, out.Next = list[:limit], strconv.FormatUint(list[limit-1].User, 10)
	}
	return out, nil
}

// ownInvitations returns the invitations of a user, the newest first, without those by users with whom a block exists.
func (s *Service) ownInvitations(ctx context.Context, u id.User) (*chatv1.ListOrganizationInvitationsResponse, error) {
	list, err := s.queryInvitations(ctx, `SELECT i.organization, o.name, i.member, i.inviter, i.time_ms FROM organization_invitations i JOIN organizations o ON o.id = i.organization
		WHERE i.member = $1 ORDER BY i.time_ms DESC, i.organization DESC LIMIT $2`, int64(u), maxUserInvitations)
	if err != nil {
		return nil, err
	}
	inviters := make([]id.User, len(list))
	for i, in := range list {
		inviters[i] = id.User(in.Inviter)
	}
	blocked, err := s.deps.Accounts.BlockedAmong(ctx, u, inviters)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListOrganizationInvitationsResponse{}
	for _, in := range list {
		if !blocked[id.User(in.Inviter)] {
			out.Invitations = append(out.Invitations, in)
		}
	}
	return out, nil
}

func (s *Service) queryInvitations(ctx context.Context, query string, args ...any) (list []*chatv1.OrganizationInvitation, err error) {
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, query, args...)
	return list, sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		i := &chatv1.OrganizationInvitation{}
		list = append(list, i)
		return rows.Scan(&i.Organization, &i.Name, &i.User, &i.Inviter, &i.TimeMs)
	})
}

func (s *Service) wakeOutbox() {
	if s.deps.Outbox != nil {
		s.deps.Outbox.Wake()
	}
}
