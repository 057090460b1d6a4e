package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/moderation/v1/moderationv1connect"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// Operations are what the operators' console shows and changes.
type Operations interface {
	CheckCall(c id.Caller, least id.OperatorRole) error
	GetOperator(ctx context.Context, c id.Caller, r *operationv1.GetOperatorRequest) (*operationv1.Operator, error)
	ListNodes(ctx context.Context, c id.Caller, r *operationv1.ListNodesRequest) (*operationv1.ListNodesResponse, error)
	ListQueues(ctx context.Context, c id.Caller, r *operationv1.ListQueuesRequest) (*operationv1.ListQueuesResponse, error)
	ListJobs(ctx context.Context, c id.Caller, r *operationv1.ListJobsRequest) (*operationv1.ListJobsResponse, error)
	GetJob(ctx context.Context, c id.Caller, r *operationv1.GetJobRequest) (*operationv1.Job, error)
	RetryJob(ctx context.Context, c id.Caller, r *operationv1.RetryJobRequest) (*operationv1.Job, error)
	DiscardJob(ctx context.Context, c id.Caller, r *operationv1.DiscardJobRequest) (*operationv1.Job, error)
	DropJob(ctx context.Context, c id.Caller, r *operationv1.DropJobRequest) (*operationv1.DropJobResponse, error)
	StartBackup(ctx context.Context, c id.Caller, r *operationv1.StartBackupRequest) (*operationv1.Backup, error)
	GetBackup(ctx context.Context, c id.Caller, r *operationv1.GetBackupRequest) (*operationv1.Backup, error)
	CancelBackup(ctx context.Context, c id.Caller, r *operationv1.CancelBackupRequest) (*operationv1.Backup, error)
	ListAuditEntries(ctx context.Context, c id.Caller, r *operationv1.ListAuditEntriesRequest) (*operationv1.ListAuditEntriesResponse, error)
	ListComparisons(ctx context.Context, c id.Caller, r *operationv1.ListComparisonsRequest) (*operationv1.ListComparisonsResponse, error)
	ListDifferences(ctx context.Context, c id.Caller, r *operationv1.ListDifferencesRequest) (*operationv1.ListDifferencesResponse, error)
	RepairDifference(ctx context.Context, c id.Caller, r *operationv1.RepairDifferenceRequest) (*operationv1.StoreDifference, error)
	GetVideoPipeline(ctx context.Context, c id.Caller, r *operationv1.GetVideoPipelineRequest) (*operationv1.VideoPipeline, error)
}

// operatorCalls are the calls that keys with a role in the operators' console make, and the least role; one that is missing needs the highest. Those of other
// services are calls of servers as well.
var operatorCalls = map[string]id.OperatorRole{
	operationv1connect.OperationServiceGetOperatorProcedure:           id.NoOperator, // any role
	operationv1connect.OperationServiceListNodesProcedure:             id.Auditor,
	operationv1connect.OperationServiceListQueuesProcedure:            id.Auditor,
	operationv1connect.OperationServiceListJobsProcedure:              id.Auditor,
	operationv1connect.OperationServiceGetJobProcedure:                id.Auditor,
	operationv1connect.OperationServiceListAuditEntriesProcedure:      id.Auditor,
	operationv1connect.OperationServiceListComparisonsProcedure:       id.Auditor,
	operationv1connect.OperationServiceListDifferencesProcedure:       id.Auditor,
	operationv1connect.OperationServiceRepairDifferenceProcedure:      id.Operator,
	operationv1connect.OperationServiceGetVideoPipelineProcedure:      id.Auditor,
	operationv1connect.OperationServiceRetryJobProcedure:              id.Operator,
	operationv1connect.OperationServiceDiscardJobProcedure:            id.Operator,
	operationv1connect.OperationServiceDropJobProcedure:               id.Operator,
	moderationv1connect.ModerationAdminServiceListCasesProcedure:      id.Moderator,
	moderationv1connect.ModerationAdminServiceGetCaseProcedure:        id.Moderator,
	moderationv1connect.ModerationAdminServiceDecideProcedure:         id.Moderator,
	moderationv1connect.ModerationAdminServiceBanTargetProcedure:      id.Moderator,
	moderationv1connect.ModerationAdminServiceListBansProcedure:       id.Moderator,
	moderationv1connect.ModerationAdminServiceLiftBanProcedure:        id.Moderator,
	moderationv1connect.ModerationAdminServiceListAppealsProcedure:    id.Moderator,
	moderationv1connect.ModerationAdminServiceDecideAppealProcedure:   id.Moderator,
	moderationv1connect.ModerationAdminServiceListWordListsProcedure:  id.Moderator,
	moderationv1connect.ModerationAdminServiceGetWordListProcedure:    id.Moderator,
	moderationv1connect.ModerationAdminServicePutWordListProcedure:    id.Operator,
	bridgev1connect.BridgeLinkServiceListBridgesProcedure:             id.Moderator, // FindBridgeLinks needs the name of a bridge
	bridgev1connect.BridgeAdminServiceFindBridgeLinksProcedure:        id.Moderator,
	bridgev1connect.BridgeAdminServiceRemoveBridgeLinkProcedure:       id.Moderator,
	operationv1connect.OperationServiceStartBackupProcedure:           id.Operator,
	operationv1connect.OperationServiceGetBackupProcedure:             id.Auditor,
	operationv1connect.InterchangeServiceImportUsersProcedure:         id.Operator,
	operationv1connect.InterchangeServiceImportConversationProcedure:  id.Operator,
	operationv1connect.InterchangeServiceImportEntriesProcedure:       id.Operator,
	operationv1connect.InterchangeServiceEndImportProcedure:           id.Operator,
	operationv1connect.InterchangeServiceImportFileProcedure:          id.Operator,
	operationv1connect.InterchangeServiceCompleteFileProcedure:        id.Operator,
	operationv1connect.InterchangeServiceExportUsersProcedure:         id.Operator,
	operationv1connect.InterchangeServiceImportRelationsProcedure:     id.Operator,
	operationv1connect.InterchangeServiceExportRelationsProcedure:     id.Operator,
	operationv1connect.InterchangeServiceImportVideosProcedure:        id.Operator,
	operationv1connect.InterchangeServiceExportVideosProcedure:        id.Operator,
	operationv1connect.InterchangeServiceImportPostsProcedure:         id.Operator,
	operationv1connect.InterchangeServiceExportPostsProcedure:         id.Operator,
	operationv1connect.InterchangeServiceImportCommentsProcedure:      id.Operator,
	operationv1connect.InterchangeServiceExportCommentsProcedure:      id.Operator,
	operationv1connect.InterchangeServiceImportLikesProcedure:         id.Operator,
	operationv1connect.InterchangeServiceExportLikesProcedure:         id.Operator,
	operationv1connect.InterchangeServiceListImportsProcedure:         id.Operator,
	operationv1connect.InterchangeServiceExportConversationsProcedure: id.Operator,
	operationv1connect.InterchangeServiceExportEntriesProcedure:       id.Operator,
	operationv1connect.InterchangeServiceExportFileProcedure:          id.Operator,
	operationv1connect.OperationServiceCancelBackupProcedure:          id.Operator,
	feedv1connect.FeedAdminServiceGetFeedPlanProcedure:                id.Auditor,
	feedv1connect.FeedAdminServiceSetFeedPlanProcedure:                id.Operator,

	rankingv1connect.RankingAdminServiceListRankingExamplesProcedure:  id.Auditor,
	rankingv1connect.RankingAdminServiceGetRankingWeightsProcedure:    id.Auditor,
	rankingv1connect.RankingAdminServiceSetRankingWeightsProcedure:    id.Operator,
	rankingv1connect.RankingAdminServiceExplainRankingProcedure:       id.Auditor,
	rankingv1connect.RankingAdminServiceListRankingModelsProcedure:    id.Auditor,
	rankingv1connect.RankingAdminServicePutRankingModelProcedure:      id.Operator,
	rankingv1connect.RankingAdminServiceActivateRankingModelProcedure: id.Operator,
}

// asOperator returns whom a key with a role stands for, if it may make a call. Each call counts, also a refused one.
func (s *Server) asOperator(ctx context.Context, call, token string) (id.Caller, error) {
	c, err := s.deps.Accounts.VerifyOperator(ctx, token)
	if err != nil {
		return id.Caller{}, err
	}
	least, listed := operatorCalls[call]
	if !listed {
		least = id.Operator
	}
	return c, s.deps.Operations.CheckCall(c, least)
}

// setFeedPlan is for servers, who name the person, and for operators, who are named by their keys.
func (s *Server) setFeedPlan(ctx context.Context, c id.Caller, r *feedv1.SetFeedPlanRequest) (*feedv1.FeedPlan, error) {
	if c.Role != id.NoOperator {
		r.By = c.Key
	}
	return s.deps.Feed.SetFeedPlan(ctx, r)
}

func (s *Server) operations() []method {
	o := s.deps.Operations
	return []method{
		newMethod(s, operationv1connect.OperationServiceGetOperatorProcedure, operatorAccess, o.GetOperator),
		newMethod(s, operationv1connect.OperationServiceListNodesProcedure, operatorAccess, o.ListNodes),
		newMethod(s, operationv1connect.OperationServiceListQueuesProcedure, operatorAccess, o.ListQueues),
		newMethod(s, operationv1connect.OperationServiceListJobsProcedure, operatorAccess, o.ListJobs),
		newMethod(s, operationv1connect.OperationServiceGetJobProcedure, operatorAccess, o.GetJob),
		newMethod(s, operationv1connect.OperationServiceRetryJobProcedure, operatorAccess, o.RetryJob),
		newMethod(s, operationv1connect.OperationServiceDiscardJobProcedure, operatorAccess, o.DiscardJob),
		newMethod(s, operationv1connect.OperationServiceDropJobProcedure, operatorAccess, o.DropJob),
		newMethod(s, operationv1connect.OperationServiceStartBackupProcedure, operatorAccess, o.StartBackup),
		newMethod(s, operationv1connect.OperationServiceGetBackupProcedure, operatorAccess, o.GetBackup),
		newMethod(s, operationv1connect.OperationServiceCancelBackupProcedure, operatorAccess, o.CancelBackup),
		newMethod(s, operationv1connect.OperationServiceListAuditEntriesProcedure, operatorAccess, o.ListAuditEntries),
		newMethod(s, operationv1connect.OperationServiceListComparisonsProcedure, operatorAccess, o.ListComparisons),
		newMethod(s, operationv1connect.OperationServiceListDifferencesProcedure, operatorAccess, o.ListDifferences),
		newMethod(s, operationv1connect.OperationServiceRepairDifferenceProcedure, operatorAccess, o.RepairDifference),
		newMethod(s, operationv1connect.OperationServiceGetVideoPipelineProcedure, operatorAccess, o.GetVideoPipeline),
	}
}
