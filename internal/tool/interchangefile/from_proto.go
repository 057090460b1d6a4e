package interchangefile

import (
	"fmt"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Names tells an export how what contents refer to is called in the directory.
type Names struct {
	User func(user uint64) string
	// Message returns the id of a message of the same conversation.
	Message func(seq uint64) (string, error)
	// File returns the path of an upload; "" if there is none any more.
	File func(upload uint64) (string, error)
}

// FromProto writes a content of ExportEntries into an entry. ok is false for a content that the format does not have.
func (e *Entry) FromProto(c *chatv1.Content, n Names) (ok bool, err error) {
	if c == nil || c.Kind == nil {
		e.Kind = Recalled
		return true, nil
	}
	f := &fromProto{e, n}
	if c.ReplyTo != nil {
		if e.Target, err = n.Message(c.ReplyTo.Seq); err != nil {
			return false, err
		}
	}
	switch k := c.Kind.(type) {
	case *chatv1.Content_Control:
		return f.control(k.Control)
	case *chatv1.Content_Edit:
		return f.edit(k.Edit)
	case *chatv1.Content_Recall:
		return f.update(Recall, k.Recall.Target)
	case *chatv1.Content_Reaction:
		e.Emoji, e.Remove = k.Reaction.Emoji, k.Reaction.Remove
		return f.update(Reaction, k.Reaction.Target)
	case *chatv1.Content_Pin:
		e.Remove = k.Pin.Remove
		return f.update(Pin, k.Pin.Target)
	case *chatv1.Content_Thread:
		return f.update(ThreadStart, k.Thread.Target)
	case *chatv1.Content_BridgeReport:
		return false, nil // another deployment is not linked with that system
	}
	return f.message(c)
}

type fromProto struct {
	e *Entry
	n Names
}

func (f *fromProto) update(kind string, target *chatv1.Ref) (ok bool, err error) {
	f.e.Kind = kind
	f.e.Target, err = f.n.Message(target.GetSeq())
	return true, err
}

func (f *fromProto) edit(edit *chatv1.Edit) (bool, error) {
	if ok, err := f.message(edit.Content); !ok || err != nil {
		return ok, err
	}
	if f.e.Kind != Text && len(f.e.Files) == 1 {
		f.e.Files[0].Kind = f.e.Kind
	}
	return f.update(Edit, edit.Target)
}

func (f *fromProto) message(c *chatv1.Content) (bool, error) {
	e := f.e
	e.Mentions = mentionsOf(c.GetMentions(), f.n)
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Text:
		e.Kind, e.Text = Text, k.Text
	case *chatv1.Content_Image:
		return f.file(Image, k.Image)
	case *chatv1.Content_File:
		return f.file(File, k.File)
	case *chatv1.Content_Voice:
		return f.file(Voice, k.Voice)
	case *chatv1.Content_Video:
		return f.file(Video, k.Video)
	case *chatv1.Content_Album:
		return f.album(k.Album)
	case *chatv1.Content_Location:
		l := k.Location
		e.Kind, e.Location = Place, &Location{l.Latitude, l.Longitude, l.Label, l.Address, l.Accuracy}
	case *chatv1.Content_Card:
		e.Kind, e.Card = Contact, &Card{Title: k.Card.Title, Text: k.Card.Text, URL: k.Card.Url}
		if k.Card.User != 0 {
			e.Card.User = f.n.User(k.Card.User)
		}
	case *chatv1.Content_Custom:
		e.Kind, e.Data = Custom, &Data{k.Custom.Type, k.Custom.Data, k.Custom.Fallback}
	case *chatv1.Content_Signal:
		e.Kind, e.Data = Signal, &Data{k.Signal.Type, k.Signal.Data, k.Signal.Fallback}
	case *chatv1.Content_Forward:
		return f.forward(k.Forward)
	default:
		return false, nil
	}
	return true, nil
}

// forward carries a forward as a text: the messages to which it refers belong to another conversation, which a reader of the directory may not have.
func (f *fromProto) forward(k *chatv1.Forward) (bool, error) {
	f.e.Kind, f.e.Text = Text, fmt.Sprintf("[%d forwarded messages]", len(k.Seqs))
	if k.Title != "" {
		f.e.Text = k.Title + "\n" + f.e.Text
	}
	return true, nil
}

func (f *fromProto) attachment(m *chatv1.Media) (a Attachment, err error) {
	a = Attachment{Name: m.Name, MimeType: m.MimeType, Size: m.Size, Width: m.Width, Height: m.Height, DurationMs: m.DurationMs, Caption: m.Caption, Waveform: m.Waveform}
	if a.Path, err = f.n.File(m.Upload); err == nil && m.Poster != 0 {
		a.Poster, err = f.n.File(m.Poster)
	}
	return a, err
}

func (f *fromProto) file(kind string, m *chatv1.Media) (bool, error) {
	a, err := f.attachment(m)
	if err != nil {
		return false, err
	}
	if f.e.Kind, f.e.Files = kind, []Attachment{a}; a.Path == "" { // erased
		f.e.Kind, f.e.Files, f.e.Text = Text, nil, "["+m.Name+"]"
	}
	return true, nil
}

func (f *fromProto) album(album *chatv1.Album) (bool, error) {
	f.e.Kind, f.e.Text = Album, album.Caption
	for _, item := range album.Items {
		kind, m := Image, item.GetImage()
		if m == nil {
			kind, m = Video, item.GetVideo()
		}
		a, err := f.attachment(m)
		if err != nil {
			return false, err
		}
		if a.Kind = kind; a.Path != "" {
			f.e.Files = append(f.e.Files, a)
		}
	}
	if len(f.e.Files) == 0 {
		f.e.Kind, f.e.Text = Text, "[album] "+album.Caption
	}
	return true, nil
}

func (f *fromProto) control(c *chatv1.Control) (bool, error) {
	e := f.e
	for kind, action := range actions {
		if action == c.Action {
			e.Kind = kind
		}
	}
	if e.Kind == "" {
		return false, nil
	}
	for _, u := range c.Users {
		e.Users = append(e.Users, f.n.User(u))
	}
	e.Text, e.UntilMs, e.Seconds = c.Text, c.UntilMs, c.RetentionSeconds
	if c.RetentionDays != 0 && e.Seconds == 0 {
		e.Seconds = c.RetentionDays * 24 * 3600
	}
	switch c.Action {
	case chatv1.Control_ACTION_ROLE:
		if e.Role = "member"; c.Role == chatv1.Role_ROLE_ADMIN {
			e.Role = "admin"
		}
	case chatv1.Control_ACTION_JOIN_POLICY:
		e.JoinPolicy = PolicyOf(c.JoinPolicy)
	case chatv1.Control_ACTION_AVATAR:
		path, err := f.n.File(c.Upload)
		if err != nil {
			return false, err
		}
		if path != "" {
			e.Files = []Attachment{{Path: path}}
		}
	}
	return true, nil
}
