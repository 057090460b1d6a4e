package terminal

import (
	"context"
	"slices"
	"strconv"
	"strings"

	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// notificationWord names a kind of notifications.
type notificationWord struct {
	word string
	kind notificationv1.NotificationKind
}

// notificationKinds are in the order in which they are shown.
var notificationKinds = []notificationWord{
	{"likes", notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE}, {"comments", notificationv1.NotificationKind_NOTIFICATION_KIND_COMMENT},
	{"replies", notificationv1.NotificationKind_NOTIFICATION_KIND_REPLY}, {"mentions", notificationv1.NotificationKind_NOTIFICATION_KIND_MENTION},
	{"follows", notificationv1.NotificationKind_NOTIFICATION_KIND_FOLLOW}, {"requests", notificationv1.NotificationKind_NOTIFICATION_KIND_FRIEND_REQUEST},
	{"posts", notificationv1.NotificationKind_NOTIFICATION_KIND_POST}, {"reposts", notificationv1.NotificationKind_NOTIFICATION_KIND_REPOST},
}

// notify shows which kinds of notifications are on, switches one, or subscribes to somebody's new posts.
func (s *screen) notify(ctx context.Context, rest string) error {
	if strings.HasPrefix(rest, "@") {
		return s.subscribe(ctx, rest)
	}
	settings, err := call(ctx, s.client.Notification().GetNotificationSettings, &notificationv1.GetNotificationSettingsRequest{})
	if err != nil {
		return err
	}
	if rest == "" {
		for _, k := range notificationKinds {
			state := phrase("on")
			if slices.Contains(settings.Off, k.kind) {
				state = phrase("off")
			}
			s.say("  %-9s %s", k.word, state)
		}
		return nil
	}
	to, word, _ := strings.Cut(rest, " ")
	at := slices.IndexFunc(notificationKinds, func(k notificationWord) bool { return k.word == strings.TrimSpace(word) })
	if to != "on" && to != "off" || at < 0 {
		return errorf("give /notify off KIND, /notify on KIND or /notify @handle; the kinds are %s", strings.Join(notificationWords(), ", "))
	}
	kind := notificationKinds[at].kind
	settings.Off = slices.DeleteFunc(settings.Off, func(k notificationv1.NotificationKind) bool { return k == kind })
	if to == "off" {
		settings.Off = append(settings.Off, kind)
	}
	_, err = call(ctx, s.client.Notification().SetNotificationSettings, settings)
	return s.done(err)
}

func notificationWords() (words []string) {
	for _, k := range notificationKinds {
		words = append(words, k.word)
	}
	return words
}

// subscribe makes new posts of a user notify this one, or ends that.
func (s *screen) subscribe(ctx context.Context, rest string) error {
	author, what, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	switch what {
	case "":
		_, err = call(ctx, s.client.Notification().SubscribeToPosts, &notificationv1.SubscribeToPostsRequest{Author: author})
	case "off":
		_, err = call(ctx, s.client.Notification().UnsubscribeFromPosts, &notificationv1.UnsubscribeFromPostsRequest{Author: author})
	default:
		return errorf("%q is too much: give /notify @handle, or /notify @handle off", plain(what))
	}
	return s.done(err)
}

// announceNotifications says how many notifications are unread, if they have become more: those that were read on another device are no news.
func (s *screen) announceNotifications(ctx context.Context) error {
	r, err := call(ctx, s.client.Notification().UnreadNotifications, &notificationv1.UnreadNotificationsRequest{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	isNew := r.Count > s.unreadNotifications
	s.unreadNotifications = r.Count
	s.mu.Unlock()
	if isNew {
		s.say("* %s unread: /notifications", countedUpTo(r.Count, "notification", mostUnread))
	}
	return nil
}

// mostUnread is the count at which the server stops counting.
const mostUnread = 100

// countedUpTo is a number of things, of which no more than most were counted.
func countedUpTo(n uint32, what string, most uint32) string {
	if n >= most {
		number := strconv.FormatUint(uint64(most-1), 10)
		return strings.Replace(counted(most-1, what), number, number+"+", 1)
	}
	return counted(n, what)
}

// announcePost says once, until the next /feed, that somebody else has published a post.
func (s *screen) announcePost(ctx context.Context, author uint64) {
	if author == s.client.User() {
		return
	}
	s.mu.Lock()
	isNew := !s.toldOfPosts
	s.toldOfPosts = true
	s.mu.Unlock()
	if isNew {
		s.say("* %s published a post: /feed", s.name(ctx, author))
	}
}
