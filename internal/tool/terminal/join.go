package terminal

import (
	"context"
	"fmt"
	"strings"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errJoinUse = errorf("give a code or a link of a group, its id, or the @handle of a channel")

// previewJoin shows what a code or a link leads to, without joining it.
func (s *screen) previewJoin(ctx context.Context, rest string) error {
	if rest == "" {
		return errJoinUse
	}
	found, err := s.client.PreviewJoin(ctx, rest)
	if err != nil {
		return err
	}
	s.say("%s", joinPreview(found, rialto.IsJoinCode(rest)))
	return nil
}

// joinPreview describes a group or a channel before one joins it. A code lets one in; without one, admins may have to.
func joinPreview(found *chatv1.PreviewJoinLinkResponse, byCode bool) string {
	kind, people, handle := phrase("a group"), phrase("members"), ""
	if found.Channel {
		kind, people = phrase("a channel"), phrase("followers")
	}
	if found.Handle != "" {
		handle = " (@" + oneLine(plain(found.Handle)) + ")"
	}
	text := fmt.Sprintf("  %s%s, %s, %s: %d", oneLine(plain(found.Title)), handle, kind, people, found.MemberCount)
	if found.Announcement != "" {
		text += "\n" + phrasef("  announcement: %s", indented(plain(found.Announcement)))
	}
	switch {
	case found.Member:
		text += "\n" + phrase("  you are in it already")
	case byCode || found.Channel:
		text += "\n" + phrase("  whoever joins is in it at once")
	default:
		text += "\n" + phrase("  whoever joins is in it at once, or its admins are asked first; a message for them may follow /join")
	}
	return text
}

// join joins a group or a channel. It says what that is first and, at a keyboard, asks.
func (s *screen) join(ctx context.Context, rest string) error {
	address, message, _ := strings.Cut(rest, " ")
	if address == "" {
		return errJoinUse
	}
	found, err := s.client.PreviewJoin(ctx, address)
	switch {
	case err != nil && (rialto.Reason(err) == "" || rialto.IsJoinCode(address)):
		return err
	case err != nil: // a group by its id shows nothing to those whom it has invited, who may join it
	case found.Member:
		return s.enterJoined(ctx, found.Conversation)
	default:
		s.say("%s", joinPreview(found, rialto.IsJoinCode(address)))
		if isSure, err := s.confirm(phrase("Join? (y/n) ")); err != nil || !isSure {
			return err
		}
	}
	joined, err := s.client.Join(ctx, address, strings.TrimSpace(message))
	if err != nil {
		return err
	}
	if !joined.Joined {
		s.say("You have asked to join; an admin will decide.")
		return nil
	}
	return s.enterJoined(ctx, joined.Conversation)
}

func (s *screen) enterJoined(ctx context.Context, conversation uint64) error {
	c, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: conversation})
	if err != nil {
		return err
	}
	return s.enter(ctx, c)
}

// confirm asks a user at a keyboard a question. A script has nobody who could answer, and does what it says.
func (s *screen) confirm(question string) (bool, error) {
	if !s.keyed {
		return true, nil
	}
	answer, err := s.console.Ask(question, false)
	return strings.HasPrefix(strings.ToLower(answer), "y"), err
}
