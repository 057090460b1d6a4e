package faulttest

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// commentFailpoints are the steps of a creation, of a deletion, and of a page.
var commentFailpoints = []string{"comment/create-prepared", "comment/create-stored", "comment/create-committed", "comment/delete-stored", "comment/delete-committed", "comment/subject-seen"}

// commenter comments on a post, replies to its own comments, and deletes some.
type commenter struct {
	t       *testing.T
	p       *process
	client  *rialto.Client
	post    uint64
	top     uint64
	replies []string // that were answered, and whose deletion was not asked for
	created int
	deleted int
	doomed  uint64 // to be deleted; 0: none
}

// step creates two replies, deletes the second, and reads the thread. It returns false if the server died; then the next one goes on.
func (c *commenter) step() bool {
	c.t.Helper()
	for c.doomed == 0 {
		text := fmt.Sprint("reply ", c.created)
		r, err := c.client.Comment().CreateComment(c.t.Context(), connect.NewRequest(&commentv1.CreateCommentRequest{ClientCommentId: text, SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: c.post,
			ReplyTo: c.top, Content: &commentv1.CommentContent{Text: text}}))
		if !c.p.answered(err) {
			return false
		}
		if c.created++; c.created%2 == 1 {
			c.replies = append(c.replies, text)
		} else {
			c.doomed = r.Msg.Id
		}
	}
	if _, err := c.client.Comment().DeleteComment(c.t.Context(), connect.NewRequest(&commentv1.DeleteCommentRequest{Comment: c.doomed})); !c.p.answered(err) {
		return false
	}
	c.doomed = 0
	c.deleted++
	return c.read()
}

// read compares the thread and its counts with what was answered. It returns false if the server died.
func (c *commenter) read() bool {
	c.t.Helper()
	var texts []string
	for page := ""; ; {
		r, err := c.client.Comment().ListReplies(c.t.Context(), connect.NewRequest(&commentv1.ListRepliesRequest{Comment: c.top, Page: page, Limit: 50}))
		if !c.p.answered(err) {
			return false
		}
		for _, reply := range r.Msg.Replies {
			texts = append(texts, reply.Content.Text)
		}
		if page = r.Msg.Next; page == "" {
			break
		}
	}
	if !slices.Equal(texts, c.replies) {
		c.t.Errorf("the thread has %d replies, %q, want %d", len(texts), texts[max(0, len(texts)-5):], len(c.replies))
	}
	counts, err := c.client.Comment().CountComments(c.t.Context(), connect.NewRequest(&commentv1.CountCommentsRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subjects: []uint64{c.post}}))
	if !c.p.answered(err) {
		return false
	}
	if got := counts.Msg.Counts; len(got) != 1 || int(got[0].Comments) != len(c.replies)+1 {
		c.t.Errorf("the counts are %v, want %d", got, len(c.replies)+1)
	}
	return true
}

// TestCommentsKilledAtEachFailpoint: after a kill between any two steps, each comment that was answered is stored and counted once, and each deletion that was
// answered is made and counted once.
func TestCommentsKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	client := p.register("commenter")
	post, err := client.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "a post"}}))
	if err != nil {
		t.Fatal(err)
	}
	top, err := client.Comment().CreateComment(t.Context(), connect.NewRequest(&commentv1.CreateCommentRequest{ClientCommentId: "top", SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: post.Msg.Id,
		Content: &commentv1.CommentContent{Text: "top"}}))
	if err != nil {
		t.Fatal(err)
	}
	c := &commenter{t: t, p: p, client: client, post: post.Msg.Id, top: top.Msg.Id}
	p.killedAt(slices.Concat(commentFailpoints, commentFailpoints), c.step, 2)
	p.stop()
	p.verify()
	t.Logf("%d comments were answered, and %d deleted", c.created, c.deleted)
}
