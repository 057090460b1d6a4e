package chaos

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestLayouts: a layout is parsed and printed, and refused if one restart would leave a role without a node.
func TestLayouts(t *testing.T) {
	const text = "gateway,gateway+chat,api+worker,api+worker,edge"
	l, err := ParseLayout(text)
	if err != nil || l.String() != text {
		t.Errorf("the layout %s is parsed as %v, %v", text, l, err)
	}
	for text, want := range map[string]string{
		"gateway,api,api,worker,worker":                  "the role gateway is on 1 nodes",
		"gateway,gateway,api,feed,worker,worker":         "the role chat is on 1 nodes",
		"edge,gateway,gateway,api+worker,api+worker,api": "edges come last",
	} {
		if _, err := ParseLayout(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the layout %s: got %v, want that %s", text, err, want)
		}
	}
	different := map[string]bool{}
	for seed := range uint64(50) {
		l, err := MixedLayout(seed, 4)
		again, _ := MixedLayout(seed, 4)
		if err != nil || len(l) != 6 || l.String() != again.String() || l.of(5)[0] != roleEdge {
			t.Errorf("seed %d: the layout is %s, and then %s, %v", seed, l, again, err)
		}
		different[l.String()] = true
	}
	if len(different) < 25 {
		t.Errorf("50 seeds have only %d layouts", len(different))
	}
}

// TestRequestsGoToNodesThatServeThem: to the wanted one if it does, else to another one with the role.
func TestRequestsGoToNodesThatServeThem(t *testing.T) {
	l := Layout{{"gateway", "worker"}, {"gateway", "worker"}, {"api"}, {"chat"}, {"feed"}, {"edge"}}
	var nodes []*Node
	for i, roles := range l {
		name := strings.Join(roles, "+")
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Node", name) }))
		defer s.Close()
		nodes = append(nodes, &Node{Name: name, URL: s.URL, roles: l.of(i)})
	}
	r := NewRouter(&Cluster{Nodes: nodes})
	defer r.CloseIdle()
	ask := func(wanted int, method, path string) string {
		q, err := http.NewRequestWithContext(WithNode(context.Background(), nodes[wanted]), method, "http://cluster.invalid"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		return a.Header.Get("X-Node")
	}
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/v1/socket", "gateway+worker"}, {"GET", "/v1/media/1", "edge"}, {"PUT", "/v1/media/1", "api"}, {"POST", "/rialto.account.v1.AccountService/Login", "api"},
		{"POST", "/rialto.chat.v1.ChatService/Send", "api chat"}, {"POST", "/rialto.presence.v1.PresenceService/GetPresence", "api chat"},
		{"POST", "/rialto.feed.v1.FeedService/Publish", "api feed"}, {"POST", "/rialto.comment.v1.CommentService/ListComments", "api feed"},
	} {
		var got []string
		for wanted := range nodes {
			for range 20 {
				got = append(got, ask(wanted, c.method, c.path))
			}
		}
		slices.Sort(got)
		if got := strings.Join(slices.Compact(got), " "); got != c.want {
			t.Errorf("%s %s went to %s, want %s", c.method, c.path, got, c.want)
		}
	}
	if got := ask(3, "POST", "/rialto.chat.v1.ChatService/Send"); got != "chat" {
		t.Errorf("a call for a node that serves it went to %s", got)
	}
	r.nodes = nodes[:5]
	if got := ask(0, "GET", "/v1/media/1"); got != "api" {
		t.Errorf("without edges, a file comes from %s", got)
	}
}
