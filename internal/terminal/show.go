package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// explain gives the part of an error that helps a person.
func explain(err error) string {
	var c *connect.Error
	if errors.As(err, &c) {
		return c.Message()
	}
	var s *rialto.SendError
	if errors.As(err, &s) {
		return s.Message
	}
	return err.Error()
}

// name of a user, asked for once.
func (s *screen) name(ctx context.Context, user uint64) string {
	if user == s.client.User() {
		return "you"
	}
	s.mu.Lock()
	n, ok := s.names[user]
	s.mu.Unlock()
	if ok {
		return n
	}
	r, err := s.client.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{user}}))
	if err != nil || len(r.Msg.Users) != 1 {
		return fmt.Sprint(user)
	}
	s.keepName(r.Msg.Users[0])
	return r.Msg.Users[0].DisplayName
}

func (s *screen) keepName(u *accountv1.User) {
	s.mu.Lock()
	s.names[u.Id] = u.DisplayName
	s.mu.Unlock()
}

func (s *screen) title(ctx context.Context, c *chatv1.Conversation) string {
	if c.Peer != 0 {
		return s.name(ctx, c.Peer)
	}
	return c.Title
}

// plain leaves control characters out: a message must not steer the terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// line of a message.
func (s *screen) line(ctx context.Context, m *chatv1.Message) string {
	at := time.UnixMilli(m.TimeMs).Format("15:04")
	c := m.Content
	what := ""
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Text:
		what = k.Text
	case *chatv1.Content_Image:
		what = "[image " + k.Image.Name + "] " + k.Image.Caption
	case *chatv1.Content_File:
		what = "[file " + k.File.Name + "] " + k.File.Caption
	case *chatv1.Content_Control:
		return fmt.Sprintf("%s  * %s", at, plain(s.control(ctx, k.Control)))
	default:
		what = "[a message that this client cannot show]"
	}
	return fmt.Sprintf("%s  %s: %s", at, plain(s.name(ctx, m.Sender)), plain(what))
}

func (s *screen) control(ctx context.Context, c *chatv1.Control) string {
	users := make([]string, len(c.Users))
	for i, u := range c.Users {
		users[i] = s.name(ctx, u)
	}
	action := strings.ToLower(strings.TrimPrefix(c.Action.String(), "ACTION_"))
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.name(ctx, c.Actor), strings.ReplaceAll(action, "_", " "), strings.Join(users, ", "), c.Text))
}

// show writes what came in.
func (s *screen) show(ctx context.Context, e rialto.Event) {
	switch {
	case e.Online != nil && !*e.Online:
		s.say("* offline; what you write is kept and sent when the connection is back")
	case e.Online != nil:
		s.say("* online")
	case e.Relation != nil && e.Relation.Asked && !e.Relation.Friend:
		s.say("* %s wants to be your friend: /friends, /accept", plain(s.name(ctx, e.Relation.User)))
	case e.Message != nil && e.Live:
		m := e.Message
		s.mu.Lock()
		here := s.open != nil && s.open.Id == m.Conversation
		s.mu.Unlock()
		switch {
		case here:
			s.say("%s", s.line(ctx, m))
			if m.Sender != s.client.User() {
				s.client.Mark(m.Conversation, m.Seq, m.Seq)
			}
		case m.Sender != s.client.User() && m.Content.GetControl() == nil:
			s.say("[%s] %s", plain(s.where(ctx, m.Conversation)), s.line(ctx, m))
			s.client.Mark(m.Conversation, m.Seq, 0)
		}
	}
}

// where names a conversation.
func (s *screen) where(ctx context.Context, id uint64) string {
	r, err := s.client.Chat().GetConversation(ctx, connect.NewRequest(&chatv1.GetConversationRequest{Conversation: id}))
	if err != nil {
		return fmt.Sprint(id)
	}
	return s.title(ctx, r.Msg)
}
