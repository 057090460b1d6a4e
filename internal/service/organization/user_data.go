package organization

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// userTables are the tables of the package with data of users. An organization belongs to its members, and stays.
var userTables = []userdata.Table{
	{Name: "organization_members", Export: `SELECT m.organization, o.name AS organization_name, m.role, m.name, m.title, m.employee_number, m.phone FROM organization_members m JOIN organizations o ON o.id = m.organization WHERE m.member = $1 ORDER BY m.organization`},
	{Name: "department_members", Export: `SELECT m.organization, m.department, d.name, m.manager FROM department_members m JOIN departments d ON d.id = m.department WHERE m.member = $1 ORDER BY m.organization, m.department`},
	{Name: "organization_invitations", Export: `SELECT organization, inviter, time_ms FROM organization_invitations WHERE member = $1 ORDER BY organization`,
		Erase: `DELETE FROM organization_invitations WHERE (organization, member) IN (SELECT organization, member FROM organization_invitations WHERE member = $1 OR inviter = $1 LIMIT $2)`},
	{Name: "organization_alignments", Erase: `DELETE FROM organization_alignments WHERE (aligner, conversation) IN (SELECT aligner, conversation FROM organization_alignments WHERE aligner = $1 LIMIT $2)`},
	{Name: "organizations", Export: `SELECT id, name, created_ms FROM organizations WHERE owner = $1 ORDER BY id`,
		Erase: `UPDATE organizations SET create_key = NULL WHERE id IN (SELECT id FROM organizations WHERE first_owner = $1 AND create_key IS NOT NULL LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "organizations", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// EraseUser first ends a membership, and when none is left deletes rows.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	var org uint64
	err := d.service.deps.DB.Read().QueryRowContext(ctx, `SELECT organization FROM organization_members WHERE member = $1 ORDER BY organization LIMIT 1`, int64(u)).Scan(&org)
	if errors.Is(err, sql.ErrNoRows) {
		return userdata.Step{Next: userdata.FirstTable}, nil
	}
	if err == nil {
		err = d.service.eraseMember(ctx, u, org)
	}
	if err != nil {
		return userdata.Step{}, fmt.Errorf("organization %d: %w", org, err)
	}
	return userdata.Step{Erased: 1}, nil
}

// eraseMember ends a membership. If the user owns the organization, the admin with the lowest id, else such a member, becomes the owner. An organization without other
// members is deleted.
func (s *Service) eraseMember(ctx context.Context, u id.User, org uint64) error {
	var owner, heir id.User
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT owner FROM organizations WHERE id = $1`, int64(org)).Scan(&owner); err != nil {
		return err
	}
	if owner == u {
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT member FROM organization_members WHERE organization = $1 AND member <> $2 ORDER BY role DESC, member LIMIT 1`, int64(org), int64(u)).Scan(&heir)
		if errors.Is(err, sql.ErrNoRows) {
			return s.eraseLastMember(ctx, org)
		}
		if err != nil {
			return err
		}
		if _, err := s.TransferOrganization(ctx, u, &chatv1.TransferOrganizationRequest{Organization: org, User: uint64(heir)}); err != nil {
			return err
		}
	}
	_, err := s.RemoveOrganizationMembers(ctx, u, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(u)}})
	return err
}

// eraseLastMember deletes an organization whose only member is erased. Its groups go on as groups without a department.
func (s *Service) eraseLastMember(ctx context.Context, org uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, statement := range []string{
			`DELETE FROM organization_groups WHERE organization = $1`,
			`DELETE FROM organization_invitations WHERE organization = $1`,
			`DELETE FROM department_members WHERE organization = $1`,
			`DELETE FROM departments WHERE organization = $1`,
			`DELETE FROM organization_members WHERE organization = $1`,
			`DELETE FROM organizations WHERE id = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, int64(org)); err != nil {
				return err
			}
		}
		return nil
	})
}
