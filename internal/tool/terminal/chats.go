package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

const (
	pageSize   = 200
	maxShown   = 30  // chats that are shown without "all"
	maxPerCall = 200 // users, or messages, in one call

	maxWatchedUsers = 500 // users whose presence is pushed
)

// begin reads the lists, shows the chats, and watches the presence of their peers.
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
		if isOpenRequest(r) {
			asking = append(asking, r)
		}
	}
	s.mu.Unlock()
	if err := s.listChats(ctx, ""); err != nil {
		return err
	}
	slices.SortFunc(asking, func(a, b *chatv1.Relation) int { return cmp.Compare(a.User, b.User) })
	for _, r := range asking { // their events are not new any more
		s.sayAsked(ctx, r)
	}
	if err := s.announceWarnings(ctx); err != nil {
		return err
	}
	return s.announceNotifications(ctx)
}

// readChats reads the complete list and the names in it.
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
	s.mu.Lock()
	s.list = nil
	clear(s.chats)
	for _, c := range all {
		if s.open != nil && s.open.Id == c.Id {
			c.Unread, c.Mentions, s.open = 0, nil, c // it is on the screen, and marked as read
		}
		s.chats[c.Id] = c
		s.list = append(s.list, c.Id)
	}
	s.mu.Unlock()
	return s.readNames(ctx, s.watchPeople())
}

// watchPeople has the presence of the people in the lists pushed, and returns them.
func (s *screen) watchPeople() []uint64 {
	s.mu.Lock()
	var people []uint64
	for _, c := range s.chats {
		if c.Peer != 0 {
			people = append(people, c.Peer)
		}
	}
	for u, r := range s.relations {
		if r.Friend {
			people = append(people, u)
		}
	}
	slices.Sort(people)
	people = slices.Compact(people)
	same := slices.Equal(people, s.watched)
	s.watched = people
	s.mu.Unlock()
	if !same {
		s.client.Watch(people[:min(len(people), maxWatchedUsers)]...)
	}
	return people
}

// listedBy says which chats /chats lists, by its argument.
var listedBy = map[string]func(*chatv1.Conversation) bool{
	"":       func(*chatv1.Conversation) bool { return true },
	"all":    func(*chatv1.Conversation) bool { return true },
	"unread": func(c *chatv1.Conversation) bool { return c.Unread > 0 || c.State.GetMarkedUnread() },
	"groups": func(c *chatv1.Conversation) bool { return c.Peer == 0 },
	"direct": func(c *chatv1.Conversation) bool { return c.Peer != 0 },
}

func (s *screen) listChats(ctx context.Context, rest string) error {
	listed, ok := listedBy[rest]
	if !ok {
		f, err := s.folderNamed(ctx, rest)
		if errors.Is(err, errNoFolder) {
			return errorf("/chats takes nothing, one of all, unread, groups and direct, or the name of a folder")
		}
		if err != nil {
			return err
		}
		listed = func(c *chatv1.Conversation) bool { return slices.Contains(f.Conversations, c.Id) }
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
	online, err := s.onlineOf(ctx, chats[:min(len(chats), maxPerCall)])
	if err != nil {
		return err
	}
	titles := s.titlesOf(ctx, chats)
	left, badge := 0, uint64(0)
	for i, c := range chats {
		if !listed(c) {
			continue
		}
		if c.State.GetArchived() && rest == "" || i >= maxShown && rest == "" {
			left++
			continue
		}
		if !c.State.GetMuted() && !c.State.GetArchived() {
			badge += c.Unread
		}
		st := style("")
		if c.Unread > 0 && !c.State.GetMuted() {
			st = bold
		}
		s.say("%s", s.paint(st, fmt.Sprintf("%3d %s %s", i+1, flags(c, online[c.Peer]), s.entry(ctx, c, titles[c.Id]))))
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

// flags of a chat: pinned, muted, and whether the peer is online.
func flags(c *chatv1.Conversation, online bool) string {
	f := []byte("   ")
	for i, on := range []bool{c.State.GetPinned(), c.State.GetMuted(), online} {
		if on {
			f[i] = "^-*"[i]
		}
	}
	return string(f)
}

// titlesOf returns the titles of a list of chats. Of those whose titles are equal, chats with people have the handles, too, and groups the number of their members, or, if that is equal, the end of the id.
func (s *screen) titlesOf(ctx context.Context, chats []*chatv1.Conversation) map[uint64]string {
	titles, groups := map[uint64]string{}, map[string][]*chatv1.Conversation{}
	times := map[string]int{}
	for _, c := range chats {
		title := s.title(ctx, c)
		titles[c.Id] = title
		times[title]++
		if c.Peer == 0 && c.Parent == 0 {
			groups[title] = append(groups[title], c)
		}
	}
	for _, c := range chats {
		if title := titles[c.Id]; c.Peer != 0 && c.Peer != s.client.User() && times[title] > 1 {
			titles[c.Id] = title + " @" + s.handle(c.Peer)
		}
	}
	for title, equal := range groups {
		if len(equal) < 2 {
			continue
		}
		sizes := map[uint32]int{}
		for _, c := range equal {
			sizes[c.MemberCount]++
		}
		ends := shortIDs(equal)
		for _, c := range equal {
			about := counted(c.MemberCount, "member")
			if sizes[c.MemberCount] > 1 {
				about += phrasef(", id …%s", ends[c.Id])
			}
			titles[c.Id] = title + " (" + about + ")"
		}
	}
	return titles
}

// shortIDs returns the ends of the ids of chats, as long as they need to be to differ, and at least four digits.
func shortIDs(chats []*chatv1.Conversation) map[uint64]string {
	for digits := 4; ; digits++ {
		ends, found := map[uint64]string{}, map[string]bool{}
		for _, c := range chats {
			text := strconv.FormatUint(c.Id, 10)
			ends[c.Id] = text[max(0, len(text)-digits):]
			found[ends[c.Id]] = true
		}
		if len(found) == len(ends) {
			return ends
		}
	}
}

// entry returns a line of the list: title, unread count, last message.
func (s *screen) entry(ctx context.Context, c *chatv1.Conversation, title string) string {
	text := title
	if c.Unread > 0 {
		text += phrasef("  (%d new)", c.Unread)
	} else if c.State.GetMarkedUnread() {
		text += phrase("  (marked unread)")
	}
	if len(c.Mentions) > 0 {
		text += phrasef("  (@you: #%d)", c.Mentions[0])
	}
	if s.draftOf(c) != "" {
		text += phrase("  [draft]")
	}
	if k := c.LastMessage.GetContent().GetControl(); c.LastMessage != nil && (k == nil || s.control(ctx, k) != "") {
		text += "  " + excerpt.Marked(oneLine(s.line(ctx, c.LastMessage)), 60)
	}
	return text
}

// onlineOf returns which peers of chats are online.
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
		s.notePresence(p)
		online[p.User] = isOnline(p)
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

func (s *screen) openSaved(ctx context.Context, _ string) error {
	c, err := call(ctx, s.client.Chat().OpenDirect, &chatv1.OpenDirectRequest{User: s.client.User()})
	if err != nil {
		return err
	}
	return s.enter(ctx, c)
}

// enter opens a chat and shows its newest messages.
func (s *screen) enter(ctx context.Context, c *chatv1.Conversation) error {
	if c.State.GetMarkedUnread() {
		read := &chatv1.ConfigureRequest{Conversation: c.Id, MarkedUnread: no()}
		if _, err := call(ctx, s.client.Chat().Configure, read); err != nil {
			return err
		}
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.setOpen(ctx, c)
	if t := c.Announcement; t != "" {
		s.say("announcement: %s", indented(plain(t)))
	}
	err := s.page(ctx, 20, 0)
	s.offerDraft(c)
	return err
}

// chatOf finds a chat by its number, a user, or a part of its title.
func (s *screen) chatOf(ctx context.Context, which string) (*chatv1.Conversation, error) {
	if n, err := strconv.Atoi(which); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n < 1 || n > len(s.list) {
			return nil, errorf("no chat has this number; /chats lists them")
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
			return nil, errorf("%d chats have %q in their titles; give the number from /chats", len(found), plain(which))
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
	clear(s.messages)
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
	s.watchPeople()
	title := s.title(ctx, c)
	s.mu.Lock()
	presence, known := s.present[c.Peer]
	s.mu.Unlock()
	if known {
		s.say("--- %s --- (%s)", title, presence)
	} else {
		s.say("--- %s ---", title)
	}
	s.console.Prompt(promptOf(title, c.Peer))
}

func (s *screen) markUnread(ctx context.Context, _ string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	if _, err := call(ctx, s.client.Chat().Configure, &chatv1.ConfigureRequest{Conversation: c.Id, MarkedUnread: yes()}); err != nil {
		return err
	}
	s.shut(ctx)
	return nil
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

// send queues a text. The message appears on the screen when it is stored; a refusal is printed.
func (s *screen) send(ctx context.Context, text string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	s.queueSaying(ctx, c.Id, s.composeText(ctx, c, text), phrasef("you: %s", indented(plain(text))))
	if s.keyed { // the row was the draft
		s.setDraft(c.Id, "")
	}
	return nil
}

func textContent(text string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
}

// queueSaying queues a content, and says what waits while there is no connection.
func (s *screen) queueSaying(ctx context.Context, conversation uint64, content *chatv1.Content, what string) {
	s.queue(ctx, conversation, content)
	s.mu.Lock()
	online := s.online || !s.wasOnline
	s.mu.Unlock()
	if !online {
		s.say("(waits)  %s", what)
	}
}

func (s *screen) queue(ctx context.Context, conversation uint64, content *chatv1.Content) {
	wait := s.client.Queue(conversation, content)
	go func() { // ends with the receipt, or with ctx
		if _, err := wait(ctx); err != nil && ctx.Err() == nil {
			s.say("! not sent: %s", explain(err))
		}
	}()
}

// configure returns a command that changes the user's settings of the open chat.
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

func (s *screen) readers(ctx context.Context, rest string) error {
	conversation, seq, err := s.ownMessage(ctx, rest)
	if err != nil {
		return err
	}
	for i, heading := range []string{phrase("read"), phrase("not read")} {
		names, err := s.namesOf(ctx, func(page string) ([]uint64, string, error) {
			r, err := call(ctx, s.client.Chat().ListReaders, &chatv1.ListReadersRequest{Conversation: conversation, Seq: seq, Limit: pageSize, Page: page, Unread: i == 1})
			return r.GetUsers(), r.GetNext(), err
		})
		if err != nil {
			return err
		}
		s.sayNames(heading, names)
	}
	return nil
}

// lastOwn finds the user's newest message in a chat, among the last ones. Recalled messages do not count.
func (s *screen) lastOwn(ctx context.Context, conversation uint64) (*chatv1.Message, error) {
	r, err := call(ctx, s.client.Chat().History, &chatv1.HistoryRequest{Conversation: conversation, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(r.Messages) {
		if m.Sender == s.client.User() && isMessage(m) && m.RecallSeq == 0 {
			return m, nil
		}
	}
	return nil, errorf("none of the last messages is yours; give the number of one")
}
