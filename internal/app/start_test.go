package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
)

// TestATakenPortKeepsTheNodeOutOfTheCluster: a node whose port is taken fails before a service has created tables or registered with other
// nodes.
func TestATakenPortKeepsTheNodeOutOfTheCluster(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, name := range []string{"listen", "admin"} {
		data := filepath.Join(t.TempDir(), "data")
		if _, err := Open(t.Context(), configure(t, data, name+"="+taken.Addr().String()), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another program has it") {
			t.Fatalf("%s: error %v, want one that contains 'another program has it'", name, err)
		}
		db, err := sqldb.Open(t.Context(), filepath.Join(data, recordsFile))
		if err != nil {
			t.Fatal(err)
		}
		tables := 0
		err = db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE name IN ('users', 'outbox', 'id_leases', 'sessions')`).Scan(&tables)
		if err = errors.Join(err, db.Close()); err != nil || tables != 0 {
			t.Errorf("%s: services made %d tables, %v", name, tables, err)
		}
	}
	noneLeft(t)
}

// TestOneAddressForTwoListeners: the error names the setting of the node's own listener, which is no other program.
func TestOneAddressForTwoListeners(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for own, set := range map[string][]string{
		"admin":      {"admin=" + address, "stomp.listen=" + address},
		"listen":     {"listen=" + address, "tcp.listen=" + address},
		"tcp.listen": {"tcp.listen=" + address, "stomp.listen=" + address},
	} {
		_, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), set...), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "it is the address of this server's own listener "+own+"; choose another address") {
			t.Errorf("%s: error %v, want one that contains %q", own, err, "it is the address of this server's own listener "+own+"; choose another address")
		}
	}
	noneLeft(t)
}

// TestAnAPIKeyBeforeTheFirstStart: the data directory is created as by serve, which later uses it and accepts the key. A directory that is
// being served, or was migrated, is not created again.
func TestAnAPIKeyBeforeTheFirstStart(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	admin := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		code := AdminMain(t.Context(), append([]string{"key"}, args...), &out, &errOut)
		return code, strings.TrimSpace(out.String()), errOut.String()
	}
	code, key, errOut := admin("create", "--data", data, "--name", "shop")
	if code != 0 || !strings.HasPrefix(key, "rk_") || !strings.Contains(errOut, "serve it with rialto serve --data "+data) {
		t.Fatalf("create: %d, %q, %q", code, key, errOut)
	}
	if code, out, _ := admin("list", "--data", data); code != 0 || !strings.HasPrefix(out, "shop\tserver\t") {
		t.Errorf("list: %d, %q", code, out)
	}
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := connect.NewRequest(&accountv1.PutUserRequest{ExternalId: "7", Handle: "seven", DisplayName: "Seven"})
	r.Header().Set("Authorization", "Bearer "+key)
	if _, err := accountv1connect.NewAdminServiceClient(http.DefaultClient, url(h)).PutUser(t.Context(), r); err != nil {
		t.Errorf("the key is rejected: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	held := filepath.Join(t.TempDir(), "held")
	lock, err := openDataDir(held) // another process is about to make it
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if code, out, errOut := admin("create", "--data", held, "--name", "shop"); code != 1 || out != "" || !strings.Contains(errOut, "in use") {
		t.Errorf("while another has it: %d, %q, %q", code, out, errOut)
	}
	moved := t.TempDir()
	if err := os.WriteFile(filepath.Join(moved, "MOVED"), []byte("elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := admin("create", "--data", moved, "--name", "shop"); code != 1 || out != "" || !strings.Contains(errOut, "was moved") {
		t.Errorf("a directory that was moved: %d, %q, %q", code, out, errOut)
	}
	noneLeft(t)
}

// releaser is a logger's handler that does something once, at the first line with a text.
type releaser struct {
	slog.Handler
	at   string
	then func()
}

func (r releaser) Enabled(context.Context, slog.Level) bool { return true }

func (r releaser) Handle(_ context.Context, line slog.Record) error {
	if strings.Contains(line.Message, r.at) {
		r.then()
	}
	return nil
}

// TestAStartWaitsForTheDataDirectory: a process that was killed holds its directory for a moment longer. A server that is started meanwhile
// waits for it.
func TestAStartWaitsForTheDataDirectory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	killed, err := openDataDir(data)
	if err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceFunc(func() { killed.Close() })
	defer ended()
	h, err := Open(t.Context(), configure(t, data), slog.New(releaser{slog.DiscardHandler, "the data directory is in use", ended}))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	noneLeft(t)
}

// TestARepairThatIsRefusedAcceptsNothing: without records.db no repair is possible, and the output says so.
func TestARepairThatIsRefusedAcceptsNothing(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(data, filesDir)); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	if code := RepairMain(t.Context(), []string{"--data", data}, &out, &errOut); code != 0 || !strings.Contains(out.String(), filesDir+" is missing") || errOut.String() != "" {
		t.Errorf("without the files: %d, %q, %q", code, out.String(), errOut.String())
	}
	if err := os.Remove(filepath.Join(data, recordsFile)); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := RepairMain(t.Context(), []string{"--data", data, "--accept-loss"}, &out, &errOut); code != 1 || out.String() != "" || !strings.Contains(errOut.String(), "records.db is missing") {
		t.Errorf("repair: got exit code %d, %q, %q, want 1, and that records.db is missing", code, out.String(), errOut.String())
	}
	noneLeft(t)
}
