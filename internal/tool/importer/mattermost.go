package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cmp"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// mattermostLine is a line of a bulk export.
type mattermostLine struct {
	Type          string             `json:"type"`
	Channel       *mattermostChannel `json:"channel"`
	User          *mattermostUser    `json:"user"`
	Post          *mattermostPost    `json:"post"`
	DirectChannel *mattermostDirect  `json:"direct_channel"`
	DirectPost    *mattermostPost    `json:"direct_post"`
}

type mattermostChannel struct {
	Team    string `json:"team"`
	Name    string `json:"name"`
	Display string `json:"display_name"`
	Type    string `json:"type"` // O or P
}

type mattermostUser struct {
	Username string `json:"username"`
	Nickname string `json:"nickname"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Position string `json:"position"`
	Teams    []struct {
		Name     string `json:"name"`
		Channels []struct {
			Name  string `json:"name"`
			Roles string `json:"roles"`
		} `json:"channels"`
	} `json:"teams"`
}

type mattermostDirect struct {
	Members      []string `json:"members"`
	Participants []struct {
		Username string `json:"username"`
	} `json:"participants"`
}

type mattermostPost struct {
	Team           string   `json:"team"`
	Channel        string   `json:"channel"`
	ChannelMembers []string `json:"channel_members"`
	User           string   `json:"user"`
	Type           string   `json:"type"`
	Message        string   `json:"message"`
	CreateAt       int64    `json:"create_at"` // milliseconds
	EditAt         int64    `json:"edit_at"`
	IsPinned       bool     `json:"is_pinned"`
	Reactions      []struct {
		User     string `json:"user"`
		Emoji    string `json:"emoji_name"`
		CreateAt int64  `json:"create_at"`
	} `json:"reactions"`
	Attachments []struct {
		Path string `json:"path"`
	} `json:"attachments"`
	Replies []mattermostPost `json:"replies"`
}

// mattermost converts one export.
type mattermost struct {
	*source
	w       *interchangefile.Writer
	name    string
	members map[string][]string // by conversations
}

// exportBeside is the directory of an export's file, which may have other files of the operator: only the export's attachments can be opened, which are below data.
type exportBeside struct {
	fs.FS
	export string
}

// Open opens the export or one of its attachments.
func (b exportBeside) Open(name string) (fs.File, error) {
	if name != b.export && (!strings.HasPrefix(name, "data/") || strings.Contains(name, "/.")) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return b.FS.Open(name)
}

// Mattermost converts a bulk export of Mattermost: the zip file of mmctl export, the directory that it unpacks to, or its file of JSON lines alone.
func Mattermost(w *interchangefile.Writer, name string) (err error) {
	m := &mattermost{w: w, members: map[string][]string{}}
	if ext := filepath.Ext(name); ext == ".jsonl" || ext == ".json" {
		root, err := os.OpenRoot(filepath.Dir(name))
		if err != nil {
			return err
		}
		m.name = filepath.Base(name)
		m.source = &source{FS: exportBeside{root.FS(), m.name}, close: root.Close}
	} else if m.source, err = openSource(w, name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if m.name == "" {
		found, err := fs.Glob(m.FS, "*.jsonl")
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("there are %d files of JSON lines in %s, and an export of Mattermost has one", len(found), name)
		}
		m.name = found[0]
	}
	// Users come after channels, and have the memberships: so the file is read twice.
	if err := m.each(false, m.people); err != nil {
		return err
	}
	return m.each(true, m.posts)
}

// each calls f with each line. report: what cannot be read is skipped now; otherwise later.
func (m *mattermost) each(report bool, f func(where string, l *mattermostLine) error) error {
	file, err := m.open(m.name)
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := interchangefile.NewLines(m.name, file); ; {
		raw, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var l mattermostLine
		if err == nil {
			if err = json.Unmarshal(raw, &l); err != nil {
				err = lines.Fault(err)
			}
		}
		var fault *interchangefile.LineError
		switch {
		case errors.As(err, &fault):
			if report {
				if err := m.w.Skip("message", fmt.Sprintf("%s:%d", m.name, fault.Line), fault.Err.Error()); err != nil {
					return err
				}
			}
			continue
		case err != nil:
			return err
		}
		if err := f(fmt.Sprintf("%s:%d", m.name, lines.Line()), &l); err != nil {
			return err
		}
	}
}

// people adds users, and gathers memberships.
func (m *mattermost) people(_ string, l *mattermostLine) error {
	u := l.User
	if l.Type != "user" || u == nil {
		return nil
	}
	for _, t := range u.Teams {
		for _, c := range t.Channels {
			id := t.Name + "/" + c.Name
			if strings.Contains(c.Roles, "channel_admin") { // first, so that it is the owner
				m.members[id] = append([]string{u.Username}, m.members[id]...)
			} else {
				m.members[id] = append(m.members[id], u.Username)
			}
		}
	}
	return m.w.User(interchangefile.User{ID: u.Username, Handle: u.Username, Name: cmp.Or(u.Nickname, strings.TrimSpace(u.First+" "+u.Last), u.Username), Bio: u.Position})
}

// notOfBoth is why something in a one-to-one conversation is skipped.
const notOfBoth = "its sender is neither of the two users of the conversation: "

func (m *mattermost) direct(members []string) error {
	if m.w.HasConversation(interchangefile.DirectID(members)) || len(members) == 0 {
		return nil
	}
	c := interchangefile.Conversation{ID: interchangefile.DirectID(members), Kind: interchangefile.Direct, Owner: members[0], Members: members[1:]}
	if len(members) > 2 {
		c.Kind, c.Title = interchangefile.Group, strings.Join(members, ", ")
	}
	return m.w.Conversation(c)
}

func (m *mattermost) posts(where string, l *mattermostLine) error {
	switch {
	case l.Type == "channel" && l.Channel != nil:
		c := l.Channel
		id := c.Team + "/" + c.Name
		policy := "invite"
		if c.Type == "O" {
			policy = "open"
		}
		all := m.members[id]
		if len(all) == 0 {
			return m.w.Skip("conversation", where, "it has no members: "+id)
		}
		return m.w.Conversation(interchangefile.Conversation{ID: id, Kind: interchangefile.Group, Title: cmp.Or(c.Display, c.Name), Owner: all[0], Members: all[1:], JoinPolicy: policy})
	case l.Type == "direct_channel" && l.DirectChannel != nil:
		members := l.DirectChannel.Members
		for _, p := range l.DirectChannel.Participants {
			members = append(members, p.Username)
		}
		return m.direct(members)
	case l.Type == "post" && l.Post != nil:
		return m.post(where, l.Post.Team+"/"+l.Post.Channel, "", l.Post)
	case l.Type == "direct_post" && l.DirectPost != nil:
		if err := m.direct(l.DirectPost.ChannelMembers); err != nil {
			return err
		}
		return m.post(where, interchangefile.DirectID(l.DirectPost.ChannelMembers), "", l.DirectPost)
	}
	return nil // a version, a team, a role, a scheme or an emoji
}

// postID is that of a post, which has none in an export: the time, the author, and a hash of the text.
func postID(p *mattermostPost) string {
	sum := sha256.Sum256([]byte(p.Message))
	return fmt.Sprintf("%d:%s:%s", p.CreateAt, p.User, hex.EncodeToString(sum[:6]))
}

// post adds a post with its files, reactions and replies. root is the post that a reply is under.
func (m *mattermost) post(where, conversation, root string, p *mattermostPost) error {
	if strings.HasPrefix(p.Type, "system_") {
		return m.w.Skip("message", where, "Mattermost wrote it: "+p.Type)
	}
	if !m.w.Admits(conversation, p.User) {
		return m.w.SkipMany("message", where, notOfBoth+p.User, int64(1+len(p.Replies)))
	}
	id := postID(p)
	e := interchangefile.Entry{Conversation: conversation, ID: id, TimeMs: p.CreateAt, Sender: p.User, Kind: interchangefile.Text, Text: p.Message}
	var files []interchangefile.Attachment
	for _, a := range p.Attachments {
		f, err := m.file(where, a.Path)
		if err != nil {
			return err
		}
		if f != nil {
			files = append(files, *f)
		} else {
			e.Text += "\n[" + path.Base(a.Path) + "]"
		}
	}
	if len(files) == 1 && len(e.Text) <= maxCaption {
		files[0].Caption = e.Text
		e.Kind, e.Files, e.Text, files = kindOfFile(files[0].MimeType), files, "", nil
	}
	if e.Text != "" || len(e.Files) > 0 || len(files) == 0 {
		if err := m.w.Entry(where, e); err != nil {
			return err
		}
	}
	for i, f := range files {
		one := e
		one.ID, one.Kind, one.Text, one.Files = fmt.Sprintf("%s:%d", id, i+1), kindOfFile(f.MimeType), "", []interchangefile.Attachment{f}
		if i == 0 && e.Text == "" {
			one.ID = id
		}
		if err := m.w.Entry(where, one); err != nil {
			return err
		}
	}
	if err := m.updates(where, &e, p); err != nil {
		return err
	}
	return m.replies(where, conversation, id, p)
}

// updates adds the edit, the reactions and the pin of a post.
func (m *mattermost) updates(where string, e *interchangefile.Entry, p *mattermostPost) error {
	if p.EditAt > p.CreateAt && e.Kind == interchangefile.Text && e.Text != "" {
		if err := m.w.Entry(where, interchangefile.Entry{Conversation: e.Conversation, ID: "edit:" + e.ID, TimeMs: p.EditAt, Sender: p.User, Kind: interchangefile.Edit, Target: e.ID, Text: e.Text}); err != nil {
			return err
		}
	}
	for _, r := range p.Reactions {
		if !m.w.Admits(e.Conversation, r.User) {
			if err := m.w.Skip("reaction", where, notOfBoth+r.User); err != nil {
				return err
			}
			continue
		}
		if err := m.w.Entry(where, interchangefile.Entry{Conversation: e.Conversation, ID: "reaction:" + e.ID + ":" + r.Emoji + ":" + r.User, TimeMs: max(r.CreateAt, p.CreateAt), Sender: r.User,
			Kind: interchangefile.Reaction, Target: e.ID, Emoji: emojiOf(r.Emoji)}); err != nil {
			return err
		}
	}
	if p.IsPinned {
		return m.w.Entry(where, interchangefile.Entry{Conversation: e.Conversation, ID: "pin:" + e.ID, TimeMs: p.CreateAt, Sender: p.User, Kind: interchangefile.Pin, Target: e.ID})
	}
	return nil
}

// replies makes a thread of the replies to a post.
func (m *mattermost) replies(where, conversation, root string, p *mattermostPost) error {
	if len(p.Replies) == 0 || !m.w.HasConversation(conversation) {
		for range p.Replies {
			if err := m.w.Skip("message", where, "its conversation is unknown: "+conversation); err != nil {
				return err
			}
		}
		return nil
	}
	var replies []mattermostPost
	for i := range p.Replies {
		if r := &p.Replies[i]; m.w.Admits(conversation, r.User) {
			replies = append(replies, *r)
		} else if err := m.w.Skip("message", where, notOfBoth+r.User); err != nil {
			return err
		}
	}
	if len(replies) == 0 {
		return nil
	}
	first := slices.MinFunc(replies, func(a, b mattermostPost) int { return cmp.Compare(a.CreateAt, b.CreateAt) })
	thread := conversation + ":" + root
	members := []string{p.User}
	for i := range replies {
		members = append(members, replies[i].User)
	}
	if err := m.w.Conversation(interchangefile.Conversation{ID: thread, Kind: interchangefile.Thread, Owner: first.User, Members: members, CreatedMs: first.CreateAt, Parent: conversation, Root: root}); err != nil {
		return err
	}
	if err := m.w.Entry(where, interchangefile.Entry{Conversation: conversation, ID: "thread:" + root, TimeMs: max(first.CreateAt, p.CreateAt), Sender: first.User, Kind: interchangefile.ThreadStart, Target: root}); err != nil {
		return err
	}
	for i := range replies {
		r := replies[i]
		r.Replies = nil
		if err := m.post(fmt.Sprintf("%s: reply %d", where, i+1), thread, root, &r); err != nil {
			return err
		}
	}
	return nil
}

// file copies an attachment, which mmctl puts below data.
func (m *mattermost) file(where, name string) (*interchangefile.Attachment, error) {
	for _, at := range []string{path.Join("data", name), name} {
		if !fs.ValidPath(at) {
			return nil, m.w.Skip("file", where, "its path leads out of the export: "+name)
		}
		if _, err := fs.Stat(m.FS, at); !errors.Is(err, fs.ErrNotExist) {
			return storeAttachment(m.source, m.w, where, at, interchangefile.Attachment{Name: path.Base(name), MimeType: plainType(mime.TypeByExtension(path.Ext(name)))})
		}
	}
	return nil, m.w.Skip("file", where, "its bytes are not in the export: "+name)
}

// plainType is a type without parameters.
func plainType(t string) string {
	t, _, _ = strings.Cut(t, ";")
	return cmp.Or(t, "application/octet-stream")
}
