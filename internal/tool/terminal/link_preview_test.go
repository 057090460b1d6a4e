package terminal

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

func TestFirstLinks(t *testing.T) {
	for text, want := range map[string]string{
		"see https://example.com/a.":                        "https://example.com/a",
		"(https://example.com/a_(b)) and https://b.example": "https://example.com/a_(b)",
		"“http://example.com:8080/x?y=1#z”":                 "http://example.com:8080/x?y=1#z",
		"看https://example.com/路。":                           "https://example.com/路",
		"https:// https://b.example!":                       "https://b.example",
		"HTTPS://EXAMPLE.com":                               "HTTPS://EXAMPLE.com",
		"ftp://example.com example.com":                     "",
		"":                                                  "",
	} {
		if got := firstLink(text); got != want {
			t.Errorf("the first link of %q is %q, want %q", text, got, want)
		}
	}
}

// previewer is a server that previews pages, unless the test gives an error.
type previewer struct {
	chatv1connect.UnimplementedChatServiceHandler
	fails error
	asked []string
}

func (p *previewer) PreviewLink(_ context.Context, r *connect.Request[chatv1.PreviewLinkRequest]) (*connect.Response[chatv1.LinkPreview], error) {
	p.asked = append(p.asked, r.Msg.Url)
	return connect.NewResponse(&chatv1.LinkPreview{Url: r.Msg.Url, Title: "A page"}), p.fails
}

// A text has the preview of its first link, unless there is no connection. Where previews are off, the server is asked once.
func TestTextsHavePreviews(t *testing.T) {
	p, mux := &previewer{}, http.NewServeMux()
	mux.Handle(chatv1connect.NewChatServiceHandler(p))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s := newScreen()
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	off := connect.NewError(connect.CodePermissionDenied, errors.New("off"))
	if d, err := connect.NewErrorDetail(&gatewayv1.Error{Reason: "previews_off"}); err == nil {
		off.AddDetail(d)
	}
	for _, step := range []struct {
		online bool
		fails  error
		text   string
		want   string // the URL of the preview
		asked  int
	}{
		{false, nil, "https://a.example", "", 0},
		{true, nil, "no link", "", 0},
		{true, nil, "https://a.example and https://b.example", "https://a.example", 1},
		{true, connect.NewError(connect.CodeUnavailable, nil), "https://a.example", "", 1},
		{true, off, "https://a.example", "", 1},
		{true, nil, "https://a.example", "", 0},
	} {
		s.online, p.fails, p.asked = step.online, step.fails, nil
		c := s.withPreview(t.Context(), textContent(step.text))
		if got := c.LinkPreview.GetUrl(); got != step.want || len(p.asked) != step.asked {
			t.Errorf("%q: the preview is of %q after %d calls, want %q after %d", step.text, got, len(p.asked), step.want, step.asked)
		}
	}
}
