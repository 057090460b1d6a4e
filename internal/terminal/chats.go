package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
)

const (
	pageSize  = 200
	listed    = 30  // chats that are shown without "all"
	mostAsked = 200 // users in one call
)

// begin reads the lists, shows the chats, and watches those whose presence is shown.
func (s *screen) begin(ctx context.Context) error {
	if err := s.readRelations(ctx); err != nil {
		return err
	}
	if err := s.readChats(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	for id, c := range s.chats {
		s.before[id] = c.LastSeq
	}
	s.begunWell = true
	var asking []*chatv1.Relation
	for _, r := range s.relations {
		if asks(r) {
			asking = append(asking, r)
		}
	}
	s.mu.Unlock()
	if err := s.listChats(ctx, ""); err != nil {
		return err
	}
	slices.SortFunc(asking, func(a, b *chatv1.Relation) int { return cmp.Compare(a.User, b.User) })
	for _, r := range asking { // their events say nothing new any more
		s.sayAsked(ctx, r)
	}
	return nil
}

// readChats reads the whole list, and the names in it.
func (s *screen) readChats(ctx context.Context) error {
	var all []*chatv1.Conversation
	for page := ""; ; {
		r, err := call(ctx, s.client.Chat().ListConversations, &chatv1.ListConversationsRequest{Limit: pageSize, Page: page})
		if err != nil {
			return err
		}
		all = append(all, r.Conversations...)
		if page = r.Next; page == "" {
			break
		}
	}
	var peers []uint64
	s.mu.Lock()
	s.list = nil
	clear(s.chats)
	for _, c := range all {
		if s.open != nil && s.open.Id == c.Id {
			c.Unread, s.open = 0, c // it is on the screen, and its mark on the way
		}
		s.chats[c.Id] = c
		s.list = append(s.list, c.Id)
		if c.Peer != 0 {
			peers = append(peers, c.Peer)
		}
	}
	for u, r := range s.relations {
		if r.Friend {
			peers = append(peers, u)
		}
	}
	s.mu.Unlock()
	slices.Sort(peers)
	peers = slices.Compact(peers)
	if err := s.readNames(ctx, peers); err != nil {
		return err
	}
	s.client.Watch(peers[:min(len(peers), 500)]...)
	return nil
}

func (s *screen) listChats(ctx context.Context, rest string) error {
	if rest != "" && rest != "all" {
		return errors.New("/chats takes nothing, or all")
	}
	if err := s.readChats(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	list, chats := slices.Clone(s.list), make([]*chatv1.Conversation, len(s.list))
	for i, id := range list {
		chats[i] = s.chats[id]
	}
	s.mu.Unlock()
	online, err := s.onlineOf(ctx, chats[:min(len(chats), mostAsked)])
	if err != nil {
		return err
	}
	left, badge := 0, uint64(0)
	for i, c := range chats {
		if c.State.GetArchived() && rest == "" || i >= listed && rest == "" {
			left++
			continue
		}
		if !c.State.GetMuted() {
			badge += c.Unread
		}
		s.say("%3d %s %s", i+1, flags(c, online[c.Peer]), s.entry(ctx, c))
	}
	switch {
	case len(list) == 0:
		s.say("No chats yet. /find somebody and /open @handle, or make a /group.")
	case left > 0:
		s.say("    and %d more: /chats all", left)
	}
	if badge > 0 {
		s.say("    %d unread", badge)
	}
	return nil
}

// flags of a chat: pinned, muted, and whether the other one is online.
func flags(c *chatv1.Conversation, online bool) string {
	f := []byte("   ")
	for i, on := range []bool{c.State.GetPinned(), c.State.GetMuted(), online} {
		if on {
			f[i] = "^-*"[i]
		}
	}
	return string(f)
}

// entry of the list: title, unread, the last message.
func (s *screen) entry(ctx context.Context, c *chatv1.Conversation) string {
	text := s.title(ctx, c)
	if c.Unread > 0 {
		text += fmt.Sprintf("  (%d new)", c.Unread)
	}
	if c.State.GetDraft() != "" {
		text += "  [draft]"
	}
	if c.LastMessage != nil {
		text += "  " + clip(oneLine(s.line(ctx, c.LastMessage)), 60)
	}
	return text
}

// onlineOf asks who of the peers of chats is online.
func (s *screen) onlineOf(ctx context.Context, chats []*chatv1.Conversation) (map[uint64]bool, error) {
	online := map[uint64]bool{}
	var users []uint64
	for _, c := range chats {
		if c.Peer != 0 {
			users = append(users, c.Peer)
		}
	}
	if len(users) == 0 {
		return online, nil
	}
	r, err := call(ctx, s.client.Presence().GetPresence, &presencev1.GetPresenceRequest{Users: users})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range r.Presences {
		s.present[p.User] = p.Status == presencev1.Status_STATUS_ONLINE
		online[p.User] = p.Status == presencev1.Status_STATUS_ONLINE
	}
	return online, nil
}

func (s *screen) openChat(ctx context.Context, which string) error {
	c, err := s.chatOf(ctx, which)
	if err != nil {
		return err
	}
	return s.enter(ctx, c)
}

// enter opens a chat and shows its newest messages.
func (s *screen) enter(ctx context.Context, c *chatv1.Conversation) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.setOpen(ctx, c)
	if t := c.Announcement; t != "" {
		s.say("announcement: %s", indented(plain(t)))
	}
	if d := c.State.GetDraft(); d != "" {
		s.say("draft from another device: %s", indented(plain(d)))
	}
	return s.page(ctx, 20, 0)
}

// chatOf finds a chat by its number, by a user, or by a part of its title.
func (s *screen) chatOf(ctx context.Context, which string) (*chatv1.Conversation, error) {
	if n, err := strconv.Atoi(which); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n < 1 || n > len(s.list) {
			return nil, errors.New("there is no such number; /chats lists them")
		}
		return s.chats[s.list[n-1]], nil
	}
	if !strings.HasPrefix(which, "@") && which != "" {
		s.mu.Lock()
		list := slices.Clone(s.list)
		s.mu.Unlock()
		var found []*chatv1.Conversation
		for _, id := range list {
			s.mu.Lock()
			c := s.chats[id]
			s.mu.Unlock()
			if c != nil && strings.Contains(strings.ToLower(s.title(ctx, c)), strings.ToLower(which)) {
				found = append(found, c)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return nil, fmt.Errorf("%d chats have %q in their titles; give the number from /chats", len(found), plain(which))
		}
	}
	u, _, err := s.userOf(ctx, which)
	if err != nil {
		return nil, err
	}
	return call(ctx, s.client.Chat().OpenDirect, &chatv1.OpenDirectRequest{User: u})
}

// setOpen makes a chat the open one; nil closes it. The caller holds turn.
func (s *screen) setOpen(ctx context.Context, c *chatv1.Conversation) {
	s.mu.Lock()
	s.open, s.shown, s.oldest, s.mine, s.delivered, s.read, s.day = c, 0, 0, 0, 0, 0, ""
	if c != nil {
		s.delivered, s.read = c.PeerDeliveredSeq, c.PeerReadSeq
		if s.chats[c.Id] == nil {
			s.list = append(s.list, c.Id)
		}
		s.chats[c.Id] = c
	}
	s.mu.Unlock()
	if c == nil {
		s.console.Prompt("> ")
		return
	}
	title := s.title(ctx, c)
	s.mu.Lock()
	online, known := s.present[c.Peer]
	s.mu.Unlock()
	if known {
		s.say("--- %s --- (%s)", title, presenceWord(online))
	} else {
		s.say("--- %s ---", title)
	}
	s.console.Prompt(clip(title, 20) + "> ")
}

func (s *screen) closeChat(ctx context.Context, _ string) error {
	if _, err := s.current(); err != nil {
		return err
	}
	s.shut(ctx)
	return nil
}

func (s *screen) shut(ctx context.Context) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.setOpen(ctx, nil)
}

// count of messages that a command names.
func count(text string) (uint32, error) {
	if text == "" {
		return 20, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageSize {
		return 0, fmt.Errorf("give a number of messages, 1 to %d", pageSize)
	}
	return uint32(n), nil
}

func (s *screen) history(ctx context.Context, rest string) error {
	n, err := count(rest)
	if err != nil {
		return err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.page(ctx, n, 0)
}

func (s *screen) more(ctx context.Context, rest string) error {
	n, err := count(rest)
	if err != nil {
		return err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	oldest := s.oldest
	s.mu.Unlock()
	return s.page(ctx, n, oldest)
}

// page shows the messages before a seq; 0 means the newest. The caller holds turn.
func (s *screen) page(ctx context.Context, n uint32, before uint64) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: c.Id, Before: before, Limit: n})
	if err != nil {
		return err
	}
	if len(r.Messages) == 0 {
		if before > 0 {
			s.say("There is nothing older.")
		}
		return nil
	}
	first, last := r.Messages[0].Seq, r.Messages[len(r.Messages)-1].Seq
	s.mu.Lock()
	s.day = ""
	s.oldest, s.shown = first, max(s.shown, last)
	s.mu.Unlock()
	for _, m := range r.Messages {
		s.put(ctx, m)
	}
	if r.More && before == 0 {
		s.say("    older ones: /more")
	}
	s.client.Mark(c.Id, last, last)
	return nil
}

// put writes a message of the open chat, and its day where that is another.
func (s *screen) put(ctx context.Context, m *chatv1.Message) {
	if m.Content.GetControl() != nil && s.control(ctx, m.Content.GetControl()) == "" {
		return
	}
	day := time.UnixMilli(m.TimeMs).Format("Monday, 2 January 2006")
	s.mu.Lock()
	another := day != s.day
	s.day = day
	mark := ""
	if s.open != nil && s.open.Peer != 0 && m.Sender == s.client.User() && m.Content.GetControl() == nil {
		s.mine = max(s.mine, m.Seq)
		if m.Seq <= s.read {
			mark = "  (read)"
		} else if m.Seq <= s.delivered {
			mark = "  (delivered)"
		}
	}
	s.mu.Unlock()
	if another {
		s.say("      %s", day)
	}
	s.say("%s%s", s.line(ctx, m), mark)
}

// send queues a text. That it is stored shows by its coming back; a refusal is said.
func (s *screen) send(ctx context.Context, text string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	s.queue(ctx, c.Id, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
	s.mu.Lock()
	online := s.online || !s.wasOnline
	s.mu.Unlock()
	if !online {
		s.say("(waits)  you: %s", indented(plain(text)))
	}
	return nil
}

func (s *screen) queue(ctx context.Context, conversation uint64, content *chatv1.Content) {
	wait := s.client.Queue(conversation, content)
	go func() { // ends with the receipt, or with ctx
		if _, err := wait(ctx); err != nil && ctx.Err() == nil {
			s.say("! not sent: %s", explain(err))
		}
	}()
}

// configure makes a command that sets one's own view of the open chat.
func configure(set func(*chatv1.ConfigureRequest)) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, _ string) error {
		c, err := s.current()
		if err != nil {
			return err
		}
		r := &chatv1.ConfigureRequest{Conversation: c.Id}
		set(r)
		_, err = call(ctx, s.client.Chat().Configure, r)
		return s.done(err)
	}
}

// keep sets for how long the messages of the open chat are kept.
func (s *screen) keep(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	days, err := strconv.ParseUint(rest, 10, 32)
	if rest != "default" && (err != nil || days == 0) {
		return errors.New("say for how many days, as /keep 30; /keep default leaves it to the server; what is older is gone for good")
	}
	_, err = call(ctx, s.client.Chat().SetRetention, &chatv1.SetRetentionRequest{Conversation: c.Id, Days: uint32(days)})
	return s.done(err)
}

func (s *screen) readers(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	seq, err := strconv.ParseUint(rest, 10, 64)
	if rest == "" {
		if seq, err = s.lastOwn(ctx, c.Id); err != nil {
			return err
		}
	} else if err != nil {
		return errors.New("give the seq of a message of yours")
	}
	for _, unread := range []bool{false, true} {
		var names []string
		for page := ""; ; {
			r, err := call(ctx, s.client.Chat().ListReaders, &chatv1.ListReadersRequest{Conversation: c.Id, Seq: seq, Limit: pageSize, Page: page, Unread: unread})
			if err != nil {
				return err
			}
			if err := s.readNames(ctx, r.Users); err != nil {
				return err
			}
			for _, u := range r.Users {
				names = append(names, s.name(ctx, u))
			}
			if page = r.Next; page == "" {
				break
			}
		}
		if len(names) > 0 {
			s.say("  %s: %s", map[bool]string{false: "read", true: "not read"}[unread], strings.Join(names, ", "))
		}
	}
	return nil
}

// lastOwn finds the newest own message of a chat, among the last ones.
func (s *screen) lastOwn(ctx context.Context, conversation uint64) (uint64, error) {
	r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: conversation, Limit: pageSize})
	if err != nil {
		return 0, err
	}
	for _, m := range slices.Backward(r.Messages) {
		if m.Sender == s.client.User() && m.Content.GetControl() == nil {
			return m.Seq, nil
		}
	}
	return 0, errors.New("none of the last messages is yours; give the seq of one")
}
