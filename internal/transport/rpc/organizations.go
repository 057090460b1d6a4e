package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// Organizations are companies with departments and members.
type Organizations interface {
	CreateOrganization(ctx context.Context, by id.Caller, r *chatv1.CreateOrganizationRequest) (*chatv1.Organization, error)
	GetOrganization(ctx context.Context, by id.User, organization uint64) (*chatv1.Organization, error)
	ListOrganizations(ctx context.Context, by id.User) (*chatv1.ListOrganizationsResponse, error)
	UpdateOrganization(ctx context.Context, by id.User, r *chatv1.UpdateOrganizationRequest) (*chatv1.Organization, error)
	PutDepartments(ctx context.Context, by id.User, r *chatv1.PutDepartmentsRequest) (*chatv1.PutDepartmentsResponse, error)
	RemoveDepartments(ctx context.Context, by id.User, r *chatv1.RemoveDepartmentsRequest) error
	ListDepartments(ctx context.Context, by id.User, r *chatv1.ListDepartmentsRequest) (*chatv1.ListDepartmentsResponse, error)
	PutOrganizationMembers(ctx context.Context, by id.Caller, r *chatv1.PutOrganizationMembersRequest) (*chatv1.PutOrganizationMembersResponse, error)
	RemoveOrganizationMembers(ctx context.Context, by id.User, r *chatv1.RemoveOrganizationMembersRequest) (*chatv1.RemoveOrganizationMembersResponse, error)
	InviteToOrganization(ctx context.Context, by id.Caller, r *chatv1.InviteToOrganizationRequest) (*chatv1.InviteToOrganizationResponse, error)
	ListOrganizationInvitations(ctx context.Context, by id.User, r *chatv1.ListOrganizationInvitationsRequest) (*chatv1.ListOrganizationInvitationsResponse, error)
	AnswerOrganizationInvitation(ctx context.Context, u id.User, r *chatv1.AnswerOrganizationInvitationRequest) error
	CancelOrganizationInvitation(ctx context.Context, by id.User, r *chatv1.CancelOrganizationInvitationRequest) error
	TransferOrganization(ctx context.Context, by id.User, r *chatv1.TransferOrganizationRequest) (*chatv1.Organization, error)
	ListOrganizationMembers(ctx context.Context, by id.User, r *chatv1.ListOrganizationMembersRequest) (*chatv1.ListOrganizationMembersResponse, error)
	CreateOrganizationGroup(ctx context.Context, by id.Caller, r *chatv1.CreateOrganizationGroupRequest) (*chatv1.CreateOrganizationGroupResponse, error)
	ImportOrganizationMembers(ctx context.Context, by id.Caller, r *chatv1.ImportOrganizationMembersRequest) (*chatv1.ImportOrganizationMembersResponse, error)
}

func (s *Server) organizations() []method {
	o := s.deps.Organizations
	return []method{
		newMethod(s, chatv1connect.OrganizationServiceCreateOrganizationProcedure, userAccess, o.CreateOrganization),
		newMethod(s, chatv1connect.OrganizationServiceGetOrganizationProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetOrganizationRequest) (*chatv1.Organization, error) {
			return o.GetOrganization(ctx, c.User, r.Organization)
		}),
		newMethod(s, chatv1connect.OrganizationServiceListOrganizationsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *chatv1.ListOrganizationsRequest) (*chatv1.ListOrganizationsResponse, error) {
			return o.ListOrganizations(ctx, c.User)
		}),
		newMethod(s, chatv1connect.OrganizationServiceUpdateOrganizationProcedure, userAccess, byUser(o.UpdateOrganization)),
		newMethod(s, chatv1connect.OrganizationServicePutDepartmentsProcedure, userAccess, byUser(o.PutDepartments)),
		newMethod(s, chatv1connect.OrganizationServiceRemoveDepartmentsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.RemoveDepartmentsRequest) (*chatv1.RemoveDepartmentsResponse, error) {
			return &chatv1.RemoveDepartmentsResponse{}, o.RemoveDepartments(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.OrganizationServiceListDepartmentsProcedure, userAccess, byUser(o.ListDepartments)),
		newMethod(s, chatv1connect.OrganizationServicePutOrganizationMembersProcedure, userAccess, o.PutOrganizationMembers),
		newMethod(s, chatv1connect.OrganizationServiceRemoveOrganizationMembersProcedure, userAccess, byUser(o.RemoveOrganizationMembers)),
		newMethod(s, chatv1connect.OrganizationServiceInviteToOrganizationProcedure, userAccess, o.InviteToOrganization),
		newMethod(s, chatv1connect.OrganizationServiceListOrganizationInvitationsProcedure, userAccess, byUser(o.ListOrganizationInvitations)),
		newMethod(s, chatv1connect.OrganizationServiceAnswerOrganizationInvitationProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.AnswerOrganizationInvitationRequest) (*chatv1.AnswerOrganizationInvitationResponse, error) {
			return &chatv1.AnswerOrganizationInvitationResponse{}, o.AnswerOrganizationInvitation(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.OrganizationServiceCancelOrganizationInvitationProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.CancelOrganizationInvitationRequest) (*chatv1.CancelOrganizationInvitationResponse, error) {
			return &chatv1.CancelOrganizationInvitationResponse{}, o.CancelOrganizationInvitation(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.OrganizationServiceTransferOrganizationProcedure, userAccess, byUser(o.TransferOrganization)),
		newMethod(s, chatv1connect.OrganizationServiceListOrganizationMembersProcedure, userAccess, byUser(o.ListOrganizationMembers)),
		newMethod(s, chatv1connect.OrganizationServiceCreateOrganizationGroupProcedure, userAccess, o.CreateOrganizationGroup),
		newMethod(s, chatv1connect.OrganizationServiceImportOrganizationMembersProcedure, userAccess, o.ImportOrganizationMembers),
	}
}
