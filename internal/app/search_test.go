package app

import (
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// searched returns how many hits of each kind a query has, and whether the answer is complete.
func searched(t *testing.T, c *rialto.Client, query string) (hits map[searchv1.HitKind]int, complete bool) {
	t.Helper()
	r, err := c.Search().Search(t.Context(), connect.NewRequest(&searchv1.SearchRequest{Query: query, Limit: 50}))
	must(t, err)
	hits = map[searchv1.HitKind]int{}
	for _, g := range r.Msg.Groups {
		hits[g.Kind] = len(g.Hits)
	}
	return hits, !r.Msg.Incomplete
}

// Messages, users, groups and posts are found soon after they are there, after a restart, after the index was lost or damaged, and after a rebuild while the
// node runs. Meanwhile answers say that they are incomplete, or come from the earlier index.
func TestSearchOverHTTP(t *testing.T) {
	t.Run("index in the process of the node", func(t *testing.T) { searchOverHTTP(t, nil) })
	t.Run("index in a process of its own", func(t *testing.T) { searchOverHTTP(t, commandOfTest(t, new(atomic.Int64))) })
}

func searchOverHTTP(t *testing.T, command func(dir string) *exec.Cmd) {
	data := filepath.Join(t.TempDir(), "data")
	start := func() *Node {
		t.Helper()
		h, err := openNode(t.Context(), configure(t, data, "limits.search_user=none", "limits.search_address=none"), slog.New(slog.NewTextHandler(t.Output(), nil)), clock.System{}, command)
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
	_, err = ann.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: group.Msg.Id, ClientMsgId: "1", Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "a kingfisher, 已添加为好友"}}}))
	must(t, err)
	_, err = ann.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "1", Content: &feedv1.PostContent{Text: "my kingfisher pictures"}}))
	must(t, err)
	all := func(c *rialto.Client) func() bool {
		return func() bool {
			hits, complete := searched(t, c, "kingfishr")
			return complete && len(hits) == 4 && hits[searchv1.HitKind_HIT_KIND_MESSAGE] == 1
		}
	}
	eventually.True(t, "all is found", all(ben))
	if hits, _ := searched(t, ben, "添加"); hits[searchv1.HitKind_HIT_KIND_MESSAGE] != 1 {
		t.Errorf("a part of a Chinese text: %v", hits)
	}
	for _, damage := range []func(dir string) error{
		func(string) error { return nil },
		os.RemoveAll,
		func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*", "*.zap"))
			for _, f := range files {
				if err == nil {
					err = os.Truncate(f, 10)
				}
			}
			return err
		},
	} {
		must(t, h.Close())
		must(t, damage(filepath.Join(data, datadir.SearchDir)))
		h = start()
		ben = client(t, h)
		must(t, ben.Login(t.Context(), "ben", "a good password"))
		eventually.True(t, "all is found after a restart", all(ben))
	}
	var out strings.Builder
	if code := SearchMain([]string{"rebuild", "--data", data, "--reason", "words of an erased user"}, &out, &out); code != 0 {
		t.Fatalf("rebuild: %d, %s", code, &out)
	}
	before := h.search.State().Indexed
	eventually.True(t, "the index was built again", func() bool {
		if !all(ben)() {
			t.Error("during the rebuild something is not found")
		}
		_, err := os.Stat(filepath.Join(data, datadir.SearchDir, "REBUILD"))
		return os.IsNotExist(err)
	})
	if h.search.State().Indexed == before {
		t.Error("nothing was indexed")
	}
	if hits, complete := searched(t, ben, "kingfisher"); !complete || len(hits) != 4 {
		t.Errorf("after the rebuild: %v, %v", hits, complete)
	}
	list, err := h.audit.List(t.Context(), math.MaxInt64, 10)
	must(t, err)
	if len(list) != 1 || !systemPerson.MatchString(list[0].Who) || list[0].Action != "search.rebuild" || list[0].Reason != "words of an erased user" || list[0].Before == list[0].After {
		t.Errorf("the audit log has %+v", list)
	}
}

// A misspelt directory is refused, and not made.
func TestRebuildWithoutServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "dtaa")
	var out strings.Builder
	if code := SearchMain([]string{"rebuild", "--data", data}, &out, &out); code != 1 || !strings.Contains(out.String(), "no server has run") {
		t.Errorf("code %d, %s", code, &out)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
}
