package apptest_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"google.golang.org/protobuf/proto"
)

// sitePage serves a page with a picture, and returns its address.
func sitePage(t *testing.T) string {
	t.Helper()
	var picture bytes.Buffer
	must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1200, 600))))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/picture.png" {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(picture.Bytes())
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>A page</title><meta property="og:image" content="/picture.png">`)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// A preview travels with its message to those who may read it, picture included; nobody else can send it, and settings switch it off.
func TestLinkPreview(t *testing.T) {
	page := sitePage(t)
	h := apptest.Open(t, func(c *config.Config) { c.LinkPreviews.InternalHosts = []string{strings.TrimPrefix(page, "http://")} })
	ann, bob, eve := h.Register(t, "anna"), h.Register(t, "bobo"), h.Register(t, "evee")
	c := h.Direct(t, ann, bob)
	preview := func(p *apptest.Person) (*chatv1.LinkPreview, error) {
		r, err := h.Chat().PreviewLink(t.Context(), apptest.As(p, &chatv1.PreviewLinkRequest{Url: page}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	send := func(p *apptest.Person, id string, preview *chatv1.LinkPreview) error {
		content := apptest.Text("see " + page)
		content.LinkPreview = preview
		_, err := h.Chat().Send(t.Context(), apptest.As(p, &chatv1.SendRequest{Conversation: c, ClientMsgId: id, Content: content}))
		return err
	}
	made, err := preview(ann)
	must(t, err)
	must(t, send(ann, "1", made))
	forged := proto.Clone(made).(*chatv1.LinkPreview)
	forged.Title = "Your bank"
	for name, err := range map[string]error{"a forged preview": send(ann, "2", forged), "another's preview": send(bob, "1", made)} {
		if err == nil || !strings.Contains(err.Error(), "as PreviewLink returned it") {
			t.Errorf("%s: error %v, want one that contains 'as PreviewLink returned it'", name, err)
		}
	}
	r, err := h.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: c}))
	must(t, err)
	m := r.Msg.Messages[len(r.Msg.Messages)-1]
	if !proto.Equal(m.Content.LinkPreview, made) || made.Title != "A page" || made.Picture == 0 || made.Width != 640 {
		t.Fatalf("bob reads %v, want %v", m.Content, made)
	}
	media := chatv1connect.NewMediaServiceClient(http.DefaultClient, h.URL)
	get := &chatv1.GetDownloadRequest{Upload: made.Picture, Conversation: c, Seq: m.Seq}
	file, err := media.GetDownload(t.Context(), apptest.As(bob, get))
	must(t, err)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+file.Msg.Url, nil)
	must(t, err)
	res, err := http.DefaultClient.Do(q)
	must(t, err)
	defer res.Body.Close()
	if _, format, err := image.DecodeConfig(io.LimitReader(res.Body, 1<<20)); err != nil || format != "jpeg" {
		t.Errorf("the picture is %s, %v", format, err)
	}
	if _, err := media.GetDownload(t.Context(), apptest.As(eve, get)); err == nil {
		t.Error("a user outside the conversation reads the picture")
	}
	_, err = h.Accounts().UpdateSettings(t.Context(), apptest.As(ann, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{NoLinkPreviews: true}}))
	must(t, err)
	if _, err := preview(ann); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("with previews switched off: %v", err)
	}
}
