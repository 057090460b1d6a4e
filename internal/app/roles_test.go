package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// TestRolesServePaths: a node serves what its roles name, and a node without roles everything.
func TestRolesServePaths(t *testing.T) {
	for path, served := range map[string]string{
		"/v1/socket": "gateway", "/v1/events": "gateway", "/v1/stomp": "gateway",
		"/rialto.chat.v1.ChatService/History": "api chat", "/rialto.presence.v1.PresenceService/GetPresence": "api chat", "/rialto.transaction.v1.MessageTransactionService/Commit": "api chat",
		"/rialto.feed.v1.FeedService/HomeTimeline": "api feed", "/rialto.notification.v1.NotificationService/ListNotifications": "api feed", "/rialto.comment.v1.CommentService/ListComments": "api feed",
		"/rialto.account.v1.AccountService/Login": "api", "/rialto.search.v1.SearchService/Search": "api", "/rialto.feeds": "api", "/v1/media/1": "api", "/": "api",
	} {
		for _, role := range []string{"", "gateway", "api", "chat", "feed", "worker"} {
			c := config.Config{Roles: strings.Fields(role)}
			if want := role == "" || slices.Contains(strings.Fields(served), role); c.Has(roleOf(path)) != want {
				t.Errorf("a node with the role %q serves %s: %v, want %v", role, path, !want, want)
			}
		}
	}
}

// TestNodesWithDifferentRoles: one node holds the sockets, one answers calls of conversations, one those of posts, one all others, and one fans out. A message goes
// from a call to a socket through all of them, and a post to its reader. A node does not serve other roles.
func TestNodesWithDifferentRoles(t *testing.T) {
	address, s3 := sqltest.Schema(t, sqltest.Postgres(t)), s3test.Start(t)
	shared := []string{"postgres=" + address, "s3.endpoint=" + s3.Endpoint, "s3.bucket=" + s3.Bucket(t), "s3.access_key=" + s3.AccessKey, "s3.secret_key=" + s3.SecretKey}
	nodes := map[string]*Node{}
	for _, role := range []string{"worker", "gateway", "api", "chat", "feed"} {
		h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), append(shared, "roles="+role, "node="+role)...), slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		nodes[role] = h
	}
	for role, h := range nodes {
		if code, _ := get(t, url(h)+"/healthz"); code != http.StatusOK {
			t.Errorf("%s: health is %d", role, code)
		}
		if code, text := get(t, url(h)+"/v1/openapi.json"); (code == http.StatusOK) != (role == "api") || role != "api" && !strings.Contains(text, role) {
			t.Errorf("%s: calls are answered with %d, %.100q", role, code, text)
		}
		if code, _ := get(t, url(h)+"/v1/socket"); (code == http.StatusNotFound) != (role != "gateway") {
			t.Errorf("%s: sockets are answered with %d", role, code)
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); nodes["worker"].ownedPartitions() < nodes["worker"].heldPartitions() || nodes["gateway"].heldPartitions() < 16; {
		if now := <-tick.C; now.After(end) {
			t.Fatalf("the worker has %v partitions of %v", nodes["worker"].ownedPartitions(), nodes["gateway"].heldPartitions())
		}
	}
	for role, h := range nodes {
		if role != "worker" && h.ownedPartitions() > 0 {
			t.Errorf("the node with the role %s owns partitions", role)
		}
		if got := h.config.AllRoles(); !slices.Equal(got, []string{role}) {
			t.Errorf("the node with the role %s says that it has %v", role, got)
		}
	}
	throughAll(t, nodes)
}

// throughAll sends a message by a call and receives it on a socket, and publishes a post and reads it. A proxy in front sends each request to a node with the right role.
func throughAll(t *testing.T, nodes map[string]*Node) {
	to := func(role string) *httputil.ReverseProxy {
		u, err := neturl.Parse(url(nodes[role]))
		if err != nil {
			t.Fatal(err)
		}
		return httputil.NewSingleHostReverseProxy(u)
	}
	sockets, calls, conversations, posts := to("gateway"), to("api"), to("chat"), to("feed")
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/v1/socket":
			sockets.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/rialto.chat."):
			conversations.ServeHTTP(w, r)
		case strings.HasPrefix(p, "/rialto.feed."):
			posts.ServeHTTP(w, r)
		default:
			calls.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := make(chan rialto.Event, 100)
	open := func(name string) *rialto.Client {
		c, err := rialto.New(rialto.Config{URL: front.URL, Handler: func(e rialto.Event) {
			if name == "bobo" {
				events <- e
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Register(ctx, name, "a good password", name); err != nil {
			t.Fatal(err)
		}
		return c
	}
	anna, bobo := open("anna"), open("bobo")
	running(t, bobo)
	running(t, anna)
	for e := range events {
		if e.Online != nil && *e.Online {
			break
		}
	}
	published, err := anna.Feed().Publish(ctx, connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "1", Content: &feedv1.PostContent{Text: "of one node"}}))
	if err != nil {
		t.Fatal(err)
	}
	list, err := bobo.Feed().ListPosts(ctx, connect.NewRequest(&feedv1.ListPostsRequest{User: anna.User()}))
	if err != nil || len(list.Msg.Posts) != 1 || list.Msg.Posts[0].Id != published.Msg.Id {
		t.Fatalf("the posts are %v, %v, want only the one that was published", list, err)
	}
	direct, err := anna.Chat().OpenDirect(ctx, connect.NewRequest(&chatv1.OpenDirectRequest{User: bobo.User()}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := anna.SendText(ctx, direct.Msg.Id, fmt.Sprint("through all nodes ", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 20; {
		select {
		case e := <-events:
			if text := e.Message.GetContent().GetText(); text == fmt.Sprint("through all nodes ", i) {
				i++
			} else if text != "" {
				t.Fatalf("message %d is %q, want it in the order of sending", i, text)
			}
		case <-ctx.Done():
			t.Fatalf("%d messages came", i)
		}
	}
}
