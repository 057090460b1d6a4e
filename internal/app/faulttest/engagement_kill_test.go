package faulttest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// engagementFailpoints are the steps of a like, and those of a round of the coordinator.
var engagementFailpoints = []string{"counter/before-commit", "counter/committed", "engagement/rank-read", "engagement/rank-stored", "engagement/rank-committed", "engagement/board-stored"}

// liker is a user who likes a post and a comment, and takes that back, in turn.
type liker struct {
	t             *testing.T
	p             *process
	clients       []*rialto.Client
	post, comment uint64
	likes         map[uint64]bool // users whose likes were answered, and not what took them back
	answered      int
}

// step makes the next change, and compares what all see with what was answered. It returns false if the server died; then the next one makes it again.
func (l *liker) step() bool {
	l.t.Helper()
	c := l.clients[l.answered%len(l.clients)]
	like := !l.likes[c.User()]
	for _, of := range []struct {
		kind engagementv1.LikeKind
		n    uint64
	}{{engagementv1.LikeKind_LIKE_KIND_POST, l.post}, {engagementv1.LikeKind_LIKE_KIND_COMMENT, l.comment}} {
		var err error
		if like {
			_, err = c.Engagement().Like(l.t.Context(), connect.NewRequest(&engagementv1.LikeRequest{Kind: of.kind, Subject: of.n}))
		} else {
			_, err = c.Engagement().Unlike(l.t.Context(), connect.NewRequest(&engagementv1.UnlikeRequest{Kind: of.kind, Subject: of.n}))
		}
		if !l.p.answered(err) {
			return false
		}
	}
	if l.answered++; like {
		l.likes[c.User()] = true
	} else {
		delete(l.likes, c.User())
	}
	return l.read(c)
}

// read compares the counts and the likers with what was answered. It returns false if the server died.
func (l *liker) read(c *rialto.Client) bool {
	l.t.Helper()
	post, err := c.Feed().GetPost(l.t.Context(), connect.NewRequest(&feedv1.GetPostRequest{Post: l.post}))
	if !l.p.answered(err) {
		return false
	}
	comment, err := c.Comment().GetComment(l.t.Context(), connect.NewRequest(&commentv1.GetCommentRequest{Comment: l.comment}))
	if !l.p.answered(err) {
		return false
	}
	list, err := c.Engagement().ListLikers(l.t.Context(), connect.NewRequest(&engagementv1.ListLikersRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: l.post}))
	if !l.p.answered(err) {
		return false
	}
	var likers []uint64
	for _, u := range list.Msg.Likers {
		likers = append(likers, u.User)
	}
	slices.Sort(likers)
	want := slices.Sorted(maps.Keys(l.likes))
	if int(post.Msg.Likes) != len(want) || int(comment.Msg.Likes) != len(want) || post.Msg.Liked != l.likes[c.User()] || !slices.Equal(likers, want) {
		l.t.Errorf("the post has %d likes, the comment %d, and the likers are %d, want %d", post.Msg.Likes, comment.Msg.Likes, likers, want)
	}
	return true
}

// TestLikesKilledAtEachFailpoint: after a kill between any two steps, each like that was answered is stored and counted once, and so is what takes one back.
// Verify finds that comments have the order of their likes.
func TestLikesKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	l := &liker{t: t, p: p, likes: map[uint64]bool{}}
	for i := range 3 {
		l.clients = append(l.clients, p.register(fmt.Sprint("liker", i)))
	}
	post, err := l.clients[0].Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "a post"}}))
	if err != nil {
		t.Fatal(err)
	}
	l.post = post.Msg.Id
	comment, err := l.clients[0].Comment().CreateComment(t.Context(), connect.NewRequest(&commentv1.CreateCommentRequest{ClientCommentId: "c", SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: l.post,
		Content: &commentv1.CommentContent{Text: "a comment"}}))
	if err != nil {
		t.Fatal(err)
	}
	l.comment = comment.Msg.Id
	p.killedAt(engagementFailpoints, l.step, 4)
	p.stop()
	p.verify()
	t.Logf("%d likes were answered", l.answered)
}
