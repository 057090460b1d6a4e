package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
)

// Comments has comments on posts, and replies.
type Comments interface {
	CreateComment(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest) (*commentv1.Comment, error)
	GetComment(ctx context.Context, reader id.User, comment uint64) (*commentv1.Comment, error)
	EditComment(ctx context.Context, by id.User, r *commentv1.EditCommentRequest) (*commentv1.Comment, error)
	DeleteComment(ctx context.Context, by id.User, comment uint64) error
	ListComments(ctx context.Context, reader id.User, r *commentv1.ListCommentsRequest) (*commentv1.ListCommentsResponse, error)
	ListReplies(ctx context.Context, reader id.User, r *commentv1.ListRepliesRequest) (*commentv1.ListRepliesResponse, error)
	CountComments(ctx context.Context, reader id.User, r *commentv1.CountCommentsRequest) (*commentv1.CountCommentsResponse, error)
	ListTimedComments(ctx context.Context, reader id.User, r *commentv1.ListTimedCommentsRequest) (*commentv1.ListTimedCommentsResponse, error)
}

func (s *Server) comments() []method {
	c := s.deps.Comments
	return []method{
		newMethod(s, commentv1connect.CommentServiceCreateCommentProcedure, userAccess, withComments(s, byUser(c.CreateComment), oneComment)),
		newMethod(s, commentv1connect.CommentServiceGetCommentProcedure, userAccess, withComments(s, func(ctx context.Context, by id.Caller, r *commentv1.GetCommentRequest) (*commentv1.Comment, error) {
			return c.GetComment(ctx, by.User, r.Comment)
		}, oneComment)),
		newMethod(s, commentv1connect.CommentServiceEditCommentProcedure, userAccess, withComments(s, byUser(c.EditComment), oneComment)),
		newMethod(s, commentv1connect.CommentServiceDeleteCommentProcedure, userAccess, func(ctx context.Context, by id.Caller, r *commentv1.DeleteCommentRequest) (*commentv1.DeleteCommentResponse, error) {
			return &commentv1.DeleteCommentResponse{}, c.DeleteComment(ctx, by.User, r.Comment)
		}),
		newMethod(s, commentv1connect.CommentServiceListCommentsProcedure, userAccess, withComments(s, byUser(c.ListComments), (*commentv1.ListCommentsResponse).GetComments)),
		newMethod(s, commentv1connect.CommentServiceListRepliesProcedure, userAccess, withComments(s, byUser(c.ListReplies), (*commentv1.ListRepliesResponse).GetReplies)),
		newMethod(s, commentv1connect.CommentServiceCountCommentsProcedure, userAccess, byUser(c.CountComments)),
		newMethod(s, commentv1connect.CommentServiceListTimedCommentsProcedure, userAccess, withComments(s, byUser(c.ListTimedComments), (*commentv1.ListTimedCommentsResponse).GetComments)),
	}
}
