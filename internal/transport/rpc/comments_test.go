package rpc_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/http"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/comment"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"google.golang.org/protobuf/proto"
)

const comments = "/rialto.comment.v1.CommentService/"

func ofComments() map[string]row {
	const post = commentv1.SubjectKind_SUBJECT_KIND_POST
	// on a post, or a comment on it, that only its author and bob see
	seen := func(refusal string, request func(o subject) proto.Message) row {
		return row{request: request, former: refusal, outsider: refusal}
	}
	return map[string]row{
		comments + "CreateComment": seen("no_subject", func(o subject) proto.Message {
			return &commentv1.CreateCommentRequest{ClientCommentId: rand.Text(), SubjectKind: post, Subject: o.post, Content: &commentv1.CommentContent{Text: "hello"}}
		}),
		comments + "GetComment":  seen("no_comment", func(o subject) proto.Message { return &commentv1.GetCommentRequest{Comment: o.comment} }),
		comments + "ListReplies": seen("no_comment", func(o subject) proto.Message { return &commentv1.ListRepliesRequest{Comment: o.comment} }),
		comments + "EditComment": all("no_comment", func(o subject) proto.Message {
			return &commentv1.EditCommentRequest{Comment: o.comment, Content: &commentv1.CommentContent{Text: "edited"}}
		}).ownerRefused(""),
		comments + "DeleteComment": all("no_comment", func(o subject) proto.Message { return &commentv1.DeleteCommentRequest{Comment: o.comment} }).ownerRefused(""),
		comments + "ListComments": seen("no_subject", func(o subject) proto.Message {
			return &commentv1.ListCommentsRequest{SubjectKind: post, Subject: o.post}
		}),
		comments + "ListTimedComments": all("no_subject", func(o subject) proto.Message { // the post has no video
			return &commentv1.ListTimedCommentsRequest{Post: o.post, Video: o.post, ToMs: 1000}
		}).ownerRefused("no_subject"),
		comments + "CountComments": own(func(o subject) proto.Message {
			return &commentv1.CountCommentsRequest{SubjectKind: post, Subjects: []uint64{o.post}}
		}),
	}
}

// noVideos: no post has a video. Package comment tests who sees the comments on one.
type noVideos struct{}

func (noVideos) VisibleVideos(context.Context, *sql.Tx, id.User, []uint64) (map[uint64]comment.Video, error) {
	return nil, nil
}

// comment comments on a post.
func (h *harness) comment(by person, post uint64) uint64 {
	h.t.Helper()
	c, err := h.deps.Comments.CreateComment(h.t.Context(), by.user(), &commentv1.CreateCommentRequest{ClientCommentId: rand.Text(), SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: post,
		Content: &commentv1.CommentContent{Text: "a comment"}})
	if err != nil {
		h.t.Fatal(err)
	}
	return c.Id
}

// TestPicturesOfComments: who may see a comment gets its picture, and nobody else, nor others by it.
func TestPicturesOfComments(t *testing.T) {
	h := newHarness(t)
	alice, bob, carol := h.person("alice"), h.person("bob"), h.person("carol")
	picture, other := h.upload(bob, pixel(t)), h.upload(bob, pixel(t))
	create := func(by person, token string) answer {
		return h.call(comments+"CreateComment", &commentv1.CreateCommentRequest{ClientCommentId: token, SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: h.publish(alice, bob),
			Content: &commentv1.CommentContent{Image: &chatv1.Media{Upload: picture, Name: "x.png"}}}, bearer(by.AccessToken))
	}
	var c commentv1.Comment
	h.into(&c, create(bob, "a"))
	for _, row := range []struct {
		by     person
		upload uint64
		want   string
	}{{alice, picture, ""}, {bob, picture, ""}, {alice, other, "no_upload"}, {alice, 0, "no_upload"}, {carol, picture, "no_comment"}} {
		got := h.call(medias+"GetDownload", &chatv1.GetDownloadRequest{Upload: row.upload, Comment: c.Id}, bearer(row.by.AccessToken))
		if got.reason() != row.want || (got.status == http.StatusOK) != (row.want == "") {
			t.Errorf("%d is answered with %d %s, want %q", row.by.User, got.status, got.body, row.want)
		}
	}
	// Nobody comments with a picture of another user.
	if got := create(alice, "b"); got.reason() != "no_upload" {
		t.Errorf("another user's picture is answered with %d %s", got.status, got.body)
	}
}
