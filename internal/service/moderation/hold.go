package moderation

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

// If the operator's webhook asks for a moderator's decision, the content is kept in a case, and stored nowhere else. If the case is dismissed, or the decision overturned, the content is sent
// or published in the name of its author, in the same way as a decision is applied.

// maxHeld is how many contents of a user wait for moderators.
const maxHeld = 100

var (
	errHeld    = errs.New(errs.Denied, "held_for_review", "moderators look at this first; if they allow it, it is sent")
	errGone    = errs.New(errs.Invalid, "no_content", "the copy of what was held was deleted")
	errTooMany = errs.New(errs.Exhausted, "too_many_held", fmt.Sprintf("%d of your messages and posts wait for moderators; wait until they have decided", maxHeld))
)

// HoldMessage puts a message that is not stored into the queue. Token is the same for a retry. It returns the error for the sender.
func (s *Service) HoldMessage(ctx context.Context, by id.User, c id.Conversation, content *chatv1.Content, token, why string) error {
	held := &moderationv1.HeldContent{Of: &moderationv1.HeldContent_Message{Message: &moderationv1.HeldMessage{Conversation: uint64(c), Content: content}}}
	text := textOf(content)
	if e := content.GetEdit(); e != nil {
		text = textOf(e.Content)
	}
	return s.hold(ctx, by, held, token, text, why)
}

// hold puts a content into the queue, and returns errHeld. With a token it does so once, also after the decision: it may have been sent then. An edit without one may come again, after
// another one.
func (s *Service) hold(ctx context.Context, by id.User, content *moderationv1.HeldContent, token, text, why string) error {
	of, err := heldSubject(by, content, token)
	if err != nil {
		return err
	}
	admit := func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM moderation_cases WHERE about = $1 AND state = 1 AND kind = $2`, int64(by), int64(ofHeld)).Scan(&n); err != nil {
			return err
		}
		if n >= maxHeld {
			return errTooMany
		}
		return nil
	}
	if err := s.storeFlag(ctx, flag{of: of, about: by, text: text, word: why, content: &moderationv1.CaseContent{Held: content}, once: token != ""}, admit); err != nil {
		return err
	}
	return errHeld
}

// heldSubject is the same for a retry. Its number fits into a number of JavaScript.
func heldSubject(by id.User, content *moderationv1.HeldContent, token string) (subject, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
	sum := sha256.Sum256(append(b, token...))
	return subject{ofHeld, uint64(by), binary.BigEndian.Uint64(sum[:])>>11 | 1}, err
}

// sendHeld sends or publishes what a decision allows. It has a token of the case, so that a retry is harmless. What cannot be sent any more, for instance because its author has left the
// conversation, is not sent: failure is the reason, which moderators are shown.
func (s *Service) sendHeld(ctx context.Context, d *decision) (failure string, err error) {
	var stored []byte
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT content FROM moderation_cases WHERE id = $1`, int64(d.of)).Scan(&stored); err != nil {
		return "", err
	}
	content := &moderationv1.CaseContent{}
	if err := proto.Unmarshal(stored, content); err != nil {
		return "", err
	}
	err = s.send(ctx, d.about, content.GetHeld(), "held-"+strconv.FormatUint(d.of, 10))
	if errs.IsRefusal(err) && errs.Of(err).Retry == 0 {
		return errs.Of(err).Reason, nil
	}
	return "", err
}

func (s *Service) send(ctx context.Context, by id.User, held *moderationv1.HeldContent, token string) error {
	switch of := held.GetOf().(type) {
	case *moderationv1.HeldContent_Message:
		return s.deps.Chat.SendHeld(ctx, by, id.Conversation(of.Message.Conversation), of.Message.Content, token)
	case *moderationv1.HeldContent_Post:
		of.Post.ClientPostId = token // its own may be that of another post by now
		return s.deps.Posts.PublishHeld(ctx, by, of.Post)
	case *moderationv1.HeldContent_PostEdit:
		return s.deps.Posts.EditHeld(ctx, by, of.PostEdit)
	case *moderationv1.HeldContent_Comment:
		of.Comment.ClientCommentId = token
		return s.deps.Comments.CreateHeld(ctx, by, of.Comment)
	case *moderationv1.HeldContent_CommentEdit:
		return s.deps.Comments.EditHeld(ctx, by, of.CommentEdit)
	}
	return errGone // erased, or deleted long after the decision
}
