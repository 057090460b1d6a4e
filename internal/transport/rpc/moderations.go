package rpc

import (
	"context"
	"net/netip"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/moderation/v1/moderationv1connect"
)

// Moderation has reports, decisions, appeals and bans.
type Moderation interface {
	Moderators
	ReportContent(ctx context.Context, u id.User, r *moderationv1.ReportContentRequest) (*moderationv1.Report, error)
	ListMyReports(ctx context.Context, u id.User, r *moderationv1.ListMyReportsRequest) (*moderationv1.ListMyReportsResponse, error)
	ListMyDecisions(ctx context.Context, u id.User, r *moderationv1.ListMyDecisionsRequest) (*moderationv1.ListMyDecisionsResponse, error)
	AcknowledgeDecision(ctx context.Context, u id.User, r *moderationv1.AcknowledgeDecisionRequest) (*moderationv1.AcknowledgeDecisionResponse, error)
	AppealDecision(ctx context.Context, u id.User, r *moderationv1.AppealDecisionRequest) (*moderationv1.AppealReceipt, error)
	AppealBan(ctx context.Context, r *moderationv1.AppealBanRequest) (*moderationv1.AppealReceipt, error)
	// CheckAddress fails if a network is banned, and CheckUser if a user is.
	CheckAddress(from netip.Prefix) error
	CheckUser(ctx context.Context, u id.User) error
}

// Moderators are the calls of moderators.
type Moderators interface {
	ListCases(ctx context.Context, c id.Caller, r *moderationv1.ListCasesRequest) (*moderationv1.ListCasesResponse, error)
	GetCase(ctx context.Context, c id.Caller, r *moderationv1.GetCaseRequest) (*moderationv1.Case, error)
	Decide(ctx context.Context, c id.Caller, r *moderationv1.DecideRequest) (*moderationv1.Decision, error)
	BanTarget(ctx context.Context, c id.Caller, r *moderationv1.BanTargetRequest) (*moderationv1.Ban, error)
	ListBans(ctx context.Context, c id.Caller, r *moderationv1.ListBansRequest) (*moderationv1.ListBansResponse, error)
	LiftBan(ctx context.Context, c id.Caller, r *moderationv1.LiftBanRequest) (*moderationv1.Ban, error)
	ListAppeals(ctx context.Context, c id.Caller, r *moderationv1.ListAppealsRequest) (*moderationv1.ListAppealsResponse, error)
	DecideAppeal(ctx context.Context, c id.Caller, r *moderationv1.DecideAppealRequest) (*moderationv1.Appeal, error)
	ListWordLists(ctx context.Context, c id.Caller, r *moderationv1.ListWordListsRequest) (*moderationv1.ListWordListsResponse, error)
	GetWordList(ctx context.Context, c id.Caller, r *moderationv1.GetWordListRequest) (*moderationv1.WordList, error)
	PutWordList(ctx context.Context, c id.Caller, r *moderationv1.PutWordListRequest) (*moderationv1.WordList, error)
}

func (s *Server) moderation() []method {
	m := s.deps.Moderation
	return []method{
		newMethod(s, moderationv1connect.ModerationServiceReportContentProcedure, userAccess, byUser(m.ReportContent)),
		newMethod(s, moderationv1connect.ModerationServiceListMyReportsProcedure, userAccess, byUser(m.ListMyReports)),
		newMethod(s, moderationv1connect.ModerationServiceListMyDecisionsProcedure, userAccess, byUser(m.ListMyDecisions)),
		newMethod(s, moderationv1connect.ModerationServiceAcknowledgeDecisionProcedure, userAccess, byUser(m.AcknowledgeDecision)),
		newMethod(s, moderationv1connect.ModerationServiceAppealDecisionProcedure, userAccess, byUser(m.AppealDecision)),
		newMethod(s, moderationv1connect.ModerationServiceAppealBanProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *moderationv1.AppealBanRequest) (*moderationv1.AppealReceipt, error) {
			return m.AppealBan(ctx, r)
		}),
		newMethod(s, moderationv1connect.ModerationAdminServiceListCasesProcedure, operatorAccess, m.ListCases),
		newMethod(s, moderationv1connect.ModerationAdminServiceGetCaseProcedure, operatorAccess, m.GetCase),
		newMethod(s, moderationv1connect.ModerationAdminServiceDecideProcedure, operatorAccess, m.Decide),
		newMethod(s, moderationv1connect.ModerationAdminServiceBanTargetProcedure, operatorAccess, m.BanTarget),
		newMethod(s, moderationv1connect.ModerationAdminServiceListBansProcedure, operatorAccess, m.ListBans),
		newMethod(s, moderationv1connect.ModerationAdminServiceLiftBanProcedure, operatorAccess, m.LiftBan),
		newMethod(s, moderationv1connect.ModerationAdminServiceListAppealsProcedure, operatorAccess, m.ListAppeals),
		newMethod(s, moderationv1connect.ModerationAdminServiceDecideAppealProcedure, operatorAccess, m.DecideAppeal),
		newMethod(s, moderationv1connect.ModerationAdminServiceListWordListsProcedure, operatorAccess, m.ListWordLists),
		newMethod(s, moderationv1connect.ModerationAdminServiceGetWordListProcedure, operatorAccess, m.GetWordList),
		newMethod(s, moderationv1connect.ModerationAdminServicePutWordListProcedure, operatorAccess, m.PutWordList),
	}
}

// checkBans refuses a call of a user or of a client without credentials from a network that is banned, and a call of a server for a user who is. Sessions of banned users have ended. Of calls
// from a banned network only the appeal against another ban is answered.
func (s *Server) checkBans(ctx context.Context, call string, who access, c id.Caller) error {
	m := s.deps.Moderation
	switch {
	case m == nil || who != userAccess && who != anonymousAccess || call == moderationv1connect.ModerationServiceAppealBanProcedure:
		return nil
	case c.Server:
		return m.CheckUser(ctx, c.User)
	}
	return m.CheckAddress(ratelimit.NetworkOf(ctx))
}
