package comment

import (
	"crypto/sha256"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of a comment.
const (
	maxText = 2000 // characters
)

func badComment(what string) error { return errs.New(errs.Invalid, "bad_comment", what) }

var (
	errEmpty    = badComment("a comment needs a text or an image")
	errText     = badComment(fmt.Sprintf("a text has at most %d characters%s", maxText, message.TextRule))
	errImage    = badComment(fmt.Sprintf("an image has the id of its upload, a name in one line of at most %d characters, and no caption%s", message.MaxImageName, message.TextRule))
	errMentions = badComment(fmt.Sprintf("a comment has at most %d mentions; each names a user, and their ranges in the text are in order and do not overlap", message.MaxUserMentions))
	errToken    = badComment(fmt.Sprintf("client_comment_id has 1 to %d bytes: printable ASCII", message.MaxToken))
	errKind     = badComment("this server has no comments on this kind of subject")
)

// checkContent checks a content, and returns it as it is stored, without unknown fields.
func checkContent(sent *commentv1.CommentContent) (*commentv1.CommentContent, error) {
	c := &commentv1.CommentContent{Text: sent.GetText(), Mentions: message.StoredMentions(sent.GetMentions())}
	if m := sent.GetImage(); m != nil {
		c.Image = message.StoredImage(m)
	}
	switch m := c.Image; {
	case c.Text == "" && m == nil:
		return nil, errEmpty
	case !message.IsText(c.Text, maxText, message.IsParagraph):
		return nil, errText
	case m != nil && !message.IsImage(m):
		return nil, errImage
	case !message.AreUserMentions(c.Text, c.Mentions):
		return nil, errMentions
	}
	return c, nil
}

// uploadOf returns the file that a content names; 0 if there is none.
func uploadOf(c *commentv1.CommentContent) id.Upload { return id.Upload(c.GetImage().GetUpload()) }

// encode returns the stored form of a content.
func encode(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// sumOf identifies what a request creates, without its token.
func sumOf(r *commentv1.CreateCommentRequest, c *commentv1.CommentContent) ([]byte, error) {
	b, err := encode(&commentv1.CreateCommentRequest{SubjectKind: r.SubjectKind, Subject: r.Subject, ReplyTo: r.ReplyTo, Content: c, Video: r.Video, TimeMs: r.TimeMs})
	sum := sha256.Sum256(b)
	return sum[:], err
}
