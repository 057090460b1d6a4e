package chaos

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	// authors is the number of users who publish, and who all follow each other.
	authors = 3
	// pageLimit is the number of posts of a page.
	pageLimit = 20
	// likedPosts is how many of the newest posts are liked and deleted.
	likedPosts = 10
	// countedPosts are the newest ones whose likes are read at the end: reads have a rate.
	countedPosts = 100
)

// follow makes the authors follow each other, before any fault.
func (t *workload) follow(ctx context.Context) error {
	for _, a := range t.authors {
		for _, b := range t.authors {
			if a == b {
				continue
			}
			if err := untilAnswered(ctx, func(ctx context.Context) error {
				_, err := a.caller.Graph().Follow(ctx, connect.NewRequest(&accountv1.FollowRequest{User: b.id}))
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// author makes a user publish, delete, like, and read its home timeline. Each call goes to a random node.
func (t *workload) author(ctx context.Context, p *user) {
	rng := t.rng(p.name)
	var own []uint64
	for t.wait(ctx, rng, 300*time.Millisecond) {
		newest := t.posts.All()
		newest = newest[max(0, len(newest)-likedPosts):]
		switch k := rng.IntN(10); {
		case k < 2:
			if post := t.publish(ctx, p); post != 0 {
				own = append(own, post)
				t.posts.Add(post)
			}
		case k < 3 && len(own) > 0:
			i := rng.IntN(len(own))
			t.deletePost(ctx, p, own[i])
			own = append(own[:i:i], own[i+1:]...)
		case k < 6 && len(newest) > 0:
			t.like(ctx, p, newest[rng.IntN(len(newest))], []string{FLike, FLike, FUnlike}[rng.IntN(3)])
		default:
			t.readTimeline(ctx, t.router.RandomNode(), p)
		}
	}
}

// publish publishes a post, twice at two nodes: the second call is a retry. It returns 0 if neither was answered.
func (t *workload) publish(ctx context.Context, p *user) (post uint64) {
	what := t.labels.next(p.name)
	for range 2 {
		e, err := t.recordCall(ctx, t.router.RandomNode(), Event{Proc: p.name, F: FPublish, User: p.id, Text: what}, func(ctx context.Context, got *Event) error {
			a, err := p.caller.Feed().Publish(ctx, connect.NewRequest(&feedv1.PublishRequest{ClientPostId: what, Content: &feedv1.PostContent{Text: what}}))
			if err == nil {
				got.Other = a.Msg.Id
			}
			return err
		})
		if err == nil {
			post = e.Other
		}
	}
	return post
}

func (t *workload) deletePost(ctx context.Context, p *user, post uint64) {
	_, _ = t.recordCall(ctx, t.router.RandomNode(), Event{Proc: p.name, F: FDelete, User: p.id, Other: post}, func(ctx context.Context, _ *Event) error { // the error is recorded as the outcome
		_, err := p.caller.Feed().DeletePost(ctx, connect.NewRequest(&feedv1.DeletePostRequest{Post: post}))
		return err
	})
}

// like likes a post, or takes that back.
func (t *workload) like(ctx context.Context, p *user, post uint64, f string) {
	_, _ = t.recordCall(ctx, t.router.RandomNode(), Event{Proc: p.name, F: f, User: p.id, Other: post}, func(ctx context.Context, _ *Event) (err error) { // the error is recorded as the outcome
		if f == FLike {
			_, err = p.caller.Engagement().Like(ctx, connect.NewRequest(&engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post}))
		} else {
			_, err = p.caller.Engagement().Unlike(ctx, connect.NewRequest(&engagementv1.UnlikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post}))
		}
		return err
	})
}

// readTimeline reads the first page of a home timeline.
func (t *workload) readTimeline(ctx context.Context, n *Node, p *user) {
	_, _ = t.recordCall(ctx, n, Event{Proc: p.name, F: FPage, User: p.id}, func(ctx context.Context, got *Event) error { // the error is recorded as the outcome
		a, err := p.caller.Feed().HomeTimeline(ctx, connect.NewRequest(&feedv1.HomeTimelineRequest{Limit: pageLimit}))
		if err != nil {
			return err
		}
		got.N = a.Msg.Next
		for _, post := range a.Msg.Posts {
			got.Users = append(got.Users, post.Id)
		}
		return nil
	})
}

// readFeed reads the home timeline of each author, and who likes each of the newest posts, from a node after the faults.
func (t *workload) readFeed(ctx context.Context, n *Node) error {
	for _, p := range t.authors {
		t.readTimeline(ctx, n, p)
	}
	reader, newest := t.authors[0], t.posts.All()
	for _, post := range newest[max(0, len(newest)-countedPosts):] {
		e := Event{Proc: reader.name, F: FLikers, User: reader.id, Other: post, Node: n.Name}
		err := retryCall(ctx, n, func(ctx context.Context) error {
			a, err := reader.caller.Feed().GetPost(ctx, connect.NewRequest(&feedv1.GetPostRequest{Post: post}))
			if err == nil {
				e.N = uint64(a.Msg.Likes)
			}
			return err
		})
		if connect.CodeOf(err) == connect.CodeNotFound {
			continue // deleted: the pages show whether it should be
		}
		if err == nil {
			err = retryCall(ctx, n, func(ctx context.Context) error {
				a, err := reader.caller.Engagement().ListLikers(ctx, connect.NewRequest(&engagementv1.ListLikersRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post, Limit: 50}))
				if err != nil {
					return err
				}
				e.Users = nil
				for _, l := range a.Msg.Likers {
					e.Users = append(e.Users, l.User)
				}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("reading post %d: %w", post, err)
		}
		t.record.Note(e)
	}
	return nil
}
