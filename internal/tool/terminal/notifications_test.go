package terminal

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
)

// notificationServer is a server of two notifications.
type notificationServer struct {
	registry
	notificationv1connect.UnimplementedNotificationServiceHandler
	read   []uint64
	unread uint32
	off    []notificationv1.NotificationKind
	chosen []string // what was done with subscriptions
}

func (n *notificationServer) UnreadNotifications(context.Context, *connect.Request[notificationv1.UnreadNotificationsRequest]) (*connect.Response[notificationv1.UnreadNotificationsResponse], error) {
	return connect.NewResponse(&notificationv1.UnreadNotificationsResponse{Count: n.unread}), nil
}

func (n *notificationServer) GetNotificationSettings(context.Context, *connect.Request[notificationv1.GetNotificationSettingsRequest]) (*connect.Response[notificationv1.NotificationSettings], error) {
	return connect.NewResponse(&notificationv1.NotificationSettings{Off: n.off}), nil
}

func (n *notificationServer) SetNotificationSettings(_ context.Context, q *connect.Request[notificationv1.NotificationSettings]) (*connect.Response[notificationv1.NotificationSettings], error) {
	n.off = q.Msg.Off
	return connect.NewResponse(q.Msg), nil
}

func (n *notificationServer) SubscribeToPosts(_ context.Context, q *connect.Request[notificationv1.SubscribeToPostsRequest]) (*connect.Response[notificationv1.PostSubscription], error) {
	n.chosen = append(n.chosen, fmt.Sprint("+", q.Msg.Author))
	return connect.NewResponse(&notificationv1.PostSubscription{}), nil
}

func (n *notificationServer) UnsubscribeFromPosts(_ context.Context, q *connect.Request[notificationv1.UnsubscribeFromPostsRequest]) (*connect.Response[notificationv1.PostSubscription], error) {
	n.chosen = append(n.chosen, fmt.Sprint("-", q.Msg.Author))
	return connect.NewResponse(&notificationv1.PostSubscription{}), nil
}

func (n *notificationServer) ListNotifications(_ context.Context, q *connect.Request[notificationv1.ListNotificationsRequest]) (*connect.Response[notificationv1.ListNotificationsResponse], error) {
	switch q.Msg.Before {
	case 5: // an empty page
		return connect.NewResponse(&notificationv1.ListNotificationsResponse{Position: 9, Next: 4}), nil
	case 4:
		return connect.NewResponse(&notificationv1.ListNotificationsResponse{Position: 9, Notifications: []*notificationv1.Notification{{Kind: notificationv1.NotificationKind_NOTIFICATION_KIND_FOLLOW, Actors: []uint64{2}, ActorCount: 1, Read: true}}}), nil
	}
	return connect.NewResponse(&notificationv1.ListNotificationsResponse{Position: 9, Next: 5, Notifications: []*notificationv1.Notification{
		{Kind: notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE, SubjectKind: notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_POST, Actors: []uint64{2, 1}, ActorCount: 13},
		{Kind: notificationv1.NotificationKind_NOTIFICATION_KIND_POST, Actors: []uint64{2}, ActorCount: 1, ItemCount: 2, Read: true},
	}}), nil
}

func (n *notificationServer) ReadNotifications(_ context.Context, q *connect.Request[notificationv1.ReadNotificationsRequest]) (*connect.Response[notificationv1.ReadNotificationsResponse], error) {
	n.read = append(n.read, q.Msg.Position)
	return connect.NewResponse(&notificationv1.ReadNotificationsResponse{}), nil
}

// newNotificationScreen returns a screen of a server of notifications, and what it says.
func newNotificationScreen(t *testing.T) (*notificationServer, *screen, *strings.Builder) {
	n := &notificationServer{}
	mux := http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(n))
	mux.Handle(notificationv1connect.NewNotificationServiceHandler(n))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s, out := newScreen(), &strings.Builder{}
	s.console = &pipe{in: bufio.NewReader(strings.NewReader("")), out: out}
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	return n, s, out
}

// Notifications are merged sentences, and are read up to the list.
func TestNotifications(t *testing.T) {
	n, s, out := newNotificationScreen(t)
	if err := s.do(t.Context(), "/notifications"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"* Bob and 12 others liked your post, ", "  Bob published 2 posts, "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("/notifications shows %q, want %q in it", out, want)
		}
	}
	if err := s.do(t.Context(), "/notifications read"); err != nil || !slices.Equal(n.read, []uint64{9}) {
		t.Errorf("/notifications read: %v, read up to %v", err, n.read)
	}
	if err := s.do(t.Context(), "/notifications all"); err == nil {
		t.Error("/notifications all is accepted")
	}
	out.Reset()
	if err := s.do(t.Context(), "/notifications more"); err != nil || !strings.HasPrefix(out.String(), "  Bob started following you, ") {
		t.Errorf("/notifications more: %v, shows %q", err, out)
	}
	if err := s.do(t.Context(), "/notifications more"); err != errNoMoreNotifications {
		t.Errorf("/notifications more at the end: %v", err)
	}
}

// More unread notifications are announced, fewer are not, and new posts once until they are read.
func TestAnnouncements(t *testing.T) {
	n, s, out := newNotificationScreen(t)
	hint := rialto.Event{Notifications: &gatewayv1.NotificationHint{}}
	for _, count := range []uint32{0, 2, 2, 1, 0, 1, 100} {
		n.unread = count
		s.show(t.Context(), hint)
	}
	if want := "* 2 notifications unread: /notifications\n* 1 notification unread: /notifications\n* 99+ notifications unread: /notifications\n"; out.String() != want {
		t.Errorf("announced %q, want %q", out, want)
	}
	out.Reset()
	for _, author := range []uint64{1, 2, 2} {
		s.show(t.Context(), rialto.Event{Post: &gatewayv1.PostHint{Post: 7, Author: author}})
	}
	if err := s.feed(t.Context(), ""); err == nil { // the server has no posts
		t.Error("/feed of a server without posts succeeds")
	}
	s.show(t.Context(), rialto.Event{Post: &gatewayv1.PostHint{Post: 8, Author: 2}})
	if want := strings.Repeat("* Bob published a post: /feed\n", 2); out.String() != want {
		t.Errorf("announced %q, want %q", out, want)
	}
}

// Each kind has a switch, and authors are chosen whose posts notify.
func TestNotificationSwitches(t *testing.T) {
	n, s, out := newNotificationScreen(t)
	like, repost := notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE, notificationv1.NotificationKind_NOTIFICATION_KIND_REPOST
	for _, c := range []struct {
		line string
		off  []notificationv1.NotificationKind
	}{{"/notify off likes", []notificationv1.NotificationKind{like}}, {"/notify off reposts", []notificationv1.NotificationKind{like, repost}}, {"/notify off likes", []notificationv1.NotificationKind{repost, like}}, {"/notify on likes", []notificationv1.NotificationKind{repost}}} {
		if err := s.do(t.Context(), c.line); err != nil || !slices.Equal(n.off, c.off) {
			t.Errorf("%s: %v, off are %v, want %v", c.line, err, n.off, c.off)
		}
	}
	out.Reset()
	if err := s.do(t.Context(), "/notify"); err != nil || !strings.Contains(out.String(), "  likes     on\n") || !strings.Contains(out.String(), "  reposts   off\n") || strings.Count(out.String(), "\n") != len(notificationKinds) {
		t.Errorf("/notify: %v, shows %q", err, out)
	}
	for _, line := range []string{"/notify likes", "/notify off", "/notify off all", "/notify @bob on"} {
		if err := s.do(t.Context(), line); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
	for _, line := range []string{"/notify @bob", "/notify @bob off"} {
		if err := s.do(t.Context(), line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if want := []string{"+2", "-2"}; !slices.Equal(n.chosen, want) {
		t.Errorf("subscriptions %v, want %v", n.chosen, want)
	}
}
