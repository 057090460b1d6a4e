package importer

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// Patience is for how long calls are repeated while the server is busy, or does not answer.
const Patience = 10 * time.Minute

// Access that a key needs.
const Access = "--role operator"

// Server is a running deployment, with a key of the role operator.
type Server struct{ *apiclient.Client }

// refusal returns why one thing was refused, by the server or before it was asked, which does not end a load; nil if err is none, or ends the load.
func refusal(err error) *apiclient.Error {
	if e := (*apiclient.Error)(nil); errors.As(err, &e) && e.IsRefused() {
		return e
	}
	return nil
}

func (s *Server) importUsers(ctx context.Context, q *operationv1.ImportUsersRequest) (*operationv1.ImportUsersResponse, error) {
	a := &operationv1.ImportUsersResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceImportUsersProcedure, q, a)
}

func (s *Server) importRelations(ctx context.Context, q *operationv1.ImportRelationsRequest) (*operationv1.ImportRelationsResponse, error) {
	a := &operationv1.ImportRelationsResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceImportRelationsProcedure, q, a)
}

func (s *Server) importVideos(ctx context.Context, list []*operationv1.InterchangeVideo) ([]*operationv1.ImportedItem, bool, error) {
	a := &operationv1.ImportVideosResponse{}
	repeated, err := s.CallRepeatedly(ctx, operationv1connect.InterchangeServiceImportVideosProcedure, &operationv1.ImportVideosRequest{Videos: list}, a)
	return a.Results, repeated, err
}

func (s *Server) importPosts(ctx context.Context, list []*operationv1.InterchangePost) ([]*operationv1.ImportedItem, bool, error) {
	a := &operationv1.ImportPostsResponse{}
	repeated, err := s.CallRepeatedly(ctx, operationv1connect.InterchangeServiceImportPostsProcedure, &operationv1.ImportPostsRequest{Posts: list}, a)
	return a.Results, repeated, err
}

func (s *Server) importComments(ctx context.Context, list []*operationv1.InterchangeComment) ([]*operationv1.ImportedItem, bool, error) {
	a := &operationv1.ImportCommentsResponse{}
	repeated, err := s.CallRepeatedly(ctx, operationv1connect.InterchangeServiceImportCommentsProcedure, &operationv1.ImportCommentsRequest{Comments: list}, a)
	return a.Results, repeated, err
}

func (s *Server) importLikes(ctx context.Context, list []*operationv1.InterchangeLike) ([]*operationv1.ImportedItem, bool, error) {
	a := &operationv1.ImportLikesResponse{}
	repeated, err := s.CallRepeatedly(ctx, operationv1connect.InterchangeServiceImportLikesProcedure, &operationv1.ImportLikesRequest{Likes: list}, a)
	return a.Results, repeated, err
}

func (s *Server) importConversation(ctx context.Context, q *operationv1.ImportConversationRequest) (*operationv1.ImportConversationResponse, error) {
	a := &operationv1.ImportConversationResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceImportConversationProcedure, q, a)
}

func (s *Server) importEntries(ctx context.Context, q *operationv1.ImportEntriesRequest) (_ *operationv1.ImportEntriesResponse, repeated bool, _ error) {
	a := &operationv1.ImportEntriesResponse{}
	repeated, err := s.CallRepeatedly(ctx, operationv1connect.InterchangeServiceImportEntriesProcedure, q, a)
	return a, repeated, err
}

func (s *Server) endImport(ctx context.Context, q *operationv1.EndImportRequest) (*operationv1.EndImportResponse, error) {
	a := &operationv1.EndImportResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceEndImportProcedure, q, a)
}

// upload uploads a file, and returns its id.
func (s *Server) upload(ctx context.Context, q *operationv1.ImportFileRequest, body io.ReadSeeker, avatar bool) (uint64, error) {
	created := &operationv1.ImportFileResponse{}
	if err := s.Call(ctx, operationv1connect.InterchangeServiceImportFileProcedure, q, created); err != nil {
		return 0, err
	}
	if err := s.Retry(ctx, func() error { return s.Put(ctx, created.Url, body, int64(q.Size)) }); err != nil {
		return 0, err
	}
	complete := &operationv1.CompleteFileRequest{Owner: q.Owner, Upload: created.Upload, Avatar: avatar}
	return created.Upload, s.Call(ctx, operationv1connect.InterchangeServiceCompleteFileProcedure, complete, &operationv1.CompleteFileResponse{})
}

// IsRefused reports whether the server has refused one thing.
func IsRefused(err error) bool { return refusal(err) != nil }

// ExportUsers gets a page of users.
func (s *Server) ExportUsers(ctx context.Context, q *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error) {
	a := &operationv1.ExportUsersResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportUsersProcedure, q, a)
}

// ExportRelations gets a page of what users have set about others.
func (s *Server) ExportRelations(ctx context.Context, q *operationv1.ExportRelationsRequest) (*operationv1.ExportRelationsResponse, error) {
	a := &operationv1.ExportRelationsResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportRelationsProcedure, q, a)
}

// ExportVideos gets a page of videos.
func (s *Server) ExportVideos(ctx context.Context, q *operationv1.ExportVideosRequest) (*operationv1.ExportVideosResponse, error) {
	a := &operationv1.ExportVideosResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportVideosProcedure, q, a)
}

// ExportPosts gets a page of versions of posts.
func (s *Server) ExportPosts(ctx context.Context, q *operationv1.ExportPostsRequest) (*operationv1.ExportPostsResponse, error) {
	a := &operationv1.ExportPostsResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportPostsProcedure, q, a)
}

// ExportComments gets a page of comments.
func (s *Server) ExportComments(ctx context.Context, q *operationv1.ExportCommentsRequest) (*operationv1.ExportCommentsResponse, error) {
	a := &operationv1.ExportCommentsResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportCommentsProcedure, q, a)
}

// ExportLikes gets a page of likes and favourites.
func (s *Server) ExportLikes(ctx context.Context, q *operationv1.ExportLikesRequest) (*operationv1.ExportLikesResponse, error) {
	a := &operationv1.ExportLikesResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportLikesProcedure, q, a)
}

// ExportConversations gets a page of conversations.
func (s *Server) ExportConversations(ctx context.Context, q *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error) {
	a := &operationv1.ExportConversationsResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportConversationsProcedure, q, a)
}

// ExportEntries gets a page of entries.
func (s *Server) ExportEntries(ctx context.Context, q *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error) {
	a := &operationv1.ExportEntriesResponse{}
	return a, s.Call(ctx, operationv1connect.InterchangeServiceExportEntriesProcedure, q, a)
}

// ExportFile calls f with the bytes of a file, again if the connection breaks.
func (s *Server) ExportFile(ctx context.Context, upload uint64, f func(io.Reader) error) error {
	return s.Retry(ctx, func() error {
		file := &operationv1.ExportFileResponse{}
		if err := s.Call(ctx, operationv1connect.InterchangeServiceExportFileProcedure, &operationv1.ExportFileRequest{Upload: upload}, file); err != nil {
			return err
		}
		return s.Get(ctx, file.Url, f)
	})
}
