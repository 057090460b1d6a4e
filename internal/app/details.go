package app

import (
	"context"
	"database/sql"

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
	n.details = detail.New(detail.Deps{DB: n.db, Counters: n.counters, Comments: n.comments.CountOfPosts, Reposts: n.feed.CountReposts, Post: n.feed.GetPost, PostAsOf: n.feed.GetPostAsOf, Logger: n.logger, Parts: []detail.Part{
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_AUTHOR, Read: n.readAuthor, ReadAsOf: n.authorAsOf},
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_RELATION, Read: n.readRelation, ReadAsOf: n.relationAsOf},
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_COUNTS, Read: n.readCounts, ReadAsOf: n.countsAsOf},
		{Kind: feedv1.PostPagePart_POST_PAGE_PART_COMMENTS, Read: n.readComments, ReadAsOf: n.commentsAsOf},
	}})
}

var errNoAuthor = errs.New(errs.NotFound, "no_user", "there is no such user")

func (n *Node) readAuthor(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err != nil {
		return nil, err
	}
	users, err := n.accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{post.Author}})
	if err == nil && len(users) == 0 {
		err = errNoAuthor
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

// commentsOf asks for the comments of a page.
func commentsOf(of *detail.Subject) *commentv1.ListCommentsRequest {
	return &commentv1.ListCommentsRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: of.ID, Limit: of.Comments}
}

func (n *Node) readComments(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
	if _, err := of.Post(ctx); err != nil {
		return nil, err
	}
	r, err := n.comments.ListCommentsOfVisible(ctx, of.Reader, commentsOf(of))
	if err == nil {
		err = n.details.AddToComments(ctx, of.Reader, r.Comments)
	}
	if err != nil {
		return nil, err
	}
	return func(p *feedv1.PostPage) { p.Comments, p.NextComments = r.Comments, r.Next }, nil
}

func (n *Node) authorAsOf(ctx context.Context, tx *sql.Tx, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err != nil {
		return nil, err
	}
	user, err := n.accounts.UserAsOf(ctx, tx, id.User(post.Author))
	if err == nil && user == nil {
		err = errNoAuthor
	}
	return func(p *feedv1.PostPage) { p.Author = user }, err
}

func (n *Node) relationAsOf(ctx context.Context, tx *sql.Tx, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err != nil {
		return nil, err
	}
	relation, err := n.accounts.RelationAsOf(ctx, tx, of.Reader, id.User(post.Author))
	return func(p *feedv1.PostPage) { p.Relation = relation }, err
}

func (n *Node) countsAsOf(ctx context.Context, tx *sql.Tx, of *detail.Subject) (func(*feedv1.PostPage), error) {
	post, err := of.Post(ctx)
	if err == nil {
		err = n.details.AddToPostAsOf(ctx, tx, of.Reader, post)
	}
	return func(*feedv1.PostPage) {}, err // it is in the page
}

func (n *Node) commentsAsOf(ctx context.Context, tx *sql.Tx, of *detail.Subject) (func(*feedv1.PostPage), error) {
	r, err := n.comments.ListCommentsAsOf(ctx, tx, of.Reader, commentsOf(of))
	if err == nil {
		err = n.details.AddToCommentsAsOf(ctx, tx, of.Reader, r.Comments)
	}
	if err != nil {
		return nil, err
	}
	return func(p *feedv1.PostPage) { p.Comments, p.NextComments = r.Comments, r.Next }, nil
}
