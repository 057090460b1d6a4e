package comment

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of a comment.
const (
	maxText  = 2000 // characters
	maxName  = 255  // characters of an image's name
	maxToken = 64   // bytes
)

func badComment(what string) error { return errs.New(errs.Invalid, "bad_comment", what) }

const plain = ", without control and text-direction characters, and without more than six marks on one letter"

var (
	errEmpty = badComment("a comment needs a text or an image")
	errText  = badComment(fmt.Sprintf("a text has at most %d characters%s", maxText, plain))
	errImage = badComment(fmt.Sprintf("an image has the id of its upload, a name in one line of at most %d characters, and no caption%s", maxName, plain))
	errToken = badComment(fmt.Sprintf("client_comment_id has 1 to %d bytes: printable ASCII", maxToken))
	errKind  = badComment("this server has no comments on this kind of subject")
)

// checkContent checks a content, and returns it as it is stored, without unknown fields.
func checkContent(sent *commentv1.CommentContent) (*commentv1.CommentContent, error) {
	c := &commentv1.CommentContent{Text: sent.GetText()}
	if m := sent.GetImage(); m != nil {
		c.Image = &chatv1.Media{Upload: m.Upload, Name: m.Name, MimeType: m.MimeType, Size: m.Size, Width: m.Width, Height: m.Height, Caption: m.Caption}
	}
	switch m := c.Image; {
	case c.Text == "" && m == nil:
		return nil, errEmpty
	case !isText(c.Text, maxText, message.IsParagraph):
		return nil, errText
	case m != nil && (m.Upload == 0 || m.Caption != "" || !isText(m.Name, maxName, message.IsLine) || !isText(m.MimeType, maxName, message.IsLine)):
		return nil, errImage
	}
	return c, nil
}

// isText reports whether a text is shown as it is: not too long, and with something to see unless it is empty.
func isText(text string, most int, isValid func(string) bool) bool {
	return len(text) <= 4*most && utf8.RuneCountInString(text) <= most && isValid(text) && (text == "" || message.HasVisible([]byte(text)))
}

// isToken reports whether a text may be a client_comment_id.
func isToken(text string) bool {
	return text != "" && len(text) <= maxToken && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// uploadOf returns the file that a content names; 0 if there is none.
func uploadOf(c *commentv1.CommentContent) id.Upload { return id.Upload(c.GetImage().GetUpload()) }

// encode returns the stored form of a content.
func encode(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// sumOf identifies what a request creates, without its token.
func sumOf(r *commentv1.CreateCommentRequest, c *commentv1.CommentContent) ([]byte, error) {
	b, err := encode(&commentv1.CreateCommentRequest{SubjectKind: r.SubjectKind, Subject: r.Subject, ReplyTo: r.ReplyTo, Content: c})
	sum := sha256.Sum256(b)
	return sum[:], err
}
