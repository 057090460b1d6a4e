package terminal

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"

	"github.com/rialto-im/rialto/internal/base/commandline"
)

var (
	errNoChat  = errorf("no chat is open; /open one first")
	errNoGroup = errorf("the open chat is not a group")
	errLeave   = errorf("the user quits")
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
	return []section{{"Chats", chatCommands()}, {"People", peopleCommands()}, {"Groups", groupCommands()}, {"Posts", postCommands()}, {"Help desks", helpDeskCommands()}, {"You", userCommands()}}
}

func chatCommands() []command {
	return []command{
		{"chats", "[all|unread|groups|direct|FOLDER]", "list your chats: number, unread, pinned (^), muted (-)", (*screen).listChats},
		{"folders", "[add|remove|delete|up|down NAME]", "list your folders, put the open chat into one, or change their order", (*screen).folders},
		{"open", "N | @handle | title", "open a chat", (*screen).openChat},
		{"saved", "", "open your saved messages, a chat with yourself", (*screen).openSaved},
		{"close", "", "close the chat; messages are then not marked as read", (*screen).closeChat},
		{"history", "[N] | DATE", "show its last N messages (20), or those from a day on, such as 2026-01-31", (*screen).history},
		{"more", "[N]", "show N older ones (20)", (*screen).more},
		{"readers", "[SEQ]", "list the readers of your last message, or of the one at SEQ", (*screen).readers},
		{"delivered", "[SEQ]", "list who has received it, and on which devices", (*screen).listDelivered},
		{"reply", "SEQ | last TEXT", "reply to the message at SEQ, or to your last one, sent or not", (*screen).reply},
		{"thread", "SEQ", "open the thread under a message; /threads", (*screen).thread},
		{"threads", "[N]", "list the threads that you follow, or open one", (*screen).threads},
		{"draft", "[send | clear | TEXT]", "show the draft of the chat, which all your devices have; send, delete or replace it", (*screen).draft},
		{"edit", "[SEQ] TEXT", "replace the text of your last message, or of the one at SEQ", (*screen).edit},
		{"recall", "SEQ", "take a message back for all", (*screen).recall},
		{"stop", "SEQ", "stop a message that is being written", (*screen).stopStreamed},
		{"react", "SEQ EMOJI", "add an emoji to a message; /unreact", react(false)},
		{"unreact", "SEQ EMOJI", "", react(true)},
		{"reactions", "SEQ", "list who reacted to a message", (*screen).listReactors},
		{"edits", "SEQ", "list the versions of an edited message", (*screen).listEdits},
		{"file", "PATH [caption]", "send a file, an image or a video", sendContent((*screen).fileContent)},
		{"album", "PATH [PATH …] [-- caption]", "send up to 10 images and videos as one message", sendContent((*screen).albumContent)},
		{"voice", "PATH [caption]", "send a recording as a voice message", sendContent((*screen).voiceContent)},
		{"forward", "SEQ[,SEQ] CHAT", "show messages to another chat, named as for /open", (*screen).forward},
		{"location", "LAT LON [label]", "send a place", sendContent((*screen).locationContent)},
		{"save", "SEQ [PATH]", "save the file of the message at SEQ, or all of an album", (*screen).saveFile},
		{"keep", "TIME | default", "set how long its messages are kept (1h, 7d), for all", (*screen).keep},
		{"pin", "[SEQ]", "keep the chat at the top, or pin the message at SEQ for all; /unpin", pin(false)},
		{"unpin", "[SEQ]", "", pin(true)},
		{"pins", "", "list the pinned messages", (*screen).listPins},
		{"forget", "SEQ[,SEQ]", "delete messages for you; the others keep them", (*screen).forget},
		{"clear", "", "delete its messages so far for you; the others keep them", (*screen).clearHistory},
		{"delete", "", "delete the chat for you; a new message brings it back", (*screen).deleteChat},
		{"unread", "", "mark the chat as unread, for later, and close it", (*screen).markUnread},
		{"mute", "[@handle]", "do not show its messages while it is not open, or somebody's posts; /unmute", mute(true)},
		{"unmute", "[@handle]", "", mute(false)},
		{"archive", "", "take it off the list; /unarchive, /chats all", configure(func(r *chatv1.ConfigureRequest) { r.Archived = yes() })},
		{"later", "TIME TEXT", "send a message later (2h, or at 15:04), also /later 2h /file PATH; /scheduled", (*screen).later},
		{"scheduled", "", "list messages that are sent later; /reschedule, /cancel N", (*screen).listScheduled},
		{"reschedule", "N TIME [TEXT]", "change when one is sent, and its text", (*screen).reschedule},
		{"cancel", "N", "", (*screen).cancelScheduled},
		{"menu", "[N[.M]]", "show the menu of an official account, or choose from it", (*screen).menu},
		{"official", "[@account [CHANGE]]", "show or change an official account: menu, replies, labels; alone, list how", (*screen).official},
		{"broadcast", "@account [OPTIONS] TEXT", "send a text to an official account's followers; options: waves:1,10,100 every:1h label:vip", (*screen).broadcast},
		{"broadcasts", "[@account [CHANGE N]]", "list your official accounts, the broadcasts of one, or pause, resume, cancel or recall one", (*screen).broadcasts},
		{"unarchive", "", "", configure(func(r *chatv1.ConfigureRequest) { r.Archived = no() })},
	}
}

func peopleCommands() []command {
	return []command{
		{"find", "WORDS", "find people by name or handle", (*screen).find},
		{"search", "WORDS", "search all; filters: from:@handle, in:@handle, kind:file, type:image, after:2026-01-31, has:link", (*screen).search},
		{"who", "@handle", "show a user's profile and presence", (*screen).who},
		{"friends", "", "list friends, requests and blocks", (*screen).friends},
		{"add", "@handle [message]", "send a friend request", (*screen).addFriend},
		{"accept", "@handle", "accept a request; /decline", answer(true)},
		{"decline", "@handle", "", answer(false)},
		{"unfriend", "@handle", "end a friendship", (*screen).unfriend},
		{"remark", "@handle [name]", "set your own name for a friend", (*screen).remark},
		{"org", "[N [NAME]]", "list your organizations, the tree of one, or its members by name", (*screen).organization},
		{"organize", "[N CHANGE]", "change an organization: departments, members, invitations, groups; alone, list how", (*screen).organize},
		{"block", "@handle", "block a user; /unblock", (*screen).block},
		{"unblock", "@handle", "", (*screen).unblock},
	}
}

func groupCommands() []command {
	return []command{
		{"group", "TITLE @a @b", "create a group", (*screen).group},
		{"channel", "new [@handle] TITLE | join @handle | leave", "create, follow or leave a channel", (*screen).channel},
		{"room", "new TITLE | enter ID | send TEXT | like [N] | info | leave | list | …", "chat rooms, whose messages are not stored; /room alone says what moderators can do", (*screen).room},
		{"info", "", "show title, announcement, size and who may join", (*screen).info},
		{"members", "", "list the members", (*screen).members},
		{"invite", "@a @b", "add members; those who are no friends are invited", (*screen).invite},
		{"invited", "", "list who was invited and has not answered; /uninvite", (*screen).listInvited},
		{"uninvite", "@a @b", "", (*screen).uninvite},
		{"remove", "@a @b", "remove members", (*screen).remove},
		{"ban", "@a @b", "remove members permanently; /unban, /bans", (*screen).ban},
		{"unban", "@a @b", "", (*screen).unban},
		{"bans", "", "list banned users", (*screen).bans},
		{"leave", "", "leave the group", (*screen).leave},
		{"rename", "TITLE", "change the title", (*screen).rename},
		{"announce", "[TEXT]", "set or clear the announcement", (*screen).announce},
		{"role", "@handle admin | member", "change a member's role", (*screen).role},
		{"transfer", "@handle | DESK", "transfer the ownership; of a ticket, to an agent or a help desk", (*screen).transfer},
		{"silence", "@handle | all [TIME]", "mute all members, or one, for a time (1h); /unsilence", (*screen).silence},
		{"unsilence", "@handle | all", "", (*screen).unsilence},
		{"policy", "invite | open | approval", "set who may join", (*screen).policy},
		{"link", "", "create a join code, which replaces the previous one; /unlink", (*screen).link},
		{"unlink", "", "revoke the join code", (*screen).unlink},
		{"join", "CODE [message]", "join a group by its code, link or id, or a channel by its @handle; /preview", (*screen).join},
		{"preview", "CODE", "show what a code or link leads to before joining: title, members, who lets you in", (*screen).previewJoin},
		{"invitations", "[accept N | decline N]", "list invitations to groups and organizations, or answer one", (*screen).invitations},
		{"requests", "", "list join requests; /admit, /refuse", (*screen).requests},
		{"admit", "@handle", "", admit(true)},
		{"refuse", "@handle", "", admit(false)},
		{"dissolve", "yes", "dissolve the group for all members", (*screen).dissolve},
	}
}

func postCommands() []command {
	return []command{
		{"feed", "[more]", "show the newest posts of those whom you follow, or older ones", (*screen).feed},
		{"foryou", "[more]", "show posts that are ranked for you, and why; more shows the next ones", (*screen).forYou},
		{"less", "N", "show no posts of the author of post N in /foryou for 30 days, and fewer later", (*screen).less},
		{"hot", "[today | week] [more]", "show the posts that are popular, or got the most likes today or this week", (*screen).hot},
		{"profile", "[@handle] [more]", "show somebody's posts and counts, or your own", (*screen).feedProfile},
		{"liked", "[more]", "show the posts that you like; /favourites, /viewed [clear]", (*screen).liked},
		{"favourites", "[more]", "", (*screen).favourites},
		{"viewed", "[more | clear]", "", (*screen).viewed},
		{"post", "[OPTIONS] TEXT", "publish a post; options: title: cover: image: link: goods: to:friends to:@a except:@a", (*screen).post},
		{"repost", "N [OPTIONS] [TEXT]", "show a post to your followers, with a comment; N is its number in the last list", (*screen).repost},
		{"editpost", "N [OPTIONS] [TEXT]", "replace what you give of your post; /versions N shows what it was", (*screen).editPost},
		{"versions", "N", "", (*screen).versions},
		{"deletepost", "N", "delete your post for everyone", (*screen).deletePost},
		{"comments", "N [oldest | likes] | more", "show the comments of a post, the newest first or sorted otherwise", (*screen).comments},
		{"comment", "N[.M] TEXT", "comment on a post, or reply to a comment by its number", (*screen).comment},
		{"editcomment", "N.M TEXT", "replace the text of your comment; /deletecomment N.M", (*screen).editComment},
		{"deletecomment", "N.M", "", (*screen).deleteComment},
		{"like", "N[.M]", "like a post or a comment; /unlike", (*screen).like},
		{"unlike", "N[.M]", "", (*screen).unlike},
		{"likers", "N[.M]", "show who likes it", (*screen).likers},
		{"favourite", "N", "add a post to your favourites; /unfavourite", (*screen).favourite},
		{"unfavourite", "N", "", (*screen).unfavourite},
		{"share", "N | @handle CHAT", "send a card of a post or a person to a chat, named as for /open", (*screen).share},
		{"notifications", "[more | read]", "show what others did that concerns you, or mark it as read", (*screen).notifications},
		{"notify", "[on | off KIND] | @handle [off]", "choose what notifies you, or whose new posts do", (*screen).notify},
		{"decisions", "[ok N | appeal N TEXT]", "list what moderators decided about you, say that you read a warning, or appeal", (*screen).decisions},
		{"follow", "@handle", "follow a user; /unfollow", (*screen).follow},
		{"unfollow", "@handle", "", (*screen).unfollow},
	}
}

func helpDeskCommands() []command {
	return []command{
		{"desks", "", "list the help desks: key, name, business hours", (*screen).listDesks},
		{"ticket", "DESK SUBJECT", "open a ticket with a help desk, named by its key", (*screen).openTicket},
		{"tickets", "[DESK [active | resolved]]", "list your tickets, or as an agent those of a help desk", (*screen).listTickets},
		{"take", "DESK | N", "take the next ticket of a help desk, or the one at N; /transfer", (*screen).takeTicket},
		{"resolve", "[N]", "resolve the open ticket, or the one at N; /reopen", (*screen).resolveTicket},
		{"reopen", "[N]", "", (*screen).reopenTicket},
		{"deskstats", "DESK [DAYS]", "show its agents what waits, and what was resolved in the last days (7)", (*screen).deskStats},
		{"rate", "1..5 [COMMENT]", "rate your resolved ticket", (*screen).rateTicket},
	}
}

func userCommands() []command {
	return []command{
		{"me", "", "show your profile and settings", (*screen).me},
		{"name", "NAME", "change the name that others see", (*screen).myName},
		{"bio", "[TEXT]", "change the text of your profile", (*screen).bio},
		{"avatar", "PATH", "change your picture", (*screen).avatar},
		{"presence", "auto | dnd | invisible", "show others what your devices say, do not disturb, or offline", (*screen).availability},
		{"status", "[EMOJI] [TEXT] [TIME]", "set your status, for a time (2h), or clear it", (*screen).customStatus},
		{"visible", "everyone | friends | nobody", "set who may see when you are online", (*screen).visible},
		{"addable", "default | everyone | friends | nobody", "set who may add you to groups; others invite you", (*screen).addable},
		{"hide", "read [off]", "hide your read receipts", (*screen).hide},
		{"previews", "on | off", "show previews of the links that you send, or not", (*screen).previews},
		{"personalization", "on|off", "rank /foryou by what you read, or not", (*screen).personalization},
		{"password", "", "change your password", (*screen).password},
		{"sessions", "", "list where you are signed in; /revoke N ends one", (*screen).listSessions},
		{"revoke", "N", "", (*screen).revoke},
		{"logout", "[all]", "end this session, or all sessions", (*screen).logout},
		{"quit", "", "quit; you stay signed in", func(s *screen, ctx context.Context, _ string) error {
			if err := s.finish(ctx); err != nil {
				return err
			}
			return errLeave
		}},
		{"help", "", "show this", func(s *screen, _ context.Context, _ string) error {
			s.say("%s", strings.TrimRight(help(speaksChinese()), "\n"))
			return nil
		}},
	}
}

func yes() *bool { b := true; return &b }

func no() *bool { return new(bool) }

// do executes a line; errLeave means that the user quits.
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
	var names []string
	for _, part := range sections() {
		for _, c := range part.commands {
			if c.name == word || c.name == "quit" && word == "exit" {
				return c.run(s, ctx, strings.TrimSpace(rest))
			}
			names = append(names, c.name)
		}
	}
	near := commandline.Nearest(word, names)
	if near != "" {
		near = "/" + near + "? "
	}
	return errorf("unknown command /%s; %s/help lists the commands", plain(word), near)
}

// call makes an API call.
func call[Req, Res any](ctx context.Context, method func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), r *Req) (*Res, error) {
	res, err := method(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// current returns the open chat.
func (s *screen) current() (*chatv1.Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return nil, errNoChat
	}
	return s.open, nil
}

// currentGroup returns the open chat, if it is a group.
func (s *screen) currentGroup() (*chatv1.Conversation, error) {
	c, err := s.current()
	if err == nil && c.Kind != chatv1.ConversationKind_CONVERSATION_KIND_GROUP {
		err = errNoGroup
	}
	return c, err
}

// usersOf finds the users of all handles in a text.
func (s *screen) usersOf(ctx context.Context, text string) ([]uint64, error) {
	handles := strings.Fields(strings.ReplaceAll(text, "@", " "))
	if len(handles) == 0 {
		return nil, errorf("give a handle, such as @alice")
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
			return nil, errorf("there is no user @%s", plain(h))
		}
	}
	return users, nil
}

// userOf finds one user, and returns the text after the handle.
func (s *screen) userOf(ctx context.Context, text string) (user uint64, rest string, err error) {
	handle, rest, _ := strings.Cut(text, " ")
	users, err := s.usersOf(ctx, handle)
	if err != nil {
		return 0, "", err
	}
	return users[0], strings.TrimSpace(rest), nil
}

// done prints a confirmation if there is no error.
func (s *screen) done(err error) error {
	if err == nil {
		s.say("Done.")
	}
	return err
}
