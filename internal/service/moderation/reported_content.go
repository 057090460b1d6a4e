package moderation

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errNoMessage = errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	errNoGroup   = errs.New(errs.Invalid, "not_a_group", "this works only in a group, and this is a one-to-one conversation or a thread")
)

// copied is a thing as its reporter may read it.
type copied struct {
	about   id.User // who wrote it, or is reported; 0: nobody in particular
	excerpt string
	content []byte // a CaseContent
}

// copyOf copies a thing, with the rights of its reporter.
func (s *Service) copyOf(ctx context.Context, u id.User, of subject) (c copied, err error) {
	content := &moderationv1.CaseContent{}
	text := ""
	switch of.kind {
	case ofMessage:
		if content.Messages, err = s.messages(ctx, u, id.Conversation(of.item), of.seq); err == nil {
			m := content.Messages[len(content.Messages)-1]
			c.about, text = id.User(m.Sender), textOf(m.Content)
		}
	case ofPost:
		if content.Post, err = s.deps.Posts.GetPost(ctx, u, of.item); err == nil {
			c.about, text = id.User(content.Post.Author), content.Post.Content.GetText()
		}
	case ofComment:
		if content.Comment, err = s.deps.Comments.GetComment(ctx, u, of.item); err == nil {
			c.about, text = id.User(content.Comment.Author), content.Comment.Content.GetText()
		}
	case ofUser:
		var found []*accountv1.User
		if found, err = s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{of.item}}); err == nil && len(found) == 0 {
			err = errNoUser
		} else if err == nil {
			content.User = found[0]
			c.about, text = id.User(of.item), found[0].DisplayName
		}
	case ofGroup:
		if content.Group, err = s.deps.Chat.Describe(ctx, u, id.Conversation(of.item)); err == nil && content.Group.Kind != chatv1.ConversationKind_CONVERSATION_KIND_GROUP {
			err = errNoGroup
		}
		text = content.Group.GetTitle()
	}
	if err == nil && of.kind == ofComment && content.Comment.Deleted {
		err = errNoComment
	}
	if err != nil {
		return c, err
	}
	c.excerpt = excerpt.Of(text, maxExcerpt)
	c.content, err = proto.Marshal(content)
	return c, err
}

var (
	errNoUser    = errs.New(errs.NotFound, "no_user", "there is no such user")
	errNoComment = errs.New(errs.NotFound, "no_comment", "there is no such comment, or it is not for you")
)

// messages returns a message that a user may read, and before it those of the entries before it that show something.
func (s *Service) messages(ctx context.Context, u id.User, c id.Conversation, seq uint64) ([]*chatv1.Message, error) {
	r := &chatv1.GetMessagesRequest{Conversation: uint64(c)}
	for n := seq - min(seq-1, contextSeqs); n <= seq; n++ {
		r.Seqs = append(r.Seqs, n)
	}
	page, err := s.deps.Chat.GetMessages(ctx, u, r)
	if err != nil {
		return nil, err
	}
	if page.More { // the entries before it are large: it alone has a page
		r.Seqs = []uint64{seq}
		if page, err = s.deps.Chat.GetMessages(ctx, u, r); err != nil {
			return nil, err
		}
	}
	var shown []*chatv1.Message
	for _, m := range page.Messages {
		if isShown(m) {
			shown = append(shown, m)
		}
	}
	if len(shown) == 0 || shown[len(shown)-1].Seq != seq {
		return nil, errNoMessage
	}
	first, room := len(shown)-1, contextBytes
	for first > 0 {
		if room -= proto.Size(shown[first-1]); room < 0 {
			break
		}
		first--
	}
	return shown[first:], nil
}

// isShown reports whether an entry is a message that somebody wrote and that is not recalled.
func isShown(m *chatv1.Message) bool {
	if m.Sender == 0 || m.RecallSeq != 0 {
		return false
	}
	switch m.Content.GetKind().(type) {
	case nil, *chatv1.Content_Control, *chatv1.Content_Edit, *chatv1.Content_Recall, *chatv1.Content_Reaction, *chatv1.Content_Pin, *chatv1.Content_Thread, *chatv1.Content_BridgeReport, *chatv1.Content_Signal:
		return false
	}
	return true
}

// textOf returns the text of a message, or its caption.
func textOf(c *chatv1.Content) string {
	if text := c.GetText(); text != "" {
		return text
	}
	for _, m := range []*chatv1.Media{c.GetImage(), c.GetFile(), c.GetVideo()} {
		if m.GetCaption() != "" {
			return m.Caption
		}
	}
	return c.GetAlbum().GetCaption()
}
