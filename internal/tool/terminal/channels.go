package terminal

import (
	"context"
	"strings"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// channel creates, joins or leaves a channel.
func (s *screen) channel(ctx context.Context, rest string) error {
	what, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case what == "new" && rest != "":
		return s.newChannel(ctx, rest)
	case what == "join" && rest != "":
		c, err := s.client.JoinChannel(ctx, rest)
		if err != nil {
			return err
		}
		return s.enter(ctx, c)
	case what == "leave" && rest == "":
		if c, err := s.current(); err == nil && !c.Channel {
			return errorf("the open chat is not a channel")
		}
		return s.leave(ctx, "")
	}
	return errorf("use /channel new [@handle] TITLE, /channel join @handle | CODE, or /channel leave")
}

// newChannel creates a channel that everybody may follow. The first word may be its handle.
func (s *screen) newChannel(ctx context.Context, title string) error {
	handle := ""
	if strings.HasPrefix(title, "@") {
		handle, title, _ = strings.Cut(title, " ")
	}
	c, err := s.client.CreateChannel(ctx, "", rialto.Channel{Title: strings.TrimSpace(title), Handle: handle, Open: true})
	if c == nil {
		return err
	}
	if err != nil { // the channel exists, without the handle
		s.say("  not set: the handle %s: %s", handle, oneLine(plain(err.Error())))
	}
	return s.enter(ctx, c)
}

// channelName is how others find a channel.
func channelName(c *chatv1.Conversation) string {
	if c.Handle != "" {
		return "@" + c.Handle
	}
	return phrase("no handle")
}

// showFollow closes the open chat if it is a channel that the user no longer follows.
func (s *screen) showFollow(ctx context.Context, f *chatv1.FollowChange) {
	if c, err := s.current(); err == nil && c.Id == f.Conversation && !f.Follows {
		s.say("* you no longer follow %s", s.title(ctx, c))
		s.setOpen(ctx, nil)
	}
}
