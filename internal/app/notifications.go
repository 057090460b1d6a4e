package app

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/engagement"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/notification"
	"github.com/rialto-im/rialto/internal/transport/edge"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// openNotifications makes the service of notifications, which the services of what others do call in their transactions.
func (n *Node) openNotifications(ctx context.Context, transient func(users []id.User, frame []byte)) (err error) {
	n.notifications, err = notification.New(ctx, notification.Deps{DB: n.db, Graph: n.accounts, Posts: n.feed, Comments: n.comments, Likes: likes{n.counters}, Jobs: n.jobs,
		Notify: transient, IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger})
	return err
}

// likes reads who likes what from the sets of counters.
type likes struct{ counters *counter.Service }

func (l likes) LikersAmong(ctx context.Context, tx *sql.Tx, kind notificationv1.NotificationSubject, subject uint64, among []id.User) (map[id.User]bool, error) {
	set := counter.PostLikes
	if kind == notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_COMMENT {
		set = counter.CommentLikes
	}
	return l.counters.In(tx).MembersAmong(ctx, set, subject, among)
}

func (n *Node) onRelation(ctx context.Context, tx *sql.Tx, c account.RelationChange) error {
	return n.notifications.Related(ctx, tx, notification.Relation(c))
}

// onPost is called in the transaction of a change of a post.
func (n *Node) onPost(ctx context.Context, tx *sql.Tx, c feed.Change) error {
	if c.RepostOf != 0 {
		if err := n.engagement.MarkPost(ctx, tx, c.RepostOf); err != nil {
			return err
		}
	}
	if !c.Published { // it may have other readers than before
		if err := n.engagement.MarkPost(ctx, tx, c.ID); err != nil {
			return err
		}
		if err := n.addPurge(ctx, tx, edge.PostTag(strconv.FormatUint(c.ID, 10))); err != nil {
			return err
		}
	}
	if err := n.searchPost(ctx, tx, c); err != nil {
		return err
	}
	return n.notifications.Posted(ctx, tx, notification.Post(c))
}

// onComment is called in the transaction of a change of a comment.
func (n *Node) onComment(ctx context.Context, tx *sql.Tx, c comment.Change) error {
	if c.SubjectKind != commentv1.SubjectKind_SUBJECT_KIND_POST {
		return nil
	}
	if c.Created || c.Imported || c.Deleted {
		if err := n.engagement.MarkPost(ctx, tx, c.Subject); err != nil {
			return err
		}
	}
	if c.Imported || c.Deleted {
		return nil
	}
	return n.notifications.Commented(ctx, tx, notification.Comment{ID: c.ID, Post: c.Subject, Author: c.Author, PostAuthor: c.SubjectAuthor, ReplyTo: c.ReplyTo, ReplyToAuthor: c.ReplyToAuthor,
		Mentioned: c.Mentioned, Unmentioned: c.Unmentioned})
}

// onLike is called in the transaction of likes that were made or taken back.
func (n *Node) onLike(ctx context.Context, tx *sql.Tx, list []engagement.Like) error {
	likes := make([]notification.Like, len(list))
	for i, l := range list {
		kind := notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_POST
		if l.Kind == engagementv1.LikeKind_LIKE_KIND_COMMENT {
			kind = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_COMMENT
		}
		likes[i] = notification.Like{SubjectKind: kind, Subject: l.Subject, Author: l.Author, By: l.By, Present: l.Present}
	}
	return n.notifications.Liked(ctx, tx, likes)
}
