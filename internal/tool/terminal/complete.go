package terminal

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// completion of what stands before the cursor: what replaces its last part, and what the user can choose from.
type completion struct {
	from    int      // index in the text where the part begins that is completed
	choices []string // in order; what is typed is the beginning of each, whatever its case
}

// words that commands take, by command. The first word of their arguments is completed.
var argumentWords = map[string][]string{
	"channel": {"join", "leave", "new"}, "chats": {"all", "direct", "groups", "unread"}, "comments": {"more"}, "favourites": {"more"}, "feed": {"more"}, "hide": {"read"}, "hot": {"more", "today", "week"}, "keep": {"default"}, "liked": {"more"}, "folders": {"add", "delete", "down", "remove", "up"}, "logout": {"all"}, "notifications": {"more", "read"}, "notify": {"off", "on"}, "policy": {"approval", "invite", "open"},
	"addable": {"default", "everyone", "friends", "nobody"}, "previews": {"off", "on"}, "presence": {"auto", "dnd", "invisible"}, "visible": {"everyone", "friends", "nobody"},
	"room": {"announce", "close", "enter", "info", "kick", "leave", "like", "list", "moderator", "mute", "new", "rename", "send"}, "dissolve": {"yes"}, "draft": {"clear", "send"}, "silence": {"all"}, "unsilence": {"all"}, "viewed": {"clear", "more"},
}

// laterFile is what stands before the path of a file that is sent later.
var laterFile = regexp.MustCompile(`^\S+ +/(file|album|voice) `)

// commonEmoji are those that /react completes; it takes any other, too.
var commonEmoji = []string{"👍", "❤️", "😂", "🎉", "😮", "😢"}

// takesDesk says which commands take the key of a help desk first.
var takesDesk = map[string]bool{"ticket": true, "tickets": true, "take": true, "transfer": true}

// maxSeqs is the number of messages, the newest ones, whose numbers are completed.
const maxSeqs = 10

// takesSeq says which messages of the open chat a command takes the number of.
var takesSeq = map[string]func(s *screen, m *chatv1.Message) bool{
	"reply": anyMessage, "react": anyMessage, "pin": anyMessage,
	"edits":     func(_ *screen, m *chatv1.Message) bool { return m.EditedMs != 0 },
	"reactions": func(_ *screen, m *chatv1.Message) bool { return len(m.Reactions.GetCounts()) > 0 },
	"edit":      func(s *screen, m *chatv1.Message) bool { return m.Sender == s.client.User() },
	"readers":   func(s *screen, m *chatv1.Message) bool { return m.Sender == s.client.User() },
	"delivered": func(s *screen, m *chatv1.Message) bool { return m.Sender == s.client.User() },
	"stop":      func(_ *screen, m *chatv1.Message) bool { return m.Content.GetStreamed() != nil },
	"recall":    anyMessage, // admins recall messages by others, too
	"save":      func(_ *screen, m *chatv1.Message) bool { return len(filesOf(m.Content)) > 0 },
	"unpin":     func(_ *screen, m *chatv1.Message) bool { return m.Pinned },
	"unreact":   func(_ *screen, m *chatv1.Message) bool { return len(m.Reactions.GetMine()) > 0 },
}

func anyMessage(*screen, *chatv1.Message) bool { return true }

// complete finds what the text before the cursor may become: a command, a handle, the title of a chat, or a file.
func (s *screen) complete(text string) completion {
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return completion{}
	}
	name, rest, isArgument := strings.Cut(text[1:], " ")
	if !isArgument {
		return matching(0, text, commandNames())
	}
	begin := strings.LastIndexByte(text, ' ') + 1
	last := text[begin:]
	switch {
	case name == "file" || name == "avatar" || name == "voice":
		return files(len("/"+name+" "), rest)
	case name == "later" && laterFile.MatchString(rest):
		return files(begin, last)
	case name == "album":
		return files(begin, last)
	case takesSeq[name] != nil && !strings.Contains(rest, " "):
		return s.seqs(begin, last, takesSeq[name])
	case name == "react" && strings.Count(rest, " ") == 1:
		return matching(begin, last, commonEmoji)
	case name == "unreact" && strings.Count(rest, " ") == 1:
		return matching(begin, last, s.ownEmoji(rest))
	case strings.HasPrefix(last, "@"):
		return matching(begin, last, s.knownHandles())
	case name == "open":
		return matching(len("/open "), rest, s.titles())
	case name == "role" && strings.HasPrefix(rest, "@") && strings.Contains(rest, " "):
		return matching(begin, last, []string{"admin", "member"})
	case name == "notify" && strings.Count(rest, " ") == 1 && !strings.HasPrefix(rest, "@"):
		return matching(begin, last, notificationWords())
	case name == "hide" && strings.Contains(rest, " "):
		return matching(begin, last, []string{"off"})
	case name == "tickets" && strings.Count(rest, " ") == 1:
		return matching(begin, last, []string{"active", "resolved", "waiting"})
	case takesDesk[name] && !strings.Contains(rest, " "):
		return matching(begin, last, s.knownDesks())
	case !strings.Contains(rest, " "):
		return matching(begin, last, argumentWords[name])
	}
	return completion{}
}

func matching(from int, typed string, all []string) completion {
	c := completion{from: from}
	for _, word := range all {
		if len(word) >= len(typed) && strings.EqualFold(word[:len(typed)], typed) {
			c.choices = append(c.choices, word)
		}
	}
	slices.Sort(c.choices)
	c.choices = slices.Compact(c.choices)
	return c
}

// seqs completes the number of a message in the open chat: those of the newest messages, in their order.
func (s *screen) seqs(from int, typed string, takes func(*screen, *chatv1.Message) bool) completion {
	sign := ""
	if strings.HasPrefix(typed, "#") {
		sign = "#"
	}
	c := completion{from: from}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range slices.Backward(slices.Sorted(maps.Keys(s.messages))) {
		word := sign + strconv.FormatUint(seq, 10)
		if m := s.messages[seq]; m.RecallSeq != 0 || !strings.HasPrefix(word, typed) || !takes(s, m) {
			continue
		}
		if c.choices = append(c.choices, word); len(c.choices) == maxSeqs {
			break
		}
	}
	slices.Reverse(c.choices)
	return c
}

// ownEmoji returns the user's own emoji on the message whose number begins a text.
func (s *screen) ownEmoji(text string) []string {
	word, _, _ := strings.Cut(text, " ")
	seq, err := parseSeq(word)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages[seq].GetReactions().GetMine()
}

func commandNames() []string {
	var names []string
	for _, part := range sections() {
		for _, c := range part.commands {
			names = append(names, "/"+c.name)
		}
	}
	return names
}

// knownHandles of users whom the screen has shown.
func (s *screen) knownHandles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	handles := make([]string, 0, len(s.people))
	for _, p := range s.people {
		handles = append(handles, "@"+p.handle)
	}
	return handles
}

// knownDesks are the keys of the help desks, once they were listed.
func (s *screen) knownDesks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deskKeys)
}

// titles of the chats in the list, as far as their names are known.
func (s *screen) titles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	titles := make([]string, 0, len(s.list))
	for _, id := range s.list {
		c := s.chats[id]
		if c == nil {
			continue
		}
		title := oneLine(plain(c.Title))
		if l, ok := s.tickets[id]; ok {
			title = titleOfTicket(c, s.people[l.customer].name, l.subject)
		}
		if c.Peer != 0 {
			title = s.people[c.Peer].name
			if r := s.relations[c.Peer]; r.GetFriend() && r.GetRemark() != "" {
				title = oneLine(plain(r.Remark))
			}
		}
		if title != "" {
			titles = append(titles, title)
		}
	}
	return titles
}

// files completes a path. One with a space is put in quotes, as /file takes it.
func files(from int, typed string) completion {
	quoted := strings.HasPrefix(typed, `"`)
	path := strings.TrimPrefix(typed, `"`)
	if !quoted && strings.Contains(path, " ") || quoted && strings.Contains(path, `"`) {
		return completion{} // the path is complete
	}
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(expandHome(dir))
	if err != nil {
		return completion{} // there is nothing to choose from
	}
	c := completion{from: from}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || name != plain(name) || strings.Contains(name, `"`) {
			continue
		}
		choice := dir + name
		if e.IsDir() {
			choice += "/"
		}
		if quoted || strings.Contains(choice, " ") {
			choice = `"` + choice
			if !e.IsDir() {
				choice += `"`
			}
		}
		c.choices = append(c.choices, choice)
	}
	return c
}

// expandHome returns a directory in a form that the system knows.
func expandHome(dir string) string {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(dir, "~/") {
		return filepath.Join(home, dir[2:])
	}
	if dir == "" {
		return "."
	}
	return dir
}

// commonPrefix of choices, in whole characters.
func commonPrefix(choices []string) string {
	prefix := []rune(choices[0])
	for _, c := range choices[1:] {
		n := 0
		for _, r := range c {
			if n == len(prefix) || prefix[n] != r {
				break
			}
			n++
		}
		prefix = prefix[:n]
	}
	return string(prefix)
}
