package terminal

import (
	"context"
	"strings"
	"time"

	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// notificationsPerPage is the number of notifications that /notifications shows.
const notificationsPerPage = 10

var errNoMoreNotifications = errorf("there are no older notifications; /notifications shows the newest")

// notifications shows the newest notifications or those after the ones that it showed last, or marks all as read that there are.
func (s *screen) notifications(ctx context.Context, rest string) error {
	before := uint64(0)
	switch rest {
	case "", "read":
	case "more":
		s.mu.Lock()
		before = s.olderNotifications
		s.mu.Unlock()
		if before == 0 {
			return errNoMoreNotifications
		}
	default:
		return errorf("give /notifications, /notifications more or /notifications read")
	}
	r := &notificationv1.ListNotificationsResponse{Next: before}
	for first := true; first || len(r.Notifications) == 0 && r.Next != 0; first = false { // a page may be empty although there are older ones
		var err error
		if r, err = call(ctx, s.client.Notification().ListNotifications, &notificationv1.ListNotificationsRequest{Before: r.Next, Limit: notificationsPerPage}); err != nil {
			return err
		}
	}
	if rest == "read" {
		_, err := call(ctx, s.client.Notification().ReadNotifications, &notificationv1.ReadNotificationsRequest{Position: r.Position})
		return s.done(err)
	}
	s.mu.Lock()
	s.olderNotifications = r.Next
	s.mu.Unlock()
	var users []uint64
	for _, n := range r.Notifications {
		users = append(users, n.Actors...)
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	if len(r.Notifications) == 0 {
		if before > 0 {
			return errNoMoreNotifications
		}
		s.say("No notifications.")
	}
	for _, n := range r.Notifications {
		mark := " "
		if !n.Read {
			mark = "*"
		}
		s.say("%s %s %s, %s", mark, s.whoOf(ctx, n), sentenceOf(n), dated(time.UnixMilli(n.TimeMs), "2 January 15:04"))
	}
	return nil
}

// whoOf names one user, two users, or the newest one and how many others.
func (s *screen) whoOf(ctx context.Context, n *notificationv1.Notification) string {
	var names []string
	for _, u := range n.Actors {
		names = append(names, s.name(ctx, u))
	}
	switch {
	case len(names) == 0:
		return phrase("somebody")
	case n.MoreActors && n.ActorCount > 1:
		return phrasef("%s and more than %s", names[0], counted(n.ActorCount-1, "other"))
	case n.ActorCount > 2:
		return phrasef("%s and %d others", names[0], n.ActorCount-1)
	}
	return strings.Join(names, phrase(" and "))
}

// sentenceOf says what was done.
func sentenceOf(n *notificationv1.Notification) string {
	subject := phrase("post")
	if n.SubjectKind == notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_COMMENT {
		subject = phrase("comment")
	}
	switch n.Kind {
	case notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE:
		return phrasef("liked your %s", subject)
	case notificationv1.NotificationKind_NOTIFICATION_KIND_COMMENT:
		return phrase("commented on your post")
	case notificationv1.NotificationKind_NOTIFICATION_KIND_REPLY:
		return phrase("replied to your comment")
	case notificationv1.NotificationKind_NOTIFICATION_KIND_MENTION:
		return phrasef("mentioned you in a %s", subject)
	case notificationv1.NotificationKind_NOTIFICATION_KIND_FOLLOW:
		return phrase("started following you")
	case notificationv1.NotificationKind_NOTIFICATION_KIND_FRIEND_REQUEST:
		return phrase("sent you a friend request")
	case notificationv1.NotificationKind_NOTIFICATION_KIND_POST:
		if n.ItemCount == 1 {
			return phrase("published a post")
		}
		return phrasef("published %d posts", n.ItemCount)
	case notificationv1.NotificationKind_NOTIFICATION_KIND_REPOST:
		return phrase("reposted your post")
	}
	return phrase("did something that this version does not know")
}
