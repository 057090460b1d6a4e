package terminal

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// searchServer is a server with an index that is being built.
type searchServer struct {
	registry
	searchv1connect.UnimplementedSearchServiceHandler
}

func (*searchServer) Search(_ context.Context, q *connect.Request[searchv1.SearchRequest]) (*connect.Response[searchv1.SearchResponse], error) {
	if q.Msg.Query == "nothing" {
		return connect.NewResponse(&searchv1.SearchResponse{}), nil
	}
	return connect.NewResponse(&searchv1.SearchResponse{Incomplete: true, Groups: []*searchv1.HitGroup{
		{Kind: searchv1.HitKind_HIT_KIND_MESSAGE, Next: "x", Hits: []*searchv1.Hit{{Text: "you said\nhello\x1b[2J world", Highlights: []*searchv1.Highlight{{Start: 9, Length: 5}}, Message: &chatv1.Message{Conversation: 7, Seq: 3, Sender: 2}},
			{Text: "the message of the file", Message: &chatv1.Message{Conversation: 7, Seq: 4, Sender: 2}}}},
		{Kind: searchv1.HitKind_HIT_KIND_VIDEO, Hits: []*searchv1.Hit{{Text: "at the lake", Post: &feedv1.Post{Id: 9, Author: 2}, Video: &videov1.Video{DurationMs: 61_000}}}},
		{Kind: searchv1.HitKind_HIT_KIND_FILE, Hits: []*searchv1.Hit{{Text: "report.pdf\na report", Highlights: []*searchv1.Highlight{{Start: 0, Length: 6}}, Message: &chatv1.Message{Conversation: 7, Seq: 4, Sender: 2},
			File: &searchv1.FoundFile{Media: &chatv1.Media{Name: "report.pdf", Size: 2048}, Others: 2}}}},
		{Kind: searchv1.HitKind_HIT_KIND_POST, Hits: []*searchv1.Hit{{Text: "the post of the video", Post: &feedv1.Post{Id: 9, Author: 2}}}},
		{Kind: 99, Hits: []*searchv1.Hit{{Text: "of a later version"}}},
	}}), nil
}

// Hits are shown in one line each, with their matches in bold, and without escape sequences of their own.
func TestSearch(t *testing.T) {
	n := &searchServer{}
	mux := http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(n))
	mux.Handle(searchv1connect.NewSearchServiceHandler(n))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s, out := newScreen(), &strings.Builder{}
	s.console, s.colours = &pipe{in: bufio.NewReader(strings.NewReader("")), out: out}, true
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"/search hello", "/search nothing"} {
		if err := s.do(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"is being built", "Messages:", "7 #3  Bob: you said \x1b[1mhello\x1b[0m", " world\n", "and more", "Nothing found.", "Videos:", "Bob: at the lake (1m1s)", "Files:", "7 #4  Bob: \x1b[1mreport\x1b[0m.pdf a report (" + size(2048) + "), and 2 more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the screen lacks %q:\n%q", want, out)
		}
	}
	for _, bad := range []string{"later version", "\x1b[2J", "the message of the file", "the post of the video", "Posts:"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("the screen has %q:\n%q", bad, out)
		}
	}
	if err := s.do(t.Context(), "/search"); err == nil {
		t.Error("a search without words is sent")
	}
}
