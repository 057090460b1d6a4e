package apptest_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A node of the next release serves together with one of this release, and messages pass in both directions; a node of the release after
// that does not start, and its error names the node to upgrade.
func TestTwoReleasesServeTogether(t *testing.T) {
	t.Setenv(apptest.Nodes, "1") // each server here is one node of the cluster
	place := sqltest.Schema(t, sqltest.Postgres(t))
	next := cluster.Version{Release: "next", Speaks: cluster.Speaks + 1, Understands: cluster.Speaks}
	node := func(name string, v cluster.Version) func(*config.Config) {
		return func(c *config.Config) { c.Postgres, c.Node, c.Cluster.Version = place, name, v }
	}
	old := apptest.Open(t, node("old", cluster.Version{}))
	young := apptest.Open(t, node("young", next))

	ann, bob := old.Register(t, "ann"), young.Register(t, "bob")
	conversation := old.Direct(t, ann, bob)
	atAnn, _ := ann.Socket(t, "rialto.v1.proto")
	atBob, _ := bob.Socket(t, "rialto.v1.proto")
	hears := func(s *apptest.Socket, text string) {
		t.Helper()
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if e.GetMessage().GetContent().GetText() == text {
					return true
				}
			}
			return false
		})
	}
	old.Send(t, ann, conversation, "1", "from the old to the new")
	hears(atBob, "from the old to the new")
	young.Send(t, bob, conversation, "2", "from the new to the old")
	hears(atAnn, "from the new to the old")
	got, err := young.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: conversation, Limit: 10}))
	if err != nil || len(got.Msg.Messages) != 3 { // including the creation
		t.Errorf("history from the new node: got %v, %v", got, err)
	}

	c, err := config.Load("", nil, []string{"data=" + filepath.Join(t.TempDir(), "data"), "listen=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	node("later", cluster.Version{Release: "later", Speaks: cluster.Speaks + 2, Understands: cluster.Speaks + 1})(c)
	h, err := app.Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err == nil {
		err = h.Close()
		t.Fatalf("an incompatible release: got no refusal (%v)", err)
	}
	if !strings.Contains(err.Error(), "Upgrade old first") {
		t.Errorf("the refusal: got %v, want the node to upgrade", err)
	}
}
