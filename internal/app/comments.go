package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/comment"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// openComments makes the service of comments.
func (n *Node) openComments(ctx context.Context, ids *idgen.Snowflake) (err error) {
	deps := comment.Deps{DB: n.db, Graph: n.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{commentv1.SubjectKind_SUBJECT_KIND_POST: n.feed}, IDs: ids,
		KeepPicture: n.media.KeepPictureWith, Clock: n.clock, Node: n.name}
	if n.config.Clustered() {
		deps.Nodes = n.liveNodeNames
	}
	n.comments, err = comment.New(ctx, deps)
	return err
}
