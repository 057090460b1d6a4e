package chat

import (
	"errors"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of contents that are not a plain text.
const (
	maxCustom   = 64 << 10
	maxWaveform = 64  // samples
	maxAlbum    = 10  // images and videos
	maxAccuracy = 1e8 // metres
)

// contentSchema counts the parts of a content before it is decoded. It is made for the first.
var contentSchema = sync.OnceValue(func() *inputlimit.Schema { return inputlimit.For(&chatv1.Content{}) })

func badContent(what string) error { return errs.New(errs.Invalid, "bad_content", what) }

var (
	errMedia    = badContent("a file needs the id of its upload, a name in one line and a caption, of at most 2,000 characters" + message.TextRule)
	errWaveform = badContent("only a voice message has a waveform, of at most 64 samples")
	errPoster   = badContent("only a video has a poster")
	errAlbum    = badContent("an album has 1 to 10 items, each an image or a video without a caption, and one caption of at most 2,000 characters" + message.TextRule)
	errLocation = badContent("a location has a latitude of -90 to 90, a longitude of -180 to 180, an accuracy in metres, and a label and an address in one line" + message.TextRule)
	errCard     = badContent("a card needs a title in one line, with at least one visible character; its texts have at most 2,000 characters" + message.TextRule)
	errCardURL  = badContent("a card's URL begins with https://, http:// or mailto:")
	errCardRefs = badContent("a card refers to one thing: a URL, a user or a group")
	errCustom   = badContent("a custom message needs a type in one line and at most 64 KiB of data; its fallback has at most 2,000 characters" + message.TextRule)
	errSignal   = badContent("a signal has no fallback and is no reply, because it is never shown")
)

// validateContent checks a content that is not a plain text, and gives it the form that is stored.
func validateContent(d *message.Draft) error {
	var c chatv1.Content
	switch err := contentSchema().Proto(d.Content); {
	case errors.Is(err, inputlimit.ErrMalformed):
		return errNoContent
	case err != nil:
		return err // each limit has its reason
	}
	// Unknown fields are dropped, because no limit applies to them.
	if len(d.Content) == 0 || (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(d.Content, &c) != nil || c.Kind == nil {
		return errNoContent
	}
	err := validateKind(d, &c)
	if err == nil {
		err = validateReferences(d, &c)
	}
	if c.BrokenOff != nil {
		err = badContent("the server says that a streamed message was broken off")
	}
	if c.ExternalId != "" || c.Bridge != "" {
		err = badContent("only an import or a bridge gives a message an external id")
	}
	if err == nil && c.LinkPreview != nil {
		err = validateLinkPreview(d, &c)
	}
	if err != nil {
		return err
	}
	d.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(&c)
	return err
}

// validateReferences checks what a content replies to, and its mentions.
func validateReferences(d *message.Draft, c *chatv1.Content) error {
	if c.ReplyTo != nil {
		if err := validateRef(d, c.ReplyTo); err != nil {
			return err
		}
	}
	d.Mentions = len(mentionsOf(c)) > 0
	return validateMentions(c)
}

func validateKind(d *message.Draft, c *chatv1.Content) error {
	switch k := c.Kind.(type) {
	case *chatv1.Content_Text:
		return validateText([]byte(k.Text))
	case *chatv1.Content_Image:
		return validateMedia(d, k.Image)
	case *chatv1.Content_File:
		return validateMedia(d, k.File)
	case *chatv1.Content_Voice:
		return validateVoice(d, k.Voice)
	case *chatv1.Content_Video:
		return validateVideo(d, k.Video)
	case *chatv1.Content_Album:
		return validateAlbum(d, k.Album)
	case *chatv1.Content_Forward:
		return validateForward(d, k.Forward)
	case *chatv1.Content_Location:
		return validateLocation(k.Location)
	case *chatv1.Content_Card:
		return validateCard(d, k.Card)
	case *chatv1.Content_Custom:
		return validateCustom(k.Custom)
	case *chatv1.Content_Signal:
		if c.ReplyTo != nil || k.Signal.GetFallback() != "" {
			return errSignal
		}
		return validateCustom(k.Signal)
	case *chatv1.Content_Edit, *chatv1.Content_Recall, *chatv1.Content_Reaction, *chatv1.Content_Pin:
		return validateUpdate(d, c)
	case *chatv1.Content_Streamed:
		return badContent("call StartStreamedMessage for a message that is written in parts")
	case *chatv1.Content_Thread:
		return badContent("the server says that a thread was started: call StartThread")
	case *chatv1.Content_BridgeReport:
		return badContent("only a bridge says what became of a message in another system: call ReportDelivery")
	}
	return badContent("control entries are written by the server only")
}

// isLong reports whether a text has more than 2,000 characters.
func isLong(texts ...string) bool {
	for _, t := range texts {
		if len(t) > 8000 || utf8.RuneCountInString(t) > 2000 {
			return true
		}
	}
	return false
}

// validateFile checks what all files have, and notes the upload, which must be the sender's own.
func validateFile(d *message.Draft, m *chatv1.Media) error {
	if m.GetUpload() == 0 || isLong(m.Name, m.MimeType, m.Caption) || !message.IsLine(m.Name) || !message.IsLine(m.MimeType) || !message.IsParagraph(m.Caption) {
		return errMedia
	}
	d.Uploads = append(d.Uploads, id.Upload(m.Upload))
	return nil
}

// validateMedia checks an image or a file.
func validateMedia(d *message.Draft, m *chatv1.Media) error {
	if len(m.GetWaveform()) > 0 {
		return errWaveform
	}
	if m.GetPoster() != 0 {
		return errPoster
	}
	return validateFile(d, m)
}

func validateVoice(d *message.Draft, m *chatv1.Media) error {
	if len(m.GetWaveform()) > maxWaveform {
		return errWaveform
	}
	if m.GetPoster() != 0 {
		return errPoster
	}
	return validateFile(d, m)
}

func validateVideo(d *message.Draft, m *chatv1.Media) error {
	if len(m.GetWaveform()) > 0 {
		return errWaveform
	}
	if m.GetPoster() != 0 {
		d.Uploads = append(d.Uploads, id.Upload(m.Poster))
	}
	return validateFile(d, m)
}

func validateAlbum(d *message.Draft, a *chatv1.Album) error {
	if n := len(a.Items); n == 0 || n > maxAlbum || isLong(a.Caption) || !message.IsParagraph(a.Caption) {
		return errAlbum
	}
	for _, item := range a.Items {
		if item.GetImage().GetCaption() != "" || item.GetVideo().GetCaption() != "" {
			return errAlbum
		}
		var err error
		switch k := item.Kind.(type) {
		case *chatv1.AlbumItem_Image:
			err = validateMedia(d, k.Image)
		case *chatv1.AlbumItem_Video:
			err = validateVideo(d, k.Video)
		default:
			err = errAlbum
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func validateLocation(l *chatv1.Location) error {
	inRange := func(v, bound float64) bool { return v >= -bound && v <= bound } // false for NaN
	if !inRange(l.Latitude, 90) || !inRange(l.Longitude, 180) || !inRange(l.Accuracy, maxAccuracy) || math.Signbit(l.Accuracy) ||
		isLong(l.Label, l.Address) || !message.IsLine(l.Label) || !message.IsLine(l.Address) {
		return errLocation
	}
	return nil
}

func validateCard(d *message.Draft, c *chatv1.Card) error {
	refs := 0
	for _, is := range []bool{c.Url != "", c.User != 0, c.Group != 0} {
		if is {
			refs++
		}
	}
	switch {
	case isLong(c.Title, c.Text, c.Url) || !message.IsName(c.Title) || !message.IsParagraph(c.Text):
		return errCard
	case refs > 1:
		return errCardRefs
	case c.Url != "" && !message.IsLink(c.Url):
		return errCardURL
	}
	if c.Picture != 0 {
		d.Uploads = append(d.Uploads, id.Upload(c.Picture))
	}
	return nil
}

func validateCustom(c *chatv1.Custom) error {
	if len(c.Data) > maxCustom || isLong(c.Type, c.Fallback) || c.Type == "" || !message.IsLine(c.Type) || !message.IsParagraph(c.Fallback) {
		return errCustom
	}
	return nil
}
