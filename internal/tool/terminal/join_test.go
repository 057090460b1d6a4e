package terminal

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// What a group says of itself cannot control the terminal.
func TestJoinPreviews(t *testing.T) {
	for want, found := range map[string]*chatv1.PreviewJoinLinkResponse{
		"  Hik ing[2J, a group, members: 3\n  announcement: a\n         b\n  whoever joins is in it at once": {Title: "Hik\ning\x1b[2J", MemberCount: 3, Announcement: "a\nb"},
		"  News (@news), a channel, followers: 9\n  you are in it already":                                   {Title: "News", MemberCount: 9, Channel: true, Handle: "news", Member: true},
	} {
		if got := joinPreview(found, true); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := joinPreview(&chatv1.PreviewJoinLinkResponse{Title: "Hiking"}, false); !strings.HasSuffix(got, "or its admins are asked first; a message for them may follow /join") {
		t.Errorf("by its id: got %q", got)
	}
	for address, want := range map[string]bool{"Pn3k": true, "https://a.example/join/Pn3k": true, "https://a.example/g/77": false, "77": false, "@news": false} {
		if got := rialto.IsJoinCode(address); got != want {
			t.Errorf("%q is a code: %v", address, got)
		}
	}
}

// joinable is a server with a group that has the code "code".
type joinable struct {
	chatv1connect.UnimplementedChatServiceHandler
	joined []string
}

func (*joinable) PreviewJoinLink(_ context.Context, r *connect.Request[chatv1.PreviewJoinLinkRequest]) (*connect.Response[chatv1.PreviewJoinLinkResponse], error) {
	return connect.NewResponse(&chatv1.PreviewJoinLinkResponse{Title: "Hiking", Conversation: 7}), nil
}

func (d *joinable) Join(_ context.Context, r *connect.Request[chatv1.JoinRequest]) (*connect.Response[chatv1.JoinResponse], error) {
	d.joined = append(d.joined, r.Msg.Token+" "+r.Msg.Message)
	return connect.NewResponse(&chatv1.JoinResponse{}), nil
}

// At a keyboard nobody joins who does not say yes.
func TestJoiningIsConfirmed(t *testing.T) {
	d, mux := &joinable{}, http.NewServeMux()
	mux.Handle(chatv1connect.NewChatServiceHandler(d))
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
	s.keyed = true
	s.console = newKeyboard(strings.NewReader("n\r\rY\r"), io.Discard, func() int { return 80 }, s.pressed)
	for _, message := range []string{"no", "nothing", "let me in"} {
		if err := s.join(t.Context(), "code "+message); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"code let me in"}; !slices.Equal(d.joined, want) {
		t.Errorf("joined with %q, want %q", d.joined, want)
	}
}
