package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
)

// Bridges link groups with rooms of other message systems.
type Bridges interface {
	ListBridges(ctx context.Context) (*bridgev1.ListBridgesResponse, error)
	LinkBridge(ctx context.Context, by id.Caller, r *bridgev1.LinkBridgeRequest) (*bridgev1.BridgeLink, error)
	UnlinkBridge(ctx context.Context, by id.Caller, r *bridgev1.UnlinkBridgeRequest) error
	ListBridgeLinks(ctx context.Context, by id.Caller, r *bridgev1.ListBridgeLinksRequest) (*bridgev1.ListBridgeLinksResponse, error)
	PutBridge(ctx context.Context, by id.Caller, r *bridgev1.PutBridgeRequest) (*bridgev1.Bridge, error)
	ListLinkedConversations(ctx context.Context, by id.Caller, r *bridgev1.ListLinkedConversationsRequest) (*bridgev1.ListLinkedConversationsResponse, error)
	ReportBridgeLink(ctx context.Context, by id.Caller, r *bridgev1.ReportBridgeLinkRequest) (*bridgev1.BridgeLink, error)
	SendBridgedMessage(ctx context.Context, by id.Caller, r *bridgev1.SendBridgedMessageRequest) (*bridgev1.SendBridgedMessageResponse, error)
	ReportDelivery(ctx context.Context, by id.Caller, r *bridgev1.ReportDeliveryRequest) (*bridgev1.ReportDeliveryResponse, error)
	PutBridgePermission(ctx context.Context, by id.Caller, r *bridgev1.PutBridgePermissionRequest) error
	GetBridgePermission(ctx context.Context, by id.Caller, r *bridgev1.GetBridgePermissionRequest) (*bridgev1.GetBridgePermissionResponse, error)
	FindBridgeLinks(ctx context.Context, by id.Caller, r *bridgev1.FindBridgeLinksRequest) (*bridgev1.FindBridgeLinksResponse, error)
	RemoveBridgeLink(ctx context.Context, by id.Caller, r *bridgev1.RemoveBridgeLinkRequest) (*bridgev1.RemoveBridgeLinkResponse, error)
}

var errNoBridgeKey = errs.New(errs.Denied, "no_bridge_key", "this call needs the API key of a bridge: rialto admin key create --bot USER --bridge NAME")

func (s *Server) bridges() []method {
	b := s.deps.Bridges
	return []method{
		newMethod(s, bridgev1connect.BridgeLinkServiceListBridgesProcedure, userAccess, func(ctx context.Context, _ id.Caller, _ *bridgev1.ListBridgesRequest) (*bridgev1.ListBridgesResponse, error) {
			return b.ListBridges(ctx)
		}),
		newMethod(s, bridgev1connect.BridgeLinkServiceLinkBridgeProcedure, userAccess, b.LinkBridge),
		newMethod(s, bridgev1connect.BridgeLinkServiceUnlinkBridgeProcedure, userAccess, func(ctx context.Context, c id.Caller, r *bridgev1.UnlinkBridgeRequest) (*bridgev1.UnlinkBridgeResponse, error) {
			return &bridgev1.UnlinkBridgeResponse{}, b.UnlinkBridge(ctx, c, r)
		}),
		newMethod(s, bridgev1connect.BridgeLinkServiceListBridgeLinksProcedure, userAccess, b.ListBridgeLinks),
		newMethod(s, bridgev1connect.BridgeServicePutBridgeProcedure, bridgeAccess, b.PutBridge),
		newMethod(s, bridgev1connect.BridgeServiceListLinkedConversationsProcedure, bridgeAccess, b.ListLinkedConversations),
		newMethod(s, bridgev1connect.BridgeServiceReportBridgeLinkProcedure, bridgeAccess, b.ReportBridgeLink),
		newMethod(s, bridgev1connect.BridgeServiceSendBridgedMessageProcedure, bridgeAccess, b.SendBridgedMessage),
		newMethod(s, bridgev1connect.BridgeServiceReportDeliveryProcedure, bridgeAccess, b.ReportDelivery),
		newMethod(s, bridgev1connect.BridgeServicePutBridgePermissionProcedure, bridgeAccess, func(ctx context.Context, c id.Caller, r *bridgev1.PutBridgePermissionRequest) (*bridgev1.PutBridgePermissionResponse, error) {
			return &bridgev1.PutBridgePermissionResponse{}, b.PutBridgePermission(ctx, c, r)
		}),
		newMethod(s, bridgev1connect.BridgeServiceGetBridgePermissionProcedure, bridgeAccess, b.GetBridgePermission),
		newMethod(s, bridgev1connect.BridgeAdminServiceFindBridgeLinksProcedure, operatorAccess, b.FindBridgeLinks),
		newMethod(s, bridgev1connect.BridgeAdminServiceRemoveBridgeLinkProcedure, operatorAccess, b.RemoveBridgeLink),
	}
}
