package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/transport/edge"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

const edgeSecret = "edge.secret=shared by the edges and the others"

// openEdgeOf starts an edge whose origin is a node, and waits until it hears from that.
func openEdgeOf(t *testing.T, origin *Node) *Node {
	t.Helper()
	e, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "edge"), "roles=edge", "edge.origins="+url(origin), edgeSecret), slog.New(slog.NewTextHandler(t.Output(), nil)))
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	eventually.True(t, "the edge is ready", func() bool {
		code, _ := get(t, url(e)+"/readyz")
		return code == http.StatusOK
	})
	return e
}

// TestAnEdgeServesFiles of a whole server, and the web app, and nothing else. A dropped file is refused. Its metrics say where the bytes came from.
func TestAnEdgeServesFiles(t *testing.T) {
	h, _ := open(t, edgeSecret)
	e := openEdgeOf(t, h)
	ann := client(t, h)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann"))
	path := filepath.Join(t.TempDir(), "notes.txt")
	must(t, os.WriteFile(path, []byte(strings.Repeat("a line of notes\n", 100_000)), 0o600))
	upload := uploadFile(t, h, ann, path)
	download := func() string {
		t.Helper()
		r, err := ann.Media().GetDownload(t.Context(), connect.NewRequest(&chatv1.GetDownloadRequest{Upload: upload}))
		must(t, err)
		return r.Msg.Url
	}
	target := download()
	for range 2 {
		if code, text := get(t, url(e)+target); code != http.StatusOK || len(text) != 1_600_000 || !strings.HasSuffix(text, "of notes\n") {
			t.Fatalf("the edge answers with %d and %d bytes", code, len(text))
		}
	}
	var metrics string
	eventually.True(t, "both transfers are counted, behind their last bytes", func() bool {
		_, metrics = get(t, "http://"+e.AdminAddress().String()+"/metrics")
		return strings.Contains(metrics, `rialto_edge_requests_total{result="served"} 2`+"\n")
	})
	for _, line := range []string{`rialto_file_cache_reads_total{result="hit"} 2`, `rialto_file_cache_reads_total{result="miss"} 2`, `rialto_file_cache_bytes_total{from="origin"} 1.6e+06`, `rialto_file_cache_bytes_total{from="cache"} 3.2e+06`,
		"rialto_edge_authorizations_total 1", "rialto_file_cache_blocks 2"} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	page, err := os.ReadFile("../../docs/operating/metrics.md")
	must(t, err)
	figures := func(pattern, text string) (list []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	if given, said := figures(`(?m)^# TYPE (rialto_(?:edge|file_cache)_\w+)`, metrics), figures(`\b(rialto_(?:edge|file_cache)_\w+)`, string(page)); !slices.Equal(given, said) {
		t.Errorf("metrics of the edge: %v,\nin the page: %v", given, said)
	}
	for path, want := range map[string]int{"/": http.StatusOK, "/healthz": http.StatusOK, "/v1/socket": http.StatusNotFound, "/rialto.chat.v1.ChatService/Send": http.StatusNotFound, "/v1/media/1?exp=1&sig=a": http.StatusForbidden} {
		if code, text := get(t, url(e)+path); code != want {
			t.Errorf("%s is answered with %d, and not %d: %.100s", path, code, want, text)
		}
	}
	// The user erases the account, and with it the file.
	if code, _ := get(t, url(h)+"/v1/edge/purges"); code != http.StatusForbidden {
		t.Errorf("a client that is no edge is told of purges: %d", code)
	}
	_, err = h.media.UserData().EraseUser(t.Context(), id.User(ann.User()), "")
	must(t, err)
	eventually.True(t, "the edge refuses the file", func() bool {
		code, _, err := tryGet(url(e) + target) // a transfer that has begun breaks off
		return err == nil && code == http.StatusNotFound
	})
	if blocks, _ := e.edge.Cache().Usage(); blocks != 0 {
		t.Errorf("%d blocks of the file are left", blocks)
	}
}

// TestEdgesHearOfOtherNodes: what is hidden, edited or deleted on one node of a cluster is told by another, from which edges hear.
func TestEdgesHearOfOtherNodes(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	var nodes []*Node
	for _, name := range []string{"a", "b"} {
		n, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), "postgres="+address, "node="+name, edgeSecret), slog.New(slog.NewTextHandler(t.Output(), nil)))
		must(t, err)
		t.Cleanup(func() { must(t, n.Close()) })
		nodes = append(nodes, n)
	}
	a, b := nodes[0], nodes[1]
	ask := func(after string) (position string, purged []string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url(a)+"/v1/edge/purges?after="+after, nil)
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(edgeSecret, "edge.secret="))
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		defer answer.Body.Close()
		var got struct {
			Position string
			Purged   []string
		}
		must(t, json.NewDecoder(answer.Body).Decode(&got))
		return got.Position, got.Purged
	}
	ann := client(t, b)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann"))
	post, err := ann.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "a", Content: &feedv1.PostContent{Text: "hello"}}))
	must(t, err)
	admin := feedv1connect.NewFeedAdminServiceClient(http.DefaultClient, url(b), withKey(key(t, b)))
	position, _ := ask("")
	for _, show := range []bool{false, true, false} {
		_, err := admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: post.Msg.Id, Show: show, Reason: "test"}))
		must(t, err)
		var purged []string
		if position, purged = ask(position); !slices.Contains(purged, fmt.Sprint("post/", post.Msg.Id)) {
			t.Errorf("the other node tells of %v, and not of a post whose show is %v", purged, show)
		}
	}
}

// TestPicturesOfHiddenPosts: what a hidden post, or a hidden comment, shows is refused by the node and by edges, also for those who have its URL. It is there again
// once it is shown again.
func TestPicturesOfHiddenPosts(t *testing.T) {
	h, _ := open(t, edgeSecret)
	e := openEdgeOf(t, h)
	ann := client(t, h)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann"))
	picture := func(side int) *chatv1.Media {
		path := filepath.Join(t.TempDir(), "a.png")
		f, err := os.Create(path)
		must(t, err)
		must(t, png.Encode(f, image.NewGray(image.Rect(0, 0, side, side))))
		must(t, f.Close())
		return &chatv1.Media{Upload: uploadFile(t, h, ann, path), Name: "a.png"}
	}
	first, second := picture(8), picture(9)
	post, err := ann.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "a", Content: &feedv1.PostContent{Text: "hello", Images: []*chatv1.Media{first}}}))
	must(t, err)
	comment, err := ann.Comment().CreateComment(t.Context(), connect.NewRequest(&commentv1.CreateCommentRequest{ClientCommentId: "a", SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: post.Msg.Id, Content: &commentv1.CommentContent{Image: second}}))
	must(t, err)
	download := func(r *chatv1.GetDownloadRequest) string {
		t.Helper()
		d, err := ann.Media().GetDownload(t.Context(), connect.NewRequest(r))
		must(t, err)
		return d.Msg.Url
	}
	ofPost := download(&chatv1.GetDownloadRequest{Upload: first.Upload, Post: post.Msg.Id})
	ofComment := download(&chatv1.GetDownloadRequest{Upload: second.Upload, Comment: comment.Msg.Id})
	check := func(what, target string, want int) {
		t.Helper()
		if code, text := get(t, url(h)+target); code != want {
			t.Errorf("%s is answered by the node with %d, and not %d: %.200s", what, code, want, text)
		}
		eventually.True(t, what+" at the edge", func() bool {
			code, _, err := tryGet(url(e) + target)
			return err == nil && code == want
		})
	}
	check("the picture of a post", ofPost, http.StatusOK)
	check("the picture of a comment", ofComment, http.StatusOK)
	must(t, h.comments.HideComment(t.Context(), comment.Msg.Id, true))
	check("the picture of a hidden comment", ofComment, http.StatusNotFound)
	must(t, h.comments.HideComment(t.Context(), comment.Msg.Id, false))
	check("the picture of a comment that is shown again", ofComment, http.StatusOK)
	admin := feedv1connect.NewFeedAdminServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	hide := func(show bool) {
		t.Helper()
		_, err := admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: post.Msg.Id, Show: show, Reason: "test"}))
		must(t, err)
	}
	asked := e.edge.Stats().Purged.Load()
	hide(false)
	check("the picture of a hidden post", ofPost, http.StatusNotFound)
	check("the picture of a comment on a hidden post", ofComment, http.StatusNotFound)
	if e.edge.Stats().Purged.Load() == asked {
		t.Error("the edge was not told")
	}
	hide(true)
	check("the picture of a post that is shown again", ofPost, http.StatusOK)
	check("the picture of a comment on it", ofComment, http.StatusOK)
}

// TestClientsAreSentToEdges: a node tells clients of the edges that report to it, those of its region first, permits its pages to read from them, and shows them to
// operators with their figures. One that has stopped is gone at once.
func TestClientsAreSentToEdges(t *testing.T) {
	h, _ := open(t, edgeSecret, "public.region=eu")
	edges := func() []string {
		r, err := gatewayv1connect.NewGatewayServiceClient(http.DefaultClient, url(h)).FindGateways(t.Context(), connect.NewRequest(&gatewayv1.FindGatewaysRequest{}))
		must(t, err)
		return r.Msg.Edges
	}
	start := func(name, region string) *Node {
		e, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), name), "roles=edge", "node="+name, "edge.origins="+url(h), edgeSecret, "public.region="+region, "public.url=https://"+name+".example.com"), slog.New(slog.NewTextHandler(t.Output(), nil)))
		must(t, err)
		return e
	}
	far, near := start("far", "us"), start("near", "eu")
	t.Cleanup(func() { must(t, far.Close()) })
	eventually.True(t, "both edges are offered, the near one first", func() bool {
		return slices.Equal(edges(), []string{"https://near.example.com", "https://far.example.com"})
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url(h)+"/", nil)
	must(t, err)
	page, err := http.DefaultClient.Do(r)
	must(t, err)
	must(t, page.Body.Close())
	policy := page.Header.Get("Content-Security-Policy")
	for _, kind := range []string{"img-src", "media-src", "connect-src"} {
		_, of, _ := strings.Cut(policy, kind)
		of, _, _ = strings.Cut(of, ";")
		if !strings.Contains(of, " https://near.example.com") {
			t.Errorf("the page's policy for %s is %q", kind, of)
		}
	}
	seen := map[string]bool{}
	list, err := h.operations.ListNodes(t.Context(), id.Caller{}, nil)
	must(t, err)
	for _, n := range list.Nodes {
		for _, f := range n.Figures {
			if isEdge := slices.Equal(n.Roles, []string{"edge"}); n.Answered && isEdge && f.Name == "rialto_file_cache_bytes" {
				seen[n.Name] = true
			}
		}
	}
	for _, n := range list.Nodes {
		if !seen[n.Name] && slices.Contains(n.Roles, "edge") {
			t.Errorf("the node %s has the roles %v", n.Name, n.Roles)
		}
	}
	if len(list.Nodes) != 3 || !seen["near"] || !seen["far"] {
		t.Errorf("operators see %d nodes, of edges with figures %v", len(list.Nodes), seen)
	}
	must(t, near.Close())
	if got := edges(); !slices.Equal(got, []string{"https://far.example.com"}) {
		t.Errorf("after one has stopped, the edges are %v", got)
	}
}

// TestReportsOfEdgesFitInAMessage: as many edges as report to a node, each with as many figures as it may send, are in the node's answer to operators, which is one
// message of the bus. What does not fit is left out, and said to be. Edges of one name are told apart.
func TestReportsOfEdgesFitInAMessage(t *testing.T) {
	n := &Node{edges: edge.NewRegistry(edge.NewPurges(edgeSecret, nil), clock.System{}, func() {})}
	report := func(name, address string, figures int) {
		t.Helper()
		r := &operationv1.NodeReport{Roles: []string{"edge"}}
		for i := range figures {
			r.Figures = append(r.Figures, &operationv1.Figure{Name: "rialto_edge_requests_total", Labels: fmt.Sprintf("result=%0210d", i), Value: float64(i)})
		}
		body, err := proto.Marshal(r)
		must(t, err)
		q := httptest.NewRequest(http.MethodPost, edge.ReportPath+"?name="+name+"&url="+address+"&connections=0&capacity=1", bytes.NewReader(body))
		q.Header.Set("Authorization", "Bearer "+edgeSecret)
		w := httptest.NewRecorder()
		n.edges.ServeHTTP(w, q)
		if w.Code != http.StatusNoContent {
			t.Fatalf("a report of %d bytes is answered with %d", len(body), w.Code)
		}
	}
	for i := range 62 {
		report(fmt.Sprintf("%0128d", i), "", 1000)
	}
	report("small", "https://small", 1)
	report("small", "https://other", 1)
	list := n.edgeReports()
	if size := proto.Size(&operationv1.NodeReport{Edges: list}); len(list) != 64 || size > bus.MaxData*3/4 {
		t.Fatalf("the reports of %d edges have %d bytes, and a message has %d", len(list), size, bus.MaxData)
	}
	complete, without := 0, 0
	for _, r := range list[:62] {
		switch {
		case r.Answered && len(r.Figures) == 1000:
			complete++
		case !r.Answered && len(r.Figures) == 0 && strings.Contains(r.Error, "left out"):
			without++
		}
	}
	if complete != 2 || without != 60 {
		t.Errorf("%d edges have all their figures, and %d none", complete, without)
	}
	if a, b := list[62], list[63]; !a.Answered || !b.Answered || a.Name != "small" || b.Name != "small (https://small)" {
		t.Errorf("edges of one name are %q and %q", a.Name, b.Name)
	}
}

// TestTheGoClientReadsFromEdges: it reads a file from an edge, and from the node that gave the address once the edge is gone.
func TestTheGoClientReadsFromEdges(t *testing.T) {
	h, _ := open(t, edgeSecret)
	e, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "edge"), "roles=edge", "edge.origins="+url(h), edgeSecret, "public.url=http://edge.example.com"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	must(t, err)
	closeEdge := sync.OnceValue(e.Close)
	t.Cleanup(func() { must(t, closeEdge()) })
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "edge.example.com:80" {
			address = strings.TrimPrefix(url(e), "http://")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	connections := &http.Transport{DialContext: dial}
	t.Cleanup(connections.CloseIdleConnections)
	ann, err := rialto.New(rialto.Config{URL: url(h), HTTP: &http.Client{Transport: connections}})
	must(t, err)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann"))
	const text = "twelve bytes"
	u, err := ann.Upload(t.Context(), "notes.txt", "", int64(len(text)), strings.NewReader(text))
	must(t, err)
	read := func() {
		t.Helper()
		r, err := ann.Media().GetDownload(t.Context(), connect.NewRequest(&chatv1.GetDownloadRequest{Upload: u.Upload}))
		must(t, err)
		body, err := ann.OpenFile(t.Context(), r.Msg.Url)
		must(t, err)
		b, err := io.ReadAll(body)
		must(t, err)
		must(t, body.Close())
		if string(b) != text {
			t.Errorf("the file is %q", b)
		}
	}
	eventually.True(t, "the edge is offered", func() bool { return len(h.discovery.EdgeAddresses()) == 1 })
	read()
	if n := e.edge.Stats().Served.Load(); n != 1 {
		t.Errorf("the edge has served %d files", n)
	}
	must(t, closeEdge())
	read()
}
