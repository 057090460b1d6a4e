package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// organization lists the user's organizations, the tree of one, or the people in it whose names begin with some words.
func (s *screen) organization(ctx context.Context, rest string) error {
	if rest == "" {
		return s.listOrganizations(ctx)
	}
	number, words, _ := strings.Cut(rest, " ")
	org, err := s.organizationAt(ctx, number)
	if err != nil {
		return err
	}
	if words = strings.TrimSpace(words); words != "" {
		return s.sayMembers(ctx, &chatv1.ListOrganizationMembersRequest{Organization: org.Id, NamePrefix: words, Limit: 50}, "  ")
	}
	return s.sayDepartments(ctx, org.Id, 0, "  ")
}

func (s *screen) listOrganizations(ctx context.Context) error {
	list, err := call(ctx, s.client.Organization().ListOrganizations, &chatv1.ListOrganizationsRequest{})
	if err != nil {
		return err
	}
	if len(list.Organizations) == 0 {
		s.say("You are in no organization.")
	}
	for i, o := range list.Organizations {
		role := ""
		if o.Role > chatv1.OrganizationRole_ORGANIZATION_ROLE_MEMBER {
			role = "  (" + organizationRole(o.Role) + "; /organize " + strconv.Itoa(i+1) + ")"
		}
		s.say("  %d  %s  %s%s", i+1, oneLine(plain(o.Name)), counted(o.Members, "member"), role)
	}
	return nil
}

func organizationRole(r chatv1.OrganizationRole) string {
	return phrase(strings.ToLower(strings.TrimPrefix(r.String(), "ORGANIZATION_ROLE_")))
}

// organizationAt returns the organization with a number of /org.
func (s *screen) organizationAt(ctx context.Context, number string) (*chatv1.Organization, error) {
	list, err := call(ctx, s.client.Organization().ListOrganizations, &chatv1.ListOrganizationsRequest{})
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(list.Organizations) {
		return nil, errorf("there is no organization %q; /org lists them", plain(number))
	}
	return list.Organizations[n-1], nil
}

// sayDepartments prints the departments below one, each with its members, the first page of each.
func (s *screen) sayDepartments(ctx context.Context, org, parent uint64, indent string) error {
	r, err := call(ctx, s.client.Organization().ListDepartments, &chatv1.ListDepartmentsRequest{Organization: org, Parent: parent})
	if err != nil {
		return err
	}
	for _, d := range r.Departments {
		s.say("%s%s (%d)", indent, oneLine(plain(d.Name)), d.Members)
		if err := s.sayMembers(ctx, &chatv1.ListOrganizationMembersRequest{Organization: org, Department: d.Id, Limit: 50}, indent+"  "); err != nil {
			return err
		}
		if err := s.sayDepartments(ctx, org, d.Id, indent+"  "); err != nil {
			return err
		}
	}
	if r.Next != "" {
		s.say("%s…", indent)
	}
	return nil
}

func (s *screen) sayMembers(ctx context.Context, r *chatv1.ListOrganizationMembersRequest, indent string) error {
	page, err := call(ctx, s.client.Organization().ListOrganizationMembers, r)
	if err != nil {
		return err
	}
	users := make([]uint64, len(page.Members))
	for i, m := range page.Members {
		users[i] = m.User
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	for _, m := range page.Members {
		s.say("%s%s", indent, oneLine(plain(strings.Join(strings.Fields(fmt.Sprintf("@%s %s %s %s", s.handle(m.User), m.Name, m.Title, m.Phone)), " "))))
	}
	if page.Next != "" {
		s.say("%s…", indent)
	}
	return nil
}
