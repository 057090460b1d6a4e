package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

var errNoChat = errors.New("no chat is open; /open one first")

// do carries out a line; done tells that the user leaves.
func (s *screen) do(ctx context.Context, line string) (done bool, err error) {
	if !strings.HasPrefix(line, "/") {
		return false, s.send(ctx, line)
	}
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "/help":
		s.say("%s", help)
	case "/quit", "/exit":
		return true, s.finish(ctx)
	case "/logout":
		return true, s.client.Logout(ctx)
	case "/chats":
		err = s.listChats(ctx)
	case "/open":
		err = s.openChat(ctx, rest)
	case "/history":
		err = s.history(ctx, rest)
	case "/find":
		err = s.find(ctx, rest)
	case "/friends":
		err = s.friends(ctx)
	case "/add", "/accept", "/decline", "/block", "/unblock":
		err = s.relate(ctx, verb, rest)
	case "/group":
		err = s.group(ctx, rest)
	case "/invite", "/leave", "/members":
		err = s.inGroup(ctx, verb, rest)
	default:
		err = fmt.Errorf("there is no %s; /help lists the commands", verb)
	}
	return false, err
}

// current gives the open chat.
func (s *screen) current() (*chatv1.Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return nil, errNoChat
	}
	return s.open, nil
}

// send queues a line. That it is stored shows by its coming back; a refusal is said.
func (s *screen) send(ctx context.Context, text string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	wait := s.client.Queue(c.Id, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
	go func() { // ends with the receipt, or with ctx
		if _, err := wait(ctx); err != nil && ctx.Err() == nil {
			s.say("! not sent: %s", explain(err))
		}
	}()
	return nil
}

func (s *screen) listChats(ctx context.Context) error {
	r, err := s.client.Chat().ListConversations(ctx, connect.NewRequest(&chatv1.ListConversationsRequest{Limit: 50}))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.chats = r.Msg.Conversations
	s.mu.Unlock()
	if len(r.Msg.Conversations) == 0 {
		s.say("No chats yet. /find somebody, and /open @handle.")
	}
	for i, c := range r.Msg.Conversations {
		unread := ""
		if c.Unread > 0 {
			unread = fmt.Sprintf("  (%d new)", c.Unread)
		}
		s.say("%3d  %s%s", i+1, plain(s.title(ctx, c)), unread)
	}
	return nil
}

// userOf finds a user by handle.
func (s *screen) userOf(ctx context.Context, handle string) (uint64, error) {
	handle = strings.TrimPrefix(handle, "@")
	if handle == "" {
		return 0, errors.New("give a handle, as @alice")
	}
	r, err := s.client.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Handles: []string{handle}}))
	if err != nil {
		return 0, err
	}
	if len(r.Msg.Users) != 1 {
		return 0, fmt.Errorf("there is no user @%s", handle)
	}
	s.keepName(r.Msg.Users[0])
	return r.Msg.Users[0].Id, nil
}

func (s *screen) openChat(ctx context.Context, which string) error {
	var c *chatv1.Conversation
	if n, err := strconv.Atoi(which); err == nil {
		s.mu.Lock()
		if n >= 1 && n <= len(s.chats) {
			c = s.chats[n-1]
		}
		s.mu.Unlock()
		if c == nil {
			return errors.New("there is no such number; /chats lists them")
		}
	} else {
		u, err := s.userOf(ctx, which)
		if err != nil {
			return err
		}
		r, err := s.client.Chat().OpenDirect(ctx, connect.NewRequest(&chatv1.OpenDirectRequest{User: u}))
		if err != nil {
			return err
		}
		c = r.Msg
	}
	s.mu.Lock()
	s.open = c
	s.mu.Unlock()
	s.say("--- %s ---", plain(s.title(ctx, c)))
	return s.history(ctx, "")
}

func (s *screen) history(ctx context.Context, count string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	n := 20
	if count != "" {
		if n, err = strconv.Atoi(count); err != nil || n < 1 || n > 200 {
			return errors.New("give a number of messages, 1 to 200")
		}
	}
	r, err := s.client.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: c.Id, Limit: uint32(n)}))
	if err != nil {
		return err
	}
	for _, m := range r.Msg.Messages {
		s.say("%s", s.line(ctx, m))
	}
	if k := len(r.Msg.Messages); k > 0 {
		s.client.Mark(c.Id, r.Msg.Messages[k-1].Seq, r.Msg.Messages[k-1].Seq)
	}
	return nil
}

func (s *screen) find(ctx context.Context, words string) error {
	r, err := s.client.Account().SearchUsers(ctx, connect.NewRequest(&accountv1.SearchUsersRequest{Query: words}))
	if err != nil {
		return err
	}
	if len(r.Msg.Users) == 0 {
		s.say("Nobody found.")
	}
	for _, u := range r.Msg.Users {
		s.keepName(u)
		s.say("  @%s  %s", u.Handle, plain(u.DisplayName))
	}
	return nil
}

func (s *screen) friends(ctx context.Context) error {
	page := ""
	none := true
	for {
		r, err := s.client.Graph().ListRelations(ctx, connect.NewRequest(&accountv1.ListRelationsRequest{Limit: 200, Page: page}))
		if err != nil {
			return err
		}
		ids := make([]uint64, len(r.Msg.Relations))
		for i, rel := range r.Msg.Relations {
			ids[i] = rel.User
		}
		handles := map[uint64]string{}
		if len(ids) > 0 {
			users, err := s.client.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: ids}))
			if err != nil {
				return err
			}
			for _, u := range users.Msg.Users {
				s.keepName(u)
				handles[u.Id] = u.Handle
			}
		}
		for _, rel := range r.Msg.Relations {
			state := "friend"
			switch {
			case rel.Blocked:
				state = "blocked"
			case rel.Friend:
			case rel.Asked:
				state = "wants to be your friend"
			case rel.Requested:
				state = "asked"
			default:
				continue
			}
			none = false
			s.say("  @%s  %s  (%s)", handles[rel.User], plain(s.name(ctx, rel.User)), state)
		}
		if page = r.Msg.Next; page == "" {
			break
		}
	}
	if none {
		s.say("No friends yet.")
	}
	return nil
}

func (s *screen) relate(ctx context.Context, verb, handle string) error {
	u, err := s.userOf(ctx, handle)
	if err != nil {
		return err
	}
	g := s.client.Graph()
	switch verb {
	case "/add":
		_, err = g.RequestFriend(ctx, connect.NewRequest(&accountv1.RequestFriendRequest{User: u}))
	case "/accept", "/decline":
		_, err = g.AnswerFriend(ctx, connect.NewRequest(&accountv1.AnswerFriendRequest{User: u, Accept: verb == "/accept"}))
	case "/block":
		_, err = g.Block(ctx, connect.NewRequest(&accountv1.BlockRequest{User: u}))
	case "/unblock":
		_, err = g.Unblock(ctx, connect.NewRequest(&accountv1.UnblockRequest{User: u}))
	}
	if err == nil {
		s.say("Done.")
	}
	return err
}

func (s *screen) group(ctx context.Context, rest string) error {
	var title []string
	var members []uint64
	for _, w := range strings.Fields(rest) {
		if !strings.HasPrefix(w, "@") {
			title = append(title, w)
			continue
		}
		u, err := s.userOf(ctx, w)
		if err != nil {
			return err
		}
		members = append(members, u)
	}
	r, err := s.client.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: strings.Join(title, " "), Members: members}))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.open = r.Msg
	s.mu.Unlock()
	s.say("--- %s ---", plain(r.Msg.Title))
	return nil
}

func (s *screen) inGroup(ctx context.Context, verb, handle string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	switch verb {
	case "/invite":
		u, err := s.userOf(ctx, handle)
		if err != nil {
			return err
		}
		_, err = s.client.Chat().Invite(ctx, connect.NewRequest(&chatv1.InviteRequest{Conversation: c.Id, Users: []uint64{u}}))
		return err
	case "/leave":
		_, err := s.client.Chat().Leave(ctx, connect.NewRequest(&chatv1.LeaveRequest{Conversation: c.Id}))
		return err
	}
	page := ""
	for {
		r, err := s.client.Chat().ListMembers(ctx, connect.NewRequest(&chatv1.ListMembersRequest{Conversation: c.Id, Limit: 200, Page: page}))
		if err != nil {
			return err
		}
		for _, m := range r.Msg.Members {
			s.say("  %s  (%s)", plain(s.name(ctx, m.User)), strings.ToLower(strings.TrimPrefix(m.Role.String(), "ROLE_")))
		}
		if page = r.Msg.Next; page == "" {
			return nil
		}
	}
}
