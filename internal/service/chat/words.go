package chat

import (
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Words is the filter of words for the texts of messages and the titles of groups. Its methods do not block.
type Words interface {
	// HasWords reports whether there are any words.
	HasWords() bool
	// CheckText fails if the texts contain a refused word. It returns a word that flags them, or "".
	CheckText(texts ...string) (flagged string, err error)
	// FlagMessage and FlagGroup report that content with such a word was stored.
	FlagMessage(m *chatv1.Message, word string)
	FlagGroup(c id.Conversation, title, word string)
}

// checkWords checks the words of a draft. One by the server has no text of a user.
func (s *Service) checkWords(d *message.Draft) (err error) {
	if s.deps.Words == nil || d.Sender == 0 || !s.deps.Words.HasWords() {
		return nil
	}
	if text, ok := message.TextOf(d.Content); ok {
		d.FlaggedWord, err = s.deps.Words.CheckText(string(text))
		return err
	}
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return err
	}
	d.FlaggedWord, err = s.deps.Words.CheckText(textsOf(&c)...)
	return err
}

// textsOf returns the texts of a message that its sender wrote.
func textsOf(c *chatv1.Content) (texts []string) {
	if e := c.GetEdit(); e != nil {
		c = e.Content
	}
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Text:
		texts = append(texts, k.Text)
	case *chatv1.Content_Image:
		texts = append(texts, k.Image.GetCaption())
	case *chatv1.Content_File:
		texts = append(texts, k.File.GetName(), k.File.GetCaption())
	case *chatv1.Content_Video:
		texts = append(texts, k.Video.GetCaption())
	case *chatv1.Content_Album:
		texts = append(texts, k.Album.GetCaption())
	case *chatv1.Content_Location:
		texts = append(texts, k.Location.GetLabel(), k.Location.GetAddress())
	case *chatv1.Content_Card:
		texts = append(texts, k.Card.GetTitle(), k.Card.GetText(), k.Card.GetUrl())
	case *chatv1.Content_Forward:
		texts = append(texts, k.Forward.GetTitle())
	}
	return texts
}

// flagMessage says that a stored message has a word that flags it. Of an edit it is the message that was edited.
func (s *Service) flagMessage(d *message.Draft) {
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		s.deps.Logger.Error("a flagged message cannot be decoded", "conversation", d.Conversation, "seq", d.Seq, "error", err)
		return
	}
	m := &chatv1.Message{Conversation: uint64(d.Conversation), Seq: d.Seq, Id: d.ID.String(), Sender: uint64(d.Sender), Device: uint64(d.Device), TimeMs: d.ID.Ms(), Content: &c}
	if e := c.GetEdit(); e != nil {
		m.Seq, m.EditSeq, m.Content = d.Updates, d.Seq, e.Content
	}
	s.deps.Words.FlagMessage(m, d.FlaggedWord)
}

// checkTitle checks the words of a title and of an announcement.
func (s *Service) checkTitle(texts ...string) (flagged string, err error) {
	if s.deps.Words == nil {
		return "", nil
	}
	return s.deps.Words.CheckText(texts...)
}

// flagTitle says that a group has got a title with a word that flags it.
func (s *Service) flagTitle(c id.Conversation, title, word string) {
	if word != "" {
		s.deps.Words.FlagGroup(c, title, word)
	}
}
