package app

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/canary"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// canaryFigure returns a metric of a node's canary about a target; -1 if there is none.
func canaryFigure(t *testing.T, h *Node, name, target string) float64 {
	t.Helper()
	_, text := get(t, "http://"+h.AdminAddress().String()+"/metrics")
	prefix := `rialto_canary_` + name + `{target="` + target + `"} `
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, prefix); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return -1
}

// stopFanout takes all partitions from a node's fan-out. The function that it returns gives them back, to those who own them now.
func stopFanout(h *Node) (resume func(ctx context.Context, term uint64)) {
	for p := range timeline.Partitions {
		h.fanout.Revoked(p)
	}
	return func(ctx context.Context, term uint64) {
		for p := range timeline.Partitions {
			if h.partitionOwner(uint16(p)) == h.name {
				h.fanout.Assigned(cluster.NewGrant(ctx, p, term))
			}
		}
	}
}

// delivers waits until the canaries of some nodes get probes from all of them that were sent after now, and wait for none.
func delivers(t *testing.T, nodes ...*Node) {
	t.Helper()
	for _, from := range nodes {
		for _, to := range nodes {
			before := max(0, canaryFigure(t, from, "delay_seconds_count", to.name))
			eventually.True(t, from.name+" delivers by "+to.name, func() bool {
				return canaryFigure(t, from, "delay_seconds_count", to.name) >= before+5 && canaryFigure(t, from, "overdue", to.name) == 0
			})
		}
	}
}

// While fan-out is off, the canary of a node alone reports late messages. When it is on again, they are delivered, and nothing is overdue any more.
func TestACanaryNoticesThatFanoutIsOff(t *testing.T) {
	h, log := open(t, "node=one", "canary.off=false", "canary.interval=100ms")
	delivers(t, h)
	resume := stopFanout(h)
	eventually.True(t, "the canary reports late messages", func() bool {
		return canaryFigure(t, h, "late_total", "one") > 0 && canaryFigure(t, h, "overdue", "one") > 0
	})
	if !strings.Contains(log.String(), "the delivery canary waits for a message") {
		t.Error("the log does not say so")
	}
	resume(t.Context(), 1<<40)
	delivers(t, h)
}

// With three nodes, the canary of each node reports the nodes that deliver late, and is quiet after fan-out works again.
func TestCanariesOfThreeNodesNoticeThatFanoutIsOff(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	var nodes []*Node
	for _, name := range []string{"a", "b", "c"} {
		h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), "postgres="+address, "node="+name, "canary.off=false", "canary.interval=200ms"), slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError + 1})))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, h)
	}
	t.Cleanup(func() {
		for _, h := range nodes {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	delivers(t, nodes...)
	var resume []func(context.Context, uint64)
	for _, h := range nodes {
		resume = append(resume, stopFanout(h))
	}
	for _, from := range nodes {
		for _, to := range nodes {
			eventually.True(t, from.name+" reports "+to.name, func() bool {
				return canaryFigure(t, from, "late_total", to.name) > 0 && canaryFigure(t, from, "overdue", to.name) > 0
			})
		}
	}
	for _, do := range resume {
		do(t.Context(), 1<<40)
	}
	delivers(t, nodes...)
	// A node that has stopped is no target, and the others go on.
	if err := nodes[2].Close(); err != nil {
		t.Error(err)
	}
	for _, h := range nodes[:2] {
		eventually.True(t, "the stopped node is no target", func() bool { return canaryFigure(t, h, "sent_total", "c") == -1 })
	}
	nodes = nodes[:2]
	delivers(t, nodes...)
}

// Nobody sees the canary: it counts as no user, search does not find it, and users cannot write to it. Its old probes are deleted.
func TestACanaryIsHidden(t *testing.T) {
	h, _ := open(t, "canary.off=false", "canary.interval=100ms")
	delivers(t, h)
	if n := h.directory.Online(); n != 0 {
		t.Errorf("%d users are online", n)
	}
	alice := client(t, h)
	if err := alice.Register(t.Context(), "alice", "a good password", "Alice"); err != nil {
		t.Fatal(err)
	}
	_, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: uint64(id.CanaryUser(1))}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a conversation with the canary: %v", err)
	}
	found, err := alice.Search().Search(t.Context(), connect.NewRequest(&searchv1.SearchRequest{Query: "canary"}))
	if err != nil || len(found.Msg.Groups) != 0 {
		t.Errorf("search finds %v (%v)", found, err)
	}
}

// Through a public address with another node behind it, the canary delivers nothing, and says so.
func TestACanaryNoticesAWrongAddress(t *testing.T) {
	other, _ := open(t, "node=other")
	h, log := open(t, "node=one", "public.url="+url(other), "canary.off=false", "canary.interval=100ms")
	eventually.True(t, "the canary cannot connect", func() bool { return canaryFigure(t, h, "unreachable_total", "one") > 1 })
	if n := canaryFigure(t, h, "sent_total", "one"); n != 0 {
		t.Errorf("%v probes were sent", n)
	}
	eventually.True(t, "the log has the address", func() bool { return strings.Contains(log.String(), url(other)[len("http://"):]) })
}

// Other nodes are told of the listener where they reach it: not of one on loopback, as behind a proxy, if the nodes are on several machines.
func TestNodesAreToldOfReachableListeners(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	for advertise, want := range map[string]bool{"127.0.0.1:7072": true, "10.1.2.3:7072": false} {
		h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), "postgres="+address, "node=a", "bus.advertise="+advertise, "canary.off=false"), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got := h.publicGateway().Internal != ""; got != want {
			t.Errorf("with the bus at %s others are told of the listener: %v, want %v", advertise, got, want)
		}
		eventually.True(t, "the node itself is a target", func() bool { return len(h.canaryTargets()) == 1 && h.canaryTargets()[0].URL == h.internalURL })
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A node that drains sends no probes, and is no target.
func TestADrainingNodeHasNoProbes(t *testing.T) {
	h, _ := open(t, "canary.off=false", "canary.interval=100ms")
	delivers(t, h)
	h.leaving.Store(true)
	if targets := h.canaryTargets(); len(targets) != 0 {
		t.Errorf("its targets are %v", targets)
	}
	eventually.True(t, "the sockets are closed", func() bool { return h.gateway.Stats().Connections.Load() == 0 })
	h.leaving.Store(false)
	delivers(t, h)
}

// Nodes of a cluster have a canary by default, and a node alone has none, unless it is set. Nodes without sockets have none.
func TestWhoHasACanary(t *testing.T) {
	for set, want := range map[string]bool{"canary.off=false": false, "canary.off=false canary.interval=1m": true, "canary.off=true canary.interval=1m": false} {
		h, _ := open(t, strings.Fields(set)...)
		if got := h.canary != nil; got != want {
			t.Errorf("with %s: %v, want %v", set, got, want)
		}
		code, _ := get(t, "http://"+h.AdminAddress().String()+"/metrics")
		if code != http.StatusOK {
			t.Errorf("the metrics are answered with %d", code)
		}
	}
	if !(canary.Config{}).Runs(true) || (canary.Config{}).Runs(false) || (canary.Config{Off: true}).Runs(true) {
		t.Error("the default is wrong")
	}
	if err := (canary.Config{Interval: 1}).Check(); err == nil {
		t.Error("an interval of a nanosecond is accepted")
	}
}
