package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/tool/verify"
)

// TestANodeOnPostgreSQL: a node on PostgreSQL has only files in its directory, and the tools find its data. The scenarios of apptest cover
// everything else in runs on PostgreSQL.
func TestANodeOnPostgreSQL(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	data := filepath.Join(t.TempDir(), "data")
	h, err := Open(t.Context(), configure(t, data, "postgres="+address), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if n.Name() != filesDir && n.Name() != lockFile && n.Name() != nodeFile && n.Name() != datadir.SearchDir && n.Name() != spoolDir {
			t.Errorf("the data directory contains %s, want only files of a node with PostgreSQL", n.Name())
		}
	}
	admin := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		return AdminMain(t.Context(), append([]string{"key"}, args...), &out, &errOut), out.String(), errOut.String()
	}
	if code, out, errOut := admin("create", "--postgres", address, "--name", "shop"); code != 0 || !strings.HasPrefix(out, "rk_") {
		t.Errorf("create: %d, %q, %q", code, out, errOut)
	}
	if code, out, errOut := admin("list", "--postgres", address); code != 0 || !strings.HasPrefix(out, "shop\tserver\t") {
		t.Errorf("list: %d, %q, %q", code, out, errOut)
	}
	var out strings.Builder
	if code := verify.Main([]string{"--postgres", address}, &out, io.Discard); code != 0 || !strings.Contains(out.String(), "all guarantees hold") {
		t.Errorf("verify beside the server: %d, %q", code, out.String())
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), configure(t, data, "postgres=postgres://rialto:canary@127.0.0.1:1/rialto?connect_timeout=1"), slog.New(slog.DiscardHandler)); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("without a database: %v", err)
	}
}

// TestNodesWithDifferentSettings: a node that would store its messages elsewhere than the others does not start. A node that stores its files
// elsewhere, or has another bus or search index, logs it.
func TestNodesWithDifferentSettings(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	open(t, "postgres="+address, "node=gateway", "roles=gateway") // has no files
	_, first := open(t, "postgres="+address, "node=first")
	elsewhere := configure(t, filepath.Join(t.TempDir(), "data"), "postgres="+address, "node=second", "cassandra.hosts=127.0.0.1", "cassandra.port=1")
	if _, err := Open(t.Context(), elsewhere, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "are in PostgreSQL, but this node is configured for Cassandra (keyspace rialto, store 0)") {
		t.Errorf("with other timelines: %v", err)
	}
	_, third := open(t, "postgres="+address, "node=third")
	_, fourth := open(t, "postgres="+address, "node=fourth", "bus.url=nats://127.0.0.1:1", "opensearch.urls=http://127.0.0.1:1")
	if says := "this node has another search index than the other nodes"; strings.Contains(third.String(), says) || !strings.Contains(fourth.String(), says) {
		t.Errorf("log of a node with another search index: got %s, want a warning", fourth)
	}
	if says := "this node uses another bus than the other nodes"; strings.Contains(third.String(), says) || !strings.Contains(fourth.String(), says) {
		t.Errorf("log of a node with another bus: got %s, want a warning", fourth)
	}
	if says := "stores files elsewhere than the other nodes"; strings.Contains(first.String(), says) || !strings.Contains(third.String(), says) {
		t.Errorf("log of a node that stores files locally: got %s, want a warning", third)
	}
}
