package rialto

import (
	"context"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// MediaOf returns the file of a message from its upload, to send it as an image, a file, a voice message or a video.
func MediaOf(u *chatv1.Upload) *chatv1.Media {
	return &chatv1.Media{Upload: u.Upload, Name: u.Name, MimeType: u.MimeType, Size: u.Size, Width: u.Width, Height: u.Height}
}

// SendVoice sends a recording, and waits until it is stored, as Send does. waveform has at most 64 samples of its loudness, and may be nil.
func (c *Client) SendVoice(ctx context.Context, conversation uint64, u *chatv1.Upload, length time.Duration, waveform []byte) (*gatewayv1.Receipt, error) {
	m := MediaOf(u)
	m.DurationMs, m.Waveform = uint32(length.Milliseconds()), waveform
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Voice{Voice: m}})
}

// SendVideo sends a video, and waits until it is stored, as Send does. poster is a picture to show until it plays, and may be nil. Its size
// is that of the video.
func (c *Client) SendVideo(ctx context.Context, conversation uint64, u, poster *chatv1.Upload, length time.Duration) (*gatewayv1.Receipt, error) {
	m := MediaOf(u)
	m.DurationMs = uint32(length.Milliseconds())
	if poster != nil {
		m.Poster, m.Width, m.Height = poster.Upload, poster.Width, poster.Height
	}
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Video{Video: m}})
}

// SendAlbum sends up to ten images as one message with one caption, and waits until it is stored, as Send does.
func (c *Client) SendAlbum(ctx context.Context, conversation uint64, caption string, images ...*chatv1.Upload) (*gatewayv1.Receipt, error) {
	a := &chatv1.Album{Caption: caption}
	for _, u := range images {
		a.Items = append(a.Items, &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Image{Image: MediaOf(u)}})
	}
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Album{Album: a}})
}

// SendLocation sends a place, and waits until it is stored, as Send does.
func (c *Client) SendLocation(ctx context.Context, conversation uint64, l *chatv1.Location) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Location{Location: l}})
}

// SendCard sends a card that refers to a link, a user or a group, and waits until it is stored, as Send does.
func (c *Client) SendCard(ctx context.Context, conversation uint64, card *chatv1.Card) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Card{Card: card}})
}

// SendCustom sends a message of a kind of your own, such as app.example/poll, with at most 64 KiB of data, and waits until it is stored, as
// Send does. Clients that do not know the kind show fallback.
func (c *Client) SendCustom(ctx context.Context, conversation uint64, kind string, data []byte, fallback string) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Custom{Custom: &chatv1.Custom{Type: kind, Data: data, Fallback: fallback}}})
}

// SendSignal sends a message for programs, and waits until it is stored, as Send does. Clients do not show it, and it is never unread.
func (c *Client) SendSignal(ctx context.Context, conversation uint64, kind string, data []byte) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, conversation, &chatv1.Content{Kind: &chatv1.Content_Signal{Signal: &chatv1.Custom{Type: kind, Data: data}}})
}

// PreviewLink returns a preview of the page behind a link in a text. To send it, set it in the content of the text, as it is, and call Send.
// The server refuses it with no_preview where there is none, and with previews_off where the operator or this user wants none.
func (c *Client) PreviewLink(ctx context.Context, url string) (*chatv1.LinkPreview, error) {
	r, err := c.chat.PreviewLink(ctx, connect.NewRequest(&chatv1.PreviewLinkRequest{Url: url}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// Forward shows messages of the conversation from to the conversation to: 1 to 100 that this user may read, by their seqs. With a title they
// are one card. It waits until that is stored, as Send does. The messages are in the event, not in the receipt.
func (c *Client) Forward(ctx context.Context, to, from uint64, title string, seqs ...uint64) (*gatewayv1.Receipt, error) {
	return c.Send(ctx, to, &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Title: title, Conversation: from, Seqs: seqs}}})
}

// Shown reports whether people see an entry as a message of its own, or as a notice: it is no update, no signal, and no change of access.
// Kinds that this version does not know are shown, with a text that says so.
func Shown(m *chatv1.Message) bool {
	return UpdateTarget(m) == 0 && m.GetContent().GetSignal() == nil && m.GetContent().GetControl().GetAction() != chatv1.Control_ACTION_ACCESS
}
