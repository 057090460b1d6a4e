//go:build cluster

package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch/opensearchtest"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// With OpenSearch, messages are found as with an index of the node, also after a restart and during a rebuild. Another deployment does not get the index, and one
// that was lost is not silently made again.
func TestSearchInOpenSearch(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server, err := opensearchtest.Start(ctx, t.Output())
	must(t, err)
	defer func() { must(t, server.Stop()) }()
	data := filepath.Join(t.TempDir(), "data")
	open := func(data string) (*Node, error) {
		return Open(t.Context(), configure(t, data, "opensearch.urls="+server.URL, "opensearch.replicas=0", "limits.search_user=none", "limits.search_address=none"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	}
	start := func() *Node {
		t.Helper()
		h, err := open(data)
		must(t, err)
		return h
	}
	h := start()
	defer func() { must(t, h.Close()) }()
	ann, ben := client(t, h), client(t, h)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann Kingfisher"))
	must(t, ben.Register(t.Context(), "ben", "a good password", "Ben"))
	group, err := ann.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "Kingfisher watch", Members: []uint64{ben.User()}}))
	must(t, err)
	send := func(key, text string) {
		t.Helper()
		_, err := ann.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: group.Msg.Id, ClientMsgId: key, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}))
		must(t, err)
	}
	send("1", "a kingfisher, 已添加为好友")
	all := func(messages int) func() bool {
		return func() bool {
			hits, answered := answeredSearch(t, ben, "kingfishr")
			return answered && len(hits) == 3 && hits[searchv1.HitKind_HIT_KIND_MESSAGE] == messages
		}
	}
	eventually.True(t, "all is found", all(1))
	eventually.True(t, "a part of a Chinese text is found", func() bool {
		hits, _ := answeredSearch(t, ben, "添加")
		return hits[searchv1.HitKind_HIT_KIND_MESSAGE] == 1
	})
	must(t, h.Close())
	h = start()
	ann, ben = client(t, h), client(t, h)
	must(t, ann.Login(t.Context(), "ann", "a good password"))
	must(t, ben.Login(t.Context(), "ben", "a good password"))
	send("2", "another kingfisher")
	eventually.True(t, "all is found after a restart", all(2))
	var out strings.Builder
	if code := SearchMain([]string{"rebuild", "--data", data}, &out, &out); code != 0 {
		t.Fatalf("rebuild: %d, %s", code, &out)
	}
	eventually.True(t, "the index was built again", func() bool {
		if hits, answered := answeredSearch(t, ben, "kingfishr"); answered && hits[searchv1.HitKind_HIT_KIND_MESSAGE] != 2 {
			t.Errorf("during the rebuild something is not found: %v", hits)
		}
		_, err := os.Stat(filepath.Join(data, datadir.SearchDir, "REBUILD"))
		return os.IsNotExist(err) && exists(t, server.URL+"/rialto-2") && !exists(t, server.URL+"/rialto-1")
	})
	if other, err := open(filepath.Join(t.TempDir(), "other")); !errors.Is(err, searchindex.ErrForeign) {
		t.Errorf("another deployment with the same index: %v", err)
		if err == nil {
			must(t, other.Close())
		}
	}
	must(t, h.Close())
	remove, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.URL+"/rialto-2", nil)
	must(t, err)
	answer, err := http.DefaultClient.Do(remove)
	must(t, err)
	must(t, answer.Body.Close())
	if _, err := open(data); err == nil || !strings.Contains(err.Error(), "rialto search rebuild") {
		t.Errorf("a node whose index is missing: %v", err)
	}
	if code := SearchMain([]string{"rebuild", "--data", data}, &out, &out); code != 0 {
		t.Fatalf("rebuild: %d, %s", code, &out)
	}
	h = start()
	ben = client(t, h)
	must(t, ben.Login(t.Context(), "ben", "a good password"))
	eventually.True(t, "all is found after the index was made again", all(2))
}

// answeredSearch is searched, but a search that OpenSearch does not answer in time, on a slow machine, is no failure of the test.
func answeredSearch(t *testing.T, c *rialto.Client, query string) (hits map[searchv1.HitKind]int, complete bool) {
	t.Helper()
	r, err := c.Search().Search(t.Context(), connect.NewRequest(&searchv1.SearchRequest{Query: query, Limit: 50}))
	if code := connect.CodeOf(err); code == connect.CodeUnavailable || code == connect.CodeDeadlineExceeded {
		return nil, false
	}
	must(t, err)
	hits = map[searchv1.HitKind]int{}
	for _, g := range r.Msg.Groups {
		hits[g.Kind] = len(g.Hits)
	}
	return hits, !r.Msg.Incomplete
}

// exists reports whether OpenSearch has an index.
func exists(t *testing.T, url string) bool {
	t.Helper()
	answer, err := http.Head(url)
	must(t, err)
	must(t, answer.Body.Close())
	return answer.StatusCode == http.StatusOK
}
