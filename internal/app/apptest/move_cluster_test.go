//go:build cluster

package apptest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// A node serves while its timelines move to Cassandra, and is started again with that; and so it does when they move back. No device misses an event, gets one
// twice or starts its stream again.
func TestAServersTimelinesMoveIntoCassandra(t *testing.T) {
	ctx, data, address := t.Context(), filepath.Join(t.TempDir(), "data"), sqltest.Schema(t, sqltest.Postgres(t))
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Say: os.Stdout})
	must(t, err)
	defer func() { must(t, cluster.Stop()) }()
	h := apptest.Open(t, func(c *config.Config) { c.Data, c.Postgres = data, address })
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	people := []*apptest.Person{ann, bob}
	direct := h.Direct(t, ann, bob)
	first := h.Send(t, bob, direct, "0", "before")
	var old []*chatv1.Position // of devices that are offline from now on
	for _, p := range people {
		old = append(old, caught(t, p, direct, first.Seq, "early"))
	}
	var last *chatv1.SendResponse
	for i := range 30 {
		last = h.Send(t, people[i%2], direct, fmt.Sprint("d", i), fmt.Sprint("to one ", i))
	}
	var before []snapshot
	for i, p := range people {
		caught(t, p, direct, last.Seq, "late "+fmt.Sprint(p.User))
		before = append(before, seen(t, p, nil, direct), seen(t, p, old[i], direct))
	}
	settings := func(c *config.Config) {
		c.Data, c.Postgres = data, address
		c.Cassandra.Hosts, c.Cassandra.Port, c.Cassandra.Replicas, c.Cassandra.Store = cluster.Hosts, cluster.Port, 1, 4
	}
	engine := []string{"--set", "postgres=" + address, "--set", fmt.Sprint("cassandra.port=", cluster.Port), "--set", "cassandra.replicas=1", "--set", "cassandra.store=4"}
	code, said := moved(t, append([]string{"timelines", "--to-cassandra", strings.Join(cluster.Hosts, ",")}, engine...)...)
	if code != 0 || !strings.Contains(said, "both sides are equal") || !strings.Contains(said, "the timelines are in Cassandra (keyspace rialto, store 4) now") {
		t.Fatalf("rialto move timelines: got exit code %d: %s", code, said)
	}
	send := &chatv1.SendRequest{Conversation: direct, ClientMsgId: "x", Content: apptest.Text("after the switch")}
	once := chatv1connect.NewChatServiceClient(h.HTTP, h.URL) // h.Chat() would try again
	if _, err := once.Send(ctx, apptest.As(ann, send)); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a message for a node that still has the settings of before: got error %v", err)
	}
	must(t, h.Close())

	h = apptest.Open(t, settings)
	for i, p := range people {
		p.Server = h // with their existing tokens
		for n, s := range []snapshot{seen(t, p, nil, direct), seen(t, p, old[i], direct)} {
			if !s.extends(before[2*i+n]) {
				t.Errorf("device %d of person %d: after the move\n%s\nbefore\n%s", n, i, s, before[2*i+n])
			}
		}
	}
	if again := h.Send(t, bob, direct, "d29", "to one 29"); again.Seq != last.Seq {
		t.Errorf("the retry of a message from before the move has seq %d, want %d", again.Seq, last.Seq)
	}
	next := h.Send(t, ann, direct, "x", "after the switch")
	if next.Seq <= last.Seq {
		t.Errorf("the first message after the move has seq %d, the last one before it %d", next.Seq, last.Seq)
	}
	position := caught(t, bob, direct, next.Seq, "")
	returned := func(c *config.Config) { c.Data, c.Postgres = data, address }
	movesBack(t, h, returned, people, direct, next.Seq, position, append([]string{"timelines", "--to-postgres", "--set", "cassandra.hosts=" + strings.Join(cluster.Hosts, ",")}, engine...))
}

// movesBack moves the timelines of a server back to PostgreSQL, while it serves, and starts it again with that. last is the seq of the newest message, position that of a
// device of the second person.
func movesBack(t *testing.T, h *apptest.Server, returned func(c *config.Config), people []*apptest.Person, direct, last uint64, position *chatv1.Position, args []string) {
	ctx, ann, bob := t.Context(), people[0], people[1]
	before := []snapshot{seen(t, bob, nil, direct), seen(t, bob, position, direct)}
	code, said := moved(t, args...)
	if code != 0 || !strings.Contains(said, "both sides are equal") || !strings.Contains(said, "the timelines are in PostgreSQL now: start the nodes without the settings of Cassandra") {
		t.Fatalf("rialto move timelines --to-postgres: got exit code %d: %s", code, said)
	}
	send := &chatv1.SendRequest{Conversation: direct, ClientMsgId: "y", Content: apptest.Text("after the way back")}
	once := chatv1connect.NewChatServiceClient(h.HTTP, h.URL)
	if _, err := once.Send(ctx, apptest.As(ann, send)); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "being moved to another store") {
		t.Errorf("a message for a node that still has the settings of Cassandra: got error %v", err)
	}
	must(t, h.Close())

	h = apptest.Open(t, returned)
	ann.Server, bob.Server = h, h
	for i, s := range []snapshot{seen(t, bob, nil, direct), seen(t, bob, position, direct)} {
		if !s.extends(before[i]) {
			t.Errorf("device %d: after the move back\n%s\nbefore\n%s", i, s, before[i])
		}
	}
	if again := h.Send(t, ann, direct, "x", "after the switch"); again.Seq != last || !again.Duplicate {
		t.Errorf("the retry of a message from before the move back is %v, want seq %d", again, last)
	}
	next := h.Send(t, ann, direct, "y", "after the way back")
	if next.Seq != last+1 {
		t.Errorf("the first message after the move back has seq %d, the last one before it %d", next.Seq, last)
	}
	caught(t, bob, direct, next.Seq, "")
}
