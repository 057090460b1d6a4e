package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/detail"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

// openDetails makes the service that adds counts to posts and comments, and gathers pages of posts.
func (n *Node) openDetails() {
	n.details = detail.New(detail.Deps{DB: n.db, Counters: n.counters, Comments: n.comments.CountOfPosts, Reposts: n.feed.CountReposts, Post: n.feed.GetPost, Logger: n.logger, Parts: []detail.Part{
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_AUTHOR, Read: n.readAuthor},
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_RELATION, Read: n.readRelation},
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_COUNTS, Read: n.readCounts},
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_COMMENTS, Read: n.readComments},
	}})
}

func (n *Node) readAuthor(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err != nil {
		return nil, err
	}
	users, err := n.accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{post.Author}})
	if err == nil && len(users) == 0 {
		err = errs.New(errs.NotFound, "no_user", "there is no such user")
	}
	if err != nil {
		return nil, err
	}
	return func(p *feedv1.PostPage) { p.Author = users[0] }, nil
}

func (n *Node) readRelation(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err != nil {
		return nil, err
	}
	relation, err := n.accounts.Relation(ctx, of.Reader, id.User(post.Author))
	if err != nil {
		return nil, err
	}
	return func(p *feedv1.PostPage) { p.Relation = relation }, nil
}

func (n *Node) readCounts(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err != nil {
		return nil, err
	}
	counted := proto.CloneOf(post) // a page that does not wait for it has the other one
	if err := n.details.AddToPosts(ctx, of.Reader, []*feedv1.Post{counted}); err != nil {
		return nil, err
	}
	return func(p *feedv1.PostPage) { p.Post = counted }, nil
}

func (n *Node) readComments(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
	if _, err := of.Post(ctx); err != nil {
		return nil, err
	}
	r, err := n.comments.ListCommentsOfVisible(ctx, of.Reader, &commentv1.ListCommentsRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: of.ID, Limit: of.Comments})
	if err == nil {
		err = n.details.AddToComments(ctx, of.Reader, r.Comments)
	}
	if err != nil {
		return nil, err
	}
	return func(p *feedv1.PostPage) { p.Comments, p.NextComments = r.Comments, r.Next }, nil
}
