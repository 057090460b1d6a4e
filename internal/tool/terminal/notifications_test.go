package terminal

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
)

// notificationServer is a server of two notifications.
type notificationServer struct {
	registry
	notificationv1connect.UnimplementedNotificationServiceHandler
	read []uint64
}

func (n *notificationServer) ListNotifications(context.Context, *connect.Request[notificationv1.ListNotificationsRequest]) (*connect.Response[notificationv1.ListNotificationsResponse], error) {
	return connect.NewResponse(&notificationv1.ListNotificationsResponse{Position: 9, Notifications: []*notificationv1.Notification{
		{Kind: notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE, SubjectKind: notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_POST, Actors: []uint64{2, 1}, ActorCount: 13},
		{Kind: notificationv1.NotificationKind_NOTIFICATION_KIND_POST, Actors: []uint64{2}, ActorCount: 1, ItemCount: 2, Read: true},
	}}), nil
}

func (n *notificationServer) ReadNotifications(_ context.Context, q *connect.Request[notificationv1.ReadNotificationsRequest]) (*connect.Response[notificationv1.ReadNotificationsResponse], error) {
	n.read = append(n.read, q.Msg.Position)
	return connect.NewResponse(&notificationv1.ReadNotificationsResponse{}), nil
}

// Notifications are merged sentences, and are read up to the list.
func TestNotifications(t *testing.T) {
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
}
