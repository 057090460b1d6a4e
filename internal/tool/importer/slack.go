package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// slackUser is an element of users.json.
type slackUser struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Real    string `json:"real_name"`
	Profile struct {
		Real    string `json:"real_name"`
		Display string `json:"display_name"`
		Title   string `json:"title"`
	} `json:"profile"`
}

// slackChannel is an element of channels.json, groups.json, dms.json and mpims.json.
type slackChannel struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Creator string   `json:"creator"`
	Created int64    `json:"created"` // seconds
	Members []string `json:"members"`
	kind    string
	open    bool
	folder  string
}

type slackMessage struct {
	Type        string   `json:"type"`
	Subtype     string   `json:"subtype"`
	User        string   `json:"user"`
	BotID       string   `json:"bot_id"`
	Username    string   `json:"username"`
	Text        string   `json:"text"`
	TS          string   `json:"ts"`
	ThreadTS    string   `json:"thread_ts"`
	ReplyCount  int      `json:"reply_count"`
	ReplyUsers  []string `json:"reply_users"`
	Attachments []struct {
		Fallback string `json:"fallback"`
		Text     string `json:"text"`
	} `json:"attachments"`
	Edited *struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Reactions []struct {
		Name  string   `json:"name"`
		Users []string `json:"users"`
		Count int      `json:"count"`
	} `json:"reactions"`
	Files []slackFile `json:"files"`
}

type slackFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MimeType string `json:"mimetype"`
	URL      string `json:"url_private"`
	Width    uint32 `json:"original_w"`
	Height   uint32 `json:"original_h"`
}

// slack converts one export.
type slack struct {
	*source
	w *interchangefile.Writer
	// roots are the messages of the present channel that have replies, with what its thread needs.
	roots map[string]*slackRoot
}

type slackRoot struct {
	author    string
	followers []string
	started   bool
}

// Slack converts an export of Slack: the zip file that a workspace's owner exports, or the directory that it unpacks to.
func Slack(w *interchangefile.Writer, name string) (err error) {
	src, err := openSource(w, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	s := &slack{source: src, w: w}
	if err := s.users(); err != nil {
		return err
	}
	var channels []slackChannel
	for _, list := range []struct {
		file, kind string
		open       bool
	}{{"channels.json", interchangefile.Group, true}, {"groups.json", interchangefile.Group, false}, {"mpims.json", interchangefile.Group, false}, {"dms.json", interchangefile.Direct, false}} {
		if err := readArray(src, w, list.file, "conversation", true, func(_ string, c *slackChannel) error {
			c.kind, c.open = list.kind, list.open
			if c.folder = c.Name; c.folder == "" {
				c.folder = c.ID
			}
			channels = append(channels, *c)
			return nil
		}); err != nil {
			return err
		}
	}
	if len(channels) == 0 {
		return errors.New("there is none of channels.json, groups.json, mpims.json and dms.json: this is no export of Slack")
	}
	for i := range channels {
		if err := s.channel(&channels[i]); err != nil {
			return err
		}
	}
	return s.unknownFolders(channels)
}

func (s *slack) users() error {
	for _, file := range []string{"users.json", "org_users.json"} {
		if err := readArray(s.source, s.w, file, "user", true, func(_ string, u *slackUser) error {
			return s.w.User(interchangefile.User{ID: u.ID, Handle: slackHandle(u.Name), Name: cmp.Or(u.Profile.Display, u.Profile.Real, u.Real, u.Name), Bio: u.Profile.Title})
		}); err != nil {
			return err
		}
	}
	return nil
}

// slackHandle is a name as a handle; a server that does not accept it makes another.
func slackHandle(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(name))
}

// unknownFolders counts the messages of folders that no list names.
func (s *slack) unknownFolders(channels []slackChannel) error {
	entries, err := fs.ReadDir(s.FS, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), "__") || slices.ContainsFunc(channels, func(c slackChannel) bool { return c.folder == e.Name() }) {
			continue
		}
		if err := s.days(e.Name(), func(where string, _ *slackMessage) error {
			return s.w.Skip("message", where, "no list of channels names its folder")
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *slack) channel(c *slackChannel) error {
	policy := "invite"
	if c.open {
		policy = "open"
	}
	if err := s.w.Conversation(interchangefile.Conversation{ID: c.ID, Kind: c.kind, Title: c.Name, Owner: c.Creator, Members: c.Members, JoinPolicy: policy, CreatedMs: c.Created * 1000}); err != nil {
		return err
	}
	s.roots = map[string]*slackRoot{}
	return s.days(c.folder, func(where string, m *slackMessage) error { return s.message(c, where, m) })
}

// days reads the files of a folder, a day each, in their order.
func (s *slack) days(folder string, f func(where string, m *slackMessage) error) error {
	if !fs.ValidPath(folder) {
		return s.w.Skip("conversation", folder, "its name is no name of a folder")
	}
	entries, err := fs.ReadDir(s.FS, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has no messages
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".json" {
			continue
		}
		if err := readArray(s.source, s.w, folder+"/"+e.Name(), "message", false, f); err != nil {
			return err
		}
	}
	return nil
}

// slackSystem are the subtypes of messages that Slack writes itself.
var slackSystem = []string{"channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name", "channel_archive", "channel_unarchive", "channel_posting_permissions",
	"group_join", "group_leave", "group_topic", "group_purpose", "group_name", "group_archive", "group_unarchive", "bot_add", "bot_remove", "pinned_item", "unpinned_item",
	"channel_convert_to_private", "huddle_thread", "reminder_add", "tombstone"}

// slackTime returns the milliseconds of a ts, such as 1512085950.000216; 0 if it is none.
func slackTime(ts string) int64 {
	seconds, micros, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n > 1<<40 || n < 0 {
		return 0
	}
	ms, _ := strconv.ParseInt((micros + "000")[:3], 10, 64) // 0 if it is no number
	return n*1000 + ms
}

func (s *slack) message(c *slackChannel, where string, m *slackMessage) error {
	if m.Type != "" && m.Type != "message" {
		return s.w.Skip("message", where, "its type is "+m.Type)
	}
	if slices.Contains(slackSystem, m.Subtype) {
		return s.w.Skip("message", where, "Slack wrote it: "+m.Subtype)
	}
	sender := m.User
	if sender == "" && (m.BotID != "" || m.Username != "") {
		if sender = "bot:" + cmp.Or(m.BotID, m.Username); !s.w.HasUser(sender) {
			if err := s.w.User(interchangefile.User{ID: sender, Name: cmp.Or(m.Username, m.BotID)}); err != nil {
				return err
			}
		}
	}
	e := interchangefile.Entry{Conversation: c.ID, ID: m.TS, TimeMs: slackTime(m.TS), Sender: sender}
	root := s.roots[m.ThreadTS]
	switch {
	case m.ThreadTS == m.TS && m.TS != "" || m.ReplyCount > 0:
		s.roots[m.TS] = &slackRoot{author: sender, followers: m.ReplyUsers}
	case root != nil:
		if err := s.startThread(c, m.ThreadTS, root, &e); err != nil {
			return err
		}
	}
	return s.write(where, m, &e)
}

// startThread makes the thread of a reply, and the reply an entry of it.
func (s *slack) startThread(c *slackChannel, ts string, root *slackRoot, e *interchangefile.Entry) error {
	thread := c.ID + ":" + ts
	e.Conversation = thread
	if root.started || e.Sender == "" || e.TimeMs == 0 {
		return nil
	}
	root.started = true
	if err := s.w.Conversation(interchangefile.Conversation{ID: thread, Kind: interchangefile.Thread, Owner: e.Sender, Members: append([]string{root.author}, root.followers...), CreatedMs: e.TimeMs, Parent: c.ID, Root: ts}); err != nil {
		return err
	}
	return s.w.Entry(thread, interchangefile.Entry{Conversation: c.ID, ID: "thread:" + ts, TimeMs: e.TimeMs, Sender: e.Sender, Kind: interchangefile.ThreadStart, Target: ts})
}

// write adds a message with its files, its edit and its reactions.
func (s *slack) write(where string, m *slackMessage, e *interchangefile.Entry) error {
	text, mentions := slackText(m.Text)
	if text == "" {
		for _, a := range m.Attachments {
			if text, _ = slackText(cmp.Or(a.Text, a.Fallback)); text != "" {
				break
			}
		}
	}
	for i := range m.Files {
		f := &m.Files[i]
		file, err := s.file(where, f)
		if err != nil {
			return err
		}
		switch {
		case file == nil:
			text += "\n[" + cmp.Or(f.Name, f.ID) + "]"
		case len(m.Files) == 1 && len(text) <= maxCaption && len(mentions) == 0:
			file.Caption = text
			e.Kind, e.Files, text = kindOfFile(f.MimeType), []interchangefile.Attachment{*file}, ""
		default:
			more := *e
			more.ID, more.Kind, more.Files = fmt.Sprintf("%s:%d", e.ID, i+1), kindOfFile(f.MimeType), []interchangefile.Attachment{*file}
			if i == 0 && text == "" {
				more.ID = e.ID
			}
			if err := s.w.Entry(where, more); err != nil {
				return err
			}
		}
	}
	if len(e.Files) == 0 && (text != "" || len(m.Files) == 0) {
		e.Kind, e.Text, e.Mentions = interchangefile.Text, strings.TrimLeft(text, "\n"), mentions
	}
	if e.Kind != "" {
		if err := s.w.Entry(where, *e); err != nil {
			return err
		}
	}
	if m.Edited != nil && e.Kind == interchangefile.Text && strings.TrimSpace(e.Text) != "" {
		if ms := slackTime(m.Edited.TS); ms >= e.TimeMs {
			edit := interchangefile.Entry{Conversation: e.Conversation, ID: "edit:" + m.TS, TimeMs: ms, Sender: e.Sender, Kind: interchangefile.Edit, Target: m.TS, Text: e.Text, Mentions: e.Mentions}
			if err := s.w.Entry(where, edit); err != nil {
				return err
			}
		}
	}
	return s.reactions(where, m, e)
}

// maxReactions bounds the reactions with one emoji that an export may claim to leave out: a wrong number ruins no counts.
const maxReactions = 1_000_000

func (s *slack) reactions(where string, m *slackMessage, e *interchangefile.Entry) error {
	for _, r := range m.Reactions {
		for _, u := range r.Users {
			if err := s.w.Entry(where, interchangefile.Entry{Conversation: e.Conversation, ID: "reaction:" + m.TS + ":" + r.Name + ":" + u, TimeMs: e.TimeMs, Sender: u,
				Kind: interchangefile.Reaction, Target: m.TS, Emoji: emojiOf(r.Name)}); err != nil {
				return err
			}
		}
		if n := min(r.Count, maxReactions) - len(r.Users); n > 0 { // Slack names at most some users
			if err := s.w.SkipMany("reaction", where, fmt.Sprintf("the export does not name their users: %d × %s", n, r.Name), int64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// file copies a file whose bytes are in the export, as __uploads/ID/NAME, where tools put them that add them to it. Without bytes it returns nil.
func (s *slack) file(where string, f *slackFile) (*interchangefile.Attachment, error) {
	folder := "__uploads/" + f.ID
	if f.ID == "" || !fs.ValidPath(folder) {
		return nil, s.w.Skip("file", where, "it has no id")
	}
	name, err := s.firstFile(folder)
	switch {
	case err != nil:
		return nil, s.w.Skip("file", where, err.Error())
	case name == "":
		return nil, s.w.Skip("file", where, "its bytes are not in the export, only its address: "+f.ID)
	}
	return storeAttachment(s.source, s.w, where, name, interchangefile.Attachment{Name: f.Name, MimeType: f.MimeType, Width: f.Width, Height: f.Height})
}
