package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/overload"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// Interchange imports and exports everything.
type Interchange interface {
	ImportUsers(ctx context.Context, c id.Caller, r *operationv1.ImportUsersRequest) (*operationv1.ImportUsersResponse, error)
	ImportConversation(ctx context.Context, c id.Caller, r *operationv1.ImportConversationRequest) (*operationv1.ImportConversationResponse, error)
	ImportEntries(ctx context.Context, c id.Caller, r *operationv1.ImportEntriesRequest) (*operationv1.ImportEntriesResponse, error)
	EndImport(ctx context.Context, c id.Caller, r *operationv1.EndImportRequest) (*operationv1.EndImportResponse, error)
	ImportFile(ctx context.Context, c id.Caller, r *operationv1.ImportFileRequest) (*operationv1.ImportFileResponse, error)
	CompleteFile(ctx context.Context, c id.Caller, r *operationv1.CompleteFileRequest) (*operationv1.CompleteFileResponse, error)
	ExportUsers(ctx context.Context, c id.Caller, r *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error)
	ImportRelations(ctx context.Context, c id.Caller, r *operationv1.ImportRelationsRequest) (*operationv1.ImportRelationsResponse, error)
	ExportRelations(ctx context.Context, c id.Caller, r *operationv1.ExportRelationsRequest) (*operationv1.ExportRelationsResponse, error)
	ImportVideos(ctx context.Context, c id.Caller, r *operationv1.ImportVideosRequest) (*operationv1.ImportVideosResponse, error)
	ExportVideos(ctx context.Context, c id.Caller, r *operationv1.ExportVideosRequest) (*operationv1.ExportVideosResponse, error)
	ImportPosts(ctx context.Context, c id.Caller, r *operationv1.ImportPostsRequest) (*operationv1.ImportPostsResponse, error)
	ExportPosts(ctx context.Context, c id.Caller, r *operationv1.ExportPostsRequest) (*operationv1.ExportPostsResponse, error)
	ImportComments(ctx context.Context, c id.Caller, r *operationv1.ImportCommentsRequest) (*operationv1.ImportCommentsResponse, error)
	ExportComments(ctx context.Context, c id.Caller, r *operationv1.ExportCommentsRequest) (*operationv1.ExportCommentsResponse, error)
	ImportLikes(ctx context.Context, c id.Caller, r *operationv1.ImportLikesRequest) (*operationv1.ImportLikesResponse, error)
	ExportLikes(ctx context.Context, c id.Caller, r *operationv1.ExportLikesRequest) (*operationv1.ExportLikesResponse, error)
	ListImports(ctx context.Context, c id.Caller, r *operationv1.ListImportsRequest) (*operationv1.ListImportsResponse, error)
	ExportConversations(ctx context.Context, c id.Caller, r *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error)
	ExportEntries(ctx context.Context, c id.Caller, r *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error)
	ExportFile(ctx context.Context, c id.Caller, r *operationv1.ExportFileRequest) (*operationv1.ExportFileResponse, error)
}

func (s *Server) interchange() []method {
	i := s.deps.Interchange
	list := []method{
		newMethod(s, operationv1connect.InterchangeServiceImportUsersProcedure, operatorAccess, i.ImportUsers),
		newMethod(s, operationv1connect.InterchangeServiceImportConversationProcedure, operatorAccess, i.ImportConversation),
		newMethod(s, operationv1connect.InterchangeServiceImportEntriesProcedure, operatorAccess, i.ImportEntries),
		newMethod(s, operationv1connect.InterchangeServiceEndImportProcedure, operatorAccess, i.EndImport),
		newMethod(s, operationv1connect.InterchangeServiceImportFileProcedure, operatorAccess, i.ImportFile),
		newMethod(s, operationv1connect.InterchangeServiceCompleteFileProcedure, operatorAccess, i.CompleteFile),
		newMethod(s, operationv1connect.InterchangeServiceExportUsersProcedure, operatorAccess, i.ExportUsers),
		newMethod(s, operationv1connect.InterchangeServiceImportRelationsProcedure, operatorAccess, i.ImportRelations),
		newMethod(s, operationv1connect.InterchangeServiceExportRelationsProcedure, operatorAccess, i.ExportRelations),
		newMethod(s, operationv1connect.InterchangeServiceImportVideosProcedure, operatorAccess, i.ImportVideos),
		newMethod(s, operationv1connect.InterchangeServiceExportVideosProcedure, operatorAccess, i.ExportVideos),
		newMethod(s, operationv1connect.InterchangeServiceImportPostsProcedure, operatorAccess, i.ImportPosts),
		newMethod(s, operationv1connect.InterchangeServiceExportPostsProcedure, operatorAccess, i.ExportPosts),
		newMethod(s, operationv1connect.InterchangeServiceImportCommentsProcedure, operatorAccess, i.ImportComments),
		newMethod(s, operationv1connect.InterchangeServiceExportCommentsProcedure, operatorAccess, i.ExportComments),
		newMethod(s, operationv1connect.InterchangeServiceImportLikesProcedure, operatorAccess, i.ImportLikes),
		newMethod(s, operationv1connect.InterchangeServiceExportLikesProcedure, operatorAccess, i.ExportLikes),
		newMethod(s, operationv1connect.InterchangeServiceListImportsProcedure, operatorAccess, i.ListImports),
		newMethod(s, operationv1connect.InterchangeServiceExportConversationsProcedure, operatorAccess, i.ExportConversations),
		newMethod(s, operationv1connect.InterchangeServiceExportEntriesProcedure, operatorAccess, i.ExportEntries),
		newMethod(s, operationv1connect.InterchangeServiceExportFileProcedure, operatorAccess, i.ExportFile),
	}
	for i := range list {
		list[i].work.priority = overload.Low // the calls of live servers come first
	}
	return list
}
