package interchangefile

import (
	"errors"
	"fmt"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// ErrBadEntry is the cause of what ToProto reports of an entry that has no valid content.
var ErrBadEntry = errors.New("the entry is not valid")

func badEntry(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadEntry, fmt.Sprintf(format, args...))
}

// ToProto returns the content of an entry for ImportEntries. user and upload return the ids on the server of a user and of an attached file.
func (e *Entry) ToProto(user func(string) (uint64, error), upload func(path, name string) (uint64, error)) (*chatv1.Content, error) {
	t := toProto{e, user, upload}
	switch e.Kind {
	case Recalled:
		return nil, nil
	case Edit:
		inner, err := t.message()
		return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Content: inner}}}, err
	case Recall:
		return &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{}}}, nil
	case Reaction:
		return &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Emoji: e.Emoji, Remove: e.Remove}}}, nil
	case Pin:
		return &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Remove: e.Remove}}}, nil
	case ThreadStart:
		return &chatv1.Content{Kind: &chatv1.Content_Thread{Thread: &chatv1.ThreadStart{}}}, nil
	}
	if action, ok := actions[e.Kind]; ok {
		return t.control(action)
	}
	return t.message()
}

type toProto struct {
	e      *Entry
	user   func(string) (uint64, error)
	upload func(path, name string) (uint64, error)
}

func (t *toProto) message() (*chatv1.Content, error) {
	e, c := t.e, &chatv1.Content{}
	var err error
	if c.Mentions, err = t.mentions(e.Mentions); err != nil {
		return nil, err
	}
	kind := e.Kind
	if kind == Edit {
		if kind = Text; len(e.Files) > 0 {
			kind = e.Files[0].Kind
		}
		if len(e.Files) > 1 {
			kind = Album
		}
	}
	switch kind {
	case Text:
		c.Kind = &chatv1.Content_Text{Text: e.Text}
	case Image, File, Voice, Video:
		return c, t.file(kind, c)
	case Album:
		return c, t.album(c)
	case Place:
		l := e.Location
		if l == nil {
			return nil, badEntry("a location without a place")
		}
		c.Kind = &chatv1.Content_Location{Location: &chatv1.Location{Latitude: l.Latitude, Longitude: l.Longitude, Label: l.Label, Address: l.Address, Accuracy: l.Accuracy}}
	case Contact:
		return c, t.card(c)
	case Custom, Signal:
		if e.Data == nil {
			return nil, badEntry("a custom message without data")
		}
		d := &chatv1.Custom{Type: e.Data.Type, Data: e.Data.Data, Fallback: e.Data.Fallback}
		c.Kind = &chatv1.Content_Custom{Custom: d}
		if kind == Signal {
			c.Kind = &chatv1.Content_Signal{Signal: d}
		}
	default:
		return nil, badEntry("unknown kind %q", e.Kind)
	}
	return c, nil
}

func (t *toProto) media(a *Attachment) (*chatv1.Media, error) {
	upload, err := t.upload(a.Path, a.Name)
	if err != nil {
		return nil, err
	}
	m := &chatv1.Media{Upload: upload, Name: a.Name, MimeType: a.MimeType, Size: a.Size, Width: a.Width, Height: a.Height, DurationMs: a.DurationMs, Caption: a.Caption, Waveform: a.Waveform}
	if a.Poster != "" {
		m.Poster, err = t.upload(a.Poster, "poster")
	}
	return m, err
}

func (t *toProto) file(kind string, c *chatv1.Content) error {
	if len(t.e.Files) != 1 {
		return badEntry("%d files in a message of one", len(t.e.Files))
	}
	m, err := t.media(&t.e.Files[0])
	switch kind {
	case Image:
		c.Kind = &chatv1.Content_Image{Image: m}
	case Voice:
		c.Kind = &chatv1.Content_Voice{Voice: m}
	case Video:
		c.Kind = &chatv1.Content_Video{Video: m}
	default:
		c.Kind = &chatv1.Content_File{File: m}
	}
	return err
}

func (t *toProto) album(c *chatv1.Content) error {
	album := &chatv1.Album{Caption: t.e.Text}
	for i := range t.e.Files {
		m, err := t.media(&t.e.Files[i])
		if err != nil {
			return err
		}
		item := &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Image{Image: m}}
		if t.e.Files[i].Kind == Video {
			item.Kind = &chatv1.AlbumItem_Video{Video: m}
		}
		album.Items = append(album.Items, item)
	}
	c.Kind = &chatv1.Content_Album{Album: album}
	return nil
}

func (t *toProto) card(c *chatv1.Content) (err error) {
	k := t.e.Card
	if k == nil {
		return badEntry("a card without its texts")
	}
	card := &chatv1.Card{Title: k.Title, Text: k.Text, Url: k.URL}
	if k.User != "" {
		card.User, err = t.user(k.User)
	}
	c.Kind = &chatv1.Content_Card{Card: card}
	return err
}

// actions of control entries by kinds.
var actions = map[string]chatv1.Control_Action{
	Joined: chatv1.Control_ACTION_JOINED, Left: chatv1.Control_ACTION_LEFT, Removed: chatv1.Control_ACTION_REMOVED, Role: chatv1.Control_ACTION_ROLE,
	Renamed: chatv1.Control_ACTION_RENAMED, Announced: chatv1.Control_ACTION_ANNOUNCED, Muted: chatv1.Control_ACTION_MUTED,
	Transferred: chatv1.Control_ACTION_TRANSFERRED, Dissolved: chatv1.Control_ACTION_DISSOLVED, JoinPolicy: chatv1.Control_ACTION_JOIN_POLICY,
	Retention: chatv1.Control_ACTION_RETENTION, Banned: chatv1.Control_ACTION_BANNED, Unbanned: chatv1.Control_ACTION_UNBANNED, Picture: chatv1.Control_ACTION_AVATAR,
}

// Policies of joining by their names.
var policies = map[string]chatv1.JoinPolicy{
	"": chatv1.JoinPolicy_JOIN_POLICY_INVITE, "invite": chatv1.JoinPolicy_JOIN_POLICY_INVITE, "open": chatv1.JoinPolicy_JOIN_POLICY_OPEN, "approval": chatv1.JoinPolicy_JOIN_POLICY_APPROVAL,
}

// PolicyToProto returns a policy by its name.
func PolicyToProto(name string) chatv1.JoinPolicy { return policies[name] }

// PolicyOf returns the name of a policy.
func PolicyOf(p chatv1.JoinPolicy) string {
	switch p {
	case chatv1.JoinPolicy_JOIN_POLICY_OPEN:
		return "open"
	case chatv1.JoinPolicy_JOIN_POLICY_APPROVAL:
		return "approval"
	}
	return "invite"
}

func (t *toProto) control(action chatv1.Control_Action) (*chatv1.Content, error) {
	e := t.e
	c := &chatv1.Control{Action: action, Text: e.Text, UntilMs: e.UntilMs, RetentionSeconds: e.Seconds}
	for _, u := range e.Users {
		n, err := t.user(u)
		if err != nil {
			return nil, err
		}
		c.Users = append(c.Users, n)
	}
	switch action {
	case chatv1.Control_ACTION_ROLE:
		if c.Role = chatv1.Role_ROLE_MEMBER; e.Role == "admin" {
			c.Role = chatv1.Role_ROLE_ADMIN
		}
	case chatv1.Control_ACTION_JOIN_POLICY:
		c.JoinPolicy = policies[e.JoinPolicy]
	case chatv1.Control_ACTION_AVATAR:
		if len(e.Files) == 1 {
			var err error
			if c.Upload, err = t.upload(e.Files[0].Path, e.Files[0].Name); err != nil {
				return nil, err
			}
		}
	}
	return &chatv1.Content{Kind: &chatv1.Content_Control{Control: c}}, nil
}
