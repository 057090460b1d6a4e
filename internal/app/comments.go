package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/detail"
	"github.com/rialto-im/rialto/internal/service/engagement"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// openComments makes the service of comments.
func (n *Node) openComments(ctx context.Context, ids *idgen.Snowflake) (err error) {
	deps := comment.Deps{DB: n.db, Graph: n.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{commentv1.SubjectKind_SUBJECT_KIND_POST: n.feed}, IDs: ids,
		KeepPicture: n.media.KeepPictureWith, OnChange: n.onComment, Clock: n.clock, Node: n.name, Nodes: n.counterNodes()}
	n.comments, err = comment.New(ctx, deps)
	return err
}

// openEngagement makes the service of likes, favourites and views, and what adds their counts to posts and comments.
func (n *Node) openEngagement(ctx context.Context) (err error) {
	n.details = detail.New(detail.Deps{DB: n.db, Counters: n.counters, Comments: n.comments.CountOfPosts, Reposts: n.feed.CountReposts})
	deps := engagement.Deps{DB: n.db, Counters: n.counters, Posts: n.feed, Comments: n.comments, Graph: n.accounts, OnLike: n.onLike, IsCoordinator: n.isCoordinator, Node: n.name, Nodes: n.counterNodes(), Clock: n.clock, Logger: n.logger}
	n.engagement, err = engagement.New(ctx, deps)
	return err
}
