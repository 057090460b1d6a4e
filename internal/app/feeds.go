package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/interest"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/engagement"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/ranking"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// openFeeds makes the services of videos, of posts, and of what users do with them. Transient frames go to connections of users.
func (n *Node) openFeeds(ctx context.Context, ids *idgen.Snowflake, transient func(users []id.User, frame []byte)) error {
	if err := n.openVideos(ctx, ids); err != nil {
		return err
	}
	if err := n.openFeed(ctx, ids, transient); err != nil {
		return err
	}
	if err := n.openComments(ctx, ids); err != nil {
		return err
	}
	if err := n.openEngagement(ctx); err != nil {
		return err
	}
	if err := n.openRanking(ctx); err != nil {
		return err
	}
	n.openDetails()
	if err := n.openNotifications(ctx, transient); err != nil {
		return err
	}
	return n.openSearch(ctx)
}

// startFeeds starts what posts, videos and search do in the background.
func (n *Node) startFeeds() {
	n.stack.Start("counters", n.counters.Run)
	n.stack.Start("engagement", n.engagement.Run)
	n.stack.Start("notifications", n.notifications.Run)
	n.stack.Start("feed", n.feed.Run)
	n.stack.Start("ranking", n.ranking.Run)
	n.stack.Start("videos", n.videos.Run)
	n.stack.Start("search", n.search.Run)
}

// openFeed makes the service of posts and home timelines.
func (n *Node) openFeed(ctx context.Context, ids *idgen.Snowflake, transient func(users []id.User, frame []byte)) (err error) {
	n.switches, err = runtimeswitch.New(ctx, runtimeswitch.Deps{DB: n.db, ClusterEvents: n.events, Audit: n.auditSwitch, Clock: n.clock, Logger: n.logger})
	if err != nil {
		return err
	}
	n.postInterest = interest.New(interest.Deps{Bus: n.bus, Topic: "posts", Node: n.name, Nodes: n.liveNodeNames, Changed: func(list []interest.Change) { n.feed.PostsChanged(list) },
		Missed: func() { n.feed.PostsMissed() }, Logger: n.logger})
	n.feed, err = feed.New(ctx, feed.Deps{Words: wordsOf{n}, Reviewer: reviewsOf{n}, LimitedSince: n.limitedSince, DB: n.db, Log: n.log, Graph: n.accounts, Jobs: n.jobs, IDs: ids, KeepPicture: n.media.KeepPictureWith, CheckVideo: n.videos.CheckVideo, CheckLinkPreview: n.previews.Verify, OnChange: n.onPost, Committed: n.postCommitted, Notify: transient,
		Connected: func() []id.User { return n.gateway.Users() }, NotifyConnected: func(users []id.User, frame []byte) { n.gateway.Transient(users, frame) }, ClusterEvents: n.events,
		ActiveDays: n.activity.ActiveDays, Switches: n.switches, Interest: n.postInterest, Clock: n.clock, Logger: n.logger, Node: n.name, Nodes: n.counterNodes()}, n.config.Feed)
	return err
}

// openComments makes the service of comments.
func (n *Node) openComments(ctx context.Context, ids *idgen.Snowflake) (err error) {
	deps := comment.Deps{DB: n.db, Graph: n.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{commentv1.SubjectKind_SUBJECT_KIND_POST: n.feed}, Videos: commentVideos{n}, IDs: ids,
		KeepPicture: n.media.KeepPictureWith, OnChange: n.onComment, Words: wordsOf{n}, Reviewer: reviewsOf{n}, LimitedSince: n.limitedSince, ReadOnly: n.feed.CommentsReadOnly, Clock: n.clock, Node: n.name, Nodes: n.counterNodes()}
	n.comments, err = comment.New(ctx, deps)
	return err
}

// openEngagement makes the service of likes, favourites and views.
func (n *Node) openEngagement(ctx context.Context) error {
	secret, err := n.accounts.Secret(ctx, "page tokens")
	if err != nil {
		return err
	}
	deps := engagement.Deps{DB: n.db, Counters: n.counters, Posts: n.feed, Comments: n.comments, Graph: n.accounts, OnLike: n.onLike, LikesOff: n.feed.LikesOff, IsCoordinator: n.isCoordinator, Secret: secret, Node: n.name, Nodes: n.counterNodes(), Clock: n.clock, Logger: n.logger}
	n.engagement, err = engagement.New(ctx, deps)
	return err
}

// openRanking makes the service of ranked posts.
func (n *Node) openRanking(ctx context.Context) error {
	secret, err := n.accounts.Secret(ctx, "ranked pages")
	if err != nil {
		return err
	}
	n.ranking, err = ranking.New(ctx, ranking.Deps{DB: n.db, Counters: n.counters, Posts: n.feed, Comments: n.comments, Engagement: n.engagement, Graph: n.accounts, Numbers: n.switches, Secret: secret, Audit: n.audit.Add,
		IsCoordinator: n.isCoordinator, NoCalls: !n.config.Has(config.RoleFeed) && !n.config.Has(config.RoleGateway), FactReads: n.caches.metrics.Reads("ranking_facts"), Clock: n.clock, Logger: n.logger})
	return err
}
