package organization

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var migrations = []string{
	`CREATE TABLE organizations (id BIGINT PRIMARY KEY, name TEXT NOT NULL, owner BIGINT NOT NULL, create_key TEXT, messaging BIGINT NOT NULL DEFAULT 1,
		colleagues_are_friends BOOLEAN NOT NULL DEFAULT FALSE, hide_phones BOOLEAN NOT NULL DEFAULT FALSE, members BIGINT NOT NULL DEFAULT 0, departments BIGINT NOT NULL DEFAULT 0,
		revision BIGINT NOT NULL DEFAULT 1, created_ms BIGINT NOT NULL)`,
	`CREATE UNIQUE INDEX organizations_by_key ON organizations (owner, create_key)`,
	`CREATE TABLE departments (id BIGINT PRIMARY KEY, organization BIGINT NOT NULL, parent BIGINT NOT NULL, name TEXT NOT NULL, external_id TEXT, hidden BOOLEAN NOT NULL,
		position BIGINT NOT NULL, members BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX departments_by_parent ON departments (organization, parent, position, id)`,
	`CREATE UNIQUE INDEX departments_by_external_id ON departments (organization, external_id)`,
	`CREATE TABLE organization_members (organization BIGINT NOT NULL, member BIGINT NOT NULL, role BIGINT NOT NULL, name TEXT NOT NULL, name_key {bytes} NOT NULL, title TEXT NOT NULL,
		title_key {bytes} NOT NULL, employee_number TEXT, phone TEXT NOT NULL, PRIMARY KEY (organization, member))`,
	`CREATE INDEX organization_members_by_user ON organization_members (member, organization)`,
	`CREATE INDEX organization_members_by_name ON organization_members (organization, name_key, member)`,
	`CREATE INDEX organization_members_by_title ON organization_members (organization, title_key, member)`,
	`CREATE UNIQUE INDEX organization_members_by_number ON organization_members (organization, employee_number)`,
	`CREATE TABLE department_members (department BIGINT NOT NULL, member BIGINT NOT NULL, organization BIGINT NOT NULL, manager BOOLEAN NOT NULL, PRIMARY KEY (department, member))`,
	`CREATE INDEX department_members_by_user ON department_members (member, organization)`,
	`CREATE TABLE organization_groups (conversation BIGINT PRIMARY KEY, organization BIGINT NOT NULL, department BIGINT NOT NULL, below BOOLEAN NOT NULL, pending BIGINT NOT NULL)`,
	`CREATE INDEX organization_groups_by_organization ON organization_groups (organization, conversation)`,
	`CREATE INDEX organization_groups_pending ON organization_groups (conversation) WHERE pending > 0`,
	`ALTER TABLE organization_groups ADD COLUMN creator BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE organization_groups ADD COLUMN create_key TEXT NOT NULL DEFAULT ''`, // of the creator, in the organization
	// Groups that somebody aligns, and until when.
	`CREATE TABLE organization_alignments (aligner BIGINT NOT NULL, conversation BIGINT NOT NULL, until_ms BIGINT NOT NULL, PRIMARY KEY (aligner, conversation))`,
	`CREATE INDEX organization_alignments_until ON organization_alignments (until_ms)`,
	`CREATE TABLE organization_invitations (organization BIGINT NOT NULL, member BIGINT NOT NULL, inviter BIGINT NOT NULL, time_ms BIGINT NOT NULL, PRIMARY KEY (organization, member))`,
	`CREATE INDEX organization_invitations_by_user ON organization_invitations (member, time_ms, organization)`,
	`CREATE INDEX organization_invitations_by_inviter ON organization_invitations (organization, inviter)`,
	// The key of an organization is one of its first owner, also after a transfer.
	`ALTER TABLE organizations ADD COLUMN first_owner BIGINT NOT NULL DEFAULT 0`,
	`UPDATE organizations SET first_owner = owner`,
	`DROP INDEX organizations_by_key`,
	`CREATE UNIQUE INDEX organizations_by_key ON organizations (first_owner, create_key)`,
}

const (
	roleMember = chatv1.OrganizationRole_ORGANIZATION_ROLE_MEMBER
	roleAdmin  = chatv1.OrganizationRole_ORGANIZATION_ROLE_ADMIN
	roleOwner  = chatv1.OrganizationRole_ORGANIZATION_ROLE_OWNER
)

// readOrganization returns an organization as a member sees it, or errNoOrganization.
func readOrganization(ctx context.Context, q sqldb.Querier, org uint64, by id.User) (*chatv1.Organization, error) {
	o := &chatv1.Organization{}
	err := q.QueryRowContext(ctx, `SELECT o.id, o.name, o.owner, o.messaging, o.colleagues_are_friends, o.hide_phones, o.members, o.revision, m.role
		FROM organizations o JOIN organization_members m ON m.organization = o.id WHERE o.id = $1 AND m.member = $2`, int64(org), int64(by)).
		Scan(&o.Id, &o.Name, &o.Owner, &o.Messaging, &o.ColleaguesAreFriends, &o.HidePhones, &o.Members, &o.Revision, &o.Role)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoOrganization
	}
	return o, err
}

// orNull stores no text as NULL, of which a unique index has many.
func orNull(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }
