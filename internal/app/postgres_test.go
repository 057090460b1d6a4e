package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/verify"
)

// TestAHouseOnPostgreSQL has nothing but files in its directory, and its tools find it. What it does otherwise is tried by the
// scenarios of apptest, where the run is on PostgreSQL.
func TestAHouseOnPostgreSQL(t *testing.T) {
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
		if n.Name() != filesDir && n.Name() != lockFile && n.Name() != nodeFile {
			t.Errorf("the directory has %s", n.Name())
		}
	}
	admin := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		return AdminMain(t.Context(), append([]string{"key"}, args...), &out, &errOut), out.String(), errOut.String()
	}
	if code, out, errOut := admin("create", "--postgres", address, "--name", "shop"); code != 0 || !strings.HasPrefix(out, "rk_") {
		t.Errorf("create: %d, %q, %q", code, out, errOut)
	}
	if code, out, errOut := admin("list", "--postgres", address); code != 0 || out != "shop\n" {
		t.Errorf("list: %d, %q, %q", code, out, errOut)
	}
	var out strings.Builder
	if code := verify.Main([]string{"--postgres", address}, &out, io.Discard); code != 0 || !strings.Contains(out.String(), "every promise holds") {
		t.Errorf("verify beside the server: %d, %q", code, out.String())
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), configure(t, data, "postgres=postgres://rialto:canary@127.0.0.1:1/rialto?connect_timeout=1"), slog.New(slog.DiscardHandler)); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("where there is no database: %v", err)
	}
}

// TestNodesThatAreConfiguredApart: one that would keep its messages elsewhere than the others does not start, and one that keeps its files
// elsewhere, or has another bus, says so.
func TestNodesThatAreConfiguredApart(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	open(t, "postgres="+address, "node=door", "roles=gateway") // has no files
	_, first := open(t, "postgres="+address, "node=first")
	elsewhere := configure(t, filepath.Join(t.TempDir(), "data"), "postgres="+address, "node=second", "cassandra.hosts=127.0.0.1", "cassandra.port=1")
	if _, err := Open(t.Context(), elsewhere, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "are in PostgreSQL, and this node is configured for Cassandra (keyspace rialto, store 0)") {
		t.Errorf("with other timelines: %v", err)
	}
	_, third := open(t, "postgres="+address, "node=third")
	_, fourth := open(t, "postgres="+address, "node=fourth", "bus.url=nats://127.0.0.1:1")
	if says := "this node's bus is not that of other nodes"; strings.Contains(third.String(), says) || !strings.Contains(fourth.String(), says) {
		t.Errorf("with another bus: %s", fourth)
	}
	if says := "files are not where other nodes have theirs"; strings.Contains(first.String(), says) || !strings.Contains(third.String(), says) {
		t.Errorf("with files of its own: %s", third)
	}
}
