package rialto_test

import (
	"testing"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Hints of new posts and of notifications are events of their own.
func TestHintsAreEvents(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) {
		c.write(&gatewayv1.ServerFrame{Posts: []*gatewayv1.PostHint{{Post: 8, Author: 2}, {Post: 9, Author: 3}}, Notifications: &gatewayv1.NotificationHint{Read: 5}})
		c.untilGone()
	}})
	c, events := s.client(nil)
	run(t, c)
	for _, want := range []uint64{8, 9} {
		if e := <-events; e.Post.GetPost() != want || !e.Live {
			t.Fatalf("got %+v, want post %d", e, want)
		}
	}
	if e := <-events; e.Notifications.GetRead() != 5 || !e.Live {
		t.Fatalf("got %+v, want notifications that are read up to 5", e)
	}
}
