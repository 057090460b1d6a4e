package faulttest

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// notificationFailpoints are the steps of a cause, of a list and of a read.
var notificationFailpoints = []string{"notification/recorded", "notification/listed", "notification/read-committed"}

// notified comments on a post of another user, who lists and reads.
type notified struct {
	t             *testing.T
	p             *process
	author, other *rialto.Client
	post          uint64
	tokens        int    // of comments that were answered
	unread, total uint32 // comments that were answered, since the last read that was asked for and in all
}

// step comments, lists and reads. It returns false if the server died; then the next one goes on.
func (n *notified) step() bool {
	n.t.Helper()
	text := fmt.Sprint("comment ", n.tokens)
	_, err := n.other.Comment().CreateComment(n.t.Context(), connect.NewRequest(&commentv1.CreateCommentRequest{ClientCommentId: text, SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: n.post,
		Content: &commentv1.CommentContent{Text: text}}))
	if !n.p.answered(err) {
		return false
	}
	n.tokens++
	n.total++
	n.unread++
	list, err := n.author.Notification().ListNotifications(n.t.Context(), connect.NewRequest(&notificationv1.ListNotificationsRequest{Limit: 50}))
	if !n.p.answered(err) {
		return false
	}
	n.check(list.Msg)
	n.unread = 0 // whether or not it is answered
	_, err = n.author.Notification().ReadNotifications(n.t.Context(), connect.NewRequest(&notificationv1.ReadNotificationsRequest{Position: list.Msg.Position}))
	return n.p.answered(err)
}

// check compares the list with what was answered. A read that was not answered may have been made or not.
func (n *notified) check(list *notificationv1.ListNotificationsResponse) {
	n.t.Helper()
	var unread, total uint32
	for _, one := range list.Notifications {
		if total += one.ItemCount; !one.Read {
			unread += one.ItemCount
		}
	}
	if list.Next == 0 && total != n.total || unread < n.unread {
		n.t.Errorf("%d comments are notified of, %d unread, want %d, %d", total, unread, n.total, n.unread)
	}
}

// TestNotificationsKilledAtEachFailpoint: after a kill between any two steps, each comment that was answered is notified of, once, and is unread unless a read was asked for.
func TestNotificationsKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	n := &notified{t: t, p: p, author: p.register("author"), other: p.register("other")}
	post, err := n.author.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "a post"}}))
	if err != nil {
		t.Fatal(err)
	}
	n.post = post.Msg.Id
	p.killedAt(notificationFailpoints, n.step, 2)
	p.stop()
	p.verify()
}
