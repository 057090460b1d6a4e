package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

var (
	errNoChat  = errors.New("no chat is open; /open one first")
	errNoGroup = errors.New("the open chat is no group")
	errLeave   = errors.New("the user leaves")
)

// command that begins with a slash.
type command struct {
	name, args, about string
	run               func(s *screen, ctx context.Context, rest string) error
}

// section of the help.
type section struct {
	title    string
	commands []command
}

func sections() []section {
	return []section{
		{"Chats", []command{
			{"chats", "", "list your chats: number, unread, pinned (^), muted (-)", (*screen).listChats},
			{"open", "N | @handle | title", "open a chat", (*screen).openChat},
			{"close", "", "close it; messages are then not marked as read", (*screen).closeChat},
			{"history", "[N]", "show its last N messages (20)", (*screen).history},
			{"more", "[N]", "show N older ones (20)", (*screen).more},
			{"readers", "[SEQ]", "who has read your last message, or the one at SEQ", (*screen).readers},
			{"file", "PATH [caption]", "send a file or an image", (*screen).sendFile},
			{"save", "SEQ [PATH]", "save the file of the message at SEQ", (*screen).saveFile},
			{"keep", "DAYS | default", "for how many days its messages are kept", (*screen).keep},
			{"pin", "", "keep the chat at the top; /unpin", configure(func(r *chatv1.ConfigureRequest) { r.Pinned = yes() })},
			{"unpin", "", "", configure(func(r *chatv1.ConfigureRequest) { r.Pinned = no() })},
			{"mute", "", "do not show its messages while it is not open; /unmute", configure(func(r *chatv1.ConfigureRequest) { r.Muted = yes() })},
			{"unmute", "", "", configure(func(r *chatv1.ConfigureRequest) { r.Muted = no() })},
			{"archive", "", "take it off the list; /unarchive, /chats all", configure(func(r *chatv1.ConfigureRequest) { r.Archived = yes() })},
			{"unarchive", "", "", configure(func(r *chatv1.ConfigureRequest) { r.Archived = no() })},
		}},
		{"People", []command{
			{"find", "WORDS", "find people by name or handle", (*screen).find},
			{"who", "@handle", "show somebody's profile, and whether they are online", (*screen).who},
			{"friends", "", "list friends, requests and blocks", (*screen).friends},
			{"add", "@handle [message]", "ask somebody to be your friend", (*screen).addFriend},
			{"accept", "@handle", "accept a request; /decline", answer(true)},
			{"decline", "@handle", "", answer(false)},
			{"unfriend", "@handle", "end a friendship", (*screen).unfriend},
			{"remark", "@handle [name]", "call a friend by a name of your own", (*screen).remark},
			{"block", "@handle", "let somebody write to you no more; /unblock", (*screen).block},
			{"unblock", "@handle", "", (*screen).unblock},
		}},
		{"Groups", []command{
			{"group", "TITLE @a @b", "make a group", (*screen).group},
			{"info", "", "title, announcement, size, who may join", (*screen).info},
			{"members", "", "list the members", (*screen).members},
			{"invite", "@a @b", "bring people in", (*screen).invite},
			{"remove", "@a @b", "take people out", (*screen).remove},
			{"leave", "", "leave the group", (*screen).leave},
			{"rename", "TITLE", "change the title", (*screen).rename},
			{"announce", "[TEXT]", "put an announcement up, or take it down", (*screen).announce},
			{"role", "@handle admin | member", "change a member's role", (*screen).role},
			{"transfer", "@handle", "make somebody the owner", (*screen).transfer},
			{"silence", "@handle | all [TIME]", "let nobody, or somebody, write for a time (1h); /unsilence", (*screen).silence},
			{"unsilence", "@handle | all", "", (*screen).unsilence},
			{"policy", "invite | open | approval", "who may join", (*screen).policy},
			{"link", "", "make a code to join with; the one before ends", (*screen).link},
			{"join", "CODE [message]", "join with a code, or a group's id", (*screen).join},
			{"requests", "", "list who asks to join; /admit, /refuse", (*screen).requests},
			{"admit", "@handle", "", admit(true)},
			{"refuse", "@handle", "", admit(false)},
			{"dissolve", "yes", "end the group for all", (*screen).dissolve},
		}},
		{"You", []command{
			{"me", "", "show your profile and settings", (*screen).me},
			{"name", "NAME", "change the name that others see", (*screen).myName},
			{"bio", "[TEXT]", "change what your profile says", (*screen).bio},
			{"avatar", "PATH", "change your picture", (*screen).avatar},
			{"hide", "presence | read [off]", "hide when you are online, or what you have read", (*screen).hide},
			{"password", "", "change your password", (*screen).password},
			{"sessions", "", "list where you are signed in; /revoke N ends one", (*screen).listSessions},
			{"revoke", "N", "", (*screen).revoke},
			{"logout", "[all]", "end the session here, or everywhere", (*screen).logout},
			{"quit", "", "leave; you stay signed in", func(s *screen, ctx context.Context, _ string) error {
				if err := s.finish(ctx); err != nil {
					return err
				}
				return errLeave
			}},
			{"help", "", "show this", func(s *screen, _ context.Context, _ string) error {
				s.say("%s", strings.TrimRight(help(), "\n"))
				return nil
			}},
		}},
	}
}

func yes() *bool { b := true; return &b }

func no() *bool { return new(bool) }

func help() string {
	var b strings.Builder
	b.WriteString("A line goes to the open chat. One that ends with \\ goes on in the next one;\none that begins with // sends a text that begins with /.\n")
	for _, part := range sections() {
		fmt.Fprintf(&b, "\n%s\n", part.title)
		for _, c := range part.commands {
			if c.about != "" {
				fmt.Fprintf(&b, "  %-32s %s\n", strings.TrimRight("/"+c.name+" "+c.args, " "), c.about)
			}
		}
	}
	return b.String()
}

// do carries out a line; errLeave says that the user leaves.
func (s *screen) do(ctx context.Context, line string) error {
	if text, goesOn := strings.CutSuffix(line, "\\"); goesOn {
		s.begun += text + "\n"
		return nil
	}
	line, s.begun = s.begun+line, ""
	switch {
	case strings.TrimSpace(line) == "":
		return nil
	case strings.HasPrefix(line, "//"):
		return s.send(ctx, line[1:])
	case !strings.HasPrefix(line, "/"):
		return s.send(ctx, line)
	}
	if s.keyed {
		s.say("> %s", plain(line))
	}
	word, rest, _ := strings.Cut(line[1:], " ")
	near := ""
	for _, part := range sections() {
		for _, c := range part.commands {
			if c.name == word || c.name == "quit" && word == "exit" {
				return c.run(s, ctx, strings.TrimSpace(rest))
			}
			if near == "" && word != "" && (strings.HasPrefix(c.name, word) || strings.HasPrefix(word, c.name)) {
				near = "/" + c.name + "? "
			}
		}
	}
	return fmt.Errorf("there is no /%s; %s/help lists the commands", plain(word), near)
}

// call makes a call of the API.
func call[Req, Res any](ctx context.Context, method func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), r *Req) (*Res, error) {
	res, err := method(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
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

// currentGroup gives the open chat, if it is a group.
func (s *screen) currentGroup() (*chatv1.Conversation, error) {
	c, err := s.current()
	if err == nil && c.Kind != chatv1.ConversationKind_CONVERSATION_KIND_GROUP {
		err = errNoGroup
	}
	return c, err
}

// usersOf finds all users whose handles a text names.
func (s *screen) usersOf(ctx context.Context, text string) ([]uint64, error) {
	handles := strings.Fields(strings.ReplaceAll(text, "@", " "))
	if len(handles) == 0 {
		return nil, errors.New("give a handle, as @alice")
	}
	r, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Handles: handles})
	if err != nil {
		return nil, err
	}
	found := map[string]uint64{}
	for _, u := range r.Users {
		s.keepName(u)
		found[u.Handle] = u.Id
	}
	users := make([]uint64, len(handles))
	for i, h := range handles {
		if users[i] = found[strings.ToLower(h)]; users[i] == 0 {
			return nil, fmt.Errorf("there is no user @%s", plain(h))
		}
	}
	return users, nil
}

// userOf finds one user, and gives what follows the handle.
func (s *screen) userOf(ctx context.Context, text string) (user uint64, rest string, err error) {
	handle, rest, _ := strings.Cut(text, " ")
	users, err := s.usersOf(ctx, handle)
	if err != nil {
		return 0, "", err
	}
	return users[0], strings.TrimSpace(rest), nil
}

// done says so, if it is.
func (s *screen) done(err error) error {
	if err == nil {
		s.say("Done.")
	}
	return err
}
