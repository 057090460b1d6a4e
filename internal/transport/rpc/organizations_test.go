package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// company is an organization with a boss, and a tree: Sales with North below it, and Support.
type company struct {
	*harness
	boss                  person
	org                   uint64
	sales, north, support uint64
	people                map[string]person
}

func newCompany(t *testing.T) *company {
	t.Helper()
	h := newHarness(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.organizations.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	c := &company{harness: h, boss: h.person("boss"), people: map[string]person{}}
	for _, name := range []string{"anna", "ben", "cleo", "dan", "outsider"} {
		c.people[name] = h.person(name)
	}
	o := &chatv1.Organization{}
	c.must("CreateOrganization", &chatv1.CreateOrganizationRequest{Name: "Acme", Key: "acme", Owner: c.boss.User}, o, bearer(h.key), fmt.Sprint("Rialto-User: ", c.boss.User))
	c.org = o.Id
	put := &chatv1.PutDepartmentsResponse{}
	c.do("PutDepartments", &chatv1.PutDepartmentsRequest{Organization: c.org, Departments: []*chatv1.DepartmentInput{
		{ExternalId: "s", Name: "Sales"}, {ExternalId: "n", ParentExternalId: "s", Name: "North"}, {Name: "Support", Position: 1}}}, put)
	c.sales, c.north, c.support = put.Departments[0].Id, put.Departments[1].Id, put.Departments[2].Id
	c.put("anna", c.sales)
	c.put("ben", c.north)
	c.put("cleo", c.support)
	return c
}

// must makes a call that succeeds.
func (c *company) must(name string, m, out proto.Message, headers ...string) {
	c.t.Helper()
	if !strings.HasPrefix(name, "/") {
		name = orgCalls + name
	}
	got := c.call(name, m, headers...)
	if got.status != http.StatusOK {
		c.t.Fatalf("%s is answered with %d %s", name, got.status, got.body)
	}
	if out != nil {
		if err := protojson.Unmarshal([]byte(got.body), out); err != nil {
			c.t.Fatal(err)
		}
	}
}

// do makes a call of the boss.
func (c *company) do(name string, m, out proto.Message) {
	c.t.Helper()
	c.must(name, m, out, bearer(c.boss.AccessToken))
}

// refused makes a call of the boss that is refused.
func (c *company) refused(want, name string, m proto.Message) {
	c.t.Helper()
	if got := c.call(orgCalls+name, m, bearer(c.boss.AccessToken)).reason(); got != want {
		c.t.Errorf("%s is answered with %q, want %q", name, got, want)
	}
}

func (c *company) put(name string, departments ...uint64) {
	c.t.Helper()
	in := &chatv1.OrganizationMemberInput{User: c.people[name].User, EmployeeNumber: "no " + name, Title: "Title of " + name, Phone: "12"}
	for _, d := range departments {
		in.Departments = append(in.Departments, &chatv1.DepartmentMembership{Department: d})
	}
	c.do("PutOrganizationMembers", &chatv1.PutOrganizationMembersRequest{Organization: c.org, Members: []*chatv1.OrganizationMemberInput{in}}, nil)
}

func (c *company) messaging(m chatv1.OrganizationMessaging) {
	c.t.Helper()
	c.do("UpdateOrganization", &chatv1.UpdateOrganizationRequest{Organization: c.org, Messaging: &m}, nil)
}

// write sends a message to a user, and returns why it is refused.
func (c *company) write(from, to string) string {
	c.t.Helper()
	direct, err := c.chat.OpenDirect(c.t.Context(), c.people[from].user(), c.people[to].user())
	if err != nil {
		c.t.Fatal(err)
	}
	c.clock.ms.Add(1)
	return c.call(chats+"Send", &chatv1.SendRequest{Conversation: uint64(direct), ClientMsgId: fmt.Sprint(c.clock.ms.Load()), Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}}, bearer(c.people[from].AccessToken)).reason()
}

// names of the members of a group without the boss.
func (c *company) names(g uint64) string {
	c.t.Helper()
	list, err := c.chat.ListMembers(c.t.Context(), id.Conversation(g), c.boss.user(), 0, "")
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, m := range list.Members {
		for name, p := range c.people {
			if p.User == m.User {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (c *company) becomes(g uint64, want string) {
	c.t.Helper()
	eventually.True(c.t, "the group has "+want, func() bool { return c.names(g) == want })
}

func TestOrganizationsDecideWhoWritesToWhom(t *testing.T) {
	c := newCompany(t)
	const refused = "organization_forbids"
	for _, rule := range []struct {
		messaging                                 chatv1.OrganizationMessaging
		colleague, outside, fromOutside, sideways string
	}{
		{chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_EVERYONE, "", "", "", ""},
		{chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_INSIDE, "", refused, refused, ""},
		{chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_ORGANIZATION, "", refused, refused, ""},
		{chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_DEPARTMENT, "", refused, refused, refused},
		{chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_EVERYONE, "", "", "", ""},
	} {
		c.messaging(rule.messaging)
		for _, w := range []struct{ from, to, want string }{{"anna", "ben", rule.colleague}, {"ben", "anna", rule.colleague}, {"anna", "outsider", rule.outside}, {"outsider", "anna", rule.fromOutside}, {"anna", "cleo", rule.sideways}} {
			if got := c.write(w.from, w.to); got != w.want {
				t.Errorf("%v: %s to %s is answered with %q, want %q", rule.messaging, w.from, w.to, got, w.want)
			}
		}
	}
	c.messaging(chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_DEPARTMENT)
	c.put("cleo", c.support, c.north) // which is below anna's
	if got := c.write("anna", "cleo"); got != "" {
		t.Errorf("after cleo came into a department below, the message is refused: %s", got)
	}
	c.messaging(chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_ORGANIZATION)
	if _, err := c.accounts.RequestFriend(t.Context(), c.people["anna"].user(), c.people["outsider"].user(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.accounts.AnswerFriend(t.Context(), c.people["outsider"].user(), c.people["anna"].user(), true); err != nil {
		t.Fatal(err)
	}
	if err := c.chat.FriendshipChanged(t.Context(), c.people["anna"].user(), c.people["outsider"].user()); err != nil {
		t.Fatal(err)
	}
	if got := c.write("outsider", "anna"); got != "" {
		t.Errorf("a friend from outside is refused: %s", got)
	}
	c.do("RemoveOrganizationMembers", &chatv1.RemoveOrganizationMembersRequest{Organization: c.org, Users: []uint64{c.people["ben"].User}}, nil)
	if got := c.write("anna", "ben"); got != refused {
		t.Errorf("a message to a former colleague is answered with %q", got)
	}
}

func TestGroupsFollowDepartments(t *testing.T) {
	c := newCompany(t)
	made := &chatv1.CreateOrganizationGroupResponse{}
	request := &chatv1.CreateOrganizationGroupRequest{Organization: c.org, Title: "Sales", Department: c.sales, Below: true, Key: "sales"}
	c.do("CreateOrganizationGroup", request, made)
	g := made.Conversation
	if got := c.names(g); got != "anna ben" {
		t.Fatalf("the group has %q", got)
	}
	c.do("CreateOrganizationGroup", request, made)
	if made.Conversation != g {
		t.Error("a retry made a second group")
	}
	c.put("dan", c.north)
	c.becomes(g, "anna ben dan")
	c.put("ben", c.support)
	c.becomes(g, "anna dan")
	c.do("PutDepartments", &chatv1.PutDepartmentsRequest{Organization: c.org, Departments: []*chatv1.DepartmentInput{{Id: c.north, ExternalId: "n", Name: "North"}}}, nil)
	c.becomes(g, "anna")
	c.do("PutDepartments", &chatv1.PutDepartmentsRequest{Organization: c.org, Departments: []*chatv1.DepartmentInput{{Id: c.north, ExternalId: "n", Parent: c.sales, Name: "North"}}}, nil)
	c.becomes(g, "anna dan")

	const follows = "follows_department"
	for name, m := range map[string]proto.Message{
		"Remove": &chatv1.RemoveRequest{Conversation: g, Users: []uint64{c.people["anna"].User}},
		"Ban":    &chatv1.BanRequest{Conversation: g, Users: []uint64{c.people["anna"].User}},
		"Invite": &chatv1.InviteRequest{Conversation: g, Users: []uint64{c.people["outsider"].User}},
	} {
		if got := c.call(chats+name, m, bearer(c.boss.AccessToken)).reason(); got != follows {
			t.Errorf("%s is answered with %q", name, got)
		}
	}
	c.must("/rialto.account.v1.AccountService/UpdateSettings", &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMayAdd: accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS}}, nil, bearer(c.people["outsider"].AccessToken))
	asked := &chatv1.InviteRequest{Conversation: g, Users: []uint64{c.people["outsider"].User}} // a user who would be invited, not added
	if got := c.call(chats+"Invite", asked, bearer(c.boss.AccessToken)).reason(); got != follows {
		t.Errorf("Invite of somebody who must agree is answered with %q", got)
	}
	if got := c.call(chats+"Leave", &chatv1.LeaveRequest{Conversation: g}, bearer(c.people["anna"].AccessToken)).reason(); got != follows {
		t.Errorf("Leave is answered with %q", got)
	}
	if got := c.call(chats+"Remove", &chatv1.RemoveRequest{Conversation: g, Users: []uint64{c.people["anna"].User}}, bearer(c.people["outsider"].AccessToken)).reason(); got != none {
		t.Errorf("a user outside learns of the group: %q", got)
	}
	c.refused("department_not_empty", "RemoveDepartments", &chatv1.RemoveDepartmentsRequest{Organization: c.org, Departments: []uint64{c.north}})
	c.do("RemoveOrganizationMembers", &chatv1.RemoveOrganizationMembersRequest{Organization: c.org, Users: []uint64{c.people["dan"].User}}, nil)
	if got := c.names(g); got != "anna" { // at once
		t.Errorf("after dan was removed the group has %q", got)
	}
	c.do("RemoveDepartments", &chatv1.RemoveDepartmentsRequest{Organization: c.org, Departments: []uint64{c.north}}, nil)
}

func TestCirclesHaveMembersOfTheOrganization(t *testing.T) {
	c := newCompany(t)
	made := &chatv1.CreateOrganizationGroupResponse{}
	circle := func(names ...string) *chatv1.CreateOrganizationGroupRequest {
		r := &chatv1.CreateOrganizationGroupRequest{Organization: c.org, Title: "Lunch", Key: strings.Join(names, " ")}
		for _, n := range names {
			r.Members = append(r.Members, c.people[n].User)
		}
		return r
	}
	c.refused("not_in_organization", "CreateOrganizationGroup", circle("anna", "outsider"))
	c.do("CreateOrganizationGroup", circle("anna", "ben"), made)
	if got := c.names(made.Conversation); got != "anna ben" {
		t.Fatalf("the circle has %q", got)
	}
	invite := func(name string) string {
		return c.call(chats+"Invite", &chatv1.InviteRequest{Conversation: made.Conversation, Users: []uint64{c.people[name].User}}, bearer(c.boss.AccessToken)).reason()
	}
	if got := invite("outsider"); got != "not_in_organization" {
		t.Errorf("the invitation of a user outside is answered with %q", got)
	}
	if got := invite("cleo"); got != "" {
		t.Errorf("the invitation of a colleague is answered with %q", got)
	}
	c.do("RemoveOrganizationMembers", &chatv1.RemoveOrganizationMembersRequest{Organization: c.org, Users: []uint64{c.people["ben"].User}}, nil)
	if got := c.names(made.Conversation); got != "anna cleo" {
		t.Errorf("the circle has %q", got)
	}
}

func TestDepartmentsAreATree(t *testing.T) {
	c := newCompany(t)
	move := func(d, parent uint64, name string) *chatv1.PutDepartmentsRequest {
		return &chatv1.PutDepartmentsRequest{Organization: c.org, Departments: []*chatv1.DepartmentInput{{Id: d, Parent: parent, Name: name}}}
	}
	c.refused("department_cycle", "PutDepartments", move(c.sales, c.north, "Sales"))
	c.refused("department_cycle", "PutDepartments", move(c.sales, c.sales, "Sales"))
	c.refused("no_department", "PutDepartments", move(c.sales, 77, "Sales"))
	c.refused("no_department", "PutDepartments", move(77, 0, "Sales"))
	c.refused("bad_name", "PutDepartments", move(0, 0, strings.Repeat("x", 1<<19)))
	c.refused("bad_count", "PutDepartments", &chatv1.PutDepartmentsRequest{Organization: c.org, Departments: slices.Repeat([]*chatv1.DepartmentInput{{Name: "x"}}, 201)})
	deep := &chatv1.PutDepartmentsRequest{Organization: c.org}
	for i := range 17 {
		in := &chatv1.DepartmentInput{ExternalId: fmt.Sprint("deep", i), Name: "x"}
		if i > 0 {
			in.ParentExternalId = fmt.Sprint("deep", i-1)
		}
		deep.Departments = append(deep.Departments, in)
	}
	c.refused("department_depth", "PutDepartments", deep)
	deep.Departments = deep.Departments[:16]
	c.do("PutDepartments", deep, nil)

	// A department of another organization is none.
	other := &chatv1.Organization{}
	c.must("CreateOrganization", &chatv1.CreateOrganizationRequest{Name: "Other", Owner: c.boss.User}, other, bearer(c.key), fmt.Sprint("Rialto-User: ", c.boss.User))
	foreign := move(0, c.sales, "x")
	foreign.Organization = other.Id
	c.refused("no_department", "PutDepartments", foreign)
	c.refused("no_department", "PutOrganizationMembers", &chatv1.PutOrganizationMembersRequest{Organization: other.Id, Members: []*chatv1.OrganizationMemberInput{
		{User: c.people["dan"].User, Departments: []*chatv1.DepartmentMembership{{Department: c.sales}}}}})

	// Two concurrent moves below each other: one is refused.
	var group sync.WaitGroup
	reasons := make([]string, 2)
	for i, m := range []*chatv1.PutDepartmentsRequest{move(c.north, c.support, "North"), move(c.support, c.north, "Support")} {
		group.Go(func() {
			if _, err := c.organizations.PutDepartments(t.Context(), c.boss.user(), m); err != nil {
				reasons[i] = errs.Of(err).Reason
			}
		})
	}
	group.Wait()
	if slices.Sort(reasons); reasons[0] != "" || reasons[1] != "department_cycle" {
		t.Errorf("two moves below each other are answered with %q", reasons)
	}
}

func TestAddressBook(t *testing.T) {
	c := newCompany(t)
	as := func(name string, r *chatv1.ListOrganizationMembersRequest) string {
		r.Organization = c.org
		out := &chatv1.ListOrganizationMembersResponse{}
		c.must("ListOrganizationMembers", r, out, bearer(c.people[name].AccessToken))
		var list []string
		for _, m := range out.Members {
			list = append(list, m.Name+m.Phone)
		}
		if out.Next != "" {
			r.Page = out.Next
			list = append(list, "…")
		}
		return strings.Join(list, " ")
	}
	page := &chatv1.ListOrganizationMembersRequest{Limit: 2}
	if got := as("anna", page) + as("anna", page); got != "anna12 ben12 …boss cleo12" {
		t.Errorf("two pages have %q", got)
	}
	for _, q := range []struct {
		want string
		r    *chatv1.ListOrganizationMembersRequest
	}{
		{"ben12 boss", &chatv1.ListOrganizationMembersRequest{NamePrefix: "B"}}, {"", &chatv1.ListOrganizationMembersRequest{NamePrefix: "%"}},
		{"cleo12", &chatv1.ListOrganizationMembersRequest{TitlePrefix: "title of c"}}, {"anna12", &chatv1.ListOrganizationMembersRequest{Department: c.sales}},
		{"cleo12", &chatv1.ListOrganizationMembersRequest{Users: []uint64{c.people["cleo"].User, c.people["outsider"].User}}},
	} {
		if got := as("anna", q.r); got != q.want {
			t.Errorf("%v gives %q, want %q", q.r, got, q.want)
		}
	}
	c.do("PutDepartments", &chatv1.PutDepartmentsRequest{Organization: c.org, Departments: []*chatv1.DepartmentInput{{Id: c.support, Name: "Support", Hidden: true}}}, nil)
	c.do("UpdateOrganization", &chatv1.UpdateOrganizationRequest{Organization: c.org, HidePhones: proto.Bool(true)}, nil)
	for name, want := range map[string]string{"anna": "anna12 ben boss", "cleo": "anna ben boss cleo12"} {
		if got := as(name, &chatv1.ListOrganizationMembersRequest{}); got != want {
			t.Errorf("%s sees %q, want %q", name, got, want)
		}
		departments := &chatv1.ListDepartmentsResponse{}
		c.must("ListDepartments", &chatv1.ListDepartmentsRequest{Organization: c.org}, departments, bearer(c.people[name].AccessToken))
		if got := len(departments.Departments); got != map[string]int{"anna": 1, "cleo": 2}[name] || departments.Departments[0].Members != 1 {
			t.Errorf("%s sees the departments %v", name, departments)
		}
	}
	if got := c.call(orgCalls+"ListOrganizationMembers", &chatv1.ListOrganizationMembersRequest{Organization: c.org, Department: c.support}, bearer(c.people["anna"].AccessToken)).reason(); got != "no_department" {
		t.Errorf("a hidden department is answered with %q", got)
	}
}

func TestImportOfMembers(t *testing.T) {
	c := newCompany(t)
	n := func(name string) uint64 { return c.people[name].User }
	file := "\ufeffuser,name,title,employee_number,departments,manager_of\r\n" +
		fmt.Sprintf("%d,\"Dan, the man\",=1+1,7,Sales/North;Support,\r\n%d,anna,,no anna,,Sales/South\r\n", n("dan"), n("anna"))
	request := func(csv string) *chatv1.ImportOrganizationMembersRequest {
		return &chatv1.ImportOrganizationMembersRequest{Organization: c.org, Csv: csv}
	}
	run := func(r *chatv1.ImportOrganizationMembersRequest) string {
		out := &chatv1.ImportOrganizationMembersResponse{}
		c.do("ImportOrganizationMembers", r, out)
		text := fmt.Sprint(out.Added, out.Changed, out.Unchanged, out.DepartmentsAdded, out.Changes)
		for _, e := range out.Errors {
			text += fmt.Sprintf(" %d:%s", e.Line, e.Reason)
		}
		return text
	}
	dry := request(file)
	dry.DryRun = true
	const first = "1 1 0 1 [+ Sales/South + Dan, the man ~ anna]"
	for _, step := range []struct {
		r    *chatv1.ImportOrganizationMembersRequest
		want string
	}{
		{dry, first}, {request(file), first}, {request(file), "0 0 2 0 []"},
		{request("user,name\n" + fmt.Sprint(n("ben")) + ",Benjamin\nx,y\n" + fmt.Sprint(n("ben")) + ",again\n1,2,3\n"), "0 1 0 0 [~ Benjamin] 3:no_user 4:member_twice 5:bad_csv"},
		{request("user,name\n" + fmt.Sprint(n("ben")) + ",Benjamin\n\"open"), "0 1 0 0 [~ Benjamin] 3:bad_csv"},
		{request("user,employee_number\n" + fmt.Sprint(n("ben")) + ",7\n"), "0 0 0 0 [] 2:employee_number_taken"},
	} {
		if got := run(step.r); got != step.want {
			t.Errorf("the import of %q gives %q, want %q", step.r.Csv, got, step.want)
		}
	}
	partial := request("user,name\n" + fmt.Sprint(n("ben")) + ",Benjamin\nx,y\n")
	partial.Partial, partial.FirstLine = true, 1002
	if got, want := run(partial), "0 1 0 0 [~ Benjamin] 1003:no_user"; got != want {
		t.Errorf("a partial import with a wrong line gives %q, want %q", got, want)
	}
	if got, want := run(partial), "0 0 1 0 [] 1003:no_user"; got != want { // the first one was applied
		t.Errorf("a repeated partial import gives %q, want %q", got, want)
	}
	out := &chatv1.ListOrganizationMembersResponse{}
	c.do("ListOrganizationMembers", &chatv1.ListOrganizationMembersRequest{Organization: c.org, Users: []uint64{n("dan"), n("anna")}}, out)
	if dan, anna := out.Members[0], out.Members[1]; dan.Title != "=1+1" || len(dan.Departments) != 2 || anna.Title != "" || len(anna.Departments) != 1 || !anna.Departments[0].Manager {
		t.Errorf("the members are %v", out.Members)
	}
	for _, csv := range []string{"", "user,user\n1,2\n", "user,unknown\n", "name,title\nBen,boss\n", "user\n" + strings.Repeat("1\n", 2001), "user\n" + strings.Repeat("x", 512<<10), strings.Repeat("user,", 1000)} {
		c.refused("bad_csv", "ImportOrganizationMembers", request(csv))
	}
	wrong := c.call(orgCalls+"ImportOrganizationMembers", request("user;name\n1;x\n"), bearer(c.boss.AccessToken))
	if got := wrong.body; !strings.Contains(got, "user;name") || !strings.Contains(got, "commas") {
		t.Errorf("a file that is separated by semicolons is refused with %q", got)
	}
}

// An admin makes those members who let the admin add them, and a server anybody: rules of an organization may forbid a member's messages.
func TestMembershipNeedsConsent(t *testing.T) {
	c := newCompany(t)
	shy := c.people["outsider"]
	c.must("/rialto.account.v1.AccountService/UpdateSettings", &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMayAdd: accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS}}, nil, bearer(shy.AccessToken))
	put := &chatv1.PutOrganizationMembersRequest{Organization: c.org, Members: []*chatv1.OrganizationMemberInput{{User: c.people["anna"].User}, {User: shy.User}}}
	c.refused("needs_consent", "PutOrganizationMembers", put)
	imported := &chatv1.ImportOrganizationMembersResponse{}
	c.do("ImportOrganizationMembers", &chatv1.ImportOrganizationMembersRequest{Organization: c.org, Csv: fmt.Sprintf("user\n%d\n", shy.User)}, imported)
	if len(imported.Errors) != 1 || imported.Errors[0].Line != 2 || imported.Wrong != 1 {
		t.Errorf("an import of somebody who has not agreed: %v", imported)
	}
	c.must("PutOrganizationMembers", put, nil, bearer(c.key), fmt.Sprint("Rialto-User: ", c.boss.User))
	c.do("PutOrganizationMembers", put, nil) // a member is changed without being asked again
}
