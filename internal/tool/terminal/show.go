package terminal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/printable"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// typingEvery is the minimum interval of typing notifications, sent and shown.
const typingEvery = 4 * time.Second

// explain returns the part of an error that helps the user.
func explain(err error) string {
	if r, ok := refusalOf(err); ok {
		return r.text()
	}
	var unreachable *connect.Error
	var own *clientError
	switch {
	case errors.As(err, &unreachable):
		return phrasef("the server cannot be reached: %s", plain(unreachable.Message()))
	case errors.Is(err, rialto.ErrSignedOut):
		return phrase("your session has ended; start again to log in")
	case errors.As(err, &own) && speaksChinese():
		return plain(own.inChinese())
	}
	return plain(err.Error())
}

// plain removes characters that control the terminal.
func plain(text string) string { return printable.Text(text) }

// oneLine joins the lines of a plain text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// indented indents the further lines of a text, so that they cannot look like a message of another user.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n         ") }

// sayAll prints lines from a map, sorted.
func (s *screen) sayAll(lines []string) {
	slices.Sort(lines)
	for _, l := range lines {
		s.say("%s", l)
	}
}

func (s *screen) title(ctx context.Context, c *chatv1.Conversation) string {
	switch c.Peer {
	case 0:
		if c.Parent != 0 {
			return phrase("thread")
		}
		if c.Ticket {
			return s.ticketTitle(ctx, c)
		}
		return oneLine(plain(c.Title))
	case s.client.User():
		return phrase("saved messages")
	}
	return s.name(ctx, c.Peer)
}

func size(n uint64) string {
	switch {
	case n < 10<<10:
		return phrasef("%d bytes", n)
	case n < 10<<20:
		return phrasef("%d KiB", n>>10)
	}
	return phrasef("%d MiB", n>>20)
}

// control describes a control entry; it is empty if users need not see it.
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
		if c.Actor == 0 { // by the server, as a ticket
			return phrasef("%q was created with %s", oneLine(text), users)
		}
		if users == "" { // a channel, whose followers are not named, or a group without others
			return phrasef("%s created %q", actor, oneLine(text))
		}
		return phrasef("%s created the group %q with %s", actor, oneLine(text), users)
	case chatv1.Control_ACTION_JOINED:
		if len(c.Users) == 1 && c.Users[0] == c.Actor {
			return phrasef("%s joined", actor)
		}
		return phrasef("%s added %s", actor, users)
	case chatv1.Control_ACTION_LEFT:
		return phrasef("%s left", users)
	case chatv1.Control_ACTION_REMOVED:
		return phrasef("%s removed %s", actor, users)
	case chatv1.Control_ACTION_BANNED:
		return phrasef("%s banned %s", actor, users)
	case chatv1.Control_ACTION_UNBANNED:
		return phrasef("%s unbanned %s", actor, users)
	case chatv1.Control_ACTION_ROLE:
		return phrasef("%s: now %s (by %s)", users, roleName(c.Role), actor)
	case chatv1.Control_ACTION_RENAMED:
		return phrasef("%s renamed the group to %q", actor, oneLine(text))
	case chatv1.Control_ACTION_ANNOUNCED:
		if text == "" {
			return phrasef("%s removed the announcement", actor)
		}
		return phrasef("%s announced: %s", actor, text)
	case chatv1.Control_ACTION_MUTED:
		if users == "" {
			users = phrase("all but admins")
		}
		if c.UntilMs == 0 {
			return phrasef("%s let %s write again", actor, users)
		}
		return phrasef("%s silenced %s until %s", actor, users, dated(time.UnixMilli(c.UntilMs), "2 January, 15:04"))
	case chatv1.Control_ACTION_TICKET:
		return s.ticketEntry(ctx, c)
	case chatv1.Control_ACTION_TRANSFERRED:
		return phrasef("the group now belongs to %s", users)
	case chatv1.Control_ACTION_DISSOLVED:
		return phrasef("%s dissolved the group", actor)
	case chatv1.Control_ACTION_JOIN_POLICY:
		return phrasef("joining is now by %s", policyName(c.JoinPolicy))
	case chatv1.Control_ACTION_AVATAR:
		return phrasef("%s changed the group's picture", actor)
	case chatv1.Control_ACTION_RETENTION:
		seconds := max(c.RetentionSeconds, c.RetentionDays*24*60*60)
		if seconds == 0 {
			return phrasef("%s let messages be kept as the server keeps them", actor)
		}
		return phrasef("%s set messages to disappear after %s", actor, keptText(seconds))
	}
	return ""
}

// show prints an event.
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
	case e.Streamed != nil:
		s.showStreamed(ctx, e.Streamed)
	case e.Presence != nil:
		s.showPresence(ctx, e.Presence)
	case e.Relation != nil:
		s.showRelation(ctx, e.Relation, e.Live)
	case e.Post != nil:
		s.announcePost(ctx, e.Post.Author)
	case e.Decisions != nil:
		if err := s.announceWarnings(ctx); err != nil {
			s.say("! %s", explain(err))
		}
	case e.Notifications != nil:
		if err := s.announceNotifications(ctx); err != nil {
			s.say("! %s", explain(err))
		}
	case e.Conversation != nil:
		s.configured(e.Conversation)
	case e.Profile != nil:
		s.mu.Lock()
		delete(s.people, e.Profile.User)
		s.mu.Unlock()
	case e.Follow != nil:
		s.showFollow(ctx, e.Follow)
	case e.JoinRequests != nil:
		s.showRequest(ctx, e.JoinRequests)
	case e.Invitations != nil:
		s.showInvitation(ctx, e.Invitations)
	case e.Ticket != nil:
		s.showTicket(ctx, e.Ticket, e.Live)
	case e.RoomEntry != nil:
		s.showRoom(ctx, e.RoomEntry)
	case e.RoomUpdate != nil:
		s.showRoomUpdate(ctx, e.RoomUpdate)
	case e.RoomRefused != nil:
		s.leftRoom(e.RoomRefused.Room)
		s.say("! the room cannot be entered: %s", refusalIn(e.RoomRefused.Error).text())
	case e.Refused != nil:
		s.say("! an earlier message was not sent: %s", refusalIn(e.Refused.Error).text())
	case e.Reset:
		if err := s.startAgain(ctx); err != nil {
			s.say("! %s", explain(err))
		}
	}
}

// startAgain reads the lists, and shows the open chat, as after the start. The server may have lost messages: then their numbers are those of others now.
func (s *screen) startAgain(ctx context.Context) error {
	s.mu.Lock()
	clear(s.messages)
	clear(s.before)
	s.shown, s.oldest, s.mine, s.day = 0, 0, 0, ""
	s.mu.Unlock()
	if err := s.readChats(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	for id, c := range s.chats {
		s.before[id] = c.LastSeq
	}
	c := s.open
	s.mu.Unlock()
	s.say("* the server cannot tell what changed; this is what it has now")
	if c == nil {
		return s.listChats(ctx, "")
	}
	s.mu.Lock()
	s.delivered, s.read = c.PeerDeliveredSeq, c.PeerReadSeq
	s.mu.Unlock()
	return s.page(ctx, 20, 0)
}

// showRequest prints a join request, for an admin.
func (s *screen) showRequest(ctx context.Context, r *chatv1.JoinRequests) {
	s.mu.Lock()
	c := s.chats[r.Conversation]
	s.mu.Unlock()
	if r.User != 0 && c != nil {
		s.say("* %s asks to join %s: /requests", s.name(ctx, r.User), s.title(ctx, c))
	}
}

// configured stores the user's settings of a chat. Other goroutines may be reading the chat, so it is replaced.
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
	first, begun, signedOut := !s.wasOnline, s.begunWell, s.signedOut
	s.online = online
	s.wasOnline = s.wasOnline || online
	s.mu.Unlock()
	switch {
	case signedOut: // it needs no connection
	case !online:
		s.say("* offline; messages are stored, and sent when the connection is back")
	case !first:
		s.say("* online")
	}
	if online && !begun { // the server was unavailable at the start
		if err := s.begin(ctx); err != nil {
			s.say("! %s", explain(err))
		}
	}
}

// showMessage prints a message of the open chat, or a line about one of another chat, unless that is muted and the message does not
// mention the user.
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
	if k := m.Content.GetControl(); k != nil || c == nil { // the title or the members may have changed
		if fresh, err := call(ctx, s.client.Chat().GetConversation, &chatv1.GetConversationRequest{Conversation: m.Conversation}); err == nil {
			c = fresh
			s.refresh(ctx, fresh, here)
		}
	}
	isUpdate := rialto.UpdateTarget(m) != 0
	switch {
	case here && old:
		s.applyUpdate(m)
	case here && isUpdate:
		s.putUpdate(ctx, m)
		s.client.Mark(m.Conversation, m.Seq, m.Seq)
	case here:
		s.putNew(ctx, m)
		s.client.Mark(m.Conversation, m.Seq, m.Seq)
	case own || old:
		if !own {
			s.client.Mark(m.Conversation, m.Seq, 0)
		}
	default:
		s.client.Mark(m.Conversation, m.Seq, 0)
		if c == nil || c.State.GetMuted() && !s.client.Mentioned(m) || !rialto.Shown(m) || m.Content.GetControl() != nil && s.control(ctx, m.Content.GetControl()) == "" {
			return
		}
		s.say("%s %s", s.paint(bold, "["+s.title(ctx, c)+"]"), s.paintedLine(ctx, m, "")+s.paint(bold, s.mentionMark(m))+s.preview(m))
	}
}

// refresh updates a chat's state.
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
		s.console.Prompt(excerpt.Marked(s.title(ctx, c), 20) + "> ")
	}
}

// showMark prints once that the peer has received or read the user's last message.
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

// showRelation announces a request or a new friend. An event of a sync may be older than the list that was read, so the list is read again
// after the sync.
func (s *screen) showRelation(ctx context.Context, r *chatv1.Relation, live bool) {
	if !live {
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		return
	}
	s.mu.Lock()
	was := s.relations[r.User]
	s.relations[r.User] = r
	s.mu.Unlock()
	s.announceRelation(ctx, was, r)
	s.watchPeople()
}

// settleRelations reads the relations that changed while this client was offline, and announces what is new.
func (s *screen) settleRelations(ctx context.Context) {
	s.mu.Lock()
	due := s.changed && s.begunWell
	before := s.relations
	s.mu.Unlock()
	if !due || s.readRelations(ctx) != nil { // a failure is tried again with the next event
		return
	}
	s.mu.Lock()
	s.changed = false
	now := maps.Clone(s.relations)
	s.mu.Unlock()
	for _, u := range slices.Sorted(maps.Keys(now)) {
		s.announceRelation(ctx, before[u], now[u])
	}
	s.watchPeople()
}

func (s *screen) announceRelation(ctx context.Context, was, r *chatv1.Relation) {
	switch {
	case r.Blocked:
	case isOpenRequest(r) && !was.GetAsked():
		s.sayAsked(ctx, r)
	case r.Friend && !was.GetFriend():
		s.say("* %s and you are friends now", s.name(ctx, r.User))
	}
}

// isOpenRequest reports whether a friend request waits for an answer.
func isOpenRequest(r *chatv1.Relation) bool { return r.Asked && !r.Friend && !r.Blocked }

func (s *screen) sayAsked(ctx context.Context, r *chatv1.Relation) {
	name := s.name(ctx, r.User)
	s.say("* %s wants to be your friend: /accept @%s, or /decline. %s", name, s.handle(r.User), oneLine(plain(r.Message)))
}

// pressed is called with the row after it was changed. It notes the draft, and notifies the others in the open chat that the user is typing.
func (s *screen) pressed(line string) {
	s.mu.Lock()
	c := s.open
	text, isMessage := messageIn(line)
	if c != nil && isMessage {
		s.noteDraft(c.Id, s.begun+text)
	}
	due := c != nil && isMessage && text != "" && s.online && time.Since(s.typed) > typingEvery
	if due {
		s.typed = time.Now()
	}
	s.mu.Unlock()
	if due {
		go s.client.Typing(c.Id) // ends when it is written, or the connection is lost
	}
}
