package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
	"google.golang.org/protobuf/proto"
)

// typingEvery so often the others are told that the user types, and typing is shown.
const typingEvery = 4 * time.Second

// explain gives the part of an error that helps a person.
func explain(err error) string {
	var c *connect.Error
	if errors.As(err, &c) {
		if connect.IsWireError(err) || c.Code() != connect.CodeUnavailable {
			return plain(c.Message())
		}
		return "the server cannot be reached: " + plain(c.Message())
	}
	var refused *rialto.SendError
	if errors.As(err, &refused) {
		return plain(refused.Message)
	}
	if errors.Is(err, rialto.ErrSignedOut) {
		return "your session has ended; start again to log in"
	}
	return plain(err.Error())
}

// plain leaves out what would steer the terminal: control characters, and those that turn the direction of text around.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// oneLine of a text that was made plain.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// indented has its further lines stand under the first one: a text cannot look like a message of somebody else.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n         ") }

// clip cuts a line to so many characters.
func clip(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// sayAll writes lines that came from a map, in order.
func (s *screen) sayAll(lines []string) {
	slices.Sort(lines)
	for _, l := range lines {
		s.say("%s", l)
	}
}

func (s *screen) title(ctx context.Context, c *chatv1.Conversation) string {
	if c.Peer != 0 {
		return s.name(ctx, c.Peer)
	}
	return oneLine(plain(c.Title))
}

// line of a message.
func (s *screen) line(ctx context.Context, m *chatv1.Message) string {
	at := time.UnixMilli(m.TimeMs).Format("15:04")
	what := "[a message that this client cannot show]"
	switch k := m.Content.GetKind().(type) {
	case *chatv1.Content_Text:
		what = k.Text
	case *chatv1.Content_Location:
		what = fmt.Sprintf("[location %.5f, %.5f] %s", k.Location.Latitude, k.Location.Longitude, k.Location.Label)
	case *chatv1.Content_Card:
		what = strings.TrimSpace(fmt.Sprintf("[card] %s %s %s", k.Card.Title, k.Card.Text, k.Card.Url))
	case *chatv1.Content_Control:
		return fmt.Sprintf("%s  * %s", at, s.control(ctx, k.Control))
	default:
		if f := mediaOf(m.Content); f != nil {
			kind := "file"
			if m.Content.GetImage() != nil {
				kind = "image"
			}
			what = strings.TrimSpace(fmt.Sprintf("[%s %s, %s; /save %d] %s", kind, f.Name, size(f.Size), m.Seq, f.Caption))
		}
	}
	return fmt.Sprintf("%s  %s: %s", at, s.name(ctx, m.Sender), indented(plain(what)))
}

func size(n uint64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// control says what a control entry did; empty where it is of no interest to people.
func (s *screen) control(ctx context.Context, c *chatv1.Control) string {
	names := make([]string, len(c.Users))
	for i, u := range c.Users {
		names[i] = s.name(ctx, u)
	}
	actor, users, text := s.name(ctx, c.Actor), strings.Join(names, ", "), indented(plain(c.Text))
	switch c.Action {
	case chatv1.Control_ACTION_CREATED:
		if text == "" {
			return "" // one-to-one
		}
		return fmt.Sprintf("%s made the group %q with %s", actor, oneLine(text), users)
	case chatv1.Control_ACTION_JOINED:
		if len(c.Users) == 1 && c.Users[0] == c.Actor {
			return actor + " joined"
		}
		return fmt.Sprintf("%s brought in %s", actor, users)
	case chatv1.Control_ACTION_LEFT:
		return users + " left"
	case chatv1.Control_ACTION_REMOVED:
		return fmt.Sprintf("%s took out %s", actor, users)
	case chatv1.Control_ACTION_ROLE:
		return fmt.Sprintf("%s: now %s (by %s)", users, roleName(c.Role), actor)
	case chatv1.Control_ACTION_RENAMED:
		return fmt.Sprintf("%s named the group %q", actor, oneLine(text))
	case chatv1.Control_ACTION_ANNOUNCED:
		if text == "" {
			return actor + " took the announcement down"
		}
		return fmt.Sprintf("%s announced: %s", actor, text)
	case chatv1.Control_ACTION_MUTED:
		if users == "" {
			users = "all but admins"
		}
		if c.UntilMs == 0 {
			return fmt.Sprintf("%s let %s write again", actor, users)
		}
		return fmt.Sprintf("%s silenced %s until %s", actor, users, time.UnixMilli(c.UntilMs).Format("2 January, 15:04"))
	case chatv1.Control_ACTION_TRANSFERRED:
		return fmt.Sprintf("the group now belongs to %s", users)
	case chatv1.Control_ACTION_DISSOLVED:
		return actor + " ended the group"
	case chatv1.Control_ACTION_JOIN_POLICY:
		return "joining is now by " + policyName(c.JoinPolicy)
	case chatv1.Control_ACTION_AVATAR:
		return actor + " changed the group's picture"
	case chatv1.Control_ACTION_RETENTION:
		if c.RetentionDays == 0 {
			return actor + " let messages be kept as the server keeps them"
		}
		return fmt.Sprintf("%s let messages be kept for %d days", actor, c.RetentionDays)
	}
	return ""
}

// show writes what came in.
func (s *screen) show(ctx context.Context, e rialto.Event) {
	switch {
	case e.Online != nil:
		s.showOnline(ctx, *e.Online)
	case e.Message != nil:
		s.showMessage(ctx, e.Message)
	case e.Mark != nil:
		s.showMark(e.Mark)
	case e.Typing != nil:
		s.showTyping(ctx, e.Typing.Conversation, e.Typing.User)
	case e.Presence != nil:
		s.showPresence(ctx, e.Presence)
	case e.Relation != nil:
		s.showRelation(ctx, e.Relation)
	case e.Conversation != nil:
		s.configured(e.Conversation)
	case e.Profile != nil:
		s.mu.Lock()
		delete(s.people, e.Profile.User)
		s.mu.Unlock()
	case e.JoinRequests != nil:
		s.showRequest(ctx, e.JoinRequests)
	case e.Refused != nil:
		s.say("! a message from before was not sent: %s", plain(e.Refused.Error.GetMessage()))
	case e.Reset:
		if err := s.readChats(ctx); err != nil {
			s.say("! %s", explain(err))
		}
	}
}

// showRequest tells an admin who wants to join.
func (s *screen) showRequest(ctx context.Context, r *chatv1.JoinRequests) {
	s.mu.Lock()
	c := s.chats[r.Conversation]
	s.mu.Unlock()
	if r.User != 0 && c != nil {
		s.say("* %s asks to join %s: /requests", s.name(ctx, r.User), s.title(ctx, c))
	}
}

// configured keeps the user's own view of a chat. Others may be reading the chat, so it is replaced.
func (s *screen) configured(state *chatv1.ConversationState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.chats[state.Conversation]
	if was == nil {
		return
	}
	c := proto.Clone(was).(*chatv1.Conversation)
	c.State = state
	s.chats[c.Id] = c
	if s.open != nil && s.open.Id == c.Id {
		s.open = c
	}
}

func (s *screen) showOnline(ctx context.Context, online bool) {
	s.mu.Lock()
	first, begun := !s.wasOnline, s.begunWell
	s.online = online
	s.wasOnline = s.wasOnline || online
	s.mu.Unlock()
	switch {
	case !online:
		s.say("* offline; what you write is kept, and sent when the connection is back")
	case !first:
		s.say("* online")
	}
	if online && !begun { // the server was away at the start
		if err := s.begin(ctx); err != nil {
			s.say("! %s", explain(err))
		}
	}
}

// showMessage writes a message of the open chat, and a line about one of another chat, unless that is muted.
func (s *screen) showMessage(ctx context.Context, m *chatv1.Message) {
	own := m.Sender == s.client.User()
	s.mu.Lock()
	here := s.open != nil && s.open.Id == m.Conversation
	old := here && m.Seq <= s.shown || m.Seq <= s.before[m.Conversation]
	if here && !old {
		s.shown = m.Seq
	}
	if s.oldest == 0 && here {
		s.oldest = m.Seq
	}
	c := s.chats[m.Conversation]
	delete(s.typing, m.Sender)
	s.mu.Unlock()
	if k := m.Content.GetControl(); k != nil || c == nil { // the title or the people may be others now
		if fresh, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: m.Conversation}); err == nil {
			c = fresh
			s.refresh(ctx, fresh, here)
		}
	}
	switch {
	case here && old:
	case here:
		s.put(ctx, m)
		s.client.Mark(m.Conversation, m.Seq, m.Seq)
	case own || old:
		if !own {
			s.client.Mark(m.Conversation, m.Seq, 0)
		}
	default:
		s.client.Mark(m.Conversation, m.Seq, 0)
		if c == nil || c.State.GetMuted() || m.Content.GetControl() != nil && s.control(ctx, m.Content.GetControl()) == "" {
			return
		}
		s.say("[%s] %s", s.title(ctx, c), s.line(ctx, m))
	}
}

// refresh keeps what a chat is now.
func (s *screen) refresh(ctx context.Context, c *chatv1.Conversation, here bool) {
	s.mu.Lock()
	if s.chats[c.Id] == nil {
		s.list = append(s.list, c.Id)
	}
	s.chats[c.Id] = c
	if here && s.open != nil && s.open.Id == c.Id {
		s.open = c
	}
	s.mu.Unlock()
	if here {
		s.console.Prompt(clip(s.title(ctx, c), 20) + "> ")
	}
}

// showPresence tells that the other one of the open chat came or went.
func (s *screen) showPresence(ctx context.Context, p *presencev1.Presence) {
	online := p.Status == presencev1.Status_STATUS_ONLINE
	s.mu.Lock()
	was, known := s.present[p.User]
	s.present[p.User] = online
	here := s.open != nil && s.open.Peer == p.User && known && was != online
	s.mu.Unlock()
	if here {
		s.say("* %s is %s", s.name(ctx, p.User), presenceWord(online))
	}
}

// showMark tells once that the other one has, or has read, the last own message.
func (s *screen) showMark(m *chatv1.MemberMark) {
	s.mu.Lock()
	here := s.open != nil && s.open.Id == m.Conversation && s.open.Peer == m.User && s.mine > 0
	read := here && m.ReadSeq >= s.mine && s.read < s.mine
	delivered := here && !read && m.DeliveredSeq >= s.mine && s.delivered < s.mine && s.read < s.mine
	if here {
		s.delivered, s.read = max(s.delivered, m.DeliveredSeq), max(s.read, m.ReadSeq)
	}
	s.mu.Unlock()
	switch {
	case read:
		s.say("       (read)")
	case delivered:
		s.say("       (delivered)")
	}
}

func (s *screen) showTyping(ctx context.Context, conversation, user uint64) {
	s.mu.Lock()
	here := s.open != nil && s.open.Id == conversation && user != s.client.User() && time.Since(s.typing[user]) > typingEvery
	if here {
		s.typing[user] = time.Now()
	}
	s.mu.Unlock()
	if here {
		s.say("* %s is typing …", s.name(ctx, user))
	}
}

func (s *screen) showRelation(ctx context.Context, r *chatv1.Relation) {
	s.mu.Lock()
	was := s.relations[r.User]
	s.relations[r.User] = r
	s.mu.Unlock()
	switch {
	case r.Blocked:
	case asks(r) && !was.GetAsked():
		s.sayAsked(ctx, r)
	case r.Friend && !was.GetFriend():
		s.say("* %s and you are friends now", s.name(ctx, r.User))
	}
}

// asks tells whether somebody waits for an answer.
func asks(r *chatv1.Relation) bool { return r.Asked && !r.Friend && !r.Blocked }

func (s *screen) sayAsked(ctx context.Context, r *chatv1.Relation) {
	name := s.name(ctx, r.User)
	s.say("* %s wants to be your friend: /accept @%s, or /decline. %s", name, s.handle(r.User), oneLine(plain(r.Message)))
}

// pressed is told of each key: the others of the open chat see that the user types a message.
func (s *screen) pressed(first string) {
	s.mu.Lock()
	c := s.open
	due := c != nil && first != "" && first != "/" && s.online && time.Since(s.typed) > typingEvery
	if due {
		s.typed = time.Now()
	}
	s.mu.Unlock()
	if due {
		go s.client.Typing(c.Id) // ends when it is written, or the connection is given up
	}
}
