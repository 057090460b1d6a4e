package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// Documents of OpenIM's collections in MongoDB.
type openIMUser struct {
	ID   string `json:"user_id"`
	Name string `json:"nickname"`
}

type openIMGroup struct {
	ID      string `json:"group_id"`
	Name    string `json:"group_name"`
	Creator string `json:"creator_user_id"`
	Created number `json:"create_time"`
}

type openIMMember struct {
	Group string `json:"group_id"`
	User  string `json:"user_id"`
	Level number `json:"role_level"` // 100 is the owner, 60 an admin
}

type openIMFriend struct {
	Owner  string `json:"owner_user_id"`
	Friend string `json:"friend_user_id"`
	Remark string `json:"remark"`
	where  string
}

type openIMBlocked struct {
	Owner   string `json:"owner_user_id"`
	Blocked string `json:"block_user_id"`
}

type openIMBlock struct {
	Doc  string `json:"doc_id"`
	Msgs []struct {
		Msg    *openIMMessage `json:"msg"`
		Revoke *struct {
			User string `json:"user_id"`
			Time number `json:"time"`
		} `json:"revoke"`
	} `json:"msgs"`
}

type openIMMessage struct {
	SendID      string `json:"send_id"`
	RecvID      string `json:"recv_id"`
	GroupID     string `json:"group_id"`
	ClientMsgID string `json:"client_msg_id"`
	ServerMsgID string `json:"server_msg_id"`
	SessionType number `json:"session_type"` // 1 one-to-one, 2 and 3 group, 4 notification
	ContentType number `json:"content_type"`
	Content     string `json:"content"`
	SendTime    number `json:"send_time"` // milliseconds
}

// Content types of OpenIM.
const (
	openIMText, openIMPicture, openIMVoice, openIMVideo, openIMFile = 101, 102, 103, 104, 105
	openIMAt, openIMLocation, openIMCustom, openIMQuote             = 106, 109, 110, 114
	openIMFirstNotice                                               = 1000 // from here on notifications of the server
)

// openIMContent has the fields of the contents that are read.
type openIMContent struct {
	Content  string   `json:"content"`
	Text     string   `json:"text"`
	AtUsers  []string `json:"atUserList"`
	FileName string   `json:"fileName"`
	URL      string   `json:"sourceUrl"`
	VideoURL string   `json:"videoUrl"`
	Picture  *struct {
		URL string `json:"url"`
	} `json:"sourcePicture"`
	Quote *struct {
		ID string `json:"clientMsgID"`
	} `json:"quoteMessage"`
	Description string  `json:"description"`
	Latitude    float64 `json:"latitude"`
	Longitude   float64 `json:"longitude"`
	Data        string  `json:"data"`
}

// openIM converts one export.
type openIM struct {
	*source
	w *interchangefile.Writer
}

// OpenIM converts the collections user, group, group_member and msg of OpenIM's database, as mongoexport writes them: user.json and so on, a document on
// each line. The collections friend and black may be missing.
func OpenIM(w *interchangefile.Writer, name string) (err error) {
	src, err := openSource(w, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	o := &openIM{src, w}
	if err := readLines(src, w, "user.json", "user", func(_ string, u *openIMUser) error {
		return w.User(interchangefile.User{ID: u.ID, Name: cmp.Or(u.Name, u.ID)})
	}); err != nil {
		return err
	}
	if err := o.relations(); err != nil {
		return err
	}
	owners, members := map[string]string{}, map[string][]string{}
	var admins []openIMMember
	if err := readLines(src, w, "group_member.json", "membership", func(_ string, m *openIMMember) error {
		members[m.Group] = append(members[m.Group], m.User)
		switch {
		case m.Level >= 100:
			owners[m.Group] = m.User
		case m.Level >= 60:
			admins = append(admins, *m)
		}
		return nil
	}); err != nil {
		return err
	}
	created := map[string]int64{}
	if err := readLines(src, w, "group.json", "conversation", func(_ string, g *openIMGroup) error {
		created[g.ID] = int64(g.Created)
		return w.Conversation(interchangefile.Conversation{ID: "sg_" + g.ID, Kind: interchangefile.Group, Title: g.Name, Owner: cmp.Or(owners[g.ID], g.Creator), Members: members[g.ID], CreatedMs: int64(g.Created)})
	}); err != nil {
		return err
	}
	for _, a := range admins {
		if owner := owners[a.Group]; owner != "" && created[a.Group] > 0 {
			if err := w.Entry("group_member.json", interchangefile.Entry{Conversation: "sg_" + a.Group, ID: "role:" + a.User, TimeMs: created[a.Group], Sender: owner, Kind: interchangefile.Role, Users: []string{a.User}, Role: "admin"}); err != nil {
				return err
			}
		}
	}
	return readLines(src, w, "msg.json", "message", o.block)
}

// relations converts blocks and friendships. In OpenIM a user who removes a friend stays one of the other: a friendship that only one of the two has is over.
func (o *openIM) relations() error {
	err := readLines(o.source, o.w, "black.json", "relation", func(where string, b *openIMBlocked) error {
		return o.w.Relation(where, interchangefile.Relation{Owner: b.Owner, Other: b.Blocked, Blocked: true})
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var list []*openIMFriend
	has := map[[2]string]bool{}
	err = readLines(o.source, o.w, "friend.json", "relation", func(where string, f *openIMFriend) error {
		f.where = where
		list, has[[2]string{f.Owner, f.Friend}] = append(list, f), true
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range list {
		if !has[[2]string{f.Friend, f.Owner}] {
			err = o.w.Skip("relation", f.where, "the other one has removed the friend: "+f.Friend)
		} else {
			err = o.w.Relation(f.where, interchangefile.Relation{Owner: f.Owner, Other: f.Friend, Friend: true, Remark: f.Remark})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLines calls f with each document of a file of JSON lines. A file that is missing is an error, since an export without it is not complete.
func readLines[T any](s *source, w *interchangefile.Writer, name, kind string, f func(where string, v *T) error) error {
	file, err := s.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing in the export: %w", name, err)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := interchangefile.NewLines(name, file); ; {
		v := new(T)
		var fault *interchangefile.LineError
		switch err := lines.Decode(v); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &fault):
			if err := w.Skip(kind, fmt.Sprintf("%s:%d", name, fault.Line), fault.Err.Error()); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if err := f(fmt.Sprintf("%s:%d", name, lines.Line()), v); err != nil {
			return err
		}
	}
}

func (o *openIM) block(where string, b *openIMBlock) error {
	for i, m := range b.Msgs {
		at := fmt.Sprintf("%s: message %d", where, i+1)
		if m.Msg == nil {
			continue // a place that has no message yet
		}
		if err := o.message(at, m.Msg, m.Revoke != nil && m.Revoke.Time > 0); err != nil {
			return err
		}
	}
	return nil
}

func (o *openIM) message(where string, m *openIMMessage, revoked bool) error {
	if m.ContentType >= openIMFirstNotice || m.SessionType == 4 {
		return o.w.Skip("message", where, fmt.Sprintf("OpenIM wrote it: content type %d", m.ContentType))
	}
	e := interchangefile.Entry{Conversation: "sg_" + m.GroupID, ID: cmp.Or(m.ClientMsgID, m.ServerMsgID), TimeMs: int64(m.SendTime), Sender: m.SendID}
	if m.SessionType == 1 {
		users := []string{m.SendID, m.RecvID}
		if e.Conversation = interchangefile.DirectID(users); !o.w.HasConversation(e.Conversation) && m.SendID != "" && m.RecvID != "" {
			if err := o.w.Conversation(interchangefile.Conversation{ID: e.Conversation, Kind: interchangefile.Direct, Owner: users[0], Members: users[1:], CreatedMs: e.TimeMs}); err != nil {
				return err
			}
		}
	}
	if revoked {
		e.Kind = interchangefile.Recalled
		return o.w.Entry(where, e)
	}
	var c openIMContent
	if err := json.Unmarshal([]byte(m.Content), &c); err != nil {
		c = openIMContent{Content: m.Content} // of earlier releases: the text itself
	}
	if err := o.content(where, m, &c, &e); err != nil {
		return err
	}
	return o.w.Entry(where, e)
}

// content writes what a message says into an entry.
func (o *openIM) content(where string, m *openIMMessage, c *openIMContent, e *interchangefile.Entry) error {
	e.Kind = interchangefile.Text
	switch m.ContentType {
	case openIMText:
		e.Text = cmp.Or(c.Content, c.Text)
	case openIMAt:
		e.Text = c.Text
	case openIMQuote:
		if e.Text = c.Text; c.Quote != nil {
			e.Target = c.Quote.ID
		}
	case openIMPicture, openIMVoice, openIMVideo, openIMFile:
		url := cmp.Or(c.URL, c.VideoURL)
		if c.Picture != nil {
			url = cmp.Or(url, c.Picture.URL)
		}
		e.Text = strings.TrimSpace(cmp.Or(c.FileName, "["+map[number]string{openIMPicture: "picture", openIMVoice: "voice message", openIMVideo: "video", openIMFile: "file"}[m.ContentType]+"]") + " " + url)
		return o.w.Skip("file", where, "its bytes are not in the export, only its address")
	case openIMLocation:
		e.Kind, e.Location = interchangefile.Place, &interchangefile.Location{Latitude: c.Latitude, Longitude: c.Longitude, Label: c.Description}
	default:
		e.Kind, e.Data = interchangefile.Custom, &interchangefile.Data{Type: fmt.Sprintf("openim/%d", m.ContentType), Data: []byte(m.Content), Fallback: cmp.Or(c.Description, c.Text, c.Content)}
	}
	return nil
}
