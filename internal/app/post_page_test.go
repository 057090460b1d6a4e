package app

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Whatever changes on the page of a post, the first page after the answer shows it, though the page was read just before.
func TestThePageOfAPostShowsEachChangeAtOnce(t *testing.T) {
	n, _ := open(t)
	ctx, users := t.Context(), make([]id.User, 3)
	for i, name := range []string{"ana", "bob", "cyd"} {
		u, err := n.accounts.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: name, Handle: name, DisplayName: name})
		must(t, err)
		users[i] = id.User(u.Id)
	}
	author, reader, other := users[0], users[1], users[2]
	content := func(text string, audience feedv1.Audience, named ...uint64) *feedv1.PostContent {
		return &feedv1.PostContent{Text: text, Audience: audience, Users: named}
	}
	p, err := n.feed.Publish(ctx, author, &feedv1.PublishRequest{ClientPostId: "p", Content: content("first", 0)})
	must(t, err)
	comment := func(by id.User, token string, replyTo uint64) uint64 {
		c, err := n.comments.CreateComment(ctx, by, &commentv1.CreateCommentRequest{ClientCommentId: token, SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: p.Id, ReplyTo: replyTo, Content: &commentv1.CommentContent{Text: token}})
		must(t, err)
		return c.Id
	}
	edit := func(c *feedv1.PostContent) {
		_, err := n.feed.EditPost(ctx, author, &feedv1.EditPostRequest{Post: p.Id, Content: c})
		must(t, err)
	}
	relate := func(_ any, err error) { must(t, err) }
	likeOf := func(kind engagementv1.LikeKind, subject uint64) *engagementv1.LikeRequest {
		return &engagementv1.LikeRequest{Kind: kind, Subject: subject}
	}
	const ofPost, ofComment, everyone = engagementv1.LikeKind_LIKE_KIND_POST, engagementv1.LikeKind_LIKE_KIND_COMMENT, feedv1.Audience_AUDIENCE_EVERYONE
	var top uint64
	name := "Anastasia"
	for _, c := range []struct {
		what   string
		change func()
		want   string // of describe; "none" if there is no such post for the reader
	}{
		{"publish", func() {}, "first by ana +0 likes 0 favourites 0 comments 0 reposts 0 []"},
		{"edit", func() { edit(content("second", 0)) }, "second by ana +0 likes 0 favourites 0 comments 0 reposts 0 []"},
		{"like by another", func() { must(t, n.engagement.Like(ctx, other, likeOf(ofPost, p.Id))) }, "second by ana +0 likes 1 favourites 0 comments 0 reposts 0 []"},
		{"like", func() { must(t, n.engagement.Like(ctx, reader, likeOf(ofPost, p.Id))) }, "second by ana +0 likes 2! favourites 0 comments 0 reposts 0 []"},
		{"unlike by another", func() {
			must(t, n.engagement.Unlike(ctx, other, &engagementv1.UnlikeRequest{Kind: ofPost, Subject: p.Id}))
		}, "second by ana +0 likes 1! favourites 0 comments 0 reposts 0 []"},
		{"favourite", func() { must(t, n.engagement.Favourite(ctx, reader, p.Id)) }, "second by ana +0 likes 1! favourites 1! comments 0 reposts 0 []"},
		{"comment", func() { top = comment(other, "hello", 0) }, "second by ana +0 likes 1! favourites 1! comments 1 reposts 0 [hello 0 likes 0 replies]"},
		{"like of the comment", func() { must(t, n.engagement.Like(ctx, reader, likeOf(ofComment, top))) }, "second by ana +0 likes 1! favourites 1! comments 1 reposts 0 [hello 1! likes 0 replies]"},
		{"reply", func() { comment(author, "yes", top) }, "second by ana +0 likes 1! favourites 1! comments 2 reposts 0 [hello 1! likes 1 replies]"},
		{"edit of the comment", func() {
			_, err := n.comments.EditComment(ctx, other, &commentv1.EditCommentRequest{Comment: top, Content: &commentv1.CommentContent{Text: "bye"}})
			must(t, err)
		}, "second by ana +0 likes 1! favourites 1! comments 2 reposts 0 [bye 1! likes 1 replies]"},
		{"block of who commented", func() { relate(n.accounts.SetBlock(ctx, other, reader, true)) }, "second by ana +0 likes 1! favourites 1! comments 2 reposts 0 []"},
		{"unblock of who commented", func() { relate(n.accounts.SetBlock(ctx, other, reader, false)) }, "second by ana +0 likes 1! favourites 1! comments 2 reposts 0 [bye 1! likes 1 replies]"},
		{"hiding of the comment", func() { must(t, n.comments.HideComment(ctx, top, true)) }, "second by ana +0 likes 1! favourites 1! comments 1 reposts 0 [deleted 0 likes 1 replies]"},
		{"repost", func() {
			_, err := n.feed.Publish(ctx, other, &feedv1.PublishRequest{ClientPostId: "r", Content: &feedv1.PostContent{RepostOf: p.Id}})
			must(t, err)
		}, "second by ana +0 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"follow", func() { relate(n.accounts.SetFollow(ctx, reader, author, true)) }, "second by ana +1 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"new name", func() {
			relate(n.accounts.UpdateProfile(ctx, id.Caller{User: author}, &accountv1.UpdateProfileRequest{DisplayName: &name}))
		}, "second by Anastasia +1 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"audience without the reader", func() { edit(content("third", feedv1.Audience_AUDIENCE_EXCEPT, uint64(reader))) }, "none"},
		{"audience with the reader", func() { edit(content("fourth", feedv1.Audience_AUDIENCE_CHOSEN, uint64(reader))) }, "fourth by Anastasia +1 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"audience of friends", func() { edit(content("fifth", feedv1.Audience_AUDIENCE_FRIENDS)) }, "none"},
		{"everyone", func() { edit(content("sixth", everyone)) }, "sixth by Anastasia +1 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"block by the author", func() { relate(n.accounts.SetBlock(ctx, author, reader, true)) }, "none"},
		{"unblock by the author", func() { relate(n.accounts.SetBlock(ctx, author, reader, false)) }, "sixth by Anastasia +0 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"hide", func() { must(t, n.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: p.Id})) }, "none"},
		{"show", func() { must(t, n.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: p.Id, Show: true})) }, "sixth by Anastasia +0 likes 1! favourites 1! comments 1 reposts 1 [deleted 0 likes 1 replies]"},
		{"delete", func() { must(t, n.feed.DeletePost(ctx, author, p.Id)) }, "none"},
	} {
		c.change()
		for i := range 3 { // the last ones may be copies
			page, err := n.details.PostPage(ctx, reader, &feedv1.GetPostPageRequest{Post: p.Id})
			got := "none"
			if err == nil {
				got = describe(page)
			} else if !errs.Is(err, errs.NotFound) {
				t.Fatalf("error %v, want one of the kind not found", err)
			}
			if got != c.want {
				t.Fatalf("page %d after %s: %s; want %s", i, c.what, got, c.want)
			}
		}
	}
}

// describe returns what is on a page. What the reader has done is marked with !.
func describe(p *feedv1.PostPage) string {
	mark := func(n uint32, mine bool) string {
		if mine {
			return fmt.Sprint(n, "!")
		}
		return fmt.Sprint(n)
	}
	var comments []string
	for _, c := range p.Comments {
		text := c.Content.GetText()
		if c.Deleted {
			text = "deleted"
		}
		comments = append(comments, fmt.Sprintf("%s %s likes %d replies", text, mark(c.Likes, c.Liked), c.Replies))
	}
	following := 0
	if p.Relation.GetFollowing() {
		following = 1
	}
	text := fmt.Sprintf("%s by %s +%d likes %s favourites %s comments %d reposts %d %v", p.Post.GetContent().GetText(), p.Author.GetDisplayName(), following,
		mark(p.Post.GetLikes(), p.Post.GetLiked()), mark(p.Post.GetFavourites(), p.Post.GetFavourited()), p.Post.GetComments(), p.Post.GetReposts(), comments)
	if len(p.Missing) > 0 {
		text += fmt.Sprint(" without ", p.Missing)
	}
	return text
}
