package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const page = "https://example.com/page"

// previews has a conversation of users 1 and 2, where the server has made previews for user 1, with the signature "1".
type previews struct {
	*chat.Service
	c    id.Conversation
	gone id.Upload // a picture that was dropped
	used []id.Upload
}

func newPreviews(t *testing.T) *previews {
	t.Helper()
	h, p := newHarness(t, chat.Config{}), &previews{}
	deps := h.deps(h.db)
	deps.CheckLinkPreview = func(u id.User, preview *chatv1.LinkPreview) error {
		if u == 1 && string(preview.Signature) == "1" {
			return nil
		}
		return errs.New(errs.Invalid, "bad_preview", "this is forged")
	}
	deps.CheckUploads = func(_ context.Context, _ id.Conversation, _ []id.User, uploads []id.Upload) []error {
		refused := make([]error, len(uploads))
		for i, n := range uploads {
			if n == p.gone {
				refused[i] = errs.New(errs.NotFound, "no_upload", "there is no such upload")
				continue
			}
			p.used = append(p.used, n)
		}
		return refused
	}
	var err error
	p.Service, err = chat.New(context.Background(), deps, h.config)
	must(t, err)
	p.c, err = p.OpenDirect(context.Background(), 1, 2)
	must(t, err)
	return p
}

func withPreview(text, signature string, picture uint64) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}, LinkPreview: &chatv1.LinkPreview{Url: page, Title: "A page", Picture: picture, Signature: []byte(signature)}}
}

func editTo(seq uint64, content *chatv1.Content) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: content}}}
}

func (p *previews) try(t *testing.T, u id.User, n uint64, content *chatv1.Content) (*message.Draft, error) {
	t.Helper()
	d := updateDraft(t, p.c, u, n, content)
	return d, p.Send(context.Background(), d)
}

func (p *previews) at(t *testing.T, seq uint64) *chatv1.LinkPreview {
	t.Helper()
	return messageAt(t, p.Service, 2, p.c, seq).Content.LinkPreview
}

// A message has the preview that the server made for its sender. An edit keeps it, replaces it or removes it, and a forward has it.
func TestLinkPreviews(t *testing.T) {
	p := newPreviews(t)
	sent, err := p.try(t, 1, 1, withPreview("see "+page, "1", 7))
	must(t, err)
	if got := p.at(t, sent.Seq); got.GetTitle() != "A page" || got.Picture != 7 || len(p.used) != 1 || p.used[0] != 7 {
		t.Errorf("the message has %v, and %v are used", got, p.used)
	}
	if again, err := p.try(t, 1, 1, withPreview("see "+page, "1", 7)); err != nil || !again.Duplicate {
		t.Errorf("the retry returned %v, %v", again, err)
	}
	forward, err := p.try(t, 2, 1, forwardOf(p.c, "", sent.Seq))
	must(t, err)
	if items := messageAt(t, p.Service, 2, p.c, forward.Seq).Content.GetForward().GetItems(); len(items) != 1 || items[0].Content.LinkPreview.GetTitle() != "A page" {
		t.Errorf("the forward has %v", items)
	}
	_, err = p.try(t, 1, 2, editTo(sent.Seq, withPreview("do see "+page, "1", 8)))
	must(t, err)
	if got := p.at(t, sent.Seq); got.GetPicture() != 8 || len(p.used) < 2 || p.used[len(p.used)-1] != 8 {
		t.Errorf("the edited message has %v, and %v are used", got, p.used)
	}
	_, err = p.try(t, 1, 3, editOf(sent.Seq, "see "+page))
	must(t, err)
	if got := p.at(t, sent.Seq); got != nil {
		t.Errorf("after an edit without a preview the message has %v", got)
	}
}

// The server stores no preview that it did not make for this sender, and none without its link.
func TestForgedLinkPreviews(t *testing.T) {
	p := newPreviews(t)
	sent, err := p.try(t, 1, 1, withPreview(page, "1", 0))
	must(t, err)
	theirs, err := p.try(t, 2, 1, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "mine"}})
	must(t, err)
	noURL := withPreview("text", "1", 0)
	noURL.LinkPreview.Url = ""
	picture := &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: 1, Name: "x", Caption: page}}, LinkPreview: withPreview(page, "1", 0).LinkPreview}
	outside := editTo(sent.Seq, &chatv1.Content{Kind: &chatv1.Content_Text{Text: page}})
	outside.LinkPreview = withPreview(page, "1", 0).LinkPreview
	for n, test := range []struct {
		name    string
		by      id.User
		content *chatv1.Content
	}{
		{"a forged one", 1, withPreview(page, "2", 0)},
		{"one without a signature", 1, withPreview(page, "", 0)},
		{"another user's", 2, withPreview(page, "1", 0)},
		{"a text without the link", 1, withPreview("see https://example.com/other", "1", 0)},
		{"no link", 1, noURL},
		{"a picture", 1, picture},
		{"a forged one in an edit", 1, editTo(sent.Seq, withPreview(page, "2", 0))},
		{"another user's in an edit", 2, editTo(theirs.Seq, withPreview(page, "1", 0))},
		{"one beside an edit", 1, outside},
	} {
		if _, err := p.try(t, test.by, uint64(n)+2, test.content); reasonOf(err) != "bad_preview" {
			t.Errorf("%s: %v; want bad_preview", test.name, err)
		}
		d := updateDraft(t, p.c, test.by, 0, test.content)
		d.ClientMsgID, d.Device = "later", 0
		if err := p.CheckScheduled(context.Background(), d); reasonOf(err) != "bad_preview" {
			t.Errorf("%s, scheduled: %v; want bad_preview", test.name, err)
		}
	}
}

// A message that was sent long after it was written is stored without the preview whose picture is gone; so is its retry.
func TestAPreviewWithoutItsPictureIsLeftOut(t *testing.T) {
	p := newPreviews(t)
	p.gone = 9
	for range 2 {
		sent, err := p.try(t, 1, 1, withPreview("see "+page, "1", 9))
		must(t, err)
		m := messageAt(t, p.Service, 2, p.c, sent.Seq)
		if want := (&chatv1.Content{Kind: &chatv1.Content_Text{Text: "see " + page}}); !proto.Equal(m.Content, want) {
			t.Errorf("the message is %v", m.Content)
		}
	}
	if m, err := p.History(context.Background(), 2, &chatv1.HistoryRequest{Conversation: uint64(p.c)}); err != nil || len(m.Messages) != 2 {
		t.Errorf("the history has %v, %v; want the beginning and one message", m, err)
	}
}
