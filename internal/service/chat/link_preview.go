package chat

import (
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var errLinkPreview = errs.New(errs.Invalid, "bad_preview", "send a link preview as PreviewLink returned it to this user, with a text that has its URL")

// validateLinkPreview checks that a link preview belongs to its text. Service.validate checks that the server made it.
func validateLinkPreview(d *message.Draft, c *chatv1.Content) error {
	p := c.LinkPreview
	if c.GetText() == "" || p.Url == "" || !strings.Contains(c.GetText(), p.Url) {
		return errLinkPreview
	}
	d.LinkPreview = true
	if p.Picture != 0 {
		d.Uploads = append(d.Uploads, id.Upload(p.Picture))
	}
	return nil
}

// previewed returns the content that may have a link preview: of an edit the new one.
func previewed(c *chatv1.Content) *chatv1.Content {
	if e := c.GetEdit(); e != nil {
		return e.Content
	}
	return c
}

// validate checks a draft, and the signature of its link preview.
func (s *Service) validate(d *message.Draft) error {
	err := validate(d)
	if err != nil || !d.LinkPreview {
		return err
	}
	if s.deps.CheckLinkPreview == nil {
		return errLinkPreview
	}
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return err
	}
	return s.deps.CheckLinkPreview(d.Sender, previewed(&c).GetLinkPreview())
}

// dropLinkPreview removes a preview whose picture is gone: the message was sent long after it was written. The text matters more.
func dropLinkPreview(d *message.Draft) error {
	var c chatv1.Content
	err := proto.Unmarshal(d.Content, &c)
	if err != nil {
		return err
	}
	previewed(&c).LinkPreview = nil
	d.Uploads = nil
	d.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(&c)
	return err
}
