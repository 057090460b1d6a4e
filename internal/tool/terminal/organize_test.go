package terminal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"google.golang.org/protobuf/proto"
)

// company is a server with an organization: the departments 1 Sales, 2 Sales/Europe and 3 Support, on two pages, and Bob, user 2, who manages 2.
type company struct {
	chatv1connect.UnimplementedOrganizationServiceHandler
	accountv1connect.UnimplementedAccountServiceHandler
	put *chatv1.OrganizationMemberInput
}

func (*company) GetUsers(context.Context, *connect.Request[accountv1.GetUsersRequest]) (*connect.Response[accountv1.GetUsersResponse], error) {
	return connect.NewResponse(&accountv1.GetUsersResponse{Users: []*accountv1.User{{Id: 2, Handle: "bob"}}}), nil
}

func (*company) ListDepartments(_ context.Context, r *connect.Request[chatv1.ListDepartmentsRequest]) (*connect.Response[chatv1.ListDepartmentsResponse], error) {
	out := &chatv1.ListDepartmentsResponse{}
	switch {
	case r.Msg.Parent == 1:
		out.Departments = []*chatv1.Department{{Id: 2, Parent: 1, Name: "Europe"}}
	case r.Msg.Parent == 0 && r.Msg.Page == "":
		out.Departments, out.Next = []*chatv1.Department{{Id: 1, Name: "Sales"}}, "2"
	case r.Msg.Parent == 0:
		out.Departments = []*chatv1.Department{{Id: 3, Name: "Support"}}
	}
	return connect.NewResponse(out), nil
}

func (*company) ListOrganizationMembers(context.Context, *connect.Request[chatv1.ListOrganizationMembersRequest]) (*connect.Response[chatv1.ListOrganizationMembersResponse], error) {
	bob := &chatv1.OrganizationMember{User: 2, Name: "Bob", Title: "Buyer", Phone: "555", EmployeeNumber: "7", Role: chatv1.OrganizationRole_ORGANIZATION_ROLE_ADMIN,
		Departments: []*chatv1.DepartmentMembership{{Department: 2, Manager: true}}}
	return connect.NewResponse(&chatv1.ListOrganizationMembersResponse{Members: []*chatv1.OrganizationMember{bob}}), nil
}

func (c *company) PutOrganizationMembers(_ context.Context, r *connect.Request[chatv1.PutOrganizationMembersRequest]) (*connect.Response[chatv1.PutOrganizationMembersResponse], error) {
	c.put = r.Msg.Members[0]
	return connect.NewResponse(&chatv1.PutOrganizationMembersResponse{}), nil
}

// A change of a member leaves what it does not name: the server replaces all.
func TestMembersAreChangedInPart(t *testing.T) {
	c, mux := &company{}, http.NewServeMux()
	mux.Handle(chatv1connect.NewOrganizationServiceHandler(c))
	mux.Handle(accountv1connect.NewAccountServiceHandler(c))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s := typing(t, "")
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	was := func() *chatv1.OrganizationMemberInput {
		return &chatv1.OrganizationMemberInput{User: 2, Name: "Bob", Title: "Buyer", Phone: "555", EmployeeNumber: "7", Admin: true, Departments: []*chatv1.DepartmentMembership{{Department: 2, Manager: true}}}
	}
	for options, change := range map[string]func(*chatv1.OrganizationMemberInput){
		"":                               func(*chatv1.OrganizationMemberInput) {},
		`title:"Head of sales" phone:""`: func(in *chatv1.OrganizationMemberInput) { in.Title, in.Phone = "Head of sales", "" },
		"name:Robert number:8 admin:no":  func(in *chatv1.OrganizationMemberInput) { in.Name, in.EmployeeNumber, in.Admin = "Robert", "8", false },
		`in:"support, sales/europe"`: func(in *chatv1.OrganizationMemberInput) {
			in.Departments = []*chatv1.DepartmentMembership{{Department: 3}, {Department: 2, Manager: true}}
		},
		`in:""`: func(in *chatv1.OrganizationMemberInput) { in.Departments = nil },
	} {
		want := was()
		change(want)
		if err := s.putMember(t.Context(), &chatv1.Organization{Id: 70}, "@bob "+options); err != nil {
			t.Errorf("%q: %v", options, err)
		}
		if !proto.Equal(c.put, want) {
			t.Errorf("%q: stored %v, want %v", options, c.put, want)
		}
	}
	for _, options := range []string{"size:9", "admin:perhaps", "in:Nowhere", "in:Sales/Nowhere", "title"} {
		c.put = nil
		if err := s.putMember(t.Context(), &chatv1.Organization{Id: 70}, "@bob "+options); err == nil || c.put != nil {
			t.Errorf("%q: %v, stored %v", options, err, c.put)
		}
	}
	for _, change := range organizationChanges() {
		if change.about == "" || change.chinese == "" {
			t.Errorf("/organize N %s has no help in English or in Chinese", change.name)
		}
	}
}
