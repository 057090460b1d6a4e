package terminal

import (
	"context"
	"crypto/rand"
	"os"
	"strings"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// organizationChange is a word of /organize. The server decides who may change what.
type organizationChange struct {
	name, args, about, chinese string
	run                        func(s *screen, ctx context.Context, org *chatv1.Organization, rest string) error
}

// organizationChanges are what /organize N does. A department is named by its path from the top, such as Sales/Europe.
func organizationChanges() []organizationChange {
	return []organizationChange{
		{"department", "PATH", "add a department: Sales, or Sales/Europe below it", "添加部门：Sales，或其下的 Sales/Europe", (*screen).addDepartment},
		{"rename", "PATH to NAME", "rename a department", "修改部门名称", (*screen).renameDepartment},
		{"remove", "PATH | @a @b", "remove an empty department, or members", "删除空部门，或移除成员", (*screen).removeFromOrganization},
		{"group", "PATH", "create a group that follows a department and those below it", "创建与部门及其下级同步的群", (*screen).departmentGroup},
		{"circle", "TITLE @a @b", "create a group of some members; each member may", "创建由部分成员组成的群，每个成员都可以", (*screen).circle},
		{"invite", "@a @b", "invite users to become members", "邀请用户成为成员", (*screen).inviteToOrganization},
		{"invited", "", "list who was invited and has not answered", "列出尚未答复的邀请", (*screen).listInvitedToOrganization},
		{"uninvite", "@a @b", "take invitations back", "撤回邀请", (*screen).uninviteFromOrganization},
		{"member", "@a [OPTIONS]", `add a member or change one; options: name:"…" title:"…" phone:… number:… in:"PATH,PATH" admin:yes or no`, `添加或修改成员；选项：name:"…" title:"…" phone:… number:… in:"PATH,PATH" admin:yes 或 no`, (*screen).putMember},
		{"owner", "@a yes", "make a member the owner; you remain an admin", "把成员设为所有者，你仍是管理员", (*screen).transferOrganization},
		{"name", "NAME", "rename the organization", "修改组织名称", (*screen).renameOrganization},
		{"messaging", "everyone | organization | inside | department", "set whom members may write to", "设置成员可以给谁发消息", (*screen).organizationMessaging},
		{"import", "PATH [apply]", "say what a CSV file of members would change, or change it", "说明成员 CSV 文件会改变什么，或应用它", (*screen).importMembers},
		{"leave", "yes", "leave the organization and its groups", "退出组织及其群", (*screen).leaveOrganization},
	}
}

// organize changes the organization with a number of /org; without a change, it lists what there is.
func (s *screen) organize(ctx context.Context, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	word, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if word == "" {
		for _, c := range organizationChanges() {
			about := c.about
			if speaksChinese() {
				about = c.chinese
			}
			s.say("  /organize N %s\n      %s", strings.TrimRight(c.name+" "+c.args, " "), about)
		}
		return nil
	}
	for _, c := range organizationChanges() {
		if c.name == word {
			org, err := s.organizationAt(ctx, number)
			if err != nil {
				return err
			}
			return c.run(s, ctx, org, strings.TrimSpace(rest))
		}
	}
	return errorf("an organization has no %q to change; /organize lists what there is", plain(word))
}

// departmentAt finds a department by its path: the names of those above it and its own, whatever the case. The empty path is the top, nil.
func (s *screen) departmentAt(ctx context.Context, org *chatv1.Organization, path string) (at *chatv1.Department, err error) {
	if path == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at, err = s.departmentBelow(ctx, org, at.GetId(), strings.TrimSpace(name)); err != nil {
			return nil, err
		}
	}
	return at, nil
}

func (s *screen) departmentBelow(ctx context.Context, org *chatv1.Organization, parent uint64, name string) (*chatv1.Department, error) {
	for page := ""; ; {
		r, err := call(ctx, s.client.Organization().ListDepartments, &chatv1.ListDepartmentsRequest{Organization: org.Id, Parent: parent, Page: page})
		if err != nil {
			return nil, err
		}
		for _, d := range r.Departments {
			if strings.EqualFold(d.Name, name) {
				return d, nil
			}
		}
		if page = r.Next; page == "" {
			return nil, errorf("there is no department %q; name it by its path, such as Sales/Europe", plain(name))
		}
	}
}

// someDepartment is departmentAt of a path that must not be empty.
func (s *screen) someDepartment(ctx context.Context, org *chatv1.Organization, path string) (*chatv1.Department, error) {
	if path == "" {
		return nil, errorf("give the path of a department, such as Sales/Europe")
	}
	return s.departmentAt(ctx, org, path)
}

func (s *screen) putDepartment(ctx context.Context, org *chatv1.Organization, in *chatv1.DepartmentInput) error {
	_, err := call(ctx, s.client.Organization().PutDepartments, &chatv1.PutDepartmentsRequest{Organization: org.Id, Departments: []*chatv1.DepartmentInput{in}})
	return s.done(err)
}

func (s *screen) addDepartment(ctx context.Context, org *chatv1.Organization, path string) error {
	above, name := "", path
	if at := strings.LastIndexByte(path, '/'); at >= 0 {
		above, name = path[:at], path[at+1:]
	}
	parent, err := s.departmentAt(ctx, org, above)
	if err != nil {
		return err
	}
	return s.putDepartment(ctx, org, &chatv1.DepartmentInput{Parent: parent.GetId(), Name: strings.TrimSpace(name)})
}

func (s *screen) renameDepartment(ctx context.Context, org *chatv1.Organization, rest string) error {
	path, name, found := strings.Cut(rest, " to ")
	if !found {
		return errorf("write /organize N rename PATH to NAME")
	}
	d, err := s.someDepartment(ctx, org, strings.TrimSpace(path))
	if err != nil {
		return err
	}
	return s.putDepartment(ctx, org, &chatv1.DepartmentInput{Id: d.Id, ExternalId: d.ExternalId, Parent: d.Parent, Name: strings.TrimSpace(name), Position: d.Position, Hidden: d.Hidden})
}

func (s *screen) removeFromOrganization(ctx context.Context, org *chatv1.Organization, rest string) error {
	if strings.HasPrefix(rest, "@") {
		users, err := s.usersOf(ctx, rest)
		if err != nil {
			return err
		}
		r, err := call(ctx, s.client.Organization().RemoveOrganizationMembers, &chatv1.RemoveOrganizationMembersRequest{Organization: org.Id, Users: users})
		if err == nil {
			s.say("Members removed: %d.", r.Removed)
		}
		return err
	}
	d, err := s.someDepartment(ctx, org, rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Organization().RemoveDepartments, &chatv1.RemoveDepartmentsRequest{Organization: org.Id, Departments: []uint64{d.Id}})
	return s.done(err)
}

// createOrganizationGroup creates a group of an organization and opens it. Each command has a key of its own: only the user repeats it.
func (s *screen) createOrganizationGroup(ctx context.Context, r *chatv1.CreateOrganizationGroupRequest) error {
	r.Key = rand.Text()
	made, err := call(ctx, s.client.Organization().CreateOrganizationGroup, r)
	if err != nil {
		return err
	}
	return s.enterJoined(ctx, made.Conversation)
}

func (s *screen) departmentGroup(ctx context.Context, org *chatv1.Organization, path string) error {
	d, err := s.someDepartment(ctx, org, path)
	if err != nil {
		return err
	}
	return s.createOrganizationGroup(ctx, &chatv1.CreateOrganizationGroupRequest{Organization: org.Id, Title: d.Name, Department: d.Id, Below: true})
}

func (s *screen) circle(ctx context.Context, org *chatv1.Organization, rest string) error {
	title, handles, found := strings.Cut(" "+rest, " @")
	if title = strings.TrimSpace(title); title == "" || !found {
		return errorf("give a title, and then handles: /organize N circle Lunch @alice @bob")
	}
	users, err := s.usersOf(ctx, handles)
	if err != nil {
		return err
	}
	return s.createOrganizationGroup(ctx, &chatv1.CreateOrganizationGroupRequest{Organization: org.Id, Title: title, Members: users})
}

func (s *screen) inviteToOrganization(ctx context.Context, org *chatv1.Organization, rest string) error {
	users, err := s.usersOf(ctx, rest)
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Organization().InviteToOrganization, &chatv1.InviteToOrganizationRequest{Organization: org.Id, Users: users})
	if err == nil {
		s.say("Invited: %d.", r.Invited)
	}
	return err
}

func (s *screen) uninviteFromOrganization(ctx context.Context, org *chatv1.Organization, rest string) error {
	users, err := s.usersOf(ctx, rest)
	if err != nil {
		return err
	}
	for _, u := range users {
		if _, err := call(ctx, s.client.Organization().CancelOrganizationInvitation, &chatv1.CancelOrganizationInvitationRequest{Organization: org.Id, User: u}); err != nil {
			return err
		}
	}
	return s.done(nil)
}

func (s *screen) transferOrganization(ctx context.Context, org *chatv1.Organization, rest string) error {
	user, sure, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	if sure != "yes" {
		return errorf("you cannot undo this: confirm with /organize N owner @handle yes")
	}
	_, err = call(ctx, s.client.Organization().TransferOrganization, &chatv1.TransferOrganizationRequest{Organization: org.Id, User: user})
	return s.done(err)
}

func (s *screen) leaveOrganization(ctx context.Context, org *chatv1.Organization, rest string) error {
	if rest != "yes" {
		return errorf("you also leave its groups, and only an admin can add you again: confirm with /organize N leave yes")
	}
	_, err := call(ctx, s.client.Organization().RemoveOrganizationMembers, &chatv1.RemoveOrganizationMembersRequest{Organization: org.Id, Users: []uint64{s.client.User()}})
	return s.done(err)
}

func (s *screen) renameOrganization(ctx context.Context, org *chatv1.Organization, name string) error {
	_, err := call(ctx, s.client.Organization().UpdateOrganization, &chatv1.UpdateOrganizationRequest{Organization: org.Id, Name: &name})
	return s.done(err)
}

func (s *screen) organizationMessaging(ctx context.Context, org *chatv1.Organization, word string) error {
	m, ok := chatv1.OrganizationMessaging_value["ORGANIZATION_MESSAGING_"+strings.ToUpper(word)]
	if !ok || m == 0 {
		return errorf("members write to everyone, organization (members, and friends outside), inside (members only) or department (theirs, and those above and below)")
	}
	_, err := call(ctx, s.client.Organization().UpdateOrganization, &chatv1.UpdateOrganizationRequest{Organization: org.Id, Messaging: chatv1.OrganizationMessaging(m).Enum()})
	return s.done(err)
}

// memberOption is what /organize N member sets.
var memberOption = optionPattern("name|title|phone|number|in|admin")

// putMember adds a member, or changes what is given of one. The server replaces all that it has of a member, so the rest is read first.
func (s *screen) putMember(ctx context.Context, org *chatv1.Organization, rest string) error {
	user, rest, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	known, err := call(ctx, s.client.Organization().ListOrganizationMembers, &chatv1.ListOrganizationMembersRequest{Organization: org.Id, Users: []uint64{user}})
	if err != nil {
		return err
	}
	in := &chatv1.OrganizationMemberInput{User: user}
	for _, m := range known.Members {
		in = &chatv1.OrganizationMemberInput{User: user, Name: m.Name, Title: m.Title, Phone: m.Phone, EmployeeNumber: m.EmployeeNumber, Departments: m.Departments,
			Admin: m.Role == chatv1.OrganizationRole_ORGANIZATION_ROLE_ADMIN}
	}
	options, rest := cutOptions(memberOption, rest)
	for _, o := range options {
		if err := s.setOfMember(ctx, org, in, o[0], o[1]); err != nil {
			return err
		}
	}
	if rest != "" {
		return errorf("what is set of a member stands as title:\"Head of sales\"; /organize lists the options")
	}
	_, err = call(ctx, s.client.Organization().PutOrganizationMembers, &chatv1.PutOrganizationMembersRequest{Organization: org.Id, Members: []*chatv1.OrganizationMemberInput{in}})
	return s.done(err)
}

// setOfMember sets one option of a member. One who manages a department, and stays in it, still manages it.
func (s *screen) setOfMember(ctx context.Context, org *chatv1.Organization, in *chatv1.OrganizationMemberInput, option, value string) error {
	switch option {
	case "name":
		in.Name = value
	case "title":
		in.Title = value
	case "phone":
		in.Phone = value
	case "number":
		in.EmployeeNumber = value
	case "admin":
		if value != "yes" && value != "no" {
			return errorf("write admin:yes or admin:no")
		}
		in.Admin = value == "yes"
	case "in":
		manages := map[uint64]bool{}
		for _, d := range in.Departments {
			manages[d.Department] = d.Manager
		}
		in.Departments = nil
		for path := range strings.SplitSeq(value, ",") {
			if path = strings.TrimSpace(path); path == "" {
				continue
			}
			d, err := s.departmentAt(ctx, org, path)
			if err != nil {
				return err
			}
			in.Departments = append(in.Departments, &chatv1.DepartmentMembership{Department: d.Id, Manager: manages[d.Id]})
		}
	}
	return nil
}

// importMembers says what a CSV file would change or, with "apply" behind its path, changes it.
func (s *screen) importMembers(ctx context.Context, org *chatv1.Organization, rest string) error {
	path, apply := strings.CutSuffix(rest, " apply")
	csv, err := os.ReadFile(atHome(strings.Trim(strings.TrimSpace(path), `"`)))
	if err != nil {
		return err
	}
	r, err := s.client.ImportMembers(ctx, org.Id, string(csv), rialto.ImportOptions{DryRun: !apply})
	if err != nil {
		return err
	}
	for _, change := range r.Changes {
		s.say("  %s", oneLine(plain(change)))
	}
	for _, e := range r.Errors {
		s.say("  line %d: %s", e.Line, oneLine(plain(e.Message)))
	}
	what := phrase("Would be")
	if apply && r.Wrong == 0 {
		what = phrase("Done:")
	}
	s.say("%s added: %d, changed: %d, unchanged: %d, new departments: %d; wrong lines: %d", what, r.Added, r.Changed, r.Unchanged, r.DepartmentsAdded, r.Wrong)
	return nil
}
