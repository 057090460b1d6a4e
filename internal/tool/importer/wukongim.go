package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// wuKongUser is a line of users.jsonl. WuKongIM itself knows the uid only.
type wuKongUser struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// wuKongChannel is a line of channels.jsonl: what POST /channel gets, and a name, which WuKongIM does not have.
type wuKongChannel struct {
	ID          string   `json:"channel_id"`
	Type        number   `json:"channel_type"` // 1 one-to-one, 2 group
	Name        string   `json:"name"`
	Subscribers []string `json:"subscribers"`
}

// wuKongMessage is a line of messages.jsonl: an element of messages in the answer of POST /channel/messagesync.
type wuKongMessage struct {
	ID          json.Number `json:"message_id"`
	IDText      string      `json:"message_idstr"`
	ClientMsgNo string      `json:"client_msg_no"`
	Seq         number      `json:"message_seq"`
	From        string      `json:"from_uid"`
	ChannelID   string      `json:"channel_id"`
	ChannelType number      `json:"channel_type"`
	Timestamp   number      `json:"timestamp"` // seconds
	Payload     []byte      `json:"payload"`   // in base64
	Revoke      number      `json:"revoke"`
}

// wuKongPayload has what is read of a payload.
type wuKongPayload struct {
	Type    number `json:"type"`
	Content string `json:"content"`
	Name    string `json:"name"`
	URL     string `json:"url"`
	Mention *struct {
		All number `json:"all"`
	} `json:"mention"`
	Reply *struct {
		ID string `json:"message_id"`
	} `json:"reply"`
}

// Types of payloads.
const (
	wuKongText, wuKongImage, wuKongGIF, wuKongVoice, wuKongVideo, wuKongFile = 1, 2, 3, 4, 5, 8
	wuKongCommand                                                            = 99
	wuKongFirstSystem                                                        = 1000
)

// WuKongIM converts channels and messages as the API of WuKongIM gives them: a directory with channels.jsonl, messages.jsonl and users.jsonl.
func WuKongIM(w *interchangefile.Writer, name string) (err error) {
	src, err := openSource(w, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	if err := readLines(src, w, "users.jsonl", "user", func(_ string, u *wuKongUser) error {
		return w.User(interchangefile.User{ID: u.UID, Name: cmp.Or(u.Name, u.UID)})
	}); err != nil {
		return err
	}
	if err := readLines(src, w, "channels.jsonl", "conversation", func(where string, c *wuKongChannel) error {
		if c.Type != 2 {
			return w.Skip("conversation", where, fmt.Sprintf("channels of type %d are not carried", c.Type))
		}
		owner := ""
		if len(c.Subscribers) > 0 {
			owner = c.Subscribers[0]
		}
		return w.Conversation(interchangefile.Conversation{ID: "group:" + c.ID, Kind: interchangefile.Group, Title: cmp.Or(c.Name, c.ID), Owner: owner, Members: c.Subscribers})
	}); err != nil {
		return err
	}
	return readLines(src, w, "messages.jsonl", "message", func(where string, m *wuKongMessage) error { return wuKongEntry(w, where, m) })
}

func wuKongEntry(w *interchangefile.Writer, where string, m *wuKongMessage) error {
	e := interchangefile.Entry{ID: cmp.Or(m.IDText, m.ID.String()), TimeMs: int64(m.Timestamp) * 1000, Sender: m.From, Conversation: "group:" + m.ChannelID, Kind: interchangefile.Text}
	switch m.ChannelType {
	case 1:
		users := []string{m.From, m.ChannelID}
		if a, b, both := strings.Cut(m.ChannelID, "@"); both && !w.HasUser(m.ChannelID) { // of both, in some answers
			if other, isFirst := strings.CutPrefix(m.ChannelID, m.From+"@"); isFirst { // uids may contain an @, too
				a, b = m.From, other
			} else if other, isLast := strings.CutSuffix(m.ChannelID, "@"+m.From); isLast {
				a, b = other, m.From
			}
			users = []string{a, b}
		}
		if !slices.Contains(users, m.From) {
			return w.Skip("message", where, notOfBoth+m.From)
		}
		if e.Conversation = interchangefile.DirectID(users); !w.HasConversation(e.Conversation) && m.From != "" && m.ChannelID != "" {
			if err := w.Conversation(interchangefile.Conversation{ID: e.Conversation, Kind: interchangefile.Direct, Owner: users[0], Members: users[1:], CreatedMs: e.TimeMs}); err != nil {
				return err
			}
		}
	case 2:
	default:
		return w.Skip("message", where, fmt.Sprintf("channels of type %d are not carried", m.ChannelType))
	}
	if m.Revoke != 0 {
		e.Kind = interchangefile.Recalled
		return w.Entry(where, e)
	}
	var p wuKongPayload
	if err := json.Unmarshal(m.Payload, &p); err != nil {
		return w.Skip("message", where, "its payload is no JSON object: "+err.Error())
	}
	if p.Reply != nil {
		e.Target = p.Reply.ID
	}
	switch {
	case p.Type == wuKongText:
		e.Text = p.Content
	case p.Type == wuKongCommand || p.Type >= wuKongFirstSystem:
		return w.Skip("message", where, fmt.Sprintf("it is for programs: type %d", p.Type))
	case p.Type == wuKongImage, p.Type == wuKongGIF, p.Type == wuKongVoice, p.Type == wuKongVideo, p.Type == wuKongFile:
		e.Text = strings.TrimSpace(cmp.Or(p.Name, map[number]string{wuKongImage: "[picture]", wuKongGIF: "[picture]", wuKongVoice: "[voice message]", wuKongVideo: "[video]", wuKongFile: "[file]"}[p.Type]) + " " + p.URL)
		if err := w.Skip("file", where, "its bytes are not in the export, only its address"); err != nil {
			return err
		}
	default:
		e.Kind, e.Data = interchangefile.Custom, &interchangefile.Data{Type: fmt.Sprintf("wukongim/%d", p.Type), Data: m.Payload, Fallback: p.Content}
	}
	return w.Entry(where, e)
}
